-- purpose: Acute Physiology Score III of the first ICU day, gases of the first 24 hours only; what
--   is missing scores 0.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime, outtime)
--   mimiciv_derived.bg (hadm_id, charttime, specimen, po2, pco2, ph, fio2, fio2_chartevents, aado2)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.apsiii (stay_id, apsiii, hr_score, mbp_score, temp_score, resp_rate_score,
--     hematocrit_score, wbc_score, creatinine_score, uo_score, bun_score, sodium_score,
--     albumin_score, bilirubin_score, glucose_score, gcs_score)
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
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            stay.hadm_id = bg.hadm_id
            AND stay.intime <= bg.charttime
            -- least() passes over a missing outtime.
            AND least(stay.outtime, stay.intime + INTERVAL 24 HOURS) > bg.charttime
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

-- Only the two components that rest on gases differ from the derived table. A stay without
-- admission or patient has no score there, and none here.
scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        derived.apsiii IS NOT NULL AS is_known,
        coalesce(derived.hr_score, 0) AS hr_score,
        coalesce(derived.mbp_score, 0) AS mbp_score,
        coalesce(derived.temp_score, 0) AS temp_score,
        coalesce(derived.resp_rate_score, 0) AS resp_rate_score,
        CASE
            WHEN derived.apsiii IS NULL THEN 0
            WHEN oxygenation.po2 < 50 THEN 15
            WHEN oxygenation.po2 < 70 THEN 5
            WHEN oxygenation.po2 < 80 THEN 2
            WHEN oxygenation.po2 IS NOT NULL THEN 0
            WHEN oxygenation.aado2 < 100 THEN 0
            WHEN oxygenation.aado2 < 250 THEN 7
            WHEN oxygenation.aado2 < 350 THEN 9
            WHEN oxygenation.aado2 < 500 THEN 11
            WHEN oxygenation.aado2 IS NOT NULL THEN 14
            ELSE 0
        END AS pao2_aado2_score,
        coalesce(derived.hematocrit_score, 0) AS hematocrit_score,
        coalesce(derived.wbc_score, 0) AS wbc_score,
        coalesce(derived.creatinine_score, 0) AS creatinine_score,
        coalesce(derived.uo_score, 0) AS uo_score,
        coalesce(derived.bun_score, 0) AS bun_score,
        coalesce(derived.sodium_score, 0) AS sodium_score,
        coalesce(derived.albumin_score, 0) AS albumin_score,
        coalesce(derived.bilirubin_score, 0) AS bilirubin_score,
        coalesce(derived.glucose_score, 0) AS glucose_score,
        if(derived.apsiii IS NULL, 0, coalesce(oxygenation.acidbase_score, 0)) AS acidbase_score,
        coalesce(derived.gcs_score, 0) AS gcs_score
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.apsiii AS derived ON stay.stay_id = derived.stay_id
    LEFT JOIN oxygenation ON stay.stay_id = oxygenation.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    if(
        is_known,
        hr_score
        + mbp_score
        + temp_score
        + resp_rate_score
        + pao2_aado2_score
        + hematocrit_score
        + wbc_score
        + creatinine_score
        + uo_score
        + bun_score
        + sodium_score
        + albumin_score
        + bilirubin_score
        + glucose_score
        + acidbase_score
        + gcs_score,
        NULL
    ) AS apsiii,
    hr_score,
    mbp_score,
    temp_score,
    resp_rate_score,
    pao2_aado2_score,
    hematocrit_score,
    wbc_score,
    creatinine_score,
    uo_score,
    bun_score,
    sodium_score,
    albumin_score,
    bilirubin_score,
    glucose_score,
    acidbase_score,
    gcs_score
FROM scored
