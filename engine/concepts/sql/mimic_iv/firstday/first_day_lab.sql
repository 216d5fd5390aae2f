-- purpose: Lowest and highest laboratory values around the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.complete_blood_count (subject_id, charttime, hematocrit, hemoglobin,
--     platelet, wbc)
--   mimiciv_derived.chemistry (subject_id, charttime, albumin, globulin, total_protein,
--     aniongap, bicarbonate, bun, calcium, chloride, creatinine, glucose, sodium, potassium)
--   mimiciv_derived.blood_differential (subject_id, charttime, basophils_abs, eosinophils_abs,
--     lymphocytes_abs, monocytes_abs, neutrophils_abs, atypical_lymphocytes, bands,
--     immature_granulocytes, metamyelocytes, nrbc)
--   mimiciv_derived.coagulation (subject_id, charttime, d_dimer, fibrinogen, thrombin, inr, pt,
--     ptt)
--   mimiciv_derived.enzyme (subject_id, charttime, alt, alp, ast, amylase, bilirubin_total,
--     bilirubin_direct, bilirubin_indirect, ck_cpk, ck_mb, ggt, ld_ldh)
-- deviations: none
WITH time_window AS (
    SELECT
        subject_id,
        stay_id,
        intime - INTERVAL 6 HOURS AS starttime,
        intime + INTERVAL 24 HOURS AS endtime
    FROM mimiciv_icu.icustays
),

complete_blood_count_range AS (
    SELECT
        time_window.stay_id,
        min(lab.hematocrit) AS hematocrit_min,
        max(lab.hematocrit) AS hematocrit_max,
        min(lab.hemoglobin) AS hemoglobin_min,
        max(lab.hemoglobin) AS hemoglobin_max,
        min(lab.platelet) AS platelets_min,
        max(lab.platelet) AS platelets_max,
        min(lab.wbc) AS wbc_min,
        max(lab.wbc) AS wbc_max
    FROM time_window
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON
            time_window.subject_id = lab.subject_id
            AND time_window.starttime <= lab.charttime
            AND time_window.endtime >= lab.charttime
    GROUP BY time_window.stay_id
),

chemistry_range AS (
    SELECT
        time_window.stay_id,
        min(lab.albumin) AS albumin_min,
        max(lab.albumin) AS albumin_max,
        min(lab.globulin) AS globulin_min,
        max(lab.globulin) AS globulin_max,
        min(lab.total_protein) AS total_protein_min,
        max(lab.total_protein) AS total_protein_max,
        min(lab.aniongap) AS aniongap_min,
        max(lab.aniongap) AS aniongap_max,
        min(lab.bicarbonate) AS bicarbonate_min,
        max(lab.bicarbonate) AS bicarbonate_max,
        min(lab.bun) AS bun_min,
        max(lab.bun) AS bun_max,
        min(lab.calcium) AS calcium_min,
        max(lab.calcium) AS calcium_max,
        min(lab.chloride) AS chloride_min,
        max(lab.chloride) AS chloride_max,
        min(lab.creatinine) AS creatinine_min,
        max(lab.creatinine) AS creatinine_max,
        min(lab.glucose) AS glucose_min,
        max(lab.glucose) AS glucose_max,
        min(lab.sodium) AS sodium_min,
        max(lab.sodium) AS sodium_max,
        min(lab.potassium) AS potassium_min,
        max(lab.potassium) AS potassium_max
    FROM time_window
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON
            time_window.subject_id = lab.subject_id
            AND time_window.starttime <= lab.charttime
            AND time_window.endtime >= lab.charttime
    GROUP BY time_window.stay_id
),

blood_differential_range AS (
    SELECT
        time_window.stay_id,
        min(lab.basophils_abs) AS abs_basophils_min,
        max(lab.basophils_abs) AS abs_basophils_max,
        min(lab.eosinophils_abs) AS abs_eosinophils_min,
        max(lab.eosinophils_abs) AS abs_eosinophils_max,
        min(lab.lymphocytes_abs) AS abs_lymphocytes_min,
        max(lab.lymphocytes_abs) AS abs_lymphocytes_max,
        min(lab.monocytes_abs) AS abs_monocytes_min,
        max(lab.monocytes_abs) AS abs_monocytes_max,
        min(lab.neutrophils_abs) AS abs_neutrophils_min,
        max(lab.neutrophils_abs) AS abs_neutrophils_max,
        min(lab.atypical_lymphocytes) AS atyps_min,
        max(lab.atypical_lymphocytes) AS atyps_max,
        min(lab.bands) AS bands_min,
        max(lab.bands) AS bands_max,
        min(lab.immature_granulocytes) AS imm_granulocytes_min,
        max(lab.immature_granulocytes) AS imm_granulocytes_max,
        min(lab.metamyelocytes) AS metas_min,
        max(lab.metamyelocytes) AS metas_max,
        min(lab.nrbc) AS nrbc_min,
        max(lab.nrbc) AS nrbc_max
    FROM time_window
    INNER JOIN mimiciv_derived.blood_differential AS lab
        ON
            time_window.subject_id = lab.subject_id
            AND time_window.starttime <= lab.charttime
            AND time_window.endtime >= lab.charttime
    GROUP BY time_window.stay_id
),

coagulation_range AS (
    SELECT
        time_window.stay_id,
        min(lab.d_dimer) AS d_dimer_min,
        max(lab.d_dimer) AS d_dimer_max,
        min(lab.fibrinogen) AS fibrinogen_min,
        max(lab.fibrinogen) AS fibrinogen_max,
        min(lab.thrombin) AS thrombin_min,
        max(lab.thrombin) AS thrombin_max,
        min(lab.inr) AS inr_min,
        max(lab.inr) AS inr_max,
        min(lab.pt) AS pt_min,
        max(lab.pt) AS pt_max,
        min(lab.ptt) AS ptt_min,
        max(lab.ptt) AS ptt_max
    FROM time_window
    INNER JOIN mimiciv_derived.coagulation AS lab
        ON
            time_window.subject_id = lab.subject_id
            AND time_window.starttime <= lab.charttime
            AND time_window.endtime >= lab.charttime
    GROUP BY time_window.stay_id
),

enzyme_range AS (
    SELECT
        time_window.stay_id,
        min(lab.alt) AS alt_min,
        max(lab.alt) AS alt_max,
        min(lab.alp) AS alp_min,
        max(lab.alp) AS alp_max,
        min(lab.ast) AS ast_min,
        max(lab.ast) AS ast_max,
        min(lab.amylase) AS amylase_min,
        max(lab.amylase) AS amylase_max,
        min(lab.bilirubin_total) AS bilirubin_total_min,
        max(lab.bilirubin_total) AS bilirubin_total_max,
        min(lab.bilirubin_direct) AS bilirubin_direct_min,
        max(lab.bilirubin_direct) AS bilirubin_direct_max,
        min(lab.bilirubin_indirect) AS bilirubin_indirect_min,
        max(lab.bilirubin_indirect) AS bilirubin_indirect_max,
        min(lab.ck_cpk) AS ck_cpk_min,
        max(lab.ck_cpk) AS ck_cpk_max,
        min(lab.ck_mb) AS ck_mb_min,
        max(lab.ck_mb) AS ck_mb_max,
        min(lab.ggt) AS ggt_min,
        max(lab.ggt) AS ggt_max,
        min(lab.ld_ldh) AS ld_ldh_min,
        max(lab.ld_ldh) AS ld_ldh_max
    FROM time_window
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON
            time_window.subject_id = lab.subject_id
            AND time_window.starttime <= lab.charttime
            AND time_window.endtime >= lab.charttime
    GROUP BY time_window.stay_id
)

SELECT
    time_window.subject_id,
    time_window.stay_id,
    complete_blood_count_range.hematocrit_min,
    complete_blood_count_range.hematocrit_max,
    complete_blood_count_range.hemoglobin_min,
    complete_blood_count_range.hemoglobin_max,
    complete_blood_count_range.platelets_min,
    complete_blood_count_range.platelets_max,
    complete_blood_count_range.wbc_min,
    complete_blood_count_range.wbc_max,
    chemistry_range.albumin_min,
    chemistry_range.albumin_max,
    chemistry_range.globulin_min,
    chemistry_range.globulin_max,
    chemistry_range.total_protein_min,
    chemistry_range.total_protein_max,
    chemistry_range.aniongap_min,
    chemistry_range.aniongap_max,
    chemistry_range.bicarbonate_min,
    chemistry_range.bicarbonate_max,
    chemistry_range.bun_min,
    chemistry_range.bun_max,
    chemistry_range.calcium_min,
    chemistry_range.calcium_max,
    chemistry_range.chloride_min,
    chemistry_range.chloride_max,
    chemistry_range.creatinine_min,
    chemistry_range.creatinine_max,
    chemistry_range.glucose_min,
    chemistry_range.glucose_max,
    chemistry_range.sodium_min,
    chemistry_range.sodium_max,
    chemistry_range.potassium_min,
    chemistry_range.potassium_max,
    blood_differential_range.abs_basophils_min,
    blood_differential_range.abs_basophils_max,
    blood_differential_range.abs_eosinophils_min,
    blood_differential_range.abs_eosinophils_max,
    blood_differential_range.abs_lymphocytes_min,
    blood_differential_range.abs_lymphocytes_max,
    blood_differential_range.abs_monocytes_min,
    blood_differential_range.abs_monocytes_max,
    blood_differential_range.abs_neutrophils_min,
    blood_differential_range.abs_neutrophils_max,
    blood_differential_range.atyps_min,
    blood_differential_range.atyps_max,
    blood_differential_range.bands_min,
    blood_differential_range.bands_max,
    blood_differential_range.imm_granulocytes_min,
    blood_differential_range.imm_granulocytes_max,
    blood_differential_range.metas_min,
    blood_differential_range.metas_max,
    blood_differential_range.nrbc_min,
    blood_differential_range.nrbc_max,
    coagulation_range.d_dimer_min,
    coagulation_range.d_dimer_max,
    coagulation_range.fibrinogen_min,
    coagulation_range.fibrinogen_max,
    coagulation_range.thrombin_min,
    coagulation_range.thrombin_max,
    coagulation_range.inr_min,
    coagulation_range.inr_max,
    coagulation_range.pt_min,
    coagulation_range.pt_max,
    coagulation_range.ptt_min,
    coagulation_range.ptt_max,
    enzyme_range.alt_min,
    enzyme_range.alt_max,
    enzyme_range.alp_min,
    enzyme_range.alp_max,
    enzyme_range.ast_min,
    enzyme_range.ast_max,
    enzyme_range.amylase_min,
    enzyme_range.amylase_max,
    enzyme_range.bilirubin_total_min,
    enzyme_range.bilirubin_total_max,
    enzyme_range.bilirubin_direct_min,
    enzyme_range.bilirubin_direct_max,
    enzyme_range.bilirubin_indirect_min,
    enzyme_range.bilirubin_indirect_max,
    enzyme_range.ck_cpk_min,
    enzyme_range.ck_cpk_max,
    enzyme_range.ck_mb_min,
    enzyme_range.ck_mb_max,
    enzyme_range.ggt_min,
    enzyme_range.ggt_max,
    enzyme_range.ld_ldh_min,
    enzyme_range.ld_ldh_max
FROM time_window
LEFT JOIN complete_blood_count_range ON time_window.stay_id = complete_blood_count_range.stay_id
LEFT JOIN chemistry_range ON time_window.stay_id = chemistry_range.stay_id
LEFT JOIN blood_differential_range ON time_window.stay_id = blood_differential_range.stay_id
LEFT JOIN coagulation_range ON time_window.stay_id = coagulation_range.stay_id
LEFT JOIN enzyme_range ON time_window.stay_id = enzyme_range.stay_id
