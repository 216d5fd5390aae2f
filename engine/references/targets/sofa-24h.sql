-- purpose: SOFA around the first ICU day from arterial gases; what is missing scores 0.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_derived.bg (subject_id, charttime, specimen, pao2fio2ratio)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.epinephrine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.norepinephrine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.dopamine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.dobutamine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.first_day_vitalsign (stay_id, mbp_min)
--   mimiciv_derived.first_day_sofa (stay_id, coagulation, liver, cns, renal)
-- deviations: none of its own
WITH time_window AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        intime - INTERVAL 6 HOURS AS starttime,
        intime + INTERVAL 24 HOURS AS endtime
    FROM mimiciv_icu.icustays
),

infusion AS (
    SELECT
        'epinephrine' AS drug,
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.epinephrine
    UNION ALL
    SELECT
        'norepinephrine' AS drug,
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.norepinephrine
    UNION ALL
    SELECT
        'dopamine' AS drug,
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.dopamine
    UNION ALL
    SELECT
        'dobutamine' AS drug,
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.dobutamine
),

-- What starts in the window counts, however long it runs.
rate AS (
    SELECT
        time_window.stay_id,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'epinephrine') AS epinephrine,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'norepinephrine') AS norepinephrine,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'dopamine') AS dopamine,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'dobutamine') AS dobutamine
    FROM time_window
    INNER JOIN infusion
        ON
            time_window.stay_id = infusion.stay_id
            AND time_window.starttime <= infusion.starttime
            AND time_window.endtime >= infusion.starttime
    GROUP BY time_window.stay_id
),

gas AS (
    SELECT
        time_window.stay_id,
        bg.pao2fio2ratio,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = time_window.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND bg.charttime >= vent.starttime
                AND bg.charttime <= vent.endtime
        ) AS is_ventilated
    FROM time_window
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            time_window.subject_id = bg.subject_id
            AND time_window.starttime <= bg.charttime
            AND time_window.endtime >= bg.charttime
    WHERE bg.specimen = 'ART.'
),

ratio AS (
    SELECT
        stay_id,
        min(pao2fio2ratio) FILTER (WHERE NOT is_ventilated) AS novent,
        min(pao2fio2ratio) FILTER (WHERE is_ventilated) AS vent
    FROM gas
    GROUP BY stay_id
),

scored AS (
    SELECT
        time_window.subject_id,
        time_window.hadm_id,
        time_window.stay_id,
        CASE
            WHEN ratio.vent < 100 THEN 4
            WHEN ratio.vent < 200 THEN 3
            WHEN ratio.novent < 300 THEN 2
            WHEN ratio.novent < 400 THEN 1
            ELSE 0
        END AS respiration,
        -- These four are those of the derived table.
        coalesce(sofa.coagulation, 0) AS coagulation,
        coalesce(sofa.liver, 0) AS liver,
        CASE
            WHEN rate.dopamine > 15 OR rate.epinephrine > 0.1 OR rate.norepinephrine > 0.1 THEN 4
            -- A rate of zero is no vasopressor here.
            WHEN rate.dopamine > 5 OR rate.epinephrine > 0 OR rate.norepinephrine > 0 THEN 3
            WHEN rate.dopamine > 0 OR rate.dobutamine > 0 THEN 2
            WHEN vital.mbp_min < 70 THEN 1
            ELSE 0
        END AS cardiovascular,
        coalesce(sofa.cns, 0) AS cns,
        coalesce(sofa.renal, 0) AS renal
    FROM time_window
    LEFT JOIN rate ON time_window.stay_id = rate.stay_id
    LEFT JOIN ratio ON time_window.stay_id = ratio.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON time_window.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_sofa AS sofa ON time_window.stay_id = sofa.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    respiration + coagulation + liver + cardiovascular + cns + renal AS sofa,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal
FROM scored
