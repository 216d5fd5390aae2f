-- counts: ICU stays with urine but without a row of the target.
-- of: ICU stays with urine
-- targets: urine-output-rate
-- why: Observation begins with a charted heart rate; without one the stay has no rows.
SELECT
    count(DISTINCT uo.stay_id) FILTER (WHERE rate.stay_id IS NULL) AS affected,
    count(DISTINCT uo.stay_id) AS total
FROM mimiciv_derived.urine_output AS uo
LEFT JOIN (SELECT DISTINCT stay_id FROM mimiciv_derived.urine_output_rate) AS rate
    ON uo.stay_id = rate.stay_id
