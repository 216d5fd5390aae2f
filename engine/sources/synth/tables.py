"""Tables and columns of the two sources, in declared order and with their types.

Tables that anything reads are declared in `engine.sources.schema`. The others, which the generator
writes as well, stand here: a type is one letter, ``i`` 64-bit integer, ``f`` 64-bit float,
``s`` text, ``t`` timestamp, ``d`` date. Source: the public definitions of MIMIC-IV (hosp, icu)
and eICU-CRD.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from engine.sources.schema import Kind, facts

_TYPES: Final = {
    "i": pa.int64(),
    "f": pa.float64(),
    "s": pa.string(),
    "t": pa.timestamp("us"),
    "d": pa.date32(),
}


def _columns(text: str) -> pa.Schema:
    pairs = (word.rsplit(":", 1) for word in text.split())
    return pa.schema([(name, _TYPES[letter]) for name, letter in pairs])


_HOSP: Final[dict[str, pa.Schema | None]] = {
    "admissions": None,
    "d_hcpcs": _columns("code:s category:i long_description:s short_description:s"),
    "d_icd_diagnoses": _columns("icd_code:s icd_version:i long_title:s"),
    "d_icd_procedures": _columns("icd_code:s icd_version:i long_title:s"),
    "d_labitems": _columns("itemid:i label:s fluid:s category:s"),
    "diagnoses_icd": None,
    "drgcodes": _columns(
        "subject_id:i hadm_id:i drg_type:s drg_code:s description:s drg_severity:i drg_mortality:i"
    ),
    "emar": _columns(
        "subject_id:i hadm_id:i emar_id:s emar_seq:i poe_id:s pharmacy_id:i enter_provider_id:s "
        "charttime:t medication:s event_txt:s scheduletime:t storetime:t"
    ),
    "emar_detail": _columns(
        "subject_id:i emar_id:s emar_seq:i parent_field_ordinal:f administration_type:s "
        "pharmacy_id:i barcode_type:s reason_for_no_barcode:s complete_dose_not_given:s "
        "dose_due:s dose_due_unit:s dose_given:s dose_given_unit:s "
        "will_remainder_of_dose_be_given:s product_amount_given:f product_unit:s product_code:s "
        "product_description:s product_description_other:s prior_infusion_rate:f infusion_rate:f "
        "infusion_rate_adjustment:s infusion_rate_adjustment_amount:f infusion_rate_unit:s "
        "route:s infusion_complete:s completion_interval:s new_iv_bag_hung:s "
        "continued_infusion_in_other_location:s restart_interval:s side:s site:s "
        "non_formulary_visual_verification:s"
    ),
    "hcpcsevents": _columns(
        "subject_id:i hadm_id:i chartdate:d hcpcs_cd:s seq_num:i short_description:s"
    ),
    "labevents": None,
    "microbiologyevents": None,
    "omr": _columns("subject_id:i chartdate:d seq_num:i result_name:s result_value:s"),
    "patients": None,
    "pharmacy": _columns(
        "subject_id:i hadm_id:i pharmacy_id:i poe_id:s starttime:t stoptime:t medication:s "
        "proc_type:s status:s entertime:t verifiedtime:t route:s frequency:s disp_sched:s "
        "infusion_type:s sliding_scale:s lockout_interval:s basal_rate:f one_hr_max:s "
        "doses_per_24_hrs:f duration:f duration_interval:s expiration_value:i expiration_unit:s "
        "expirationdate:t dispensation:s fill_quantity:s"
    ),
    "poe": _columns(
        "poe_id:s poe_seq:i subject_id:i hadm_id:i ordertime:t order_type:s order_subtype:s "
        "transaction_type:s discontinue_of_poe_id:s discontinued_by_poe_id:s order_provider_id:s "
        "order_status:s"
    ),
    "poe_detail": _columns("poe_id:s poe_seq:i subject_id:i field_name:s field_value:s"),
    "prescriptions": None,
    "procedures_icd": _columns(
        "subject_id:i hadm_id:i seq_num:i chartdate:d icd_code:s icd_version:i"
    ),
    "provider": _columns("provider_id:s"),
    "services": None,
    "transfers": _columns(
        "subject_id:i hadm_id:i transfer_id:i eventtype:s careunit:s intime:t outtime:t"
    ),
}
"""Tables of the folder ``hosp`` by file name; None where the columns are declared."""

_ICU: Final[dict[str, pa.Schema | None]] = {
    "caregiver": _columns("caregiver_id:i"),
    "chartevents": None,
    "d_items": None,
    "datetimeevents": _columns(
        "subject_id:i hadm_id:i stay_id:i caregiver_id:i charttime:t storetime:t itemid:i value:t "
        "valueuom:s warning:i"
    ),
    "icustays": None,
    "ingredientevents": _columns(
        "subject_id:i hadm_id:i stay_id:i caregiver_id:i starttime:t endtime:t storetime:t "
        "itemid:i amount:f amountuom:s rate:f rateuom:s orderid:i linkorderid:i "
        "statusdescription:s originalamount:f originalrate:f"
    ),
    "inputevents": None,
    "outputevents": None,
    "procedureevents": None,
}
"""Tables of the folder ``icu`` by file name."""

_EICU: Final[dict[str, pa.Schema | None]] = {
    "admissionDrug": _columns(
        "admissiondrugid:i patientunitstayid:i drugoffset:i drugenteredoffset:i drugnotetype:s "
        "specialtytype:s usertype:s rxincluded:s writtenineicu:s drugname:s drugdosage:f "
        "drugunit:s drugadmitfrequency:s drughiclseqno:i"
    ),
    "admissionDx": _columns(
        "admissiondxid:i patientunitstayid:i admitdxenteredoffset:i admitdxpath:s admitdxname:s "
        "admitdxtext:s"
    ),
    "allergy": _columns(
        "allergyid:i patientunitstayid:i allergyoffset:i allergyenteredoffset:i allergynotetype:s "
        "specialtytype:s usertype:s rxincluded:s writtenineicu:s drugname:s allergytype:s "
        "allergyname:s drughiclseqno:i"
    ),
    "apacheApsVar": None,
    "apachePatientResult": _columns(
        "apachepatientresultsid:i patientunitstayid:i physicianspeciality:s "
        "physicianinterventioncategory:s acutephysiologyscore:i apachescore:i apacheversion:s "
        "predictedicumortality:f actualicumortality:s predictediculos:f actualiculos:f "
        "predictedhospitalmortality:f actualhospitalmortality:s predictedhospitallos:f "
        "actualhospitallos:f preopmi:i preopcardiaccath:i ptcawithin24h:i unabridgedunitlos:f "
        "unabridgedhosplos:f actualventdays:i predventdays:f unabridgedactualventdays:i"
    ),
    "apachePredVar": None,
    "carePlanCareProvider": _columns(
        "cplcareprovderid:i patientunitstayid:i careprovidersaveoffset:i providertype:s "
        "specialty:s interventioncategory:s managingphysician:s activeupondischarge:s"
    ),
    "carePlanEOL": _columns(
        "cpleolid:i patientunitstayid:i cpleolsaveoffset:i cpleoldiscussionoffset:i "
        "activeupondischarge:s"
    ),
    "carePlanGeneral": _columns(
        "cplgeneralid:i patientunitstayid:i activeupondischarge:s cplitemoffset:i cplgroup:s "
        "cplitemvalue:s"
    ),
    "carePlanGoal": _columns(
        "cplgoalid:i patientunitstayid:i cplgoaloffset:i cplgoalcategory:s cplgoalvalue:s "
        "cplgoalstatus:s activeupondischarge:s"
    ),
    "carePlanInfectiousDisease": _columns(
        "cplinfectid:i patientunitstayid:i activeupondischarge:s cplinfectdiseaseoffset:i "
        "infectdiseasesite:s infectdiseaseassessment:s responsetotherapy:s treatment:s"
    ),
    "customLab": _columns(
        "customlabid:i patientunitstayid:i labotheroffset:i labothertypeid:i labothername:s "
        "labotherresult:s labothervaluetext:s"
    ),
    "diagnosis": _columns(
        "diagnosisid:i patientunitstayid:i activeupondischarge:s diagnosisoffset:i "
        "diagnosisstring:s icd9code:s diagnosispriority:s"
    ),
    "hospital": _columns("hospitalid:i numbedscategory:s teachingstatus:s region:s"),
    "infusionDrug": _columns(
        "infusiondrugid:i patientunitstayid:i infusionoffset:i drugname:s drugrate:s "
        "infusionrate:f drugamount:f volumeoffluid:f patientweight:f"
    ),
    "intakeOutput": None,
    "lab": _columns(
        "labid:i patientunitstayid:i labresultoffset:i labtypeid:i labname:s labresult:f "
        "labresulttext:s labmeasurenamesystem:s labmeasurenameinterface:s "
        "labresultrevisedoffset:i"
    ),
    "medication": _columns(
        "medicationid:i patientunitstayid:i drugorderoffset:i drugstartoffset:i drugivadmixture:s "
        "drugordercancelled:s drugname:s drughiclseqno:i dosage:s routeadmin:s frequency:s "
        "loadingdose:s prn:s drugstopoffset:i gtc:i"
    ),
    "microLab": _columns(
        "microlabid:i patientunitstayid:i culturetakenoffset:i culturesite:s organism:s "
        "antibiotic:s sensitivitylevel:s"
    ),
    "note": _columns(
        "noteid:i patientunitstayid:i noteoffset:i noteenteredoffset:i notetype:s notepath:s "
        "notevalue:s notetext:s"
    ),
    "nurseAssessment": _columns(
        "nurseassessid:i patientunitstayid:i nurseassessoffset:i nurseassessentryoffset:i "
        "cellattributepath:s celllabel:s cellattribute:s cellattributevalue:s"
    ),
    "nurseCare": _columns(
        "nursecareid:i patientunitstayid:i celllabel:s nursecareoffset:i nursecareentryoffset:i "
        "cellattributepath:s cellattribute:s cellattributevalue:s"
    ),
    "nurseCharting": None,
    "pastHistory": _columns(
        "pasthistoryid:i patientunitstayid:i pasthistoryoffset:i pasthistoryenteredoffset:i "
        "pasthistorynotetype:s pasthistorypath:s pasthistoryvalue:s pasthistoryvaluetext:s"
    ),
    "patient": None,
    "physicalExam": None,
    "respiratoryCare": None,
    "respiratoryCharting": _columns(
        "respchartid:i patientunitstayid:i respchartoffset:i respchartentryoffset:i "
        "respcharttypecat:s respchartvaluelabel:s respchartvalue:s"
    ),
    "treatment": _columns(
        "treatmentid:i patientunitstayid:i treatmentoffset:i treatmentstring:s "
        "activeupondischarge:s"
    ),
    "vitalAperiodic": _columns(
        "vitalaperiodicid:i patientunitstayid:i observationoffset:i noninvasivesystolic:f "
        "noninvasivediastolic:f noninvasivemean:f paop:f cardiacoutput:f cardiacinput:f svr:f "
        "svri:f pvr:f pvri:f"
    ),
    "vitalPeriodic": _columns(
        "vitalperiodicid:i patientunitstayid:i observationoffset:i temperature:f sao2:f "
        "heartrate:f respiration:f cvp:f etco2:f systemicsystolic:f systemicdiastolic:f "
        "systemicmean:f pasystolic:f padiastolic:f pamean:f st1:f st2:f st3:f icp:f"
    ),
}
"""Tables of eICU by file name (PhysioNet writes them in camel case)."""

_DECLARED: Final = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "TIMESTAMP": pa.timestamp("us"),
    "DATE": pa.date32(),
}


def layout(kind: Kind) -> dict[str, dict[str, pa.Schema]]:
    """Schemas by file name, by folder within the source."""
    groups = {"hosp": _HOSP, "icu": _ICU} if kind == "mimic-iv" else {"": _EICU}
    declared = facts(kind).tables
    return {
        group: {
            name: pa.schema([(c, _DECLARED[t]) for c, t in declared[name.lower()].columns.items()])
            if columns is None
            else columns
            for name, columns in tables.items()
        }
        for group, tables in groups.items()
    }
