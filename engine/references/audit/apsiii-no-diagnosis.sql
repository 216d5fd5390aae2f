-- counts: ICU stays of admissions without any diagnosis.
-- of: ICU stays
-- targets: apsiii-24h
-- why: Acute renal failure is not looked for without diagnoses.
SELECT
    count(*) FILTER (
        WHERE NOT EXISTS (
            SELECT 1
            FROM mimiciv_hosp.diagnoses_icd AS icd
            WHERE icd.hadm_id = stay.hadm_id
        )
    ) AS affected,
    count(*) AS total
FROM mimiciv_icu.icustays AS stay
