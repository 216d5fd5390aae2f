-- purpose: Model for End-Stage Liver Disease with sodium, of the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_derived.meld (subject_id, hadm_id, stay_id, meld)
-- deviations: none
SELECT
    subject_id,
    hadm_id,
    stay_id,
    meld
FROM mimiciv_derived.meld
