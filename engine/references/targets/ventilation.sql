-- purpose: Episodes of equal respiratory support, numbered within the ICU stay.
-- grain: one row per episode of at least two chart times
-- key: stay_id, ventilation_seq
-- reads:
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
-- deviations: none
SELECT
    stay_id,
    row_number() OVER (PARTITION BY stay_id ORDER BY starttime) AS ventilation_seq,
    starttime,
    endtime,
    ventilation_status
FROM mimiciv_derived.ventilation
