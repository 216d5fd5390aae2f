-- counts: Admissions whose age points differ from those of whole years.
-- of: admissions with a known age
-- targets: charlson
-- why: Bands end at 50, 60, 70 and 80 years and are compared with a fractional age, everybody
--   born on 1 January.
WITH aged AS (
    SELECT
        age,
        anchor_age
        + date_diff('year', make_date(anchor_year::INTEGER, 1, 1), admittime::DATE) AS years
    FROM mimiciv_derived.age
    WHERE age IS NOT NULL
)

SELECT
    count(*) FILTER (
        WHERE
        (age > 50)::INTEGER + (age > 60)::INTEGER + (age > 70)::INTEGER + (age > 80)::INTEGER
        != (years >= 50)::INTEGER + (years >= 60)::INTEGER + (years >= 70)::INTEGER
        + (years >= 80)::INTEGER
    ) AS affected,
    count(*) AS total
FROM aged
