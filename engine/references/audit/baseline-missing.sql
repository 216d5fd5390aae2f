-- counts: Adult admissions with chronic kidney disease and no creatinine.
-- of: admissions of adults
-- targets: creatinine-baseline
-- why: The baseline is missing there: the only missing values of the target.
SELECT
    count(*) FILTER (WHERE scr_min IS NULL AND ckd = 1) AS affected,
    count(*) AS total
FROM mimiciv_derived.creatinine_baseline
