-- purpose: Blood gas panel of one draw that has a pO2, with the FiO2 charted before it, the
--   PaO2/FiO2 ratio and the calculated alveolar-arterial oxygen difference.
-- grain: one row per patient and draw time with a pO2
-- key: subject_id, charttime
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, value, valuenum)
--   mimiciv_icu.chartevents (subject_id, charttime, itemid, valuenum)
-- deviations: Of several specimens with a pO2 at one time the public code keeps an undefined one;
--   here the one with the smallest specimen_id stays.
WITH specimen AS (
    SELECT
        max(subject_id) AS subject_id,
        max(hadm_id) AS hadm_id,
        max(charttime) AS charttime,
        specimen_id,
        max(value) FILTER (WHERE itemid = 52033) AS specimen,
        max(valuenum) FILTER (WHERE itemid = 50801) AS aado2,
        max(valuenum) FILTER (WHERE itemid = 50802) AS baseexcess,
        max(valuenum) FILTER (WHERE itemid = 50803) AS bicarbonate,
        max(valuenum) FILTER (WHERE itemid = 50804) AS totalco2,
        max(valuenum) FILTER (WHERE itemid = 50805) AS carboxyhemoglobin,
        max(valuenum) FILTER (WHERE itemid = 50806) AS chloride,
        max(valuenum) FILTER (WHERE itemid = 50808) AS calcium,
        max(valuenum) FILTER (WHERE itemid = 50809 AND valuenum <= 10000) AS glucose,
        max(valuenum) FILTER (WHERE itemid = 50810 AND valuenum <= 100) AS hematocrit,
        max(valuenum) FILTER (WHERE itemid = 50811) AS hemoglobin,
        max(valuenum) FILTER (WHERE itemid = 50813 AND valuenum <= 10000) AS lactate,
        max(valuenum) FILTER (WHERE itemid = 50814) AS methemoglobin,
        -- Fractions become percent. Exactly 20 is null here, but not where it is charted.
        max(
            CASE
                WHEN valuenum > 20 AND valuenum <= 100 THEN valuenum
                WHEN valuenum > 0.2 AND valuenum <= 1 THEN valuenum * 100
            END
        ) FILTER (WHERE itemid = 50816) AS fio2,
        max(valuenum) FILTER (WHERE itemid = 50817 AND valuenum <= 100) AS so2,
        max(valuenum) FILTER (WHERE itemid = 50818) AS pco2,
        max(valuenum) FILTER (WHERE itemid = 50820) AS ph,
        max(valuenum) FILTER (WHERE itemid = 50821) AS po2,
        max(valuenum) FILTER (WHERE itemid = 50822) AS potassium,
        max(valuenum) FILTER (WHERE itemid = 50824) AS sodium,
        max(valuenum) FILTER (WHERE itemid = 50825) AS temperature
    FROM mimiciv_hosp.labevents
    WHERE
        itemid IN (
            52033, 50801, 50802, 50803, 50804, 50805, 50806, 50807, 50808, 50809, 50810, 50811,
            50813, 50814, 50815, 50816, 50817, 50818, 50819, 50820, 50821, 50822, 50823, 50824,
            50825
        )
    GROUP BY specimen_id
),

gas AS (
    SELECT *
    FROM specimen
    WHERE po2 IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY subject_id, charttime ORDER BY specimen_id) = 1
),

charted AS (
    SELECT
        subject_id,
        charttime,
        max(
            CASE
                WHEN valuenum >= 20 AND valuenum <= 100 THEN valuenum
                WHEN valuenum > 0.2 AND valuenum <= 1 THEN valuenum * 100
            END
        ) AS fio2
    FROM mimiciv_icu.chartevents
    WHERE itemid = 223835 AND valuenum > 0 AND valuenum <= 100
    GROUP BY subject_id, charttime
),

usable AS (
    SELECT
        subject_id,
        charttime,
        fio2
    FROM charted
    WHERE fio2 > 0
),

joined AS (
    SELECT
        gas.*,
        if(
            usable.charttime >= gas.charttime - INTERVAL 4 HOURS, usable.fio2, NULL
        ) AS fio2_chartevents
    FROM gas
    ASOF LEFT JOIN usable
        ON gas.subject_id = usable.subject_id AND gas.charttime >= usable.charttime
)

SELECT
    subject_id,
    hadm_id,
    charttime,
    specimen,
    so2,
    po2,
    pco2,
    fio2_chartevents,
    fio2,
    aado2,
    coalesce(fio2, fio2_chartevents) / 100 * 713 - pco2 / 0.8 - po2 AS aado2_calc,
    100 * po2 / coalesce(fio2, fio2_chartevents) AS pao2fio2ratio,
    ph,
    baseexcess,
    bicarbonate,
    totalco2,
    hematocrit,
    hemoglobin,
    carboxyhemoglobin,
    methemoglobin,
    chloride,
    calcium,
    temperature,
    potassium,
    sodium,
    lactate,
    glucose
FROM joined
