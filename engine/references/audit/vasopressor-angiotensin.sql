-- counts: ICU stays with angiotensin II.
-- of: ICU stays with a norepinephrine record
-- targets: vasopressor-equivalents
-- why: It is left out of the dose: understated in patients on it.
SELECT
    count(DISTINCT stay_id) FILTER (WHERE itemid IN (229709, 229764)) AS affected,
    count(DISTINCT stay_id) AS total
FROM mimiciv_icu.inputevents
WHERE itemid IN (221906, 229709, 229764)
