-- counts: Creatinine values of 4.0 or more with a rise of 0.3 in 48 hours that are not stage 3.
-- of: creatinine values of a stay
-- targets: kdigo-48h
-- why: The guideline makes them stage 3; the reference asks for a 48-hour low of at most 3.7.
SELECT
    count(*) FILTER (
        WHERE
        creat >= 4
        AND creat >= creat_low_past_48hr + 0.3::DOUBLE
        AND creat_low_past_48hr > 3.7
        AND creat < creat_low_past_7day * 1.5::DOUBLE
    ) AS affected,
    count(*) AS total
FROM mimiciv_derived.kdigo_creatinine
WHERE creat IS NOT NULL
