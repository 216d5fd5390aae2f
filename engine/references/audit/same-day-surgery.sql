-- counts: ICU stays of admissions for same-day surgery.
-- of: ICU stays with a known admission
-- targets: oasis-24h, sapsii-24h
-- why: Only ELECTIVE is a planned admission here, so same-day surgery is unscheduled.
SELECT
    count(*) FILTER (WHERE adm.admission_type = 'SURGICAL SAME DAY ADMISSION') AS affected,
    count(*) AS total
FROM mimiciv_icu.icustays AS stay
INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
