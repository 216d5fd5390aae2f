-- purpose: Acute Physiology Score III of the first ICU day, with the probability of hospital death
--   (Knaus et al. 1991).
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime, outtime)
--   mimiciv_hosp.admissions (hadm_id)
--   mimiciv_hosp.patients (subject_id)
--   mimiciv_hosp.diagnoses_icd (hadm_id, icd_code, icd_version)
--   mimiciv_derived.bg (hadm_id, charttime, specimen, po2, pco2, ph, fio2, fio2_chartevents, aado2)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.first_day_vitalsign (stay_id, heart_rate_min, heart_rate_max, mbp_min, mbp_max,
--     temperature_min, temperature_max, resp_rate_min, resp_rate_max, glucose_min, glucose_max)
--   mimiciv_derived.first_day_lab (stay_id, hematocrit_min, hematocrit_max, wbc_min, wbc_max,
--     creatinine_min, creatinine_max, bun_max, sodium_min, sodium_max, albumin_min, albumin_max,
--     bilirubin_total_max, glucose_min, glucose_max)
--   mimiciv_derived.first_day_urine_output (stay_id, urineoutput)
--   mimiciv_derived.first_day_gcs (stay_id, gcs_motor, gcs_verbal, gcs_eyes, gcs_unable)
-- deviations: none of its own; first_day_gcs chooses among rows with the same lowest total
WITH gas AS (
    SELECT
        stay.stay_id,
        bg.po2,
        bg.pco2,
        bg.ph,
        bg.aado2,
        coalesce(bg.fio2, bg.fio2_chartevents) AS fio2,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND bg.charttime >= vent.starttime
                AND bg.charttime <= vent.endtime
        ) AS is_ventilated
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.bg AS bg -- over the whole stay: the public convention
        ON
            stay.hadm_id = bg.hadm_id
            AND stay.intime <= bg.charttime
            AND stay.outtime > bg.charttime
    WHERE bg.specimen = 'ART.'
),

oxygenation AS (
    SELECT
        stay_id,
        max(po2) FILTER (WHERE NOT is_ventilated AND coalesce(fio2, 21) < 50) AS po2,
        max(aado2) FILTER (WHERE is_ventilated AND fio2 >= 50) AS aado2,
        max(
            CASE
                WHEN ph IS NULL OR pco2 IS NULL THEN NULL
                WHEN ph < 7.20 THEN if(pco2 < 50, 12, 4)
                WHEN ph < 7.30
                    THEN
                        CASE
                            WHEN pco2 < 30 THEN 9 WHEN pco2 < 40 THEN 6 WHEN pco2 < 50 THEN 3 ELSE 2
                        END
                WHEN ph < 7.35
                    THEN CASE WHEN pco2 < 30 THEN 9 WHEN pco2 < 45 THEN 0 ELSE 1 END
                WHEN ph < 7.45
                    THEN CASE WHEN pco2 < 30 THEN 5 WHEN pco2 < 45 THEN 0 ELSE 1 END
                WHEN ph < 7.50
                    THEN
                        CASE
                            WHEN pco2 < 30 THEN 5 WHEN pco2 < 35 THEN 0 WHEN pco2 < 45 THEN 2 ELSE
                                12
                        END
                WHEN ph < 7.60 THEN if(pco2 < 40, 3, 12)
                WHEN pco2 < 25 THEN 0
                WHEN pco2 < 40 THEN 3
                ELSE 12
            END
        ) AS acidbase_score
    FROM gas
    GROUP BY stay_id
),

diagnosed AS (
    SELECT
        hadm_id,
        max(
            -- A diagnosis without a code is one all the same.
            CASE
                WHEN icd_version = 9 AND left(icd_code, 4) IN ('5854', '5855', '5856') THEN 1
                WHEN icd_version = 10 AND left(icd_code, 4) IN ('N184', 'N185', 'N186') THEN 1
                ELSE 0
            END
        ) AS has_ckd
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

cohort AS (
    SELECT
        stay.stay_id,
        vital.heart_rate_min,
        vital.heart_rate_max,
        vital.mbp_min,
        vital.mbp_max,
        vital.temperature_min,
        vital.temperature_max,
        vital.resp_rate_min,
        vital.resp_rate_max,
        lab.hematocrit_min,
        lab.hematocrit_max,
        lab.wbc_min,
        lab.wbc_max,
        lab.creatinine_min,
        lab.creatinine_max,
        lab.bun_max,
        lab.sodium_min,
        lab.sodium_max,
        lab.albumin_min,
        lab.albumin_max,
        lab.bilirubin_total_max,
        least(
            coalesce(lab.glucose_min, vital.glucose_min),
            coalesce(vital.glucose_min, lab.glucose_min)
        ) AS glucose_min,
        greatest(
            coalesce(lab.glucose_max, vital.glucose_max),
            coalesce(vital.glucose_max, lab.glucose_max)
        ) AS glucose_max,
        uo.urineoutput,
        gcs.gcs_motor,
        gcs.gcs_verbal,
        gcs.gcs_eyes,
        gcs.gcs_unable,
        oxygenation.po2,
        oxygenation.aado2,
        oxygenation.acidbase_score,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND vent.starttime <= stay.intime + INTERVAL 24 HOURS
                AND vent.endtime >= stay.intime
        ) AS is_ventilated,
        -- Acute renal failure; an admission without any diagnosis cannot have it.
        coalesce(
            lab.creatinine_max >= 1.5
            AND uo.urineoutput < 410
            AND coalesce(diagnosed.has_ckd, 1) = 0,
            FALSE
        ) AS has_arf
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON stay.subject_id = pat.subject_id
    LEFT JOIN oxygenation ON stay.stay_id = oxygenation.stay_id
    LEFT JOIN diagnosed ON stay.hadm_id = diagnosed.hadm_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON stay.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON stay.stay_id = lab.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS uo ON stay.stay_id = uo.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON stay.stay_id = gcs.stay_id
),

-- From each lower bound (inclusive) on, a variable has this score.
band (variable, lower_bound, score) AS (
    VALUES
    ('heart_rate', '-inf'::DOUBLE, 8), ('heart_rate', 40, 5), ('heart_rate', 50, 0),
    ('heart_rate', 100, 1), ('heart_rate', 110, 5), ('heart_rate', 120, 7),
    ('heart_rate', 140, 13), ('heart_rate', 155, 17),
    ('mbp', '-inf', 23), ('mbp', 40, 15), ('mbp', 60, 7), ('mbp', 70, 6), ('mbp', 80, 0),
    ('mbp', 100, 4), ('mbp', 120, 7), ('mbp', 130, 9), ('mbp', 140, 10),
    ('temperature', '-inf', 20), ('temperature', 33.0, 16), ('temperature', 33.5, 13),
    ('temperature', 34.0, 8), ('temperature', 35.0, 2), ('temperature', 36.0, 0),
    ('temperature', 40.0, 4),
    ('resp_rate', '-inf', 17), ('resp_rate', 6, 8), ('resp_rate', 12, 7), ('resp_rate', 14, 0),
    ('resp_rate', 25, 6), ('resp_rate', 35, 9), ('resp_rate', 40, 11), ('resp_rate', 50, 18),
    ('resp_rate_ventilated', '-inf', 0), ('resp_rate_ventilated', 25, 6),
    ('resp_rate_ventilated', 35, 9), ('resp_rate_ventilated', 40, 11),
    ('resp_rate_ventilated', 50, 18),
    ('hematocrit', '-inf', 3), ('hematocrit', 41.0, 0), ('hematocrit', 50.0, 3),
    ('wbc', '-inf', 19), ('wbc', 1.0, 5), ('wbc', 3.0, 0), ('wbc', 20.0, 1), ('wbc', 25.0, 5),
    ('creatinine', '-inf', 3), ('creatinine', 0.5, 0), ('creatinine', 1.5, 4),
    ('creatinine', 1.95, 7),
    ('sodium', '-inf', 3), ('sodium', 120, 2), ('sodium', 135, 0), ('sodium', 155, 4),
    ('albumin', '-inf', 11), ('albumin', 2.0, 6), ('albumin', 2.5, 0), ('albumin', 4.5, 4),
    ('glucose', '-inf', 8), ('glucose', 40, 9), ('glucose', 60, 0), ('glucose', 200, 3),
    ('glucose', 350, 5)
),

-- Lowest and highest value of each variable, and how far each is from the reference point.
extreme AS (
    SELECT
        stay_id,
        'heart_rate' AS variable,
        unnest([heart_rate_min, heart_rate_max]) AS number,
        unnest([abs(heart_rate_min - 75), abs(heart_rate_max - 75)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'mbp' AS variable,
        unnest([mbp_min, mbp_max]) AS number,
        unnest([abs(mbp_min - 90), abs(mbp_max - 90)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'temperature' AS variable,
        unnest([temperature_min, temperature_max])::DOUBLE AS number,
        -- Exact decimals: temperatures have two places.
        unnest([abs(temperature_min - 38), abs(temperature_max - 38)])::DOUBLE AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        if(is_ventilated, 'resp_rate_ventilated', 'resp_rate') AS variable,
        unnest([resp_rate_min, resp_rate_max]) AS number,
        unnest([abs(resp_rate_min - 19), abs(resp_rate_max - 19)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'hematocrit' AS variable,
        unnest([hematocrit_min, hematocrit_max]) AS number,
        unnest([abs(hematocrit_min - 45.5), abs(hematocrit_max - 45.5)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'wbc' AS variable,
        unnest([wbc_min, wbc_max]) AS number,
        unnest([abs(wbc_min - 11.5), abs(wbc_max - 11.5)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'creatinine' AS variable,
        unnest([creatinine_min, creatinine_max]) AS number,
        unnest([abs(creatinine_min - 1), abs(creatinine_max - 1)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'sodium' AS variable,
        unnest([sodium_min, sodium_max]) AS number,
        unnest([abs(sodium_min - 145.5), abs(sodium_max - 145.5)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'albumin' AS variable,
        unnest([albumin_min, albumin_max]) AS number,
        unnest([abs(albumin_min - 3.5), abs(albumin_max - 3.5)]) AS distance
    FROM cohort
    UNION ALL
    SELECT
        stay_id,
        'glucose' AS variable,
        unnest([glucose_min, glucose_max]) AS number,
        unnest([abs(glucose_min - 130), abs(glucose_max - 130)]) AS distance
    FROM cohort
),

banded AS (
    SELECT
        extreme.stay_id,
        extreme.variable,
        extreme.distance,
        band.score
    FROM extreme
    ASOF INNER JOIN band
        ON extreme.variable = band.variable AND extreme.number >= band.lower_bound
    WHERE extreme.number IS NOT NULL -- older DuckDB finds a band for a null
),

-- The value farther from the reference point speaks; of two equally far ones the worse.
farthest AS (
    SELECT
        stay_id,
        variable,
        score
    FROM banded
    QUALIFY row_number() OVER (
        PARTITION BY stay_id, variable ORDER BY distance DESC, score DESC
    ) = 1
),

two_sided AS (
    SELECT
        stay_id,
        max(score) FILTER (WHERE variable = 'heart_rate') AS hr_score,
        max(score) FILTER (WHERE variable = 'mbp') AS mbp_score,
        max(score) FILTER (WHERE variable = 'temperature') AS temp_score,
        max(score) FILTER (
            WHERE variable IN ('resp_rate', 'resp_rate_ventilated')
        ) AS resp_rate_score,
        max(score) FILTER (WHERE variable = 'hematocrit') AS hematocrit_score,
        max(score) FILTER (WHERE variable = 'wbc') AS wbc_score,
        max(score) FILTER (WHERE variable = 'creatinine') AS creatinine_score,
        max(score) FILTER (WHERE variable = 'sodium') AS sodium_score,
        max(score) FILTER (WHERE variable = 'albumin') AS albumin_score,
        max(score) FILTER (WHERE variable = 'glucose') AS glucose_score
    FROM farthest
    GROUP BY stay_id
),

scored AS (
    SELECT
        cohort.stay_id,
        two_sided.hr_score,
        two_sided.mbp_score,
        two_sided.temp_score,
        two_sided.resp_rate_score,
        CASE
            WHEN cohort.po2 < 50 THEN 15
            WHEN cohort.po2 < 70 THEN 5
            WHEN cohort.po2 < 80 THEN 2
            WHEN cohort.po2 IS NOT NULL THEN 0
            WHEN cohort.aado2 < 100 THEN 0
            WHEN cohort.aado2 < 250 THEN 7
            WHEN cohort.aado2 < 350 THEN 9
            WHEN cohort.aado2 < 500 THEN 11
            WHEN cohort.aado2 IS NOT NULL THEN 14
        END AS pao2_aado2_score,
        two_sided.hematocrit_score,
        two_sided.wbc_score,
        if(cohort.has_arf, 10, two_sided.creatinine_score) AS creatinine_score,
        CASE
            WHEN cohort.urineoutput < 400 THEN 15
            WHEN cohort.urineoutput < 600 THEN 8
            WHEN cohort.urineoutput < 900 THEN 7
            WHEN cohort.urineoutput < 1500 THEN 5
            WHEN cohort.urineoutput < 2000 THEN 4
            WHEN cohort.urineoutput < 4000 THEN 0
            WHEN cohort.urineoutput IS NOT NULL THEN 1
        END AS uo_score,
        CASE
            WHEN cohort.bun_max < 17.0 THEN 0
            WHEN cohort.bun_max < 20.0 THEN 2
            WHEN cohort.bun_max < 40.0 THEN 7
            WHEN cohort.bun_max < 80.0 THEN 11
            WHEN cohort.bun_max IS NOT NULL THEN 12
        END AS bun_score,
        two_sided.sodium_score,
        two_sided.albumin_score,
        CASE
            WHEN cohort.bilirubin_total_max < 2.0 THEN 0
            WHEN cohort.bilirubin_total_max < 3.0 THEN 5
            WHEN cohort.bilirubin_total_max < 5.0 THEN 6
            WHEN cohort.bilirubin_total_max < 8.0 THEN 8
            WHEN cohort.bilirubin_total_max IS NOT NULL THEN 16
        END AS bilirubin_score,
        two_sided.glucose_score,
        cohort.acidbase_score,
        CASE
            WHEN cohort.gcs_unable = 1 THEN 0
            WHEN cohort.gcs_eyes = 1 AND cohort.gcs_verbal = 1
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2) THEN 48
                    WHEN cohort.gcs_motor IN (3, 4) THEN 33
                    WHEN cohort.gcs_motor IN (5, 6) THEN 16
                END
            WHEN cohort.gcs_eyes = 1 AND cohort.gcs_verbal IN (2, 3)
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2) THEN 29
                    WHEN cohort.gcs_motor IN (3, 4) THEN 24
                END
            WHEN cohort.gcs_eyes > 1 AND cohort.gcs_verbal = 1
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2) THEN 29
                    WHEN cohort.gcs_motor IN (3, 4) THEN 24
                    WHEN cohort.gcs_motor IN (5, 6) THEN 15
                END
            WHEN cohort.gcs_eyes > 1 AND cohort.gcs_verbal IN (2, 3)
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2) THEN 29
                    WHEN cohort.gcs_motor IN (3, 4) THEN 24
                    WHEN cohort.gcs_motor = 5 THEN 13
                    WHEN cohort.gcs_motor = 6 THEN 10
                END
            WHEN cohort.gcs_eyes > 1 AND cohort.gcs_verbal = 4
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2, 3, 4) THEN 13
                    WHEN cohort.gcs_motor = 5 THEN 8
                    WHEN cohort.gcs_motor = 6 THEN 3
                END
            WHEN cohort.gcs_eyes > 1 AND cohort.gcs_verbal = 5
                THEN CASE
                    WHEN cohort.gcs_motor IN (1, 2, 3, 4, 5) THEN 3
                    WHEN cohort.gcs_motor = 6 THEN 0
                END
        END AS gcs_score
    FROM cohort
    LEFT JOIN two_sided ON cohort.stay_id = two_sided.stay_id
),

total AS (
    SELECT
        *,
        coalesce(hr_score, 0)
        + coalesce(mbp_score, 0)
        + coalesce(temp_score, 0)
        + coalesce(resp_rate_score, 0)
        + coalesce(pao2_aado2_score, 0)
        + coalesce(hematocrit_score, 0)
        + coalesce(wbc_score, 0)
        + coalesce(creatinine_score, 0)
        + coalesce(uo_score, 0)
        + coalesce(bun_score, 0)
        + coalesce(sodium_score, 0)
        + coalesce(albumin_score, 0)
        + coalesce(bilirubin_score, 0)
        + coalesce(glucose_score, 0)
        + coalesce(acidbase_score, 0)
        + coalesce(gcs_score, 0) AS apsiii
    FROM scored
)

SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    total.apsiii,
    1 / (1 + exp(-(-4.4360 + 0.04726 * total.apsiii))) AS apsiii_prob,
    total.hr_score,
    total.mbp_score,
    total.temp_score,
    total.resp_rate_score,
    total.pao2_aado2_score,
    total.hematocrit_score,
    total.wbc_score,
    total.creatinine_score,
    total.uo_score,
    total.bun_score,
    total.sodium_score,
    total.albumin_score,
    total.bilirubin_score,
    total.glucose_score,
    total.acidbase_score,
    total.gcs_score
FROM mimiciv_icu.icustays AS stay
LEFT JOIN total ON stay.stay_id = total.stay_id
