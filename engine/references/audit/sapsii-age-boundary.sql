-- counts: ICU stays whose age points differ from those of whole years.
-- of: ICU stays with a known age
-- targets: sapsii-24h
-- why: Bands begin at the exact year of a fractional age.
WITH aged AS (
    SELECT
        age.age,
        age.anchor_age
        + date_diff('year', make_date(age.anchor_year::INTEGER, 1, 1), age.admittime::DATE) AS years
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.age AS age ON stay.hadm_id = age.hadm_id
    WHERE age.age IS NOT NULL
)

SELECT
    count(*) FILTER (
        WHERE
        (age >= 40)::INTEGER + (age >= 60)::INTEGER + (age >= 70)::INTEGER + (age >= 75)::INTEGER
        + (age >= 80)::INTEGER
        != (years >= 40)::INTEGER + (years >= 60)::INTEGER + (years >= 70)::INTEGER
        + (years >= 75)::INTEGER + (years >= 80)::INTEGER
    ) AS affected,
    count(*) AS total
FROM aged
