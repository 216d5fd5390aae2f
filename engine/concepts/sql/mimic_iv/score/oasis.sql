-- purpose: Oxford Acute Severity of Illness Score of the first ICU day, with the probability of
--   hospital death (Johnson et al. 2013).
-- grain: one row per ICU stay whose admission and patient are known
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_hosp.admissions (hadm_id, admittime, admission_type)
--   mimiciv_hosp.patients (subject_id)
--   mimiciv_hosp.services (hadm_id, transfertime, curr_service)
--   mimiciv_derived.age (hadm_id, age)
--   mimiciv_derived.first_day_gcs (stay_id, gcs_min)
--   mimiciv_derived.first_day_vitalsign (stay_id, heart_rate_min, heart_rate_max, mbp_min, mbp_max,
--     resp_rate_min, resp_rate_max, temperature_min, temperature_max)
--   mimiciv_derived.first_day_urine_output (stay_id, urineoutput)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
-- deviations: none
WITH cohort AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        age.age,
        gcs.gcs_min AS gcs,
        vital.heart_rate_min,
        vital.heart_rate_max,
        vital.mbp_min,
        vital.mbp_max,
        vital.resp_rate_min,
        vital.resp_rate_max,
        vital.temperature_min,
        vital.temperature_max,
        uo.urineoutput,
        (epoch_us(stay.intime) - epoch_us(adm.admittime)) / 60000000 AS preiculos,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND vent.starttime <= stay.intime + INTERVAL 24 HOURS
                AND vent.endtime >= stay.intime
        )::INTEGER AS mechvent,
        CASE
            WHEN adm.admission_type IS NULL THEN NULL
            WHEN
                adm.admission_type = 'ELECTIVE'
                AND EXISTS (
                    SELECT 1
                    FROM mimiciv_hosp.services AS service
                    WHERE
                        service.hadm_id = stay.hadm_id
                        AND service.transfertime < stay.intime + INTERVAL 24 HOURS
                        AND (
                            contains(lower(service.curr_service), 'surg')
                            OR service.curr_service = 'ORTHO'
                        )
                ) THEN 1
            ELSE 0
        END AS electivesurgery
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON stay.subject_id = pat.subject_id
    LEFT JOIN mimiciv_derived.age AS age ON stay.hadm_id = age.hadm_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON stay.stay_id = gcs.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON stay.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS uo ON stay.stay_id = uo.stay_id
),

-- First match wins; each score has the value that decided it, or the middle where none did.
scored AS (
    SELECT
        *,
        CASE
            WHEN preiculos IS NULL THEN NULL
            WHEN preiculos < 10.2 THEN 5
            WHEN preiculos < 297 THEN 3
            WHEN preiculos < 1440 THEN 0
            WHEN preiculos < 18708 THEN 2
            ELSE 1
        END AS preiculos_score,
        CASE
            WHEN age IS NULL THEN NULL
            WHEN age < 24 THEN 0
            WHEN age <= 53 THEN 3
            WHEN age <= 77 THEN 6
            WHEN age <= 89 THEN 9
            WHEN age >= 90 THEN 7
            ELSE 0
        END AS age_score,
        CASE
            WHEN gcs IS NULL THEN NULL
            WHEN gcs <= 7 THEN 10
            WHEN gcs < 14 THEN 4
            WHEN gcs = 14 THEN 3
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN heart_rate_max IS NULL THEN NULL
            WHEN heart_rate_max > 125 THEN 6
            WHEN heart_rate_min < 33 THEN 4
            WHEN heart_rate_max >= 107 AND heart_rate_max <= 125 THEN 3
            WHEN heart_rate_max >= 89 AND heart_rate_max <= 106 THEN 1
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN heart_rate_max IS NULL THEN NULL
            WHEN heart_rate_max > 125 THEN heart_rate_max
            WHEN heart_rate_min < 33 THEN heart_rate_min
            WHEN heart_rate_max >= 107 AND heart_rate_max <= 125 THEN heart_rate_max
            WHEN heart_rate_max >= 89 AND heart_rate_max <= 106 THEN heart_rate_max
            ELSE (heart_rate_min + heart_rate_max) / 2
        END AS heartrate,
        CASE
            WHEN mbp_min IS NULL THEN NULL
            WHEN mbp_min < 20.65 THEN 4
            WHEN mbp_min < 51 THEN 3
            WHEN mbp_max > 143.44 THEN 3
            WHEN mbp_min >= 51 AND mbp_min < 61.33 THEN 2
            ELSE 0
        END AS mbp_score,
        CASE
            WHEN mbp_min IS NULL THEN NULL
            WHEN mbp_min < 51 THEN mbp_min
            WHEN mbp_max > 143.44 THEN mbp_max
            WHEN mbp_min >= 51 AND mbp_min < 61.33 THEN mbp_min
            ELSE (mbp_min + mbp_max) / 2
        END AS meanbp,
        CASE
            WHEN resp_rate_min IS NULL THEN NULL
            WHEN resp_rate_min < 6 THEN 10
            WHEN resp_rate_max > 44 THEN 9
            WHEN resp_rate_max > 30 THEN 6
            WHEN resp_rate_max > 22 THEN 1
            WHEN resp_rate_min < 13 THEN 1
            ELSE 0
        END AS resp_rate_score,
        CASE
            WHEN resp_rate_min IS NULL THEN NULL
            WHEN resp_rate_min < 6 THEN resp_rate_min
            WHEN resp_rate_max > 22 THEN resp_rate_max
            WHEN resp_rate_min < 13 THEN resp_rate_min
            ELSE (resp_rate_min + resp_rate_max) / 2
        END AS resprate,
        CASE
            WHEN temperature_max IS NULL THEN NULL
            WHEN temperature_max > 39.88 THEN 6
            WHEN temperature_min >= 33.22 AND temperature_min <= 35.93 THEN 4
            WHEN temperature_max >= 33.22 AND temperature_max <= 35.93 THEN 4
            WHEN temperature_min < 33.22 THEN 3
            WHEN temperature_min > 35.93 AND temperature_min <= 36.39 THEN 2
            WHEN temperature_max >= 36.89 AND temperature_max <= 39.88 THEN 2
            ELSE 0
        END AS temp_score,
        CASE
            WHEN temperature_max IS NULL THEN NULL
            WHEN temperature_max > 39.88 THEN temperature_max::DOUBLE
            WHEN temperature_min >= 33.22 AND temperature_min <= 35.93 THEN temperature_min::DOUBLE
            WHEN temperature_max >= 33.22 AND temperature_max <= 35.93 THEN temperature_max::DOUBLE
            WHEN temperature_min < 33.22 THEN temperature_min::DOUBLE
            WHEN temperature_min > 35.93 AND temperature_min <= 36.39 THEN temperature_min::DOUBLE
            WHEN temperature_max >= 36.89 AND temperature_max <= 39.88 THEN temperature_max::DOUBLE
            ELSE (temperature_min + temperature_max) / 2
        END AS temp,
        CASE
            WHEN urineoutput IS NULL THEN NULL
            WHEN urineoutput < 671.09 THEN 10
            WHEN urineoutput > 6896.80 THEN 8
            WHEN urineoutput >= 671.09 AND urineoutput <= 1426.99 THEN 5
            WHEN urineoutput >= 1427.00 AND urineoutput <= 2544.14 THEN 1
            ELSE 0
        END AS urineoutput_score,
        if(mechvent = 1, 9, 0) AS mechvent_score,
        CASE
            WHEN electivesurgery IS NULL THEN NULL
            WHEN electivesurgery = 1 THEN 0
            ELSE 6
        END AS electivesurgery_score
    FROM cohort
),

total AS (
    SELECT
        *,
        coalesce(age_score, 0)
        + coalesce(preiculos_score, 0)
        + coalesce(gcs_score, 0)
        + coalesce(heart_rate_score, 0)
        + coalesce(mbp_score, 0)
        + coalesce(resp_rate_score, 0)
        + coalesce(temp_score, 0)
        + coalesce(urineoutput_score, 0)
        + coalesce(mechvent_score, 0)
        + coalesce(electivesurgery_score, 0) AS oasis
    FROM scored
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    oasis,
    1 / (1 + exp(-(-6.1746 + 0.1275 * oasis))) AS oasis_prob,
    age,
    age_score,
    preiculos,
    preiculos_score,
    gcs,
    gcs_score,
    heartrate,
    heart_rate_score,
    meanbp,
    mbp_score,
    resprate,
    resp_rate_score,
    temp,
    temp_score,
    urineoutput,
    urineoutput_score,
    mechvent,
    mechvent_score,
    electivesurgery,
    electivesurgery_score
FROM total
