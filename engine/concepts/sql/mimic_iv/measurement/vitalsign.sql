-- purpose: Charted vital signs, temperature and bedside glucose.
-- grain: one row per stay and chart time with at least one of the items
-- key: subject_id, stay_id, charttime
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, itemid, value, valuenum)
-- deviations: none
WITH charted AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        itemid,
        value,
        -- A value outside the range of its item is no value.
        CASE
            WHEN itemid = 220045 THEN if(valuenum > 0 AND valuenum < 300, valuenum, NULL)
            WHEN itemid IN (220179, 220050, 225309)
                THEN if(valuenum > 0 AND valuenum < 400, valuenum, NULL)
            WHEN itemid IN (220180, 220051, 225310, 220181, 220052, 225312)
                THEN if(valuenum > 0 AND valuenum < 300, valuenum, NULL)
            WHEN itemid IN (220210, 224690)
                THEN if(valuenum > 0 AND valuenum < 70, valuenum, NULL)
            WHEN itemid = 223761
                THEN if(valuenum > 70 AND valuenum < 120, (valuenum - 32) / 1.8, NULL)
            WHEN itemid = 223762 THEN if(valuenum > 10 AND valuenum < 50, valuenum, NULL)
            WHEN itemid = 220277 THEN if(valuenum > 0 AND valuenum <= 100, valuenum, NULL)
            WHEN itemid IN (225664, 220621, 226537) THEN if(valuenum > 0, valuenum, NULL)
        END AS number
    FROM mimiciv_icu.chartevents
    WHERE
        stay_id IS NOT NULL
        AND itemid IN (
            220045, 220179, 220050, 225309, 220180, 220051, 225310, 220181, 220052, 225312,
            220210, 224690, 223761, 223762, 224642, 220277, 225664, 220621, 226537
        )
)

SELECT
    subject_id,
    stay_id,
    charttime,
    avg(number) FILTER (WHERE itemid = 220045) AS heart_rate,
    avg(number) FILTER (WHERE itemid IN (220179, 220050, 225309)) AS sbp,
    avg(number) FILTER (WHERE itemid IN (220180, 220051, 225310)) AS dbp,
    avg(number) FILTER (WHERE itemid IN (220181, 220052, 225312)) AS mbp,
    avg(number) FILTER (WHERE itemid = 220179) AS sbp_ni,
    avg(number) FILTER (WHERE itemid = 220180) AS dbp_ni,
    avg(number) FILTER (WHERE itemid = 220181) AS mbp_ni,
    avg(number) FILTER (WHERE itemid IN (220210, 224690)) AS resp_rate,
    -- Rounded twice: to three decimals, then to two.
    (avg(number) FILTER (WHERE itemid IN (223761, 223762)))::DECIMAL(18, 3)::DECIMAL(18, 2)
        AS temperature,
    max(value) FILTER (WHERE itemid = 224642) AS temperature_site,
    avg(number) FILTER (WHERE itemid = 220277) AS spo2,
    avg(number) FILTER (WHERE itemid IN (225664, 220621, 226537)) AS glucose
FROM charted
GROUP BY subject_id, stay_id, charttime
