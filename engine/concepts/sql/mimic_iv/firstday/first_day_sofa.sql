-- purpose: SOFA of the first ICU day (Vincent et al. 1996).
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_derived.bg (subject_id, charttime, pao2fio2ratio)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.epinephrine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.norepinephrine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.dopamine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.dobutamine (stay_id, starttime, vaso_rate)
--   mimiciv_derived.first_day_vitalsign (stay_id, mbp_min)
--   mimiciv_derived.first_day_lab (stay_id, creatinine_max, bilirubin_total_max, platelets_min)
--   mimiciv_derived.first_day_urine_output (stay_id, urineoutput)
--   mimiciv_derived.first_day_gcs (stay_id, gcs_min)
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
    INNER JOIN mimiciv_derived.bg AS bg -- of any specimen: the public convention
        ON
            time_window.subject_id = bg.subject_id
            AND time_window.starttime <= bg.charttime
            AND time_window.endtime >= bg.charttime
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
            -- No ventilated line here, unlike the hourly score.
            WHEN ratio.novent < 300 THEN 2
            WHEN ratio.novent < 400 THEN 1
            WHEN coalesce(ratio.vent, ratio.novent) IS NULL THEN NULL
            ELSE 0
        END AS respiration,
        CASE
            WHEN lab.platelets_min < 20 THEN 4
            WHEN lab.platelets_min < 50 THEN 3
            WHEN lab.platelets_min < 100 THEN 2
            WHEN lab.platelets_min < 150 THEN 1
            WHEN lab.platelets_min IS NULL THEN NULL
            ELSE 0
        END AS coagulation,
        CASE
            WHEN lab.bilirubin_total_max >= 12.0 THEN 4
            WHEN lab.bilirubin_total_max >= 6.0 THEN 3
            WHEN lab.bilirubin_total_max >= 2.0 THEN 2
            WHEN lab.bilirubin_total_max >= 1.2 THEN 1
            WHEN lab.bilirubin_total_max IS NULL THEN NULL
            ELSE 0
        END AS liver,
        CASE
            WHEN rate.dopamine > 15 OR rate.epinephrine > 0.1 OR rate.norepinephrine > 0.1 THEN 4
            WHEN rate.dopamine > 5 OR rate.epinephrine <= 0.1 OR rate.norepinephrine <= 0.1 THEN 3
            WHEN rate.dopamine > 0 OR rate.dobutamine > 0 THEN 2
            WHEN vital.mbp_min < 70 THEN 1
            WHEN
                coalesce(
                    vital.mbp_min, rate.dopamine, rate.dobutamine, rate.epinephrine,
                    rate.norepinephrine
                ) IS NULL
                THEN NULL
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN gcs.gcs_min >= 13 AND gcs.gcs_min <= 14 THEN 1
            WHEN gcs.gcs_min >= 10 AND gcs.gcs_min <= 12 THEN 2
            WHEN gcs.gcs_min >= 6 AND gcs.gcs_min <= 9 THEN 3
            WHEN gcs.gcs_min < 6 THEN 4
            WHEN gcs.gcs_min IS NULL THEN NULL
            ELSE 0
        END AS cns,
        CASE
            WHEN lab.creatinine_max >= 5.0 OR uo.urineoutput < 200 THEN 4
            WHEN
                (lab.creatinine_max >= 3.5 AND lab.creatinine_max < 5.0) OR uo.urineoutput < 500
                THEN 3
            WHEN lab.creatinine_max >= 2.0 AND lab.creatinine_max < 3.5 THEN 2
            WHEN lab.creatinine_max >= 1.2 AND lab.creatinine_max < 2.0 THEN 1
            WHEN coalesce(lab.creatinine_max, uo.urineoutput) IS NULL THEN NULL
            ELSE 0
        END AS renal
    FROM time_window
    LEFT JOIN rate ON time_window.stay_id = rate.stay_id
    LEFT JOIN ratio ON time_window.stay_id = ratio.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON time_window.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON time_window.stay_id = lab.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS uo ON time_window.stay_id = uo.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON time_window.stay_id = gcs.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    coalesce(respiration, 0)
    + coalesce(coagulation, 0)
    + coalesce(liver, 0)
    + coalesce(cardiovascular, 0)
    + coalesce(cns, 0)
    + coalesce(renal, 0) AS sofa,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal
FROM scored
