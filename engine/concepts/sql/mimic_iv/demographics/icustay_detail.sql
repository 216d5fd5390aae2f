-- purpose: Demographics, hospital stay and ICU stay in one row, with sequence numbers.
-- grain: one row per ICU stay whose admission and patient are known
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime, outtime)
--   mimiciv_hosp.admissions (subject_id, hadm_id, admittime, dischtime, race, hospital_expire_flag)
--   mimiciv_hosp.patients (subject_id, gender, dod, anchor_age, anchor_year)
-- deviations: none
WITH joined AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        pat.gender,
        pat.dod,
        adm.admittime,
        adm.dischtime,
        (epoch_us(adm.dischtime) - epoch_us(adm.admittime)) / 86400000000 AS los_hospital,
        -- As in the concept age: everybody's birthday is 1 January, a year is 365.242 days.
        pat.anchor_age
        + (epoch_us(adm.admittime) - epoch_us(make_date(pat.anchor_year, 1, 1)::TIMESTAMP))
        / 31556908800000 AS admission_age,
        adm.race,
        adm.hospital_expire_flag,
        dense_rank() OVER (
            PARTITION BY adm.subject_id ORDER BY adm.admittime ASC NULLS FIRST
        ) AS hospstay_seq,
        stay.intime AS icu_intime,
        stay.outtime AS icu_outtime,
        -- Rounded twice: to three decimals, then to two.
        ((epoch_us(stay.outtime) - epoch_us(stay.intime)) / 3600000000 / 24)
        ::DECIMAL(18, 3)::DECIMAL(18, 2) AS los_icu,
        dense_rank() OVER (
            PARTITION BY stay.hadm_id ORDER BY stay.intime ASC NULLS FIRST
        ) AS icustay_seq
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON stay.subject_id = pat.subject_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    gender,
    dod,
    admittime,
    dischtime,
    los_hospital,
    admission_age,
    race,
    hospital_expire_flag,
    hospstay_seq,
    hospstay_seq = 1 AS first_hosp_stay,
    icu_intime,
    icu_outtime,
    los_icu,
    icustay_seq,
    icustay_seq = 1 AS first_icu_stay
FROM joined
