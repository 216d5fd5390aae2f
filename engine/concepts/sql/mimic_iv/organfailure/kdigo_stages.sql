-- purpose: Acute kidney injury stage at every time with creatinine, urine output or a CRRT mode.
-- grain: one row per ICU stay and time; one row without a time for a stay without creatinine
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_derived.kdigo_creatinine (stay_id, charttime, creat, creat_low_past_48hr,
--     creat_low_past_7day)
--   mimiciv_derived.kdigo_uo (stay_id, charttime, uo_rt_6hr, uo_rt_12hr, uo_rt_24hr, uo_tm_6hr,
--     uo_tm_12hr, uo_tm_24hr)
--   mimiciv_derived.crrt (stay_id, charttime, crrt_mode)
-- deviations: none of its own
WITH by_creatinine AS (
    SELECT
        stay_id,
        charttime,
        creat,
        creat_low_past_48hr,
        creat_low_past_7day,
        -- Plain floating point: 0.8 * 1.5 is a little more than 1.2, and that is kept. The
        -- constants are doubles, not decimals.
        CASE
            WHEN creat >= creat_low_past_7day * 3.0::DOUBLE THEN 3
            WHEN
                creat >= 4
                AND (creat_low_past_48hr <= 3.7 OR creat >= creat_low_past_7day * 1.5::DOUBLE)
                THEN 3
            WHEN creat >= creat_low_past_7day * 2.0::DOUBLE THEN 2
            WHEN creat >= creat_low_past_48hr + 0.3::DOUBLE THEN 1
            WHEN creat >= creat_low_past_7day * 1.5::DOUBLE THEN 1
            ELSE 0
        END AS stage
    FROM mimiciv_derived.kdigo_creatinine
),

by_urine AS (
    SELECT
        uo.stay_id,
        uo.charttime,
        uo.uo_rt_6hr,
        uo.uo_rt_12hr,
        uo.uo_rt_24hr,
        CASE
            WHEN uo.uo_rt_6hr IS NULL THEN NULL
            WHEN uo.charttime <= stay.intime + INTERVAL 6 HOURS THEN 0
            WHEN uo.uo_tm_24hr >= 24 AND uo.uo_rt_24hr < 0.3 THEN 3
            WHEN uo.uo_tm_12hr >= 12 AND uo.uo_rt_12hr = 0 THEN 3
            WHEN uo.uo_tm_12hr >= 12 AND uo.uo_rt_12hr < 0.5 THEN 2
            WHEN uo.uo_tm_6hr >= 6 AND uo.uo_rt_6hr < 0.5 THEN 1
            ELSE 0
        END AS stage
    FROM mimiciv_derived.kdigo_uo AS uo
    INNER JOIN mimiciv_icu.icustays AS stay ON uo.stay_id = stay.stay_id
),

by_crrt AS (
    SELECT
        stay_id,
        charttime,
        3 AS stage
    FROM mimiciv_derived.crrt
    WHERE crrt_mode IS NOT NULL
),

moment AS (
    SELECT
        stay_id,
        charttime
    FROM by_creatinine
    UNION
    SELECT
        stay_id,
        charttime
    FROM by_urine
    UNION
    SELECT
        stay_id,
        charttime
    FROM by_crrt
),

staged AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        stay.intime,
        moment.charttime,
        by_creatinine.creat_low_past_7day,
        by_creatinine.creat_low_past_48hr,
        by_creatinine.creat,
        by_creatinine.stage AS aki_stage_creat,
        by_urine.uo_rt_6hr,
        by_urine.uo_rt_12hr,
        by_urine.uo_rt_24hr,
        by_urine.stage AS aki_stage_uo,
        by_crrt.stage AS aki_stage_crrt,
        greatest(
            coalesce(by_creatinine.stage, 0),
            coalesce(by_urine.stage, 0),
            coalesce(by_crrt.stage, 0)
        ) AS aki_stage
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN moment ON stay.stay_id = moment.stay_id
    LEFT JOIN by_creatinine
        ON
            moment.stay_id = by_creatinine.stay_id
            AND moment.charttime = by_creatinine.charttime
    LEFT JOIN by_urine
        ON moment.stay_id = by_urine.stay_id AND moment.charttime = by_urine.charttime
    LEFT JOIN by_crrt
        ON moment.stay_id = by_crrt.stay_id AND moment.charttime = by_crrt.charttime
)

-- Smoothing runs over the patient, not the stay: rows of other stays at the same distance from
-- their own start take part.
SELECT
    subject_id,
    hadm_id,
    stay_id,
    charttime,
    creat_low_past_7day,
    creat_low_past_48hr,
    creat,
    aki_stage_creat,
    uo_rt_6hr,
    uo_rt_12hr,
    uo_rt_24hr,
    aki_stage_uo,
    aki_stage_crrt,
    aki_stage,
    max(aki_stage) OVER (
        PARTITION BY subject_id
        ORDER BY ((epoch_us(charttime) - epoch_us(intime)) / 1000000)::INTEGER
        RANGE BETWEEN 21600 PRECEDING AND CURRENT ROW
    ) AS aki_stage_smoothed
FROM staged
