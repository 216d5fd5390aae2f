-- purpose: Simplified Acute Physiology Score II of the first 24 ICU hours; what is missing scores
--   0.
-- grain: one row per ICU stay whose admission is known
-- key: stay_id
-- reads:
--   mimiciv_derived.sapsii (subject_id, hadm_id, stay_id, sapsii, age_score, hr_score,
--     sysbp_score, temp_score, pao2fio2_score, uo_score, bun_score, wbc_score, potassium_score,
--     sodium_score, bicarbonate_score, bilirubin_score, gcs_score, comorbidity_score,
--     admissiontype_score)
-- deviations: none of its own
SELECT
    subject_id,
    hadm_id,
    stay_id,
    sapsii,
    coalesce(age_score, 0) AS age_score,
    coalesce(hr_score, 0) AS hr_score,
    coalesce(sysbp_score, 0) AS sysbp_score,
    coalesce(temp_score, 0) AS temp_score,
    coalesce(pao2fio2_score, 0) AS pao2fio2_score,
    coalesce(uo_score, 0) AS uo_score,
    coalesce(bun_score, 0) AS bun_score,
    coalesce(wbc_score, 0) AS wbc_score,
    coalesce(potassium_score, 0) AS potassium_score,
    coalesce(sodium_score, 0) AS sodium_score,
    coalesce(bicarbonate_score, 0) AS bicarbonate_score,
    coalesce(bilirubin_score, 0) AS bilirubin_score,
    coalesce(gcs_score, 0) AS gcs_score,
    coalesce(comorbidity_score, 0) AS comorbidity_score,
    coalesce(admissiontype_score, 0) AS admissiontype_score
FROM mimiciv_derived.sapsii
