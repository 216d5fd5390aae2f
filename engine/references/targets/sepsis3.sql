-- purpose: First time in an ICU stay at which a suspected infection and SOFA of 2 or more meet.
-- grain: one row per ICU stay with such a time
-- key: stay_id
-- reads:
--   mimiciv_derived.sepsis3 (subject_id, stay_id, antibiotic_time, culture_time,
--     suspected_infection_time, sofa_time, sofa_score, respiration, coagulation, liver,
--     cardiovascular, cns, renal, sepsis3)
-- deviations: none
SELECT
    subject_id,
    stay_id,
    antibiotic_time,
    culture_time,
    suspected_infection_time,
    sofa_time,
    sofa_score,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal,
    sepsis3::INTEGER AS sepsis3
FROM mimiciv_derived.sepsis3
