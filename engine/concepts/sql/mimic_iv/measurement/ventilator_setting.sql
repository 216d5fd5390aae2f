-- purpose: Ventilator settings and measurements charted at the same time, side by side.
-- grain: one row per patient and chart time with at least one listed item
-- key: subject_id, charttime
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
        CASE
            -- Inspired oxygen: fractions become percent; what is neither becomes null.
            WHEN itemid = 223835 AND valuenum >= 0.20 AND valuenum <= 1 THEN valuenum * 100
            WHEN itemid = 223835 AND valuenum >= 20 AND valuenum <= 100 THEN valuenum
            WHEN itemid = 223835 THEN NULL
            WHEN itemid IN (220339, 224700) AND (valuenum > 100 OR valuenum < 0) THEN NULL
            ELSE valuenum
        END AS number
    FROM mimiciv_icu.chartevents
    WHERE
        value IS NOT NULL
        AND stay_id IS NOT NULL
        AND itemid IN (
            224688, 224689, 224690, 224687, 224684, 224685, 224686, 224696,
            220339, 224700, 223835, 224691, 223849, 229314, 223848
        )
)

SELECT
    subject_id,
    max(stay_id) AS stay_id,
    charttime,
    max(number) FILTER (WHERE itemid = 224688) AS respiratory_rate_set,
    max(number) FILTER (WHERE itemid = 224690) AS respiratory_rate_total,
    max(number) FILTER (WHERE itemid = 224689) AS respiratory_rate_spontaneous,
    max(number) FILTER (WHERE itemid = 224687) AS minute_volume,
    max(number) FILTER (WHERE itemid = 224684) AS tidal_volume_set,
    max(number) FILTER (WHERE itemid = 224685) AS tidal_volume_observed,
    max(number) FILTER (WHERE itemid = 224686) AS tidal_volume_spontaneous,
    max(number) FILTER (WHERE itemid = 224696) AS plateau_pressure,
    max(number) FILTER (WHERE itemid IN (220339, 224700)) AS peep,
    max(number) FILTER (WHERE itemid = 223835) AS fio2,
    max(number) FILTER (WHERE itemid = 224691) AS flow_rate,
    max(value) FILTER (WHERE itemid = 223849) AS ventilator_mode,
    max(value) FILTER (WHERE itemid = 229314) AS ventilator_mode_hamilton,
    max(value) FILTER (WHERE itemid = 223848) AS ventilator_type
FROM charted
GROUP BY subject_id, charttime
