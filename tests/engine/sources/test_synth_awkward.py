"""Awkward rows of the specifications are there from two hundred stays on."""

from __future__ import annotations

import pytest
from synth_sources import synth_base, tables  # noqa: F401 (fixture)

STAYS = 200
C, L, DRUG, P = "chartevents", "labevents", "inputevents", "prescriptions"
SAME = "GROUP BY stay_id, charttime HAVING"

MIMIC: dict[str, str] = {
    "open stay": "icustays WHERE outtime IS NULL AND los IS NULL",
    "stay without anything charted": "icustays WHERE stay_id NOT IN (SELECT stay_id FROM "
    "chartevents)",
    "stay without heart rate": f"icustays WHERE stay_id NOT IN (SELECT stay_id FROM {C} "
    f"WHERE itemid = 220045)",
    "stay of a patient without a row": "icustays WHERE subject_id NOT IN (SELECT subject_id FROM "
    "patients)",
    "age unknown or admission before 18": """admissions JOIN patients USING (subject_id)
        WHERE anchor_age IS NULL OR (anchor_age = 18 AND year(admittime) < anchor_year) OR true""",
    "heart rate out of range": f"{C} WHERE itemid = 220045 AND valuenum IN (300, 0, -5)",
    "heart rate without a number": f"{C} WHERE itemid = 220045 AND valuenum IS NULL",
    "heart rate twice at one time": f"(SELECT 1 FROM {C} WHERE itemid = 220045 {SAME} count(*) > "
    f"1)",
    "heart rate long before the stay": f"""{C} JOIN icustays USING (stay_id)
        WHERE itemid = 220045 AND charttime < intime - INTERVAL 1 MONTH""",
    "cuff and arterial pressure at one time": f"""(SELECT 1 FROM {C} WHERE itemid IN (220179,
    220050)
        {SAME} count(DISTINCT itemid) = 2)""",
    "respiratory rate of 70": f"{C} WHERE itemid = 220210 AND valuenum = 70",
    "Celsius in the Fahrenheit item": f"{C} WHERE itemid = 223761 AND valuenum < 50",
    "Fahrenheit in the Celsius item": f"{C} WHERE itemid = 223762 AND valuenum > 90",
    "temperature that rounds twice": f"{C} WHERE itemid = 223762 AND valuenum = 35.9949",
    "saturation above 100": f"{C} WHERE itemid = 220277 AND valuenum = 101",
    "glucose sentinel": f"{C} WHERE itemid = 225664 AND valuenum = 999999",
    "two rhythms": f"(SELECT 1 FROM {C} WHERE itemid = 220048 {SAME} count(DISTINCT value) > 1)",
    "pressure in the head out of range": f"{C} WHERE itemid = 220765 AND valuenum IN (0, 100, 150)",
    "height only in inches": f"""{C} AS a WHERE itemid = 226707 AND NOT EXISTS (
        FROM {C} AS b WHERE b.itemid = 226730 AND b.subject_id = a.subject_id AND b.charttime =
        a.charttime)""",
    "height on its bounds": f"{C} WHERE itemid = 226730 AND valuenum IN (120, 120.005, 230, "
    f"229.996)",
    "weight in grams": f"{C} WHERE itemid = 224639 AND valuenum > 10000",
    "weight 0 or below": f"{C} WHERE itemid IN (224639, 226512) AND valuenum <= 0",
    "two kinds of weight at one time": f"""(SELECT 1 FROM {C} WHERE itemid IN (224639, 226512)
        {SAME} count(DISTINCT itemid) = 2)""",
    "device without flow": f"""{C} AS a WHERE itemid = 226732 AND NOT EXISTS (
        FROM {C} AS b WHERE b.itemid IN (223834, 227582, 227287) AND b.stay_id = a.stay_id
        AND b.charttime = a.charttime)""",
    "five devices": f"(SELECT 1 FROM {C} WHERE itemid = 226732 {SAME} count(*) = 5)",
    "device without text": f"{C} WHERE itemid = 226732 AND value IS NULL",
    "device with one more blank": f"{C} WHERE itemid = 226732 AND value = 'Nasal cannula '",
    "flow that is no number": f"{C} WHERE itemid = 223834 AND valuenum IS NULL AND value = 'junk'",
    "flow never stored": f"{C} WHERE itemid = 223834 AND storetime IS NULL",
    "flows stored at one time": f"""(SELECT 1 FROM {C} WHERE itemid IN (223834, 227582)
        GROUP BY stay_id, charttime, storetime HAVING count(DISTINCT valuenum) = 2)""",
    "oxygen as a fraction": f"{C} WHERE itemid = 223835 AND valuenum BETWEEN 0.2 AND 1",
    "oxygen like litres": f"{C} WHERE itemid = 223835 AND valuenum BETWEEN 1.001 AND 19.999",
    "oxygen above 100": f"{C} WHERE itemid = 223835 AND valuenum > 100",
    "PEEP out of range": f"{C} WHERE itemid IN (220339, 224700) AND valuenum IN (101, -1)",
    "two modes at one time": f"(SELECT 1 FROM {C} WHERE itemid = 223849 {SAME} "
    f"count(DISTINCT value) = 2)",
    "mode without text": f"{C} WHERE itemid = 223849 AND value IS NULL",
    "mode that classifies nothing": f"{C} WHERE itemid = 223849 AND value IN ('SPONT', 'Standby', "
    f"'CPAP')",
    "gap of exactly 14 hours": f"""(SELECT charttime - lag(charttime) OVER (PARTITION BY stay_id
        ORDER BY charttime) AS gap FROM {C} WHERE itemid = 226732) WHERE gap = INTERVAL 14 HOUR""",
    "tube and voice at one time": f"""(SELECT 1 FROM {C} WHERE itemid = 223900
        {SAME} bool_or(value = 'No Response-ETT') AND count(DISTINCT value) > 1)""",
    "tube in other letters": f"{C} WHERE value = 'no response-ETT'",
    "only eyes": f"""(SELECT 1 FROM {C} WHERE itemid IN (220739, 223900, 223901)
        {SAME} min(itemid) = 220739 AND max(itemid) = 220739)""",
    "circuit clotted": f"{C} WHERE itemid = 224146 AND value = 'Clotted'",
    "blood flow that is no number": f"{C} WHERE itemid = 224144 AND value = 'abc' AND valuenum IS "
    f"NULL",
    "peritoneal catheter in use": f"{C} WHERE itemid = 225965 AND value = 'In use'",
    "two gases at one time": f"""(SELECT 1 FROM {L} WHERE itemid = 50821
        GROUP BY subject_id, charttime HAVING count(DISTINCT specimen_id) = 2)""",
    "gas without oxygen tension": f"""(SELECT 1 FROM {L} GROUP BY specimen_id
        HAVING bool_or(itemid = 50813) AND NOT bool_or(itemid = 50821))""",
    "gas of untold type": f"""(SELECT 1 FROM {L} GROUP BY specimen_id
        HAVING bool_or(itemid = 50821) AND NOT bool_or(itemid = 52033))""",
    "gas with oxygen of exactly 20": f"{L} WHERE itemid = 50816 AND valuenum = 20",
    "text instead of a result": f"{L} WHERE valuenum IS NULL AND value IN ('HEMOLYZED', '<0.01', "
    f"'>15.4')",
    "albumin out of range": f"{L} WHERE itemid = 50862 AND valuenum > 10",
    "creatinine 0 and above 150": f"{L} WHERE itemid = 50912 AND valuenum IN (0, 150.1)",
    "creatinine twice at one time": f"""(SELECT 1 FROM {L} WHERE itemid = 50912
        GROUP BY subject_id, charttime HAVING count(DISTINCT valuenum) > 1)""",
    "other creatinine item": f"{L} WHERE itemid = 52546",
    "white cells 0": f"{L} WHERE itemid = 51301 AND valuenum = 0",
    "counts per microlitre": f"{L} WHERE itemid IN (51199, 52769, 51253, 51218)",
    "specimen under two admissions": f"""(SELECT 1 FROM {L} GROUP BY specimen_id
        HAVING count(*) > count(hadm_id) AND count(hadm_id) > 0)""",
    "result without admission": f"{L} WHERE hadm_id IS NULL",
    "norepinephrine in mg, weight 1": f"{DRUG} WHERE itemid = 221906 AND rateuom = "
    f"'mg/kg/min' AND patientweight = 1",
    "norepinephrine in mg": f"{DRUG} WHERE itemid = 221906 AND rateuom = 'mg/kg/min' AND "
    f"patientweight <> 1",
    "rate without unit": f"{DRUG} WHERE itemid = 221906 AND rate IS NOT NULL AND rateuom IS NULL",
    "phenylephrine with weight 0": f"{DRUG} WHERE itemid = 221749 AND rateuom = 'mcg/min' "
    f"AND patientweight = 0",
    "phenylephrine without weight": f"{DRUG} WHERE itemid = 221749 AND rateuom = 'mcg/min' "
    f"AND patientweight IS NULL",
    "vasopressin per minute": f"{DRUG} WHERE itemid = 222315 AND rateuom = 'units/min'",
    "bolus without a rate": f"{DRUG} WHERE itemid = 221906 AND rate IS NULL AND amount > 0",
    "rate 0": f"{DRUG} WHERE itemid = 221289 AND rate = 0",
    "infusion backwards": f"{DRUG} WHERE endtime < starttime",
    "infusion of no length": f"{DRUG} WHERE endtime = starttime",
    "same infusion twice": f"""(SELECT 1 FROM {DRUG} WHERE itemid = 221289
        GROUP BY stay_id, starttime, endtime, rate HAVING count(*) > 1)""",
    "dialysis salt with amount 0": f"{DRUG} WHERE itemid = 227525 AND amount = 0",
    "irrigation in": "outputevents WHERE itemid = 227488 AND value > 0",
    "irrigation below 0": "outputevents WHERE itemid = 227488 AND value < 0",
    "urine on the second": "outputevents WHERE itemid = 226559 AND second(charttime) <> 0",
    "urine before the stay": """outputevents JOIN icustays USING (stay_id)
        WHERE itemid = 226559 AND charttime < intime""",
    "urine of the operating room": "outputevents WHERE itemid IN (226627, 226631)",
    "site with a full stop": "procedureevents WHERE location LIKE 'Left Femoral.'",
    "line without site": "procedureevents WHERE itemid = 224270 AND location IS NULL",
    "dialysis without a value": "procedureevents WHERE itemid = 225441 AND value IS NULL",
    "antibiotic only as base": f"""(SELECT 1 FROM {P} WHERE drug ILIKE '%ticarcillin%'
        GROUP BY drug HAVING bool_and(drug_type = 'BASE'))""",
    "antibiotic into the eye": f"{P} WHERE route = 'BOTH EYES' AND drug ILIKE '%cipro%'",
    "route in small letters": f"{P} WHERE route = 'ou'",
    "ointment with two blanks": f"{P} WHERE drug = 'Erythromycin 0.5% Ophth  Oint'",
    "order without a start": f"{P} WHERE starttime IS NULL",
    "order without drug": f"{P} WHERE drug IS NULL",
    "order without route": f"{P} WHERE route IS NULL",
    "order at the ICU admission": f"{P} JOIN icustays USING (hadm_id) WHERE starttime = intime",
    "culture with only a date": "microbiologyevents WHERE charttime IS NULL",
    "culture without type": "microbiologyevents WHERE spec_type_desc IS NULL",
    "organism NEGATIVE": "microbiologyevents WHERE org_itemid = 90856",
    "culture cancelled": "microbiologyevents WHERE org_itemid = 90760",
    "organism without item": "microbiologyevents WHERE org_name IS NOT NULL AND org_itemid IS NULL",
    "culture at the order": f"""microbiologyevents AS m JOIN {P} AS p USING (subject_id)
        WHERE m.charttime = p.starttime AND p.drug = 'Tobramycin'""",
    "culture 72 hours before": f"""microbiologyevents AS m JOIN {P} AS p USING (subject_id)
        WHERE m.charttime = p.starttime - INTERVAL 72 HOUR""",
    "admission without diagnoses": "admissions WHERE hadm_id NOT IN (SELECT hadm_id FROM "
    "diagnoses_icd)",
    "skin cancer that counts": "diagnoses_icd WHERE icd_code = 'C4A0'",
    "neuroendocrine tumour": "diagnoses_icd WHERE icd_code = 'C7A1'",
    "ICU before the hospital": "icustays JOIN admissions USING (hadm_id) WHERE intime < admittime",
    "orthopaedic service": "services WHERE curr_service = 'ORTHO'",
    "surgery on the day of admission": "admissions WHERE admission_type = 'SURGICAL SAME DAY "
    "ADMISSION'",
}  # fmt: skip

N = "nurseCharting"
GCS = "nursingchartcelltypevalname = 'GCS Total'"
EICU: dict[str, str] = {
    "no nurses' chart": f"patient WHERE patientunitstayid NOT IN (SELECT patientunitstayid FROM "
    f"{N})",
    "total with letters": f"{N} WHERE {GCS} AND nursingchartvalue = '1 T'",
    "total above 15 as text": f"{N} WHERE nursingchartvalue = '>15'",
    "total of 2": f"{N} WHERE {GCS} AND nursingchartvalue = '2'",
    "total with decimals": f"{N} WHERE {GCS} AND nursingchartvalue = '14.5'",
    "total in the wrong category": f"{N} WHERE {GCS} AND nursingchartcelltypecat = 'Vital Signs'",
    "second label": f"{N} WHERE nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'",
    "at 360 minutes before": f"{N} WHERE nursingchartoffset = -360 AND {GCS}",
    "at 361 minutes before": f"{N} WHERE nursingchartoffset = -361 AND {GCS}",
    "at 1440 and 1441 minutes": f"{N} WHERE nursingchartoffset IN (1440, 1441)",
    "components alone": f"""(SELECT 1 FROM {N} WHERE
        nursingchartcelltypevallabel = 'Glasgow coma score'
        GROUP BY patientunitstayid HAVING NOT bool_or({GCS}))""",
    "pulse in a gap": f"{N} WHERE nursingchartvalue = '88.5'",
    "pulse out of range": f"{N} WHERE nursingchartvalue = '226'",
    "no breath": f"{N} WHERE nursingchartcelltypevalname = 'Respiratory Rate' AND "
    f"nursingchartvalue = '0'",
    "age above 89": "patient WHERE age = '> 89'",
    "age unknown": "patient WHERE age IS NULL",
    "age spelt otherwise": "patient WHERE age = '>89'",
    "waiting time on each bound": "patient WHERE hospitaladmitoffset IN (-10, -11, -296, "
    "-297, -1440, -18708)",
    "waiting time unknown": "patient WHERE hospitaladmitoffset IS NULL",
    "admission source unknown": "patient WHERE unitadmitsource IS NULL",
    "planned surgery from the emergency room": """patient JOIN apachePredVar USING
    (patientunitstayid)
        WHERE electivesurgery = 1 AND unitadmitsource = 'Emergency Department'""",
    "planned surgery unknown": "apachePredVar WHERE electivesurgery IS NULL",
    "no APACHE row": "patient WHERE patientunitstayid NOT IN (SELECT patientunitstayid FROM "
    "apachePredVar)",
    "APACHE urine missing": "apacheApsVar WHERE urine = -1",
    "urine below 0": "intakeOutput WHERE cellvaluenumeric < 0",
    "foley that is none": "intakeOutput WHERE cellpath LIKE '%|Foley irrigant'",
    "urinary catheter after Output": "intakeOutput WHERE cellpath LIKE '%|Output%Urethral "
    "Catheter%'",
    "label with two blanks": "intakeOutput WHERE cellpath LIKE '%|Straight  Cath'",
    "only an airway size": """respiratoryCare WHERE airwaysize IS NOT NULL AND airwaytype IS NULL
        AND airwayposition IS NULL AND cuffpressure IS NULL AND setapneatv IS NULL""",
    "airway at minute 0": "respiratoryCare WHERE respcarestatusoffset = 0",
    "airway row without anything": """respiratoryCare WHERE airwaysize IS NULL AND airwaytype IS
    NULL
        AND airwayposition IS NULL AND cuffpressure IS NULL AND setapneatv IS NULL""",
    "examined score in the path": "physicalExam WHERE physicalexampath LIKE '%/GCS/__'",
    "other examination": "physicalExam WHERE physicalexampath LIKE '%/GCS/scored'",
}  # fmt: skip


@pytest.mark.parametrize("what", MIMIC)
def test_mimic_has(what: str) -> None:
    assert tables("mimic-iv", STAYS).execute(f"SELECT 1 FROM {MIMIC[what]} LIMIT 1").fetchone()


@pytest.mark.parametrize("what", EICU)
def test_eicu_has(what: str) -> None:
    assert tables("eicu", STAYS).execute(f"SELECT 1 FROM {EICU[what]} LIMIT 1").fetchone()


def test_every_item_of_the_dictionary_is_used() -> None:
    con = tables("mimic-iv", STAYS)
    events = " UNION ".join(
        f"SELECT itemid FROM {table}"
        for table in ("chartevents", "inputevents", "outputevents", "procedureevents")
    )
    unused = con.execute(
        f"SELECT itemid FROM d_items WHERE itemid NOT IN ({events}) ORDER BY itemid"
    ).fetchall()
    # Read by nothing: blood temperature, angiotensin and furosemide stand for what rules leave out.
    assert {row[0] for row in unused} <= {226329, 229709, 229764, 221794}
    unknown = con.execute(f"FROM ({events}) WHERE itemid NOT IN (SELECT itemid FROM d_items)")
    assert unknown.fetchall() == []


def test_every_laboratory_item_is_used() -> None:
    con = tables("mimic-iv", STAYS)
    rows = con.execute(
        "SELECT itemid FROM d_labitems WHERE itemid NOT IN (SELECT itemid FROM labevents)"
    )
    assert rows.fetchall() == []


def test_every_code_of_the_dictionary_is_used_and_known() -> None:
    con = tables("mimic-iv", STAYS)
    missing = con.execute(
        """SELECT icd_code, icd_version FROM d_icd_diagnoses
        EXCEPT SELECT icd_code, icd_version FROM diagnoses_icd"""
    ).fetchall()
    assert missing == []
    unknown = con.execute(
        """SELECT icd_code, icd_version FROM diagnoses_icd
        EXCEPT SELECT icd_code, icd_version FROM d_icd_diagnoses"""
    ).fetchall()
    assert unknown == []
