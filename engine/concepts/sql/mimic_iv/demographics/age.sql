-- purpose: Age of the patient, in fractional years, at each hospital admission.
-- grain: one row per hospital admission whose patient is known
-- key: hadm_id
-- reads:
--   mimiciv_hosp.admissions (subject_id, hadm_id, admittime)
--   mimiciv_hosp.patients (subject_id, anchor_age, anchor_year)
-- deviations: none
SELECT
    adm.subject_id,
    adm.hadm_id,
    adm.admittime,
    pat.anchor_age,
    pat.anchor_year,
    -- Everybody's birthday counts as 1 January; a year is 365.242 days, in microseconds.
    pat.anchor_age
    + (epoch_us(adm.admittime) - epoch_us(make_date(pat.anchor_year, 1, 1)::TIMESTAMP))
    / 31556908800000 AS age
FROM mimiciv_hosp.admissions AS adm
INNER JOIN mimiciv_hosp.patients AS pat ON adm.subject_id = pat.subject_id
