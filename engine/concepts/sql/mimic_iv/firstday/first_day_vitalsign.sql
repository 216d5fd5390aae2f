-- purpose: Lowest, highest and mean vital signs around the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.vitalsign (stay_id, charttime, heart_rate, sbp, dbp, mbp, resp_rate,
--     temperature, spo2, glucose)
-- deviations: none
SELECT
    stay.subject_id,
    stay.stay_id,
    min(vital.heart_rate) AS heart_rate_min,
    max(vital.heart_rate) AS heart_rate_max,
    avg(vital.heart_rate) AS heart_rate_mean,
    min(vital.sbp) AS sbp_min,
    max(vital.sbp) AS sbp_max,
    avg(vital.sbp) AS sbp_mean,
    min(vital.dbp) AS dbp_min,
    max(vital.dbp) AS dbp_max,
    avg(vital.dbp) AS dbp_mean,
    min(vital.mbp) AS mbp_min,
    max(vital.mbp) AS mbp_max,
    avg(vital.mbp) AS mbp_mean,
    min(vital.resp_rate) AS resp_rate_min,
    max(vital.resp_rate) AS resp_rate_max,
    avg(vital.resp_rate) AS resp_rate_mean,
    min(vital.temperature) AS temperature_min,
    max(vital.temperature) AS temperature_max,
    avg(vital.temperature) AS temperature_mean,
    min(vital.spo2) AS spo2_min,
    max(vital.spo2) AS spo2_max,
    avg(vital.spo2) AS spo2_mean,
    min(vital.glucose) AS glucose_min,
    max(vital.glucose) AS glucose_max,
    avg(vital.glucose) AS glucose_mean
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.vitalsign AS vital
    ON
        stay.stay_id = vital.stay_id
        AND vital.charttime >= stay.intime - INTERVAL 6 HOURS
        AND vital.charttime <= stay.intime + INTERVAL 24 HOURS
GROUP BY stay.subject_id, stay.stay_id
