-- counts: ICU stays whose age band differs from that of whole years.
-- of: ICU stays with a known age
-- targets: oasis-24h
-- why: Bands end exactly at 53, 77 and 89 years, and between 89 and 90 there are no points.
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
        (age >= 24)::INTEGER + (age > 53)::INTEGER + (age > 77)::INTEGER + (age > 89)::INTEGER
        + (age >= 90)::INTEGER
        != (years >= 24)::INTEGER + (years > 53)::INTEGER + (years > 77)::INTEGER
        + 2 * (years > 89)::INTEGER
    ) AS affected,
    count(*) AS total
FROM aged
