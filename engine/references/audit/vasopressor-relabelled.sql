-- counts: Norepinephrine records in mg/kg/min with a patient weight of exactly 1.
-- of: norepinephrine records
-- targets: vasopressor-equivalents
-- why: They are taken as mcg/kg/min: a repair of mislabelled records.
SELECT
    count(*) FILTER (WHERE rateuom = 'mg/kg/min' AND patientweight = 1) AS affected,
    count(*) AS total
FROM mimiciv_icu.inputevents
WHERE itemid = 221906
