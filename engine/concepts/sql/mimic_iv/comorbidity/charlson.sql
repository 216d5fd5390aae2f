-- purpose: Charlson comorbidity index, its seventeen conditions and the age points.
-- grain: one row per hospital admission, with or without diagnoses or ICU stay
-- key: hadm_id
-- reads:
--   mimiciv_hosp.admissions (subject_id, hadm_id)
--   mimiciv_hosp.diagnoses_icd (hadm_id, icd_code, icd_version)
--   mimiciv_derived.age (hadm_id, age)
-- deviations: none
WITH code_list (condition, icd_version, digits, codes) AS (
    -- Code lists of Quan 2005. `digits` leading characters are compared; a..b is an inclusive
    -- range of texts.
    VALUES
    ('myocardial_infarct', 9, 3, '410 412'),
    ('myocardial_infarct', 10, 3, 'I21 I22'),
    ('myocardial_infarct', 10, 4, 'I252'),
    ('congestive_heart_failure', 9, 3, '428'),
    ('congestive_heart_failure', 9, 4, '4254..4259'),
    ('congestive_heart_failure', 9, 5, '39891 40201 40211 40291 40401 40403 40411 40413'),
    ('congestive_heart_failure', 9, 5, '40491 40493'),
    ('congestive_heart_failure', 10, 3, 'I43 I50'),
    ('congestive_heart_failure', 10, 4, 'I099 I110 I130 I132 I255 I420 I425 I426 I427 I428'),
    ('congestive_heart_failure', 10, 4, 'I429 P290'),
    ('peripheral_vascular_disease', 9, 3, '440 441'),
    ('peripheral_vascular_disease', 9, 4, '0930 4373 4471 5571 5579 V434 4431..4439'),
    ('peripheral_vascular_disease', 10, 3, 'I70 I71'),
    ('peripheral_vascular_disease', 10, 4, 'I731 I738 I739 I771 I790 I792 K551 K558 K559 Z958'),
    ('peripheral_vascular_disease', 10, 4, 'Z959'),
    ('cerebrovascular_disease', 9, 3, '430..438'),
    ('cerebrovascular_disease', 9, 5, '36234'),
    ('cerebrovascular_disease', 10, 3, 'G45 G46 I60..I69'),
    ('cerebrovascular_disease', 10, 4, 'H340'),
    ('dementia', 9, 3, '290'),
    ('dementia', 9, 4, '2941 3312'),
    ('dementia', 10, 3, 'F00 F01 F02 F03 G30'),
    ('dementia', 10, 4, 'F051 G311'),
    ('chronic_pulmonary_disease', 9, 3, '490..505'),
    ('chronic_pulmonary_disease', 9, 4, '4168 4169 5064 5081 5088'),
    ('chronic_pulmonary_disease', 10, 3, 'J40..J47 J60..J67'),
    ('chronic_pulmonary_disease', 10, 4, 'I278 I279 J684 J701 J703'),
    ('rheumatic_disease', 9, 3, '725'),
    ('rheumatic_disease', 9, 4, '4465 7100 7101 7102 7103 7104 7140 7141 7142 7148'),
    ('rheumatic_disease', 10, 3, 'M05 M06 M32 M33 M34'),
    ('rheumatic_disease', 10, 4, 'M315 M351 M353 M360'),
    ('peptic_ulcer_disease', 9, 3, '531 532 533 534'),
    ('peptic_ulcer_disease', 10, 3, 'K25 K26 K27 K28'),
    ('mild_liver_disease', 9, 3, '570 571'),
    ('mild_liver_disease', 9, 4, '0706 0709 5733 5734 5738 5739 V427'),
    ('mild_liver_disease', 9, 5, '07022 07023 07032 07033 07044 07054'),
    ('mild_liver_disease', 10, 3, 'B18 K73 K74'),
    ('mild_liver_disease', 10, 4, 'K700 K701 K702 K703 K709 K713 K714 K715 K717 K760'),
    ('mild_liver_disease', 10, 4, 'K762 K763 K764 K768 K769 Z944'),
    ('diabetes_without_cc', 9, 4, '2500 2501 2502 2503 2508 2509'),
    ('diabetes_without_cc', 10, 4, 'E100 E101 E106 E108 E109 E110 E111 E116 E118 E119'),
    ('diabetes_without_cc', 10, 4, 'E120 E121 E126 E128 E129 E130 E131 E136 E138 E139'),
    ('diabetes_without_cc', 10, 4, 'E140 E141 E146 E148 E149'),
    ('diabetes_with_cc', 9, 4, '2504 2505 2506 2507'),
    ('diabetes_with_cc', 10, 4, 'E102 E103 E104 E105 E107 E112 E113 E114 E115 E117'),
    ('diabetes_with_cc', 10, 4, 'E122 E123 E124 E125 E127 E132 E133 E134 E135 E137'),
    ('diabetes_with_cc', 10, 4, 'E142 E143 E144 E145 E147'),
    ('paraplegia', 9, 3, '342 343'),
    ('paraplegia', 9, 4, '3341 3440 3441 3442 3443 3444 3445 3446 3449'),
    ('paraplegia', 10, 3, 'G81 G82'),
    ('paraplegia', 10, 4, 'G041 G114 G801 G802 G830 G831 G832 G833 G834 G839'),
    ('renal_disease', 9, 3, '582 585 586 V56'),
    ('renal_disease', 9, 4, '5880 V420 V451 5830..5837'),
    ('renal_disease', 9, 5, '40301 40311 40391 40402 40403 40412 40413 40492'),
    ('renal_disease', 9, 5, '40493'),
    ('renal_disease', 10, 3, 'N18 N19'),
    ('renal_disease', 10, 4, 'I120 I131 N032 N033 N034 N035 N036 N037 N052 N053'),
    ('renal_disease', 10, 4, 'N054 N055 N056 N057 N250 Z490 Z491 Z492 Z940 Z992'),
    ('malignant_cancer', 9, 3, '140..172 200..208'),
    ('malignant_cancer', 9, 4, '2386 1740..1958'),
    ('malignant_cancer', 10, 3, 'C43 C88 C00..C26 C30..C34 C37..C41 C45..C58'),
    ('malignant_cancer', 10, 3, 'C60..C76 C81..C85 C90..C97'),
    ('severe_liver_disease', 9, 4, '4560 4561 4562 5722..5728'),
    ('severe_liver_disease', 10, 4, 'I850 I859 I864 I982 K704 K711 K721 K729 K765 K766'),
    ('severe_liver_disease', 10, 4, 'K767'),
    ('metastatic_solid_tumor', 9, 3, '196 197 198 199'),
    ('metastatic_solid_tumor', 10, 3, 'C77 C78 C79 C80'),
    ('aids', 9, 3, '042 043 044'),
    ('aids', 10, 3, 'B20 B21 B22 B24')
),

code_text AS (
    SELECT
        condition,
        icd_version,
        digits,
        unnest(string_split(codes, ' ')) AS code
    FROM code_list
),

code_range AS (
    SELECT
        condition,
        icd_version,
        digits,
        split_part(code, '..', 1) AS first_code,
        split_part(code, '..', -1) AS last_code
    FROM code_text
),

code_used AS (
    SELECT DISTINCT
        icd_version,
        icd_code
    FROM mimiciv_hosp.diagnoses_icd
),

code_meaning AS (
    SELECT DISTINCT
        code_used.icd_version,
        code_used.icd_code,
        code_range.condition
    FROM code_used
    INNER JOIN code_range
        ON
            code_used.icd_version = code_range.icd_version
            AND left(code_used.icd_code, code_range.digits)
            BETWEEN code_range.first_code AND code_range.last_code
),

condition_of_admission AS (
    SELECT DISTINCT
        diagnoses_icd.hadm_id,
        code_meaning.condition
    FROM mimiciv_hosp.diagnoses_icd
    INNER JOIN code_meaning
        ON
            diagnoses_icd.icd_version = code_meaning.icd_version
            AND diagnoses_icd.icd_code = code_meaning.icd_code
),

flag AS (
    SELECT
        hadm_id,
        bool_or(condition = 'myocardial_infarct')::INTEGER AS myocardial_infarct,
        bool_or(condition = 'congestive_heart_failure')::INTEGER AS congestive_heart_failure,
        bool_or(condition = 'peripheral_vascular_disease')::INTEGER AS peripheral_vascular_disease,
        bool_or(condition = 'cerebrovascular_disease')::INTEGER AS cerebrovascular_disease,
        bool_or(condition = 'dementia')::INTEGER AS dementia,
        bool_or(condition = 'chronic_pulmonary_disease')::INTEGER AS chronic_pulmonary_disease,
        bool_or(condition = 'rheumatic_disease')::INTEGER AS rheumatic_disease,
        bool_or(condition = 'peptic_ulcer_disease')::INTEGER AS peptic_ulcer_disease,
        bool_or(condition = 'mild_liver_disease')::INTEGER AS mild_liver_disease,
        bool_or(condition = 'diabetes_without_cc')::INTEGER AS diabetes_without_cc,
        bool_or(condition = 'diabetes_with_cc')::INTEGER AS diabetes_with_cc,
        bool_or(condition = 'paraplegia')::INTEGER AS paraplegia,
        bool_or(condition = 'renal_disease')::INTEGER AS renal_disease,
        bool_or(condition = 'malignant_cancer')::INTEGER AS malignant_cancer,
        bool_or(condition = 'severe_liver_disease')::INTEGER AS severe_liver_disease,
        bool_or(condition = 'metastatic_solid_tumor')::INTEGER AS metastatic_solid_tumor,
        bool_or(condition = 'aids')::INTEGER AS aids
    FROM condition_of_admission
    GROUP BY hadm_id
),

admission AS (
    SELECT
        adm.subject_id,
        adm.hadm_id,
        CASE
            WHEN age.hadm_id IS NULL THEN NULL -- the patient is unknown
            WHEN age.age <= 50 THEN 0
            WHEN age.age <= 60 THEN 1
            WHEN age.age <= 70 THEN 2
            WHEN age.age <= 80 THEN 3
            ELSE 4 -- also where the age is null: the public convention
        END AS age_score,
        coalesce(flag.myocardial_infarct, 0) AS myocardial_infarct,
        coalesce(flag.congestive_heart_failure, 0) AS congestive_heart_failure,
        coalesce(flag.peripheral_vascular_disease, 0) AS peripheral_vascular_disease,
        coalesce(flag.cerebrovascular_disease, 0) AS cerebrovascular_disease,
        coalesce(flag.dementia, 0) AS dementia,
        coalesce(flag.chronic_pulmonary_disease, 0) AS chronic_pulmonary_disease,
        coalesce(flag.rheumatic_disease, 0) AS rheumatic_disease,
        coalesce(flag.peptic_ulcer_disease, 0) AS peptic_ulcer_disease,
        coalesce(flag.mild_liver_disease, 0) AS mild_liver_disease,
        coalesce(flag.diabetes_without_cc, 0) AS diabetes_without_cc,
        coalesce(flag.diabetes_with_cc, 0) AS diabetes_with_cc,
        coalesce(flag.paraplegia, 0) AS paraplegia,
        coalesce(flag.renal_disease, 0) AS renal_disease,
        coalesce(flag.malignant_cancer, 0) AS malignant_cancer,
        coalesce(flag.severe_liver_disease, 0) AS severe_liver_disease,
        coalesce(flag.metastatic_solid_tumor, 0) AS metastatic_solid_tumor,
        coalesce(flag.aids, 0) AS aids
    FROM mimiciv_hosp.admissions AS adm
    LEFT JOIN mimiciv_derived.age AS age ON adm.hadm_id = age.hadm_id
    LEFT JOIN flag ON adm.hadm_id = flag.hadm_id
)

SELECT
    subject_id,
    hadm_id,
    age_score,
    myocardial_infarct,
    congestive_heart_failure,
    peripheral_vascular_disease,
    cerebrovascular_disease,
    dementia,
    chronic_pulmonary_disease,
    rheumatic_disease,
    peptic_ulcer_disease,
    mild_liver_disease,
    diabetes_without_cc,
    diabetes_with_cc,
    paraplegia,
    renal_disease,
    malignant_cancer,
    severe_liver_disease,
    metastatic_solid_tumor,
    aids,
    -- Of a mild and a severe form of one disease only the heavier counts.
    age_score
    + myocardial_infarct
    + congestive_heart_failure
    + peripheral_vascular_disease
    + cerebrovascular_disease
    + dementia
    + chronic_pulmonary_disease
    + rheumatic_disease
    + peptic_ulcer_disease
    + greatest(mild_liver_disease, 3 * severe_liver_disease)
    + greatest(diabetes_without_cc, 2 * diabetes_with_cc)
    + greatest(2 * malignant_cancer, 6 * metastatic_solid_tumor)
    + 2 * paraplegia
    + 2 * renal_disease
    + 6 * aids AS charlson_comorbidity_index
FROM admission
