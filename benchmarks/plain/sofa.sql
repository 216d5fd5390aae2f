-- What the hourly SOFA is scored from, as it is first written down: every hour of every stay
-- joined with all that was measured, by the bounds of the hour.
WITH grid AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        hourly.stay_id,
        hourly.hr,
        hourly.endtime - INTERVAL 1 HOUR AS starttime,
        hourly.endtime
    FROM mimiciv_derived.icustay_hourly AS hourly
    INNER JOIN mimiciv_icu.icustays AS stay ON hourly.stay_id = stay.stay_id
    WHERE hourly.hr >= 0
),

gas AS (
    SELECT
        grid.stay_id,
        grid.hr,
        min(if(vent.stay_id IS NULL, bg.pao2fio2ratio, NULL)) AS pao2fio2ratio_novent,
        min(if(vent.stay_id IS NULL, NULL, bg.pao2fio2ratio)) AS pao2fio2ratio_vent
    FROM grid
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            grid.subject_id = bg.subject_id
            AND grid.starttime < bg.charttime
            AND grid.endtime >= bg.charttime
            AND bg.specimen = 'ART.'
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON
            grid.stay_id = vent.stay_id
            AND vent.ventilation_status = 'InvasiveVent'
            AND bg.charttime >= vent.starttime
            AND bg.charttime <= vent.endtime
    GROUP BY grid.stay_id, grid.hr
),

pressure AS (
    SELECT
        grid.stay_id,
        grid.hr,
        min(vital.mbp) AS meanbp_min
    FROM grid
    INNER JOIN mimiciv_derived.vitalsign AS vital
        ON
            grid.stay_id = vital.stay_id
            AND grid.starttime < vital.charttime
            AND grid.endtime >= vital.charttime
    GROUP BY grid.stay_id, grid.hr
),

coma AS (
    SELECT
        grid.stay_id,
        grid.hr,
        min(gcs.gcs) AS gcs_min
    FROM grid
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON
            grid.stay_id = gcs.stay_id
            AND grid.starttime < gcs.charttime
            AND grid.endtime >= gcs.charttime
    GROUP BY grid.stay_id, grid.hr
),

urine AS (
    SELECT
        grid.stay_id,
        grid.hr,
        max(uo.urineoutput_24hr / uo.uo_tm_24hr * 24) AS uo_24hr
    FROM grid
    INNER JOIN mimiciv_derived.urine_output_rate AS uo
        ON
            grid.stay_id = uo.stay_id
            AND grid.starttime < uo.charttime
            AND grid.endtime >= uo.charttime
            AND uo.uo_tm_24hr >= 22
            AND uo.uo_tm_24hr <= 30
    GROUP BY grid.stay_id, grid.hr
),

bilirubin AS (
    SELECT
        grid.stay_id,
        grid.hr,
        max(lab.bilirubin_total) AS bilirubin_max
    FROM grid
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON
            grid.hadm_id = lab.hadm_id
            AND grid.starttime < lab.charttime
            AND grid.endtime >= lab.charttime
    GROUP BY grid.stay_id, grid.hr
),

creatinine AS (
    SELECT
        grid.stay_id,
        grid.hr,
        max(lab.creatinine) AS creatinine_max
    FROM grid
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON
            grid.hadm_id = lab.hadm_id
            AND grid.starttime < lab.charttime
            AND grid.endtime >= lab.charttime
    GROUP BY grid.stay_id, grid.hr
),

platelet AS (
    SELECT
        grid.stay_id,
        grid.hr,
        min(lab.platelet) AS platelet_min
    FROM grid
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON
            grid.hadm_id = lab.hadm_id
            AND grid.starttime < lab.charttime
            AND grid.endtime >= lab.charttime
    GROUP BY grid.stay_id, grid.hr
),

infusion AS (
    SELECT
        'epinephrine' AS drug,
        *
    FROM mimiciv_derived.epinephrine
    UNION ALL BY NAME
    SELECT
        'norepinephrine' AS drug,
        *
    FROM mimiciv_derived.norepinephrine
    UNION ALL BY NAME
    SELECT
        'dopamine' AS drug,
        *
    FROM mimiciv_derived.dopamine
    UNION ALL BY NAME
    SELECT
        'dobutamine' AS drug,
        *
    FROM mimiciv_derived.dobutamine
),

rate AS (
    SELECT
        grid.stay_id,
        grid.hr,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'epinephrine') AS rate_epinephrine,
        max(infusion.vaso_rate) FILTER (
            WHERE infusion.drug = 'norepinephrine'
        ) AS rate_norepinephrine,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'dopamine') AS rate_dopamine,
        max(infusion.vaso_rate) FILTER (WHERE infusion.drug = 'dobutamine') AS rate_dobutamine
    FROM grid
    INNER JOIN infusion
        ON
            grid.stay_id = infusion.stay_id
            AND grid.endtime > infusion.starttime
            AND grid.endtime <= infusion.endtime
    GROUP BY grid.stay_id, grid.hr
)

SELECT
    grid.stay_id,
    grid.hr,
    gas.pao2fio2ratio_novent,
    gas.pao2fio2ratio_vent,
    rate.rate_epinephrine,
    rate.rate_norepinephrine,
    rate.rate_dopamine,
    rate.rate_dobutamine,
    pressure.meanbp_min,
    coma.gcs_min,
    urine.uo_24hr,
    bilirubin.bilirubin_max,
    creatinine.creatinine_max,
    platelet.platelet_min
FROM grid
LEFT JOIN gas ON grid.stay_id = gas.stay_id AND grid.hr = gas.hr
LEFT JOIN rate ON grid.stay_id = rate.stay_id AND grid.hr = rate.hr
LEFT JOIN pressure ON grid.stay_id = pressure.stay_id AND grid.hr = pressure.hr
LEFT JOIN coma ON grid.stay_id = coma.stay_id AND grid.hr = coma.hr
LEFT JOIN urine ON grid.stay_id = urine.stay_id AND grid.hr = urine.hr
LEFT JOIN bilirubin ON grid.stay_id = bilirubin.stay_id AND grid.hr = bilirubin.hr
LEFT JOIN creatinine ON grid.stay_id = creatinine.stay_id AND grid.hr = creatinine.hr
LEFT JOIN platelet ON grid.stay_id = platelet.stay_id AND grid.hr = platelet.hr
