-- purpose: Urine volume, observed hours and rate over the trailing 6, 12 and 24 hours, for staging.
-- grain: one row per stay and time of a urine record
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.icustays (stay_id, intime)
--   mimiciv_derived.urine_output (stay_id, charttime, urineoutput)
--   mimiciv_derived.weight_durations (stay_id, starttime, endtime, weight)
-- deviations: Sums of hours that are no binary fractions may differ in the last binary digit, with
--   the order of addition.
WITH measured AS (
    SELECT
        uo.stay_id,
        uo.charttime,
        uo.urineoutput,
        ((epoch_us(uo.charttime) - epoch_us(stay.intime)) / 1000000)::INTEGER AS seconds,
        -- The first record of a stay is credited one hour.
        coalesce(
            (
                epoch_us(uo.charttime)
                - epoch_us(lag(uo.charttime) OVER (PARTITION BY uo.stay_id ORDER BY uo.charttime))
            ) / 1000000 / 3600,
            1
        ) AS hours
    FROM mimiciv_derived.urine_output AS uo
    INNER JOIN mimiciv_icu.icustays AS stay ON uo.stay_id = stay.stay_id
),

summed AS (
    SELECT
        stay_id,
        charttime,
        sum(urineoutput) OVER last_6 AS urineoutput_6hr,
        sum(urineoutput) OVER last_12 AS urineoutput_12hr,
        sum(urineoutput) OVER last_24 AS urineoutput_24hr,
        sum(hours) OVER last_6 AS uo_tm_6hr,
        sum(hours) OVER last_12 AS uo_tm_12hr,
        sum(hours) OVER last_24 AS uo_tm_24hr
    FROM measured
    WINDOW
        last_6 AS (
            PARTITION BY stay_id ORDER BY seconds
            RANGE BETWEEN 21600 PRECEDING AND CURRENT ROW
        ),
        last_12 AS (
            PARTITION BY stay_id ORDER BY seconds
            RANGE BETWEEN 43200 PRECEDING AND CURRENT ROW
        ),
        last_24 AS (
            PARTITION BY stay_id ORDER BY seconds
            RANGE BETWEEN 86400 PRECEDING AND CURRENT ROW
        )
)

SELECT
    summed.stay_id,
    summed.charttime,
    weight.weight,
    summed.urineoutput_6hr,
    summed.urineoutput_12hr,
    summed.urineoutput_24hr,
    -- What no decimal can hold becomes null: one absurd weight does not stop the build.
    try_cast(
        if(
            summed.uo_tm_6hr >= 6 AND summed.uo_tm_6hr < 12,
            summed.urineoutput_6hr / weight.weight / summed.uo_tm_6hr,
            NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_rt_6hr,
    try_cast(
        if(
            summed.uo_tm_12hr >= 12,
            summed.urineoutput_12hr / weight.weight / summed.uo_tm_12hr,
            NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_rt_12hr,
    try_cast(
        if(
            summed.uo_tm_24hr >= 24,
            summed.urineoutput_24hr / weight.weight / summed.uo_tm_24hr,
            NULL
        ) AS DECIMAL(18, 3)
    ) AS uo_rt_24hr,
    summed.uo_tm_6hr,
    summed.uo_tm_12hr,
    summed.uo_tm_24hr
FROM summed
LEFT JOIN mimiciv_derived.weight_durations AS weight
    ON
        summed.stay_id = weight.stay_id
        AND summed.charttime >= weight.starttime
        AND summed.charttime < weight.endtime
