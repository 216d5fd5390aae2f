-- purpose: Estimated serum creatinine before the illness.
-- grain: one row per hospital admission of a patient of 18 years or more
-- key: hadm_id
-- reads:
--   mimiciv_derived.age (subject_id, hadm_id, age)
--   mimiciv_derived.chemistry (hadm_id, creatinine)
--   mimiciv_hosp.patients (subject_id, gender)
--   mimiciv_hosp.diagnoses_icd (hadm_id, icd_code, icd_version)
-- deviations: none
WITH adult AS (
    SELECT
        age.hadm_id,
        pat.gender,
        age.age,
        -- MDRD, solved for creatinine at an eGFR of 75.
        CASE
            WHEN pat.gender = 'F'
                THEN pow(75.0::DOUBLE / 186.0 / pow(age.age, -0.203) / 0.742, -1 / 1.154)
            ELSE pow(75.0::DOUBLE / 186.0 / pow(age.age, -0.203), -1 / 1.154)
        END AS mdrd_est
    FROM mimiciv_derived.age AS age
    INNER JOIN mimiciv_hosp.patients AS pat ON age.subject_id = pat.subject_id
    WHERE age.age >= 18
),

lowest AS (
    SELECT
        hadm_id,
        min(creatinine) AS scr_min
    FROM mimiciv_derived.chemistry
    GROUP BY hadm_id
),

coded AS (
    SELECT DISTINCT hadm_id
    FROM mimiciv_hosp.diagnoses_icd
    WHERE
        (icd_version = 9 AND left(icd_code, 3) = '585')
        OR (icd_version = 10 AND left(icd_code, 3) = 'N18')
),

joined AS (
    SELECT
        adult.hadm_id,
        adult.gender,
        adult.age,
        lowest.scr_min,
        if(coded.hadm_id IS NULL, 0, 1) AS ckd,
        adult.mdrd_est
    FROM adult
    LEFT JOIN lowest ON adult.hadm_id = lowest.hadm_id
    LEFT JOIN coded ON adult.hadm_id = coded.hadm_id
)

SELECT
    hadm_id,
    gender,
    age,
    scr_min,
    ckd,
    mdrd_est,
    CASE
        WHEN scr_min <= 1.1 THEN scr_min
        WHEN ckd = 1 THEN scr_min
        ELSE mdrd_est
    END AS scr_baseline
FROM joined
