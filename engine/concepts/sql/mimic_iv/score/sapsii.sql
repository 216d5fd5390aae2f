-- purpose: Simplified Acute Physiology Score II of the first 24 ICU hours, with the probability of
--   hospital death (Le Gall et al. 1993).
-- grain: one row per ICU stay whose admission is known
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_hosp.admissions (hadm_id, admission_type)
--   mimiciv_hosp.services (hadm_id, transfertime, curr_service)
--   mimiciv_hosp.diagnoses_icd (hadm_id, icd_code, icd_version)
--   mimiciv_icu.chartevents (stay_id, charttime, itemid, value)
--   mimiciv_derived.age (hadm_id, age)
--   mimiciv_derived.bg (subject_id, charttime, specimen, pao2fio2ratio)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.gcs (stay_id, charttime, gcs)
--   mimiciv_derived.vitalsign (subject_id, charttime, heart_rate, sbp, temperature)
--   mimiciv_derived.urine_output (stay_id, charttime, urineoutput)
--   mimiciv_derived.chemistry (subject_id, charttime, bun, potassium, sodium, bicarbonate)
--   mimiciv_derived.complete_blood_count (subject_id, charttime, wbc)
--   mimiciv_derived.enzyme (subject_id, charttime, bilirubin_total)
-- deviations: Of two first services with the same transfer time the public code takes an undefined
--   one; here the first by its code.
WITH cohort AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        stay.intime AS starttime, -- what is charted at this very time does not count
        stay.intime + INTERVAL 24 HOURS AS endtime,
        adm.admission_type
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
),

cpap AS (
    SELECT
        cohort.subject_id,
        cohort.stay_id,
        greatest(min(chart.charttime) - INTERVAL 1 HOUR, cohort.starttime) AS starttime,
        least(max(chart.charttime) + INTERVAL 4 HOURS, cohort.endtime) AS endtime
    FROM cohort
    INNER JOIN mimiciv_icu.chartevents AS chart
        ON
            cohort.stay_id = chart.stay_id
            AND cohort.starttime < chart.charttime
            AND cohort.endtime >= chart.charttime
    WHERE
        chart.itemid = 226732
        AND (contains(lower(chart.value), 'cpap mask') OR contains(lower(chart.value), 'bipap'))
    GROUP BY cohort.subject_id, cohort.stay_id, cohort.starttime, cohort.endtime
),

gas AS (
    SELECT
        cohort.stay_id,
        min(bg.pao2fio2ratio) AS pao2fio2_min
    FROM cohort
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            cohort.subject_id = bg.subject_id
            AND cohort.starttime < bg.charttime
            AND cohort.endtime >= bg.charttime
    WHERE
        bg.specimen = 'ART.'
        AND (
            EXISTS (
                SELECT 1
                FROM mimiciv_derived.ventilation AS vent
                WHERE
                    vent.stay_id = cohort.stay_id
                    AND vent.ventilation_status = 'InvasiveVent'
                    AND bg.charttime > vent.starttime
                    AND bg.charttime <= vent.endtime
            )
            OR EXISTS (
                SELECT 1
                FROM cpap -- of any stay of the patient
                WHERE
                    cpap.subject_id = bg.subject_id
                    AND bg.charttime > cpap.starttime
                    AND bg.charttime <= cpap.endtime
            )
        )
    GROUP BY cohort.stay_id
),

vital AS (
    SELECT
        cohort.stay_id,
        min(sign.heart_rate) AS heart_rate_min,
        max(sign.heart_rate) AS heart_rate_max,
        min(sign.sbp) AS sbp_min,
        max(sign.sbp) AS sbp_max,
        max(sign.temperature) AS temperature_max
    FROM cohort
    INNER JOIN mimiciv_derived.vitalsign AS sign
        ON
            cohort.subject_id = sign.subject_id
            AND cohort.starttime < sign.charttime
            AND cohort.endtime >= sign.charttime
    GROUP BY cohort.stay_id
),

urine AS (
    SELECT
        cohort.stay_id,
        sum(uo.urineoutput) AS urineoutput
    FROM cohort
    INNER JOIN mimiciv_derived.urine_output AS uo
        ON
            cohort.stay_id = uo.stay_id
            AND cohort.starttime < uo.charttime
            AND cohort.endtime >= uo.charttime
    GROUP BY cohort.stay_id
),

coma AS (
    SELECT
        cohort.stay_id,
        min(gcs.gcs) AS gcs_min
    FROM cohort
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON
            cohort.stay_id = gcs.stay_id
            AND cohort.starttime < gcs.charttime
            AND cohort.endtime >= gcs.charttime
    GROUP BY cohort.stay_id
),

chem AS (
    SELECT
        cohort.stay_id,
        max(lab.bun) AS bun_max,
        min(lab.potassium) AS potassium_min,
        max(lab.potassium) AS potassium_max,
        min(lab.sodium) AS sodium_min,
        max(lab.sodium) AS sodium_max,
        min(lab.bicarbonate) AS bicarbonate_min
    FROM cohort
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON
            cohort.subject_id = lab.subject_id
            AND cohort.starttime < lab.charttime
            AND cohort.endtime >= lab.charttime
    GROUP BY cohort.stay_id
),

blood AS (
    SELECT
        cohort.stay_id,
        min(lab.wbc) AS wbc_min,
        max(lab.wbc) AS wbc_max
    FROM cohort
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON
            cohort.subject_id = lab.subject_id
            AND cohort.starttime < lab.charttime
            AND cohort.endtime >= lab.charttime
    GROUP BY cohort.stay_id
),

liver AS (
    SELECT
        cohort.stay_id,
        max(lab.bilirubin_total) AS bilirubin_max
    FROM cohort
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON
            cohort.subject_id = lab.subject_id
            AND cohort.starttime < lab.charttime
            AND cohort.endtime >= lab.charttime
    GROUP BY cohort.stay_id
),

comorbidity AS (
    SELECT
        hadm_id,
        max(
            CASE
                WHEN
                    (icd_version = 9 AND left(icd_code, 3) BETWEEN '042' AND '044')
                    OR (icd_version = 10 AND left(icd_code, 3) BETWEEN 'B20' AND 'B22')
                    OR (icd_version = 10 AND left(icd_code, 3) = 'B24')
                    THEN 17 -- AIDS
                WHEN
                    (
                        icd_version = 9
                        AND (
                            left(icd_code, 5) BETWEEN '20000' AND '20238'
                            OR left(icd_code, 5) BETWEEN '20240' AND '20248'
                            OR left(icd_code, 5) BETWEEN '20250' AND '20382'
                            OR left(icd_code, 5) BETWEEN '20400' AND '20522'
                            OR left(icd_code, 5) BETWEEN '20580' AND '20702'
                            OR left(icd_code, 5) BETWEEN '20720' AND '20892'
                            OR left(icd_code, 4) IN ('2386', '2733')
                        )
                    )
                    OR (icd_version = 10 AND left(icd_code, 3) BETWEEN 'C81' AND 'C96')
                    THEN 10 -- haematological malignancy
                WHEN
                    (
                        icd_version = 9
                        AND (
                            left(icd_code, 4) BETWEEN '1960' AND '1991'
                            OR left(icd_code, 5) BETWEEN '20970' AND '20975'
                            OR left(icd_code, 5) IN ('20979', '78951')
                        )
                    )
                    OR (icd_version = 10 AND left(icd_code, 3) BETWEEN 'C77' AND 'C79')
                    OR (icd_version = 10 AND left(icd_code, 4) = 'C800')
                    THEN 9 -- metastatic cancer
                ELSE 0
            END
        ) AS points
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

first_service AS (
    SELECT
        hadm_id,
        contains(lower(curr_service), 'surg') AS is_surgical
    FROM mimiciv_hosp.services
    QUALIFY row_number() OVER (
        PARTITION BY hadm_id ORDER BY transfertime ASC NULLS FIRST, curr_service
    ) = 1
),

scored AS (
    SELECT
        cohort.subject_id,
        cohort.hadm_id,
        cohort.stay_id,
        cohort.starttime,
        cohort.endtime,
        CASE
            WHEN age.age IS NULL THEN NULL
            WHEN age.age < 40 THEN 0
            WHEN age.age < 60 THEN 7
            WHEN age.age < 70 THEN 12
            WHEN age.age < 75 THEN 15
            WHEN age.age < 80 THEN 16
            ELSE 18
        END AS age_score,
        CASE
            WHEN vital.heart_rate_max IS NULL THEN NULL
            WHEN vital.heart_rate_min < 40 THEN 11
            WHEN vital.heart_rate_max >= 160 THEN 7
            WHEN vital.heart_rate_max >= 120 THEN 4
            WHEN vital.heart_rate_min < 70 THEN 2
            ELSE 0
        END AS hr_score,
        CASE
            WHEN vital.sbp_min IS NULL THEN NULL
            WHEN vital.sbp_min < 70 THEN 13
            WHEN vital.sbp_min < 100 THEN 5
            WHEN vital.sbp_max >= 200 THEN 2
            ELSE 0
        END AS sysbp_score,
        CASE
            WHEN vital.temperature_max IS NULL THEN NULL
            WHEN vital.temperature_max >= 39.0 THEN 3
            ELSE 0
        END AS temp_score,
        CASE
            WHEN gas.pao2fio2_min IS NULL THEN NULL
            WHEN gas.pao2fio2_min < 100 THEN 11
            WHEN gas.pao2fio2_min < 200 THEN 9
            ELSE 6
        END AS pao2fio2_score,
        CASE
            WHEN urine.urineoutput IS NULL THEN NULL
            WHEN urine.urineoutput < 500 THEN 11
            WHEN urine.urineoutput < 1000 THEN 4
            ELSE 0
        END AS uo_score,
        CASE
            WHEN chem.bun_max IS NULL THEN NULL
            WHEN chem.bun_max < 28 THEN 0
            WHEN chem.bun_max < 84 THEN 6
            ELSE 10
        END AS bun_score,
        CASE
            WHEN blood.wbc_max IS NULL THEN NULL
            WHEN blood.wbc_min < 1.0 THEN 12
            WHEN blood.wbc_max >= 20.0 THEN 3
            ELSE 0
        END AS wbc_score,
        CASE
            WHEN chem.potassium_max IS NULL THEN NULL
            WHEN chem.potassium_min < 3.0 OR chem.potassium_max >= 5.0 THEN 3
            ELSE 0
        END AS potassium_score,
        CASE
            WHEN chem.sodium_max IS NULL THEN NULL
            WHEN chem.sodium_min < 125 THEN 5
            WHEN chem.sodium_max >= 145 THEN 1
            ELSE 0
        END AS sodium_score,
        CASE
            WHEN chem.bicarbonate_min IS NULL THEN NULL
            WHEN chem.bicarbonate_min < 15 THEN 6
            WHEN chem.bicarbonate_min < 20 THEN 3
            ELSE 0
        END AS bicarbonate_score,
        CASE
            WHEN liver.bilirubin_max IS NULL THEN NULL
            WHEN liver.bilirubin_max < 4.0 THEN 0
            WHEN liver.bilirubin_max < 6.0 THEN 4
            ELSE 9
        END AS bilirubin_score,
        CASE
            WHEN coma.gcs_min < 3 THEN NULL
            WHEN coma.gcs_min < 6 THEN 26
            WHEN coma.gcs_min < 9 THEN 13
            WHEN coma.gcs_min < 11 THEN 7
            WHEN coma.gcs_min < 14 THEN 5
            WHEN coma.gcs_min >= 14 AND coma.gcs_min <= 15 THEN 0
        END AS gcs_score,
        coalesce(comorbidity.points, 0) AS comorbidity_score,
        CASE
            WHEN cohort.admission_type = 'ELECTIVE' AND first_service.is_surgical THEN 0
            WHEN cohort.admission_type IS NOT NULL AND first_service.is_surgical THEN 8
            ELSE 6
        END AS admissiontype_score
    FROM cohort
    LEFT JOIN mimiciv_derived.age AS age ON cohort.hadm_id = age.hadm_id
    LEFT JOIN vital ON cohort.stay_id = vital.stay_id
    LEFT JOIN gas ON cohort.stay_id = gas.stay_id
    LEFT JOIN urine ON cohort.stay_id = urine.stay_id
    LEFT JOIN chem ON cohort.stay_id = chem.stay_id
    LEFT JOIN blood ON cohort.stay_id = blood.stay_id
    LEFT JOIN liver ON cohort.stay_id = liver.stay_id
    LEFT JOIN coma ON cohort.stay_id = coma.stay_id
    LEFT JOIN comorbidity ON cohort.hadm_id = comorbidity.hadm_id
    LEFT JOIN first_service ON cohort.hadm_id = first_service.hadm_id
),

total AS (
    SELECT
        *,
        coalesce(age_score, 0)
        + coalesce(hr_score, 0)
        + coalesce(sysbp_score, 0)
        + coalesce(temp_score, 0)
        + coalesce(pao2fio2_score, 0)
        + coalesce(uo_score, 0)
        + coalesce(bun_score, 0)
        + coalesce(wbc_score, 0)
        + coalesce(potassium_score, 0)
        + coalesce(sodium_score, 0)
        + coalesce(bicarbonate_score, 0)
        + coalesce(bilirubin_score, 0)
        + coalesce(gcs_score, 0)
        + comorbidity_score
        + admissiontype_score AS sapsii
    FROM scored
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    starttime,
    endtime,
    sapsii,
    1 / (1 + exp(-(-7.7631 + 0.0737 * sapsii + 0.9971 * ln(sapsii + 1)))) AS sapsii_prob,
    age_score,
    hr_score,
    sysbp_score,
    temp_score,
    pao2fio2_score,
    uo_score,
    bun_score,
    wbc_score,
    potassium_score,
    sodium_score,
    bicarbonate_score,
    bilirubin_score,
    gcs_score,
    comorbidity_score,
    admissiontype_score
FROM total
