-- purpose: Glasgow Coma Scale total and components at each charted time, components carried
--   forward from the row before.
-- grain: one row per stay and chart time with at least one component
-- key: subject_id, stay_id, charttime
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, itemid, value, valuenum)
-- deviations: none
WITH charted AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        max(valuenum) FILTER (WHERE itemid = 223901) AS motor,
        max(if(value = 'No Response-ETT', 0, valuenum)) FILTER (WHERE itemid = 223900) AS verbal,
        max(valuenum) FILTER (WHERE itemid = 220739) AS eyes,
        coalesce(max((itemid = 223900 AND value = 'No Response-ETT')::INTEGER), 0) AS unable
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (223901, 223900, 220739)
    GROUP BY subject_id, stay_id, charttime
),

numbered AS (
    SELECT
        *,
        -- The row before counts only when it is less than six hours old; rows without a stay
        -- have none.
        stay_id IS NOT NULL
        AND lag(charttime) OVER before > charttime - INTERVAL 6 HOURS AS has_previous,
        lag(motor) OVER before AS last_motor,
        lag(verbal) OVER before AS last_verbal,
        lag(eyes) OVER before AS last_eyes
    FROM charted
    WINDOW before AS (PARTITION BY stay_id ORDER BY charttime, subject_id)
),

carried AS (
    SELECT
        * EXCLUDE (last_motor, last_verbal, last_eyes),
        if(has_previous, last_motor, NULL) AS last_motor,
        if(has_previous, last_verbal, NULL) AS last_verbal,
        if(has_previous, last_eyes, NULL) AS last_eyes
    FROM numbered
)

SELECT
    subject_id,
    stay_id,
    charttime,
    CASE
        WHEN verbal = 0 THEN 15
        WHEN verbal IS NULL AND last_verbal = 0 THEN 15
        WHEN last_verbal = 0 THEN coalesce(motor, 6) + coalesce(verbal, 5) + coalesce(eyes, 4)
        ELSE
            coalesce(motor, last_motor, 6)
            + coalesce(verbal, last_verbal, 5)
            + coalesce(eyes, last_eyes, 4)
    END::DOUBLE AS gcs,
    coalesce(motor, last_motor) AS gcs_motor,
    coalesce(verbal, last_verbal) AS gcs_verbal,
    coalesce(eyes, last_eyes) AS gcs_eyes,
    unable AS gcs_unable
FROM carried
