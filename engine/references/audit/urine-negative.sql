-- counts: Urine measurements with a negative volume.
-- of: urine measurements
-- targets: kdigo-48h, urine-output-rate
-- why: Irrigation in and out count each at their own time.
SELECT
    count(*) FILTER (WHERE urineoutput < 0) AS affected,
    count(*) AS total
FROM mimiciv_derived.urine_output
