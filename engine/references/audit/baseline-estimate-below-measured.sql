-- counts: Adult admissions whose estimated baseline lies below every measured creatinine.
-- of: admissions of adults
-- targets: creatinine-baseline
-- why: Acute on unknown chronic disease looks worse than it is.
SELECT
    count(*) FILTER (WHERE ckd = 0 AND scr_min > 1.1 AND mdrd_est < scr_min) AS affected,
    count(*) AS total
FROM mimiciv_derived.creatinine_baseline
