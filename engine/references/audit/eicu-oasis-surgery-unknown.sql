-- counts: Unit stays for which elective surgery is not known.
-- of: unit stays
-- targets: eicu-oasis
-- why: Not known has 6 points here, although missing components are said to have 0.
WITH known AS (
    SELECT
        patientunitstayid,
        max(electivesurgery) AS electivesurgery
    FROM eicu_crd.apachepredvar
    GROUP BY patientunitstayid
)

SELECT
    count(*) FILTER (WHERE known.electivesurgery IS NULL) AS affected,
    count(*) AS total
FROM eicu_crd.patient AS pat
LEFT JOIN known ON pat.patientunitstayid = known.patientunitstayid
