-- urine_output_rate as it is first written down: the measurements joined with themselves.
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

summed AS (
    SELECT
        now.stay_id,
        now.charttime,
        max(now.uo) AS uo,
        sum(past.uo) FILTER (
            WHERE past.charttime >= now.charttime - INTERVAL 5 HOURS
        ) AS urineoutput_6hr,
        sum(past.uo) FILTER (
            WHERE past.charttime >= now.charttime - INTERVAL 11 HOURS
        ) AS urineoutput_12hr,
        sum(past.uo) AS urineoutput_24hr,
        sum(past.minutes) FILTER (
            WHERE past.charttime >= now.charttime - INTERVAL 5 HOURS
        ) / 60 AS hours_6,
        sum(past.minutes) FILTER (
            WHERE past.charttime >= now.charttime - INTERVAL 11 HOURS
        ) / 60 AS hours_12,
        sum(past.minutes) / 60 AS hours_24
    FROM measured AS now
    INNER JOIN measured AS past
        ON
            now.stay_id = past.stay_id
            AND now.charttime - INTERVAL 23 HOURS <= past.charttime
            AND now.charttime >= past.charttime
    GROUP BY now.stay_id, now.charttime
)

SELECT
    summed.stay_id,
    summed.charttime,
    weight.weight,
    summed.uo,
    summed.urineoutput_6hr,
    summed.urineoutput_12hr,
    summed.urineoutput_24hr,
    if(
        summed.hours_6 >= 6, summed.urineoutput_6hr / weight.weight / summed.hours_6, NULL
    )::DECIMAL(18, 3) AS uo_mlkghr_6hr,
    if(
        summed.hours_12 >= 12, summed.urineoutput_12hr / weight.weight / summed.hours_12, NULL
    )::DECIMAL(18, 3) AS uo_mlkghr_12hr,
    if(
        summed.hours_24 >= 24, summed.urineoutput_24hr / weight.weight / summed.hours_24, NULL
    )::DECIMAL(18, 3) AS uo_mlkghr_24hr,
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
