-- Lowest Glasgow Coma Scale of each eICU unit stay, from 6 h before to 24 h after admission.
WITH labelled AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        TRY_CAST(nursingchartvalue AS DECIMAL(18, 3)) AS number,
        CASE
            WHEN label = 'Glasgow coma score' AND name = 'GCS Total' THEN 'total'
            WHEN label = 'Score (Glasgow Coma Scale)' AND name = 'Value' THEN 'total'
            WHEN label = 'Glasgow coma score' AND name = 'Motor' THEN 'motor'
            WHEN label = 'Glasgow coma score' AND name = 'Verbal' THEN 'verbal'
            WHEN label = 'Glasgow coma score' AND name = 'Eyes' THEN 'eyes'
        END AS part
    FROM (
        SELECT
            *,
            nursingchartcelltypevallabel AS label,
            nursingchartcelltypevalname AS name
        FROM eicu_crd.nursecharting
        WHERE nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
    )
),

-- The lowest value of each part at one time; a time at which nothing could be read is no time.
times AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        min(number) FILTER (part = 'total') AS total,
        min(number) FILTER (part = 'motor') AS motor,
        min(number) FILTER (part = 'verbal') AS verbal,
        min(number) FILTER (part = 'eyes') AS eyes
    FROM labelled
    WHERE part IS NOT NULL AND number IS NOT NULL
    GROUP BY patientunitstayid, nursingchartoffset
),

-- A charted total from 3 to 15 counts; else the sum, with a missing part taken as normal.
totals AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        CASE
            WHEN total > 2 AND total < 16 THEN total
            ELSE coalesce(eyes, 4) + coalesce(motor, 6) + coalesce(verbal, 5)
        END AS gcs,
        motor,
        verbal,
        eyes
    FROM times
    WHERE nursingchartoffset BETWEEN -360 AND 1440
),

lowest AS (
    SELECT *
    FROM totals
    QUALIFY row_number() OVER (
        PARTITION BY patientunitstayid ORDER BY gcs, nursingchartoffset
    ) = 1
)

SELECT
    patientunitstayid,
    uniquepid,
    patienthealthsystemstayid,
    coalesce(gcs, 15) AS gcs_min,
    coalesce(motor, 6) AS gcs_motor,
    coalesce(verbal, 5) AS gcs_verbal,
    coalesce(eyes, 4) AS gcs_eyes
FROM eicu_crd.patient
LEFT JOIN lowest USING (patientunitstayid)
ORDER BY patientunitstayid;
