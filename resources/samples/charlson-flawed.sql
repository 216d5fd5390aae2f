-- Charlson comorbidity flags, age score and index per hospital admission.
-- Flawed on purpose: whole-year age with the bands of the paper, and no hierarchy in the index.
WITH codes AS (
    SELECT
        hadm_id,
        icd_version,
        left(icd_code, 3) AS c3,
        left(icd_code, 4) AS c4,
        left(icd_code, 5) AS c5
    FROM mimiciv_hosp.diagnoses_icd
),

flags AS (
    SELECT
        hadm_id,
        max((
            (icd_version = 9 AND (c3 IN ('410', '412'))) OR (icd_version = 10 AND (c3 IN ('I21',
                'I22') OR c4 = 'I252'))
        )::INTEGER) AS myocardial_infarct,
        max((
            (icd_version = 9 AND (c3 = '428' OR c4 BETWEEN '4254' AND '4259' OR c5 IN ('39891',
                '40201', '40211', '40291', '40401', '40403', '40411', '40413', '40491',
                '40493'))) OR (icd_version = 10 AND (c3 IN ('I43', 'I50') OR c4 IN ('I099',
                'I110', 'I130', 'I132', 'I255', 'I420', 'I425', 'I426', 'I427', 'I428', 'I429',
                'P290')))
        )::INTEGER) AS congestive_heart_failure,
        max((
            (icd_version = 9 AND (c3 IN ('440', '441') OR c4 IN ('0930', '4373', '4471', '5571',
                '5579', 'V434') OR c4 BETWEEN '4431' AND '4439')) OR (icd_version = 10 AND (c3
                IN ('I70', 'I71') OR c4 IN ('I731', 'I738', 'I739', 'I771', 'I790', 'I792',
                'K551', 'K558', 'K559', 'Z958', 'Z959')))
        )::INTEGER) AS peripheral_vascular_disease,
        max((
            (icd_version = 9 AND (c3 BETWEEN '430' AND '438' OR c5 = '36234')) OR (icd_version =
                10 AND (c3 IN ('G45', 'G46') OR c3 BETWEEN 'I60' AND 'I69' OR c4 = 'H340'))
        )::INTEGER) AS cerebrovascular_disease,
        max((
            (icd_version = 9 AND (c3 = '290' OR c4 IN ('2941', '3312'))) OR (icd_version = 10
                AND (c3 IN ('F00', 'F01', 'F02', 'F03', 'G30') OR c4 IN ('F051', 'G311')))
        )::INTEGER) AS dementia,
        max((
            (icd_version = 9 AND (c3 BETWEEN '490' AND '505' OR c4 IN ('4168', '4169', '5064',
                '5081', '5088'))) OR (icd_version = 10 AND (c3 BETWEEN 'J40' AND 'J47' OR c3
                BETWEEN 'J60' AND 'J67' OR c4 IN ('I278', 'I279', 'J684', 'J701', 'J703')))
        )::INTEGER) AS chronic_pulmonary_disease,
        max((
            (icd_version = 9 AND (c3 = '725' OR c4 IN ('4465', '7100', '7101', '7102', '7103',
                '7104', '7140', '7141', '7142', '7148'))) OR (icd_version = 10 AND (c3 IN
                ('M05', 'M06', 'M32', 'M33', 'M34') OR c4 IN ('M315', 'M351', 'M353', 'M360')))
        )::INTEGER) AS rheumatic_disease,
        max((
            (icd_version = 9 AND (c3 IN ('531', '532', '533', '534'))) OR (icd_version = 10 AND
                (c3 IN ('K25', 'K26', 'K27', 'K28')))
        )::INTEGER) AS peptic_ulcer_disease,
        max((
            (icd_version = 9 AND (c3 IN ('570', '571') OR c4 IN ('0706', '0709', '5733', '5734',
                '5738', '5739', 'V427') OR c5 IN ('07022', '07023', '07032', '07033', '07044',
                '07054'))) OR (icd_version = 10 AND (c3 IN ('B18', 'K73', 'K74') OR c4 IN
                ('K700', 'K701', 'K702', 'K703', 'K709', 'K713', 'K714', 'K715', 'K717', 'K760',
                'K762', 'K763', 'K764', 'K768', 'K769', 'Z944')))
        )::INTEGER) AS mild_liver_disease,
        max((
            (icd_version = 9 AND (c4 IN ('2500', '2501', '2502', '2503', '2508', '2509'))) OR
                (icd_version = 10 AND (c4 IN ('E100', 'E101', 'E106', 'E108', 'E109', 'E110',
                'E111', 'E116', 'E118', 'E119', 'E120', 'E121', 'E126', 'E128', 'E129', 'E130',
                'E131', 'E136', 'E138', 'E139', 'E140', 'E141', 'E146', 'E148', 'E149')))
        )::INTEGER) AS diabetes_without_cc,
        max((
            (icd_version = 9 AND (c4 IN ('2504', '2505', '2506', '2507'))) OR (icd_version = 10
                AND (c4 IN ('E102', 'E103', 'E104', 'E105', 'E107', 'E112', 'E113', 'E114',
                'E115', 'E117', 'E122', 'E123', 'E124', 'E125', 'E127', 'E132', 'E133', 'E134',
                'E135', 'E137', 'E142', 'E143', 'E144', 'E145', 'E147')))
        )::INTEGER) AS diabetes_with_cc,
        max((
            (icd_version = 9 AND (c3 IN ('342', '343') OR c4 IN ('3341', '3440', '3441', '3442',
                '3443', '3444', '3445', '3446', '3449'))) OR (icd_version = 10 AND (c3 IN
                ('G81', 'G82') OR c4 IN ('G041', 'G114', 'G801', 'G802', 'G830', 'G831', 'G832',
                'G833', 'G834', 'G839')))
        )::INTEGER) AS paraplegia,
        max((
            (icd_version = 9 AND (c3 IN ('582', '585', '586', 'V56') OR c4 IN ('5880', 'V420',
                'V451') OR c4 BETWEEN '5830' AND '5837' OR c5 IN ('40301', '40311', '40391',
                '40402', '40403', '40412', '40413', '40492', '40493'))) OR (icd_version = 10 AND
                (c3 IN ('N18', 'N19') OR c4 IN ('I120', 'I131', 'N032', 'N033', 'N034', 'N035',
                'N036', 'N037', 'N052', 'N053', 'N054', 'N055', 'N056', 'N057', 'N250', 'Z490',
                'Z491', 'Z492', 'Z940', 'Z992')))
        )::INTEGER) AS renal_disease,
        max((
            (icd_version = 9 AND (c3 BETWEEN '140' AND '172' OR c3 BETWEEN '200' AND '208' OR c4
                = '2386' OR c4 BETWEEN '1740' AND '1958')) OR (icd_version = 10 AND (c3 IN
                ('C43', 'C88') OR c3 BETWEEN 'C00' AND 'C26' OR c3 BETWEEN 'C30' AND 'C34' OR c3
                BETWEEN 'C37' AND 'C41' OR c3 BETWEEN 'C45' AND 'C58' OR c3 BETWEEN 'C60' AND
                'C76' OR c3 BETWEEN 'C81' AND 'C85' OR c3 BETWEEN 'C90' AND 'C97'))
        )::INTEGER) AS malignant_cancer,
        max((
            (icd_version = 9 AND (c4 IN ('4560', '4561', '4562') OR c4 BETWEEN '5722' AND
                '5728')) OR (icd_version = 10 AND (c4 IN ('I850', 'I859', 'I864', 'I982',
                'K704', 'K711', 'K721', 'K729', 'K765', 'K766', 'K767')))
        )::INTEGER) AS severe_liver_disease,
        max((
            (icd_version = 9 AND (c3 IN ('196', '197', '198', '199'))) OR (icd_version = 10 AND
                (c3 IN ('C77', 'C78', 'C79', 'C80')))
        )::INTEGER) AS metastatic_solid_tumor,
        max((
            (icd_version = 9 AND (c3 IN ('042', '043', '044'))) OR (icd_version = 10 AND (c3 IN
                ('B20', 'B21', 'B22', 'B24')))
        )::INTEGER) AS aids
    FROM codes
    GROUP BY hadm_id
),

ages AS (
    SELECT
        subject_id,
        hadm_id,
        CASE
            WHEN age <= 50 THEN 0
            WHEN age <= 60 THEN 1
            WHEN age <= 70 THEN 2
            WHEN age <= 80 THEN 3
            ELSE 4
        END AS age_score
    FROM (
        SELECT
            subject_id,
            hadm_id,
            anchor_age + year(admittime) - anchor_year AS age
        FROM mimiciv_hosp.admissions
        INNER JOIN mimiciv_hosp.patients USING (subject_id)
    )
),

filled AS (
    SELECT
        admissions.subject_id,
        admissions.hadm_id,
        age_score,
        coalesce(myocardial_infarct, 0) AS myocardial_infarct,
        coalesce(congestive_heart_failure, 0) AS congestive_heart_failure,
        coalesce(peripheral_vascular_disease, 0) AS peripheral_vascular_disease,
        coalesce(cerebrovascular_disease, 0) AS cerebrovascular_disease,
        coalesce(dementia, 0) AS dementia,
        coalesce(chronic_pulmonary_disease, 0) AS chronic_pulmonary_disease,
        coalesce(rheumatic_disease, 0) AS rheumatic_disease,
        coalesce(peptic_ulcer_disease, 0) AS peptic_ulcer_disease,
        coalesce(mild_liver_disease, 0) AS mild_liver_disease,
        coalesce(diabetes_without_cc, 0) AS diabetes_without_cc,
        coalesce(diabetes_with_cc, 0) AS diabetes_with_cc,
        coalesce(paraplegia, 0) AS paraplegia,
        coalesce(renal_disease, 0) AS renal_disease,
        coalesce(malignant_cancer, 0) AS malignant_cancer,
        coalesce(severe_liver_disease, 0) AS severe_liver_disease,
        coalesce(metastatic_solid_tumor, 0) AS metastatic_solid_tumor,
        coalesce(aids, 0) AS aids
    FROM mimiciv_hosp.admissions
    LEFT JOIN ages USING (hadm_id)
    LEFT JOIN flags USING (hadm_id)
)

SELECT
    *,
    age_score + myocardial_infarct + congestive_heart_failure + peripheral_vascular_disease
    + cerebrovascular_disease + dementia + chronic_pulmonary_disease + rheumatic_disease
    + peptic_ulcer_disease
    + mild_liver_disease + 3 * severe_liver_disease
    + diabetes_without_cc + 2 * diabetes_with_cc
    + 2 * malignant_cancer + 6 * metastatic_solid_tumor
    + 2 * paraplegia + 2 * renal_disease + 6 * aids AS charlson_comorbidity_index
FROM filled
ORDER BY hadm_id;
