-- purpose: Episodes of equal respiratory support, from devices and ventilator modes.
-- grain: one row per episode of at least two chart times
-- key: stay_id, starttime
-- reads:
--   mimiciv_derived.ventilator_setting (
--     stay_id, charttime, ventilator_mode, ventilator_mode_hamilton)
--   mimiciv_derived.oxygen_delivery (stay_id, charttime, o2_delivery_device_1)
-- deviations: none
WITH chart_time AS (
    SELECT
        stay_id,
        charttime
    FROM mimiciv_derived.ventilator_setting
    UNION
    SELECT
        stay_id,
        charttime
    FROM mimiciv_derived.oxygen_delivery
),

classified AS (
    SELECT
        ct.stay_id,
        ct.charttime,
        -- The first match decides. Some device texts end in a space.
        CASE
            WHEN od.o2_delivery_device_1 IN ('Tracheostomy tube', 'Trach mask ')
                THEN 'Tracheostomy'
            WHEN
                od.o2_delivery_device_1 = 'Endotracheal tube'
                OR vs.ventilator_mode IN (
                    '(S) CMV',
                    'APRV',
                    'APRV/Biphasic+ApnPress',
                    'APRV/Biphasic+ApnVol',
                    'APV (cmv)',
                    'Ambient',
                    'Apnea Ventilation',
                    'CMV',
                    'CMV/ASSIST',
                    'CMV/ASSIST/AutoFlow',
                    'CMV/AutoFlow',
                    'CPAP/PPS',
                    'CPAP/PSV',
                    'CPAP/PSV+Apn TCPL',
                    'CPAP/PSV+ApnPres',
                    'CPAP/PSV+ApnVol',
                    'MMV',
                    'MMV/AutoFlow',
                    'MMV/PSV',
                    'MMV/PSV/AutoFlow',
                    'P-CMV',
                    'PCV+',
                    'PCV+/PSV',
                    'PCV+Assist',
                    'PRES/AC',
                    'PRVC/AC',
                    'PRVC/SIMV',
                    'PSV/SBT',
                    'SIMV',
                    'SIMV/AutoFlow',
                    'SIMV/PRES',
                    'SIMV/PSV',
                    'SIMV/PSV/AutoFlow',
                    'SIMV/VOL',
                    'SYNCHRON MASTER',
                    'SYNCHRON SLAVE',
                    'VOL/AC'
                )
                OR vs.ventilator_mode_hamilton IN (
                    'APRV',
                    'APV (cmv)',
                    'Ambient',
                    '(S) CMV',
                    'P-CMV',
                    'SIMV',
                    'APV (simv)',
                    'P-SIMV',
                    'VS',
                    'ASV'
                )
                THEN 'InvasiveVent'
            WHEN
                od.o2_delivery_device_1 IN ('Bipap mask ', 'CPAP mask ')
                OR vs.ventilator_mode_hamilton IN ('DuoPaP', 'NIV', 'NIV-ST')
                THEN 'NonInvasiveVent'
            WHEN od.o2_delivery_device_1 = 'High flow nasal cannula'
                THEN 'HFNC'
            WHEN
                od.o2_delivery_device_1 IN (
                    'Non-rebreather',
                    'Face tent',
                    'Aerosol-cool',
                    'Venti mask ',
                    'Medium conc mask ',
                    'Ultrasonic neb',
                    'Vapomist',
                    'Oxymizer',
                    'High flow neb',
                    'Nasal cannula'
                )
                THEN 'SupplementalOxygen'
            WHEN od.o2_delivery_device_1 = 'None'
                THEN 'None'
        END AS ventilation_status
    FROM chart_time AS ct
    LEFT JOIN mimiciv_derived.ventilator_setting AS vs
        ON ct.stay_id = vs.stay_id AND ct.charttime = vs.charttime
    LEFT JOIN mimiciv_derived.oxygen_delivery AS od
        ON ct.stay_id = od.stay_id AND ct.charttime = od.charttime
),

neighbours AS (
    SELECT
        stay_id,
        charttime,
        ventilation_status,
        lag(charttime) OVER by_time AS charttime_before,
        lag(ventilation_status) OVER by_time AS status_before,
        lead(charttime) OVER by_time AS charttime_after
    FROM classified
    WHERE ventilation_status IS NOT NULL
    WINDOW by_time AS (PARTITION BY stay_id ORDER BY charttime)
),

numbered AS (
    SELECT
        stay_id,
        charttime,
        ventilation_status,
        -- An episode lasts until the next classified time, unless that is 14 hours away.
        CASE
            WHEN charttime_after < charttime + INTERVAL 14 HOUR THEN charttime_after
            ELSE charttime
        END AS lasts_until,
        count(*) FILTER (
            WHERE
            status_before IS DISTINCT FROM ventilation_status
            OR charttime >= charttime_before + INTERVAL 14 HOUR
        ) OVER (PARTITION BY stay_id ORDER BY charttime) AS episode
    FROM neighbours
)

SELECT
    stay_id,
    min(charttime) AS starttime,
    max(lasts_until) AS endtime,
    max(ventilation_status) AS ventilation_status
FROM numbered
GROUP BY stay_id, episode
HAVING min(charttime) < max(charttime)
