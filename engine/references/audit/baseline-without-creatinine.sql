-- counts: Adult admissions without a creatinine and without chronic kidney disease.
-- of: admissions of adults
-- targets: creatinine-baseline
-- why: They have the estimate as baseline; descriptions of this benchmark call it missing.
SELECT
    count(*) FILTER (WHERE scr_min IS NULL AND ckd = 0) AS affected,
    count(*) AS total
FROM mimiciv_derived.creatinine_baseline
