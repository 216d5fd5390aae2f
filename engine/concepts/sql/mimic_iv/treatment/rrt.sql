-- purpose: Times at which renal replacement therapy or its equipment is documented, with an
--   activity flag and a type.
-- grain: one row per documented time and treatment range that covers it (or none)
-- key: none
-- reads:
--   mimiciv_icu.chartevents (stay_id, charttime, itemid, value)
--   mimiciv_icu.inputevents (stay_id, starttime, endtime, itemid, amount)
--   mimiciv_icu.procedureevents (stay_id, starttime, endtime, itemid, value)
-- deviations: none
WITH charted AS (
    SELECT DISTINCT
        stay_id,
        charttime,
        1 AS dialysis_present,
        CASE
            WHEN
                itemid IN (
                    226499, 224154, 225183, 227438, 224191, 225806, 225807, 228004, 228005,
                    228006, 224144, 224145, 224153, 226457
                ) THEN 1
            WHEN itemid = 225965 AND value = 'In use' THEN 1
            ELSE 0
        END AS dialysis_active,
        CASE
            WHEN itemid = 226499 THEN 'IHD'
            WHEN itemid = 227290 THEN value
            WHEN
                itemid IN (
                    225810, 225959, 227639, 225806, 225807, 225951, 225952, 225953, 225961,
                    225963, 225965, 227638, 227640
                ) THEN 'Peritoneal'
        END AS dialysis_type
    FROM mimiciv_icu.chartevents
    WHERE
        value IS NOT NULL
        AND itemid IN (
            226118, 227357, 225725, 226499, 224154, 225810, 225959, 227639, 225183, 227438,
            224191, 225806, 225807, 228004, 228005, 228006, 224144, 224145, 224149, 224150,
            224151, 224152, 224153, 224404, 224406, 226457, 224135, 224139, 224146, 225323,
            225740, 225776, 225951, 225952, 225953, 225954, 225956, 225958, 225961, 225963,
            225965, 225976, 225977, 227124, 227290, 227638, 227640, 227753
        )
),

treatment AS (
    -- Potassium and calcium for the circuit.
    SELECT
        stay_id,
        starttime,
        endtime,
        1 AS dialysis_present,
        1 AS dialysis_active,
        'CRRT' AS dialysis_type
    FROM mimiciv_icu.inputevents
    WHERE itemid IN (227536, 227525) AND amount > 0
    UNION
    SELECT
        stay_id,
        starttime,
        endtime,
        1 AS dialysis_present,
        if(itemid IN (224270, 225436), 0, 1) AS dialysis_active,
        CASE itemid
            WHEN 225441 THEN 'IHD'
            WHEN 225802 THEN 'CRRT'
            WHEN 225803 THEN 'CVVHD'
            WHEN 225805 THEN 'Peritoneal'
            WHEN 225809 THEN 'CVVHDF'
            WHEN 225955 THEN 'SCUF'
        END AS dialysis_type
    FROM mimiciv_icu.procedureevents
    WHERE
        itemid IN (225441, 225802, 225803, 225805, 225809, 225955, 224270, 225436)
        AND value IS NOT NULL
),

point AS (
    SELECT
        stay_id,
        charttime,
        dialysis_present,
        dialysis_active,
        dialysis_type
    FROM charted
    UNION
    SELECT
        stay_id,
        starttime AS charttime,
        dialysis_present,
        dialysis_active,
        dialysis_type
    FROM treatment
)

-- The covering range speaks, also where it is only a catheter: the public convention.
SELECT
    point.stay_id,
    point.charttime,
    coalesce(treatment.dialysis_present, point.dialysis_present) AS dialysis_present,
    coalesce(treatment.dialysis_active, point.dialysis_active) AS dialysis_active,
    coalesce(treatment.dialysis_type, point.dialysis_type) AS dialysis_type
FROM point
LEFT JOIN treatment
    ON
        point.stay_id = treatment.stay_id
        AND point.charttime >= treatment.starttime
        AND point.charttime <= treatment.endtime
