-- counts: Creatinine values whose stage is another one in decimal arithmetic.
-- of: creatinine values of a stay
-- targets: kdigo-48h
-- why: Comparisons are binary floating point: a rise from 0.8 to 1.2 is not 1.5 times.
WITH decimal_value AS (
    SELECT
        creat,
        creat_low_past_7day AS low7,
        creat_low_past_48hr AS low48,
        creat::DECIMAL(18, 6) AS value,
        creat_low_past_7day::DECIMAL(18, 6) AS decimal_low7,
        creat_low_past_48hr::DECIMAL(18, 6) AS decimal_low48
    FROM mimiciv_derived.kdigo_creatinine
    WHERE creat IS NOT NULL
)

SELECT
    count(*) FILTER (
        WHERE
        (creat >= low7 * 3.0::DOUBLE) != (value >= decimal_low7 * 3)
        OR (creat >= low7 * 2.0::DOUBLE) != (value >= decimal_low7 * 2)
        OR (creat >= low7 * 1.5::DOUBLE) != (value * 2 >= decimal_low7 * 3)
        OR (creat >= low48 + 0.3::DOUBLE) != (value * 10 >= decimal_low48 * 10 + 3)
    ) AS affected,
    count(*) AS total
FROM decimal_value
