-- purpose: Lowest and highest arterial blood gas values around the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.bg (subject_id, charttime, specimen, lactate, ph, so2, po2, pco2, aado2,
--     aado2_calc, pao2fio2ratio, baseexcess, bicarbonate, totalco2, hematocrit, hemoglobin,
--     carboxyhemoglobin, methemoglobin, temperature, chloride, calcium, glucose, potassium,
--     sodium)
-- deviations: none of its own; of two gases at one time bg keeps one
SELECT
    stay.subject_id,
    stay.stay_id,
    min(bg.lactate) AS lactate_min,
    max(bg.lactate) AS lactate_max,
    min(bg.ph) AS ph_min,
    max(bg.ph) AS ph_max,
    min(bg.so2) AS so2_min,
    max(bg.so2) AS so2_max,
    min(bg.po2) AS po2_min,
    max(bg.po2) AS po2_max,
    min(bg.pco2) AS pco2_min,
    max(bg.pco2) AS pco2_max,
    min(bg.aado2) AS aado2_min,
    max(bg.aado2) AS aado2_max,
    min(bg.aado2_calc) AS aado2_calc_min,
    max(bg.aado2_calc) AS aado2_calc_max,
    min(bg.pao2fio2ratio) AS pao2fio2ratio_min,
    max(bg.pao2fio2ratio) AS pao2fio2ratio_max,
    min(bg.baseexcess) AS baseexcess_min,
    max(bg.baseexcess) AS baseexcess_max,
    min(bg.bicarbonate) AS bicarbonate_min,
    max(bg.bicarbonate) AS bicarbonate_max,
    min(bg.totalco2) AS totalco2_min,
    max(bg.totalco2) AS totalco2_max,
    min(bg.hematocrit) AS hematocrit_min,
    max(bg.hematocrit) AS hematocrit_max,
    min(bg.hemoglobin) AS hemoglobin_min,
    max(bg.hemoglobin) AS hemoglobin_max,
    min(bg.carboxyhemoglobin) AS carboxyhemoglobin_min,
    max(bg.carboxyhemoglobin) AS carboxyhemoglobin_max,
    min(bg.methemoglobin) AS methemoglobin_min,
    max(bg.methemoglobin) AS methemoglobin_max,
    min(bg.temperature) AS temperature_min,
    max(bg.temperature) AS temperature_max,
    min(bg.chloride) AS chloride_min,
    max(bg.chloride) AS chloride_max,
    min(bg.calcium) AS calcium_min,
    max(bg.calcium) AS calcium_max,
    min(bg.glucose) AS glucose_min,
    max(bg.glucose) AS glucose_max,
    min(bg.potassium) AS potassium_min,
    max(bg.potassium) AS potassium_max,
    min(bg.sodium) AS sodium_min,
    max(bg.sodium) AS sodium_max
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.bg AS bg
    ON
        stay.subject_id = bg.subject_id
        AND bg.charttime >= stay.intime - INTERVAL 6 HOURS
        AND bg.charttime <= stay.intime + INTERVAL 24 HOURS
        AND bg.specimen = 'ART.'
GROUP BY stay.subject_id, stay.stay_id
