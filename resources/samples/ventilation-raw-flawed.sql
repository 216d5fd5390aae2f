-- Respiratory support episodes per ICU stay, from the base tables alone.
-- Flawed on purpose: an episode bears gaps of up to 16 hours, device texts are listed without
-- their trailing space, and single observations of a tracheostomy are counted.
WITH settings AS (
    -- One row per patient and minute with any ventilator setting; two modes: the last by name.
    SELECT
        max(stay_id) AS stay_id,
        charttime,
        max(value) FILTER (itemid = 223849) AS mode,
        max(value) FILTER (itemid = 229314) AS hamilton_mode
    FROM mimiciv_icu.chartevents
    WHERE
        itemid IN (
            220339, 223835, 223848, 223849, 224684, 224685, 224686, 224687, 224688, 224689,
            224690, 224691, 224696, 224700, 229314
        )
        AND value IS NOT NULL
        AND stay_id IS NOT NULL
    GROUP BY subject_id, charttime
),

-- A device counts only where an oxygen flow was charted at the same time: the latest entry of
-- each kind of flow.
flows AS (
    SELECT subject_id, stay_id, charttime
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (223834, 227582, 227287) AND value IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY subject_id, charttime, itemid = 227287
        ORDER BY storetime DESC NULLS LAST
    ) = 1
),

-- Of several devices the first by name; an empty entry comes before all.
devices AS (
    SELECT subject_id, stay_id, charttime, value AS device
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226732
    QUALIFY row_number() OVER (
        PARTITION BY subject_id, charttime ORDER BY value ASC NULLS FIRST
    ) = 1
),

oxygen AS (
    SELECT
        max(coalesce(flows.stay_id, devices.stay_id)) AS stay_id,
        flows.charttime,
        any_value(devices.device) AS device
    FROM flows
    LEFT JOIN devices USING (subject_id, charttime)
    GROUP BY flows.subject_id, flows.charttime
),

points AS (
    SELECT stay_id, charttime, mode, hamilton_mode, device
    FROM settings
    FULL JOIN oxygen USING (stay_id, charttime)
),

status AS (
    SELECT
        stay_id,
        charttime,
        CASE
            WHEN device IN ('Tracheostomy tube', 'Trach mask') THEN 'Tracheostomy'
            WHEN device = 'Endotracheal tube' OR mode IN (
                '(S) CMV', 'APRV', 'APRV/Biphasic+ApnPress', 'APRV/Biphasic+ApnVol', 'APV (cmv)',
                'Ambient', 'Apnea Ventilation', 'CMV', 'CMV/ASSIST', 'CMV/ASSIST/AutoFlow',
                'CMV/AutoFlow', 'CPAP/PPS', 'CPAP/PSV', 'CPAP/PSV+Apn TCPL', 'CPAP/PSV+ApnPres',
                'CPAP/PSV+ApnVol', 'MMV', 'MMV/AutoFlow', 'MMV/PSV', 'MMV/PSV/AutoFlow', 'P-CMV',
                'PCV+', 'PCV+/PSV', 'PCV+Assist', 'PRES/AC', 'PRVC/AC', 'PRVC/SIMV', 'PSV/SBT',
                'SIMV', 'SIMV/AutoFlow', 'SIMV/PRES', 'SIMV/PSV', 'SIMV/PSV/AutoFlow', 'SIMV/VOL',
                'SYNCHRON MASTER', 'SYNCHRON SLAVE', 'VOL/AC'
            ) OR hamilton_mode IN (
                'APRV', 'APV (cmv)', 'Ambient', '(S) CMV', 'P-CMV', 'SIMV', 'APV (simv)', 'P-SIMV',
                'VS', 'ASV'
            ) THEN 'InvasiveVent'
            WHEN device IN ('Bipap mask', 'CPAP mask')
                OR hamilton_mode IN ('DuoPaP', 'NIV', 'NIV-ST') THEN 'NonInvasiveVent'
            WHEN device = 'High flow nasal cannula' THEN 'HFNC'
            WHEN device IN (
                'Non-rebreather', 'Face tent', 'Aerosol-cool', 'Venti mask', 'Medium conc mask',
                'Ultrasonic neb', 'Vapomist', 'Oxymizer', 'High flow neb', 'Nasal cannula'
            ) THEN 'SupplementalOxygen'
            WHEN device = 'None' THEN 'None'
        END AS ventilation_status
    FROM points
),

-- Times without a status neither break nor extend an episode.
neighbours AS (
    SELECT
        *,
        lag(charttime) OVER stay AS time_before,
        lag(ventilation_status) OVER stay AS status_before,
        lead(charttime) OVER stay AS time_after
    FROM status
    WHERE ventilation_status IS NOT NULL
    WINDOW stay AS (PARTITION BY stay_id ORDER BY charttime)
),

numbered AS (
    SELECT
        *,
        sum(
            CASE
                WHEN status_before = ventilation_status
                    AND charttime < time_before + INTERVAL 16 HOUR THEN 0
                ELSE 1
            END
        ) OVER (PARTITION BY stay_id ORDER BY charttime) AS episode
    FROM neighbours
),

episodes AS (
    SELECT
        stay_id,
        min(charttime) AS starttime,
        -- An episode lasts until the next state is seen, unless that is 16 hours away.
        max(
            CASE
                WHEN time_after < charttime + INTERVAL 16 HOUR THEN time_after
                ELSE charttime
            END
        ) AS endtime,
        any_value(ventilation_status) AS ventilation_status
    FROM numbered
    GROUP BY stay_id, episode
    HAVING min(charttime) < max(charttime) OR any_value(ventilation_status) = 'Tracheostomy'
)

SELECT
    stay_id,
    row_number() OVER (PARTITION BY stay_id ORDER BY starttime) AS ventilation_seq,
    starttime,
    endtime,
    ventilation_status
FROM episodes
ORDER BY stay_id, ventilation_seq;
