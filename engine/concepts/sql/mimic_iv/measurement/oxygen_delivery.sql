-- purpose: Oxygen flow and up to four oxygen delivery devices charted at the same time.
-- grain: one row per patient and chart time at which an oxygen flow was charted
-- key: subject_id, charttime
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, storetime, itemid, value, valuenum)
-- deviations: Flows of one kind with the same storetime are undefined in the public code;
--   here the larger number wins, then the larger stay_id (nulls last).
WITH flow_charted AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        storetime,
        valuenum,
        itemid = 227287 AS is_additional -- 223834 and 227582 are both the main flow
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (223834, 227582, 227287) AND value IS NOT NULL
),

flow AS (
    SELECT *
    FROM flow_charted
    QUALIFY row_number() OVER (
        PARTITION BY subject_id, charttime, is_additional
        ORDER BY storetime DESC NULLS LAST, valuenum DESC NULLS LAST, stay_id DESC NULLS LAST
    ) = 1
),

device AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        value AS device,
        row_number() OVER (
            PARTITION BY subject_id, charttime
            ORDER BY value ASC NULLS FIRST, stay_id DESC NULLS LAST
        ) AS slot
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226732
)

-- A device without a flow at its time is lost: the public convention.
SELECT
    flow.subject_id,
    max(coalesce(flow.stay_id, device.stay_id)) AS stay_id,
    flow.charttime,
    max(flow.valuenum) FILTER (WHERE NOT flow.is_additional) AS o2_flow,
    max(flow.valuenum) FILTER (WHERE flow.is_additional) AS o2_flow_additional,
    max(device.device) FILTER (WHERE device.slot = 1) AS o2_delivery_device_1,
    max(device.device) FILTER (WHERE device.slot = 2) AS o2_delivery_device_2,
    max(device.device) FILTER (WHERE device.slot = 3) AS o2_delivery_device_3,
    max(device.device) FILTER (WHERE device.slot = 4) AS o2_delivery_device_4
FROM flow
LEFT JOIN device ON flow.subject_id = device.subject_id AND flow.charttime = device.charttime
GROUP BY flow.subject_id, flow.charttime
