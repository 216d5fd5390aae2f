-- counts: Minutes with a charted total outside 3 to 15.
-- of: minutes with a charted total
-- targets: eicu-gcs
-- why: An invalid lowest total of a minute hides a valid one, and the minute is completed with
--   normal values.
WITH minute AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        min(try_cast(nursingchartvalue AS DECIMAL(18, 3))) AS total
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
        AND (
            (
                nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'GCS Total'
            )
            OR (
                nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value'
            )
        )
        AND nursingchartoffset BETWEEN -360 AND 1440
    GROUP BY patientunitstayid, nursingchartoffset
)

SELECT
    count(*) FILTER (WHERE total <= 2 OR total >= 16) AS affected,
    count(*) AS total
FROM minute
WHERE total IS NOT NULL
