-- purpose: Creatinine around each ICU stay, with the lowest earlier value of 48 hours and 7 days.
-- grain: one row per ICU stay and lab time; one row of nulls for a stay without any
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime, outtime)
--   mimiciv_hosp.labevents (subject_id, itemid, charttime, valuenum)
-- deviations: The mean of three or more values at one time may differ in its last binary digit.
WITH creatinine AS (
    SELECT
        subject_id,
        charttime,
        valuenum
    FROM mimiciv_hosp.labevents
    WHERE itemid = 50912 AND valuenum <= 150
),

series AS (
    SELECT
        stay.hadm_id,
        stay.stay_id,
        creatinine.charttime,
        avg(creatinine.valuenum) AS creat
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN creatinine
        ON
            stay.subject_id = creatinine.subject_id
            AND creatinine.charttime >= stay.intime - INTERVAL 7 DAYS
            AND stay.outtime >= creatinine.charttime
    GROUP BY stay.hadm_id, stay.stay_id, creatinine.charttime
)

SELECT
    hadm_id,
    stay_id,
    charttime,
    creat,
    min(creat) OVER (
        PARTITION BY stay_id ORDER BY charttime
        RANGE BETWEEN INTERVAL 48 HOURS PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW
    ) AS creat_low_past_48hr,
    min(creat) OVER (
        PARTITION BY stay_id ORDER BY charttime
        RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW
    ) AS creat_low_past_7day
FROM series
