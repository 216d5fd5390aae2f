-- purpose: First time in an ICU stay at which a suspected infection and SOFA of 2 or more meet
--   (Singer et al. 2016).
-- grain: one row per ICU stay with such a time
-- key: stay_id
-- reads:
--   mimiciv_derived.sofa (stay_id, endtime, sofa_24hours, respiration_24hours, coagulation_24hours,
--     liver_24hours, cardiovascular_24hours, cns_24hours, renal_24hours)
--   mimiciv_derived.suspicion_of_infection (subject_id, stay_id, ab_id, antibiotic_time,
--     culture_time, suspected_infection, suspected_infection_time)
-- deviations: none
SELECT
    soi.subject_id,
    soi.stay_id,
    soi.antibiotic_time,
    soi.culture_time,
    soi.suspected_infection_time,
    sofa.endtime AS sofa_time,
    sofa.sofa_24hours AS sofa_score,
    sofa.respiration_24hours AS respiration,
    sofa.coagulation_24hours AS coagulation,
    sofa.liver_24hours AS liver,
    sofa.cardiovascular_24hours AS cardiovascular,
    sofa.cns_24hours AS cns,
    sofa.renal_24hours AS renal,
    sofa.sofa_24hours >= 2 AND soi.suspected_infection = 1 AS sepsis3
FROM mimiciv_derived.suspicion_of_infection AS soi
INNER JOIN mimiciv_derived.sofa AS sofa
    ON
        soi.stay_id = sofa.stay_id
        AND sofa.endtime >= soi.suspected_infection_time - INTERVAL 48 HOURS
        AND sofa.endtime <= soi.suspected_infection_time + INTERVAL 24 HOURS
WHERE sofa.sofa_24hours >= 2
QUALIFY row_number() OVER (
    PARTITION BY soi.stay_id
    ORDER BY
        soi.suspected_infection_time ASC NULLS FIRST, soi.antibiotic_time ASC NULLS FIRST,
        soi.culture_time ASC NULLS FIRST, sofa.endtime ASC NULLS FIRST, soi.ab_id
) = 1
