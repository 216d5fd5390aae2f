-- purpose: Model for End-Stage Liver Disease with sodium, of the first ICU day (OPTN 2016).
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id)
--   mimiciv_derived.first_day_lab (stay_id, creatinine_max, bilirubin_total_max, inr_max,
--     sodium_min)
--   mimiciv_derived.first_day_rrt (stay_id, dialysis_present)
-- deviations: none
WITH part AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        rrt.dialysis_present AS rrt,
        lab.creatinine_max,
        lab.bilirubin_total_max,
        lab.inr_max,
        lab.sodium_min,
        CASE
            WHEN rrt.dialysis_present = 1 OR lab.creatinine_max > 4.0 THEN 0.957 * ln(4)
            WHEN lab.creatinine_max < 1 THEN 0
            ELSE 0.957 * coalesce(ln(lab.creatinine_max), 0)
        END AS creatinine_part,
        if(
            lab.bilirubin_total_max < 1, 0, 0.378 * coalesce(ln(lab.bilirubin_total_max), 0)
        ) AS bilirubin_part,
        if(lab.inr_max < 1, 0.643, 1.120 * coalesce(ln(lab.inr_max), 0) + 0.643) AS inr_part,
        CASE
            WHEN lab.sodium_min IS NULL THEN 0
            WHEN lab.sodium_min > 137 THEN 0
            WHEN lab.sodium_min < 125 THEN 12
            ELSE 137 - lab.sodium_min
        END AS sodium_part
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON stay.stay_id = lab.stay_id
    LEFT JOIN mimiciv_derived.first_day_rrt AS rrt ON stay.stay_id = rrt.stay_id
),

initial AS (
    SELECT
        *,
        -- Rounded twice, to three decimals and then to one: the public convention.
        if(
            creatinine_part + bilirubin_part + inr_part > 4,
            40,
            round((creatinine_part + bilirubin_part + inr_part)::DECIMAL(18, 3), 1) * 10
        )::DECIMAL(18, 1) AS meld_initial
    FROM part
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    meld_initial,
    if(
        meld_initial > 11,
        meld_initial::DOUBLE + 1.32 * sodium_part - 0.033 * meld_initial::DOUBLE * sodium_part,
        meld_initial::DOUBLE
    ) AS meld,
    rrt,
    creatinine_max,
    bilirubin_total_max,
    inr_max,
    sodium_min
FROM initial
