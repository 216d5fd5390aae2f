-- counts: Unit stays without any Glasgow Coma Scale in the window.
-- of: unit stays
-- targets: eicu-gcs
-- why: Missing is reported as 15, so such stays look awake.
WITH charted AS (
    SELECT DISTINCT patientunitstayid
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
        AND (
            (
                nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname IN ('GCS Total', 'Motor', 'Verbal', 'Eyes')
            )
            OR (
                nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value'
            )
        )
        AND nursingchartoffset BETWEEN -360 AND 1440
        AND try_cast(nursingchartvalue AS DECIMAL(18, 3)) IS NOT NULL
)

SELECT
    count(*) FILTER (WHERE charted.patientunitstayid IS NULL) AS affected,
    count(*) AS total
FROM eicu_crd.patient AS pat
LEFT JOIN charted ON pat.patientunitstayid = charted.patientunitstayid
