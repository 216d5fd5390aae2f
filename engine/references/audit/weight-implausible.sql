-- counts: ICU stays with a weight below 20 or above 350 kg.
-- of: ICU stays with a weight
-- targets: kdigo-48h, urine-output-rate
-- why: There is no upper limit: grams, pounds and slips go through and move every rate.
SELECT
    count(DISTINCT stay_id) FILTER (WHERE weight < 20 OR weight > 350) AS affected,
    count(DISTINCT stay_id) AS total
FROM mimiciv_derived.weight_durations
