-- counts: Urine measurements whose window of 6 hours covers 10 hours or more.
-- of: urine measurements
-- targets: urine-output-rate
-- why: The oldest measurement counts with its whole elapsed time, so sparse charting stretches
--   the window.
SELECT
    count(*) FILTER (WHERE uo_tm_6hr >= 10) AS affected,
    count(*) AS total
FROM mimiciv_derived.urine_output_rate
