-- purpose: SOFA for every hour of an ICU stay: six organ systems, the hour itself and the worst of
--   the last 24 hours (Vincent et al. 1996).
-- grain: one row per ICU stay and hour from the first charted heart rate
-- key: stay_id, hr
-- reads:
--   mimiciv_derived.icustay_hourly (stay_id, hr, endtime)
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id)
--   mimiciv_derived.bg (subject_id, charttime, specimen, pao2fio2ratio)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.vitalsign (stay_id, charttime, mbp)
--   mimiciv_derived.gcs (stay_id, charttime, gcs)
--   mimiciv_derived.enzyme (hadm_id, charttime, bilirubin_total)
--   mimiciv_derived.chemistry (hadm_id, charttime, creatinine)
--   mimiciv_derived.complete_blood_count (hadm_id, charttime, platelet)
--   mimiciv_derived.urine_output_rate (stay_id, charttime, urineoutput_24hr, uo_tm_24hr)
--   mimiciv_derived.epinephrine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.norepinephrine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.dopamine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.dobutamine (stay_id, starttime, endtime, vaso_rate)
-- deviations: none of its own
WITH grid AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        hourly.stay_id,
        hourly.hr,
        hourly.endtime
    FROM mimiciv_derived.icustay_hourly AS hourly
    INNER JOIN mimiciv_icu.icustays AS stay ON hourly.stay_id = stay.stay_id
),

-- The end of hour 0. A time t belongs to hour ceil((t - base) / 1 h): an hour holds what is
-- strictly after its start, up to and including its end.
stay_base AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        epoch_us(min(endtime)) - min(hr) * 3600000000 AS base,
        min(hr) AS first_hr,
        max(hr) AS last_hr
    FROM grid
    GROUP BY subject_id, hadm_id, stay_id
),

gas AS (
    SELECT
        stay_base.stay_id,
        ceil((epoch_us(bg.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        bg.pao2fio2ratio,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay_base.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND bg.charttime >= vent.starttime
                AND bg.charttime <= vent.endtime
        ) AS is_ventilated
    FROM stay_base
    INNER JOIN mimiciv_derived.bg AS bg ON stay_base.subject_id = bg.subject_id
    WHERE bg.specimen = 'ART.'
),

gas_of_hour AS (
    SELECT
        stay_id,
        hr,
        min(pao2fio2ratio) FILTER (WHERE NOT is_ventilated) AS pao2fio2ratio_novent,
        min(pao2fio2ratio) FILTER (WHERE is_ventilated) AS pao2fio2ratio_vent
    FROM gas
    GROUP BY stay_id, hr
),

pressure_of_hour AS (
    SELECT
        vital.stay_id,
        ceil((epoch_us(vital.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        min(vital.mbp) AS meanbp_min
    FROM mimiciv_derived.vitalsign AS vital
    INNER JOIN stay_base ON vital.stay_id = stay_base.stay_id
    GROUP BY vital.stay_id, hr
),

gcs_of_hour AS (
    SELECT
        gcs.stay_id,
        ceil((epoch_us(gcs.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        min(gcs.gcs) AS gcs_min
    FROM mimiciv_derived.gcs AS gcs
    INNER JOIN stay_base ON gcs.stay_id = stay_base.stay_id
    GROUP BY gcs.stay_id, hr
),

bilirubin_of_hour AS (
    SELECT
        stay_base.stay_id,
        ceil((epoch_us(lab.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        max(lab.bilirubin_total) AS bilirubin_max
    FROM mimiciv_derived.enzyme AS lab
    INNER JOIN stay_base ON lab.hadm_id = stay_base.hadm_id
    GROUP BY stay_base.stay_id, hr
),

creatinine_of_hour AS (
    SELECT
        stay_base.stay_id,
        ceil((epoch_us(lab.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        max(lab.creatinine) AS creatinine_max
    FROM mimiciv_derived.chemistry AS lab
    INNER JOIN stay_base ON lab.hadm_id = stay_base.hadm_id
    GROUP BY stay_base.stay_id, hr
),

platelet_of_hour AS (
    SELECT
        stay_base.stay_id,
        ceil((epoch_us(lab.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        min(lab.platelet) AS platelet_min
    FROM mimiciv_derived.complete_blood_count AS lab
    INNER JOIN stay_base ON lab.hadm_id = stay_base.hadm_id
    GROUP BY stay_base.stay_id, hr
),

-- Scaled to a day, where 22 to 30 hours were observed.
urine_of_hour AS (
    SELECT
        uo.stay_id,
        ceil((epoch_us(uo.charttime) - stay_base.base) / 3600000000)::BIGINT AS hr,
        max(uo.urineoutput_24hr / uo.uo_tm_24hr * 24) AS uo_24hr
    FROM mimiciv_derived.urine_output_rate AS uo
    INNER JOIN stay_base ON uo.stay_id = stay_base.stay_id
    WHERE uo.uo_tm_24hr >= 22 AND uo.uo_tm_24hr <= 30
    GROUP BY uo.stay_id, hr
),

infusion AS (
    SELECT
        'epinephrine' AS drug,
        stay_id,
        starttime,
        endtime,
        vaso_rate
    FROM mimiciv_derived.epinephrine
    UNION ALL
    SELECT
        'norepinephrine' AS drug,
        stay_id,
        starttime,
        endtime,
        vaso_rate
    FROM mimiciv_derived.norepinephrine
    UNION ALL
    SELECT
        'dopamine' AS drug,
        stay_id,
        starttime,
        endtime,
        vaso_rate
    FROM mimiciv_derived.dopamine
    UNION ALL
    SELECT
        'dobutamine' AS drug,
        stay_id,
        starttime,
        endtime,
        vaso_rate
    FROM mimiciv_derived.dobutamine
),

-- Sampled at the end of each hour: running if it starts before and ends then or later.
running AS (
    SELECT
        infusion.drug,
        infusion.stay_id,
        infusion.vaso_rate,
        unnest(
            range(
                greatest(
                    floor((epoch_us(infusion.starttime) - stay_base.base) / 3600000000)::BIGINT + 1,
                    stay_base.first_hr
                ),
                least(
                    floor((epoch_us(infusion.endtime) - stay_base.base) / 3600000000)::BIGINT,
                    stay_base.last_hr
                )
                + 1
            )
        ) AS hr
    FROM infusion
    INNER JOIN stay_base ON infusion.stay_id = stay_base.stay_id
    WHERE
        infusion.vaso_rate IS NOT NULL
        AND infusion.starttime IS NOT NULL
        AND infusion.endtime IS NOT NULL
),

rate_of_hour AS (
    SELECT
        stay_id,
        hr,
        max(vaso_rate) FILTER (WHERE drug = 'epinephrine') AS rate_epinephrine,
        max(vaso_rate) FILTER (WHERE drug = 'norepinephrine') AS rate_norepinephrine,
        max(vaso_rate) FILTER (WHERE drug = 'dopamine') AS rate_dopamine,
        max(vaso_rate) FILTER (WHERE drug = 'dobutamine') AS rate_dobutamine
    FROM running
    GROUP BY stay_id, hr
),

measured AS (
    SELECT
        grid.stay_id,
        grid.hr,
        grid.endtime - INTERVAL 1 HOUR AS starttime,
        grid.endtime,
        gas_of_hour.pao2fio2ratio_novent,
        gas_of_hour.pao2fio2ratio_vent,
        rate_of_hour.rate_epinephrine,
        rate_of_hour.rate_norepinephrine,
        rate_of_hour.rate_dopamine,
        rate_of_hour.rate_dobutamine,
        pressure_of_hour.meanbp_min,
        gcs_of_hour.gcs_min,
        urine_of_hour.uo_24hr,
        bilirubin_of_hour.bilirubin_max,
        creatinine_of_hour.creatinine_max,
        platelet_of_hour.platelet_min
    FROM grid
    LEFT JOIN gas_of_hour ON grid.stay_id = gas_of_hour.stay_id AND grid.hr = gas_of_hour.hr
    LEFT JOIN rate_of_hour ON grid.stay_id = rate_of_hour.stay_id AND grid.hr = rate_of_hour.hr
    LEFT JOIN pressure_of_hour
        ON grid.stay_id = pressure_of_hour.stay_id AND grid.hr = pressure_of_hour.hr
    LEFT JOIN gcs_of_hour ON grid.stay_id = gcs_of_hour.stay_id AND grid.hr = gcs_of_hour.hr
    LEFT JOIN urine_of_hour ON grid.stay_id = urine_of_hour.stay_id AND grid.hr = urine_of_hour.hr
    LEFT JOIN bilirubin_of_hour
        ON grid.stay_id = bilirubin_of_hour.stay_id AND grid.hr = bilirubin_of_hour.hr
    LEFT JOIN creatinine_of_hour
        ON grid.stay_id = creatinine_of_hour.stay_id AND grid.hr = creatinine_of_hour.hr
    LEFT JOIN platelet_of_hour
        ON grid.stay_id = platelet_of_hour.stay_id AND grid.hr = platelet_of_hour.hr
),

scored AS (
    SELECT
        *,
        CASE
            WHEN pao2fio2ratio_vent < 100 THEN 4
            WHEN pao2fio2ratio_vent < 200 THEN 3
            WHEN pao2fio2ratio_novent < 300 OR pao2fio2ratio_vent < 300 THEN 2
            WHEN pao2fio2ratio_novent < 400 OR pao2fio2ratio_vent < 400 THEN 1
            WHEN coalesce(pao2fio2ratio_vent, pao2fio2ratio_novent) IS NULL THEN NULL
            ELSE 0
        END AS respiration,
        CASE
            WHEN platelet_min < 20 THEN 4
            WHEN platelet_min < 50 THEN 3
            WHEN platelet_min < 100 THEN 2
            WHEN platelet_min < 150 THEN 1
            WHEN platelet_min IS NULL THEN NULL
            ELSE 0
        END AS coagulation,
        CASE
            WHEN bilirubin_max >= 12.0 THEN 4
            WHEN bilirubin_max >= 6.0 THEN 3
            WHEN bilirubin_max >= 2.0 THEN 2
            WHEN bilirubin_max >= 1.2 THEN 1
            WHEN bilirubin_max IS NULL THEN NULL
            ELSE 0
        END AS liver,
        CASE
            WHEN rate_dopamine > 15 OR rate_epinephrine > 0.1 OR rate_norepinephrine > 0.1 THEN 4
            WHEN rate_dopamine > 5 OR rate_epinephrine <= 0.1 OR rate_norepinephrine <= 0.1 THEN 3
            WHEN rate_dopamine > 0 OR rate_dobutamine > 0 THEN 2
            WHEN meanbp_min < 70 THEN 1
            WHEN
                coalesce(
                    meanbp_min, rate_dopamine, rate_dobutamine, rate_epinephrine,
                    rate_norepinephrine
                ) IS NULL
                THEN NULL
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN gcs_min >= 13 AND gcs_min <= 14 THEN 1
            WHEN gcs_min >= 10 AND gcs_min <= 12 THEN 2
            WHEN gcs_min >= 6 AND gcs_min <= 9 THEN 3
            WHEN gcs_min < 6 THEN 4
            WHEN gcs_min IS NULL THEN NULL
            ELSE 0
        END AS cns,
        CASE
            WHEN creatinine_max >= 5.0 OR uo_24hr < 200 THEN 4
            WHEN (creatinine_max >= 3.5 AND creatinine_max < 5.0) OR uo_24hr < 500 THEN 3
            WHEN creatinine_max >= 2.0 AND creatinine_max < 3.5 THEN 2
            WHEN creatinine_max >= 1.2 AND creatinine_max < 2.0 THEN 1
            WHEN coalesce(creatinine_max, uo_24hr) IS NULL THEN NULL
            ELSE 0
        END AS renal
    FROM measured
),

-- The hours before the stay take part in what is seen later.
rolled AS (
    SELECT
        *,
        coalesce(max(respiration) OVER last_day, 0) AS respiration_24hours,
        coalesce(max(coagulation) OVER last_day, 0) AS coagulation_24hours,
        coalesce(max(liver) OVER last_day, 0) AS liver_24hours,
        coalesce(max(cardiovascular) OVER last_day, 0) AS cardiovascular_24hours,
        coalesce(max(cns) OVER last_day, 0) AS cns_24hours,
        coalesce(max(renal) OVER last_day, 0) AS renal_24hours
    FROM scored
    WINDOW last_day AS (
        PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW
    )
)

SELECT
    stay_id,
    hr,
    starttime,
    endtime,
    pao2fio2ratio_novent,
    pao2fio2ratio_vent,
    rate_epinephrine,
    rate_norepinephrine,
    rate_dopamine,
    rate_dobutamine,
    meanbp_min,
    gcs_min,
    uo_24hr,
    bilirubin_max,
    creatinine_max,
    platelet_min,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal,
    respiration_24hours,
    coagulation_24hours,
    liver_24hours,
    cardiovascular_24hours,
    cns_24hours,
    renal_24hours,
    respiration_24hours
    + coagulation_24hours
    + liver_24hours
    + cardiovascular_24hours
    + cns_24hours
    + renal_24hours AS sofa_24hours
FROM rolled
WHERE hr >= 0
