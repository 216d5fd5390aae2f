-- counts: Unit stays with a minute that has a valid total and no component.
-- of: unit stays with a Glasgow Coma Scale in the window
-- targets: eicu-gcs
-- why: Such a minute is reported with normal components, which contradict the total.
WITH minute AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        min(try_cast(nursingchartvalue AS DECIMAL(18, 3))) FILTER (
            WHERE nursingchartcelltypevalname IN ('GCS Total', 'Value')
        ) AS total,
        count(try_cast(nursingchartvalue AS DECIMAL(18, 3))) FILTER (
            WHERE nursingchartcelltypevalname IN ('Motor', 'Verbal', 'Eyes')
        ) AS parts
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
        AND (
            nursingchartcelltypevallabel = 'Glasgow coma score'
            OR (
                nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value'
            )
        )
        AND nursingchartoffset BETWEEN -360 AND 1440
    GROUP BY patientunitstayid, nursingchartoffset
)

SELECT
    count(DISTINCT patientunitstayid) FILTER (
        WHERE total > 2 AND total < 15 AND parts = 0
    ) AS affected,
    count(DISTINCT patientunitstayid) AS total
FROM minute
WHERE total IS NOT NULL OR parts > 0
