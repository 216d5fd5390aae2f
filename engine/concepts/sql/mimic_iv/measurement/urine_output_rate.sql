-- purpose: Urine volume and rate over the trailing 6, 12 and 24 hours at each urine measurement.
-- grain: one row per stay and time of a urine measurement, for stays with a heart rate
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.icustays (stay_id, intime, outtime)
--   mimiciv_icu.chartevents (stay_id, charttime, itemid)
--   mimiciv_derived.urine_output (stay_id, charttime, urineoutput)
--   mimiciv_derived.weight_durations (stay_id, starttime, endtime, weight)
-- deviations: Sums of elapsed minutes that are no whole minutes may differ in the last binary
--   digit, with the order of addition.
WITH observed AS (
    SELECT
        stay.stay_id,
        min(hr.charttime) AS starttime
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_icu.chartevents AS hr
        ON
            stay.stay_id = hr.stay_id
            AND hr.itemid = 220045
            AND hr.charttime > stay.intime - INTERVAL 1 MONTH
            AND hr.charttime < stay.outtime + INTERVAL 1 MONTH
    GROUP BY stay.stay_id
),

measured AS (
    SELECT
        uo.stay_id,
        uo.charttime,
        uo.urineoutput AS uo,
        (
            epoch_us(uo.charttime)
            - epoch_us(
                coalesce(
                    lag(uo.charttime) OVER (PARTITION BY uo.stay_id ORDER BY uo.charttime),
                    observed.starttime
                )
            )
        ) / 60000000 AS minutes
    FROM mimiciv_derived.urine_output AS uo
    INNER JOIN observed ON uo.stay_id = observed.stay_id
),

-- Each volume stands for the hour before it, so a window of 6 hours looks back over 5. The
-- elapsed time of its oldest row counts whole.
summed AS (
    SELECT
        stay_id,
        charttime,
        uo,
        sum(uo) OVER last_6 AS urineoutput_6hr,
        sum(uo) OVER last_12 AS urineoutput_12hr,
        sum(uo) OVER last_24 AS urineoutput_24hr,
        sum(minutes) OVER last_6 / 60 AS hours_6,
        sum(minutes) OVER last_12 / 60 AS hours_12,
        sum(minutes) OVER last_24 / 60 AS hours_24
    FROM measured
    WINDOW
        last_6 AS (
            PARTITION BY stay_id ORDER BY charttime
            RANGE BETWEEN INTERVAL 5 HOURS PRECEDING AND CURRENT ROW
        ),
        last_12 AS (
            PARTITION BY stay_id ORDER BY charttime
            RANGE BETWEEN INTERVAL 11 HOURS PRECEDING AND CURRENT ROW
        ),
        last_24 AS (
            PARTITION BY stay_id ORDER BY charttime
            RANGE BETWEEN INTERVAL 23 HOURS PRECEDING AND CURRENT ROW
        )
)

SELECT
    summed.stay_id,
    summed.charttime,
    weight.weight,
    summed.uo,
    summed.urineoutput_6hr,
    summed.urineoutput_12hr,
    summed.urineoutput_24hr,
    -- What no decimal can hold becomes null: one absurd weight does not stop the build.
    try_cast(
        if(
            summed.hours_6 >= 6, summed.urineoutput_6hr / weight.weight / summed.hours_6, NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_mlkghr_6hr,
    try_cast(
        if(
            summed.hours_12 >= 12, summed.urineoutput_12hr / weight.weight / summed.hours_12, NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_mlkghr_12hr,
    try_cast(
        if(
            summed.hours_24 >= 24, summed.urineoutput_24hr / weight.weight / summed.hours_24, NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_mlkghr_24hr,
    -- Rounded twice: to three decimals, then to two.
    summed.hours_6::DECIMAL(18, 3)::DECIMAL(18, 2) AS uo_tm_6hr,
    summed.hours_12::DECIMAL(18, 3)::DECIMAL(18, 2) AS uo_tm_12hr,
    summed.hours_24::DECIMAL(18, 3)::DECIMAL(18, 2) AS uo_tm_24hr
FROM summed
LEFT JOIN mimiciv_derived.weight_durations AS weight
    ON
        summed.stay_id = weight.stay_id
        AND summed.charttime > weight.starttime
        AND summed.charttime <= weight.endtime
        AND weight.weight > 0
