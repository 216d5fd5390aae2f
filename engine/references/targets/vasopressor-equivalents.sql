-- purpose: Norepinephrine-equivalent dose per interval of constant rates.
-- grain: one row per interval in which at least one of the five vasopressors has a rate
-- key: stay_id, starttime
-- reads:
--   mimiciv_derived.norepinephrine_equivalent_dose (stay_id, starttime, endtime,
--     norepinephrine_equivalent_dose)
-- deviations: none
SELECT
    stay_id,
    starttime,
    endtime,
    -- Overlapping records of one drug are alternatives: the largest total counts.
    max(norepinephrine_equivalent_dose) AS norepinephrine_equivalent_dose
FROM mimiciv_derived.norepinephrine_equivalent_dose
GROUP BY stay_id, starttime, endtime
