-- purpose: Charlson comorbidity index, its seventeen conditions and the age points.
-- grain: one row per hospital admission
-- key: hadm_id
-- reads:
--   mimiciv_derived.charlson (
--     subject_id, hadm_id, age_score, myocardial_infarct, congestive_heart_failure,
--     peripheral_vascular_disease, cerebrovascular_disease, dementia, chronic_pulmonary_disease,
--     rheumatic_disease, peptic_ulcer_disease, mild_liver_disease, diabetes_without_cc,
--     diabetes_with_cc, paraplegia, renal_disease, malignant_cancer, severe_liver_disease,
--     metastatic_solid_tumor, aids, charlson_comorbidity_index)
-- deviations: none
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
    charlson_comorbidity_index
FROM mimiciv_derived.charlson
