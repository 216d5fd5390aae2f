-- purpose: Lowest Glasgow Coma Scale from 6 hours before to 24 hours after unit admission.
-- grain: one row per unit stay
-- key: patientunitstayid
-- reads:
--   eicu_crd.patient (patientunitstayid, uniquepid, patienthealthsystemstayid)
--   eicu_crd.nursecharting (
--     patientunitstayid, nursingchartoffset, nursingchartcelltypecat,
--     nursingchartcelltypevallabel, nursingchartcelltypevalname, nursingchartvalue)
-- deviations: none
WITH charted AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        CASE
            WHEN
                nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'GCS Total'
                THEN 'total'
            WHEN
                nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value'
                THEN 'total'
            WHEN
                nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname IN ('Motor', 'Verbal', 'Eyes')
                THEN lower(nursingchartcelltypevalname)
        END AS part,
        try_cast(nursingchartvalue AS DECIMAL(18, 3)) AS number
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
        AND nursingchartoffset BETWEEN -360 AND 1440
),

at_one_time AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        min(number) FILTER (WHERE part = 'total') AS total_charted,
        min(number) FILTER (WHERE part = 'motor') AS motor,
        min(number) FILTER (WHERE part = 'verbal') AS verbal,
        min(number) FILTER (WHERE part = 'eyes') AS eyes
    FROM charted
    WHERE part IS NOT NULL AND number IS NOT NULL
    GROUP BY patientunitstayid, nursingchartoffset
),

completed AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        coalesce(motor, 6) AS motor,
        coalesce(verbal, 5) AS verbal,
        coalesce(eyes, 4) AS eyes,
        coalesce(
            -- The lowest total of the time is judged: an impossible one hides the others.
            CASE WHEN total_charted > 2 AND total_charted < 16 THEN total_charted END,
            coalesce(eyes, 4) + coalesce(motor, 6) + coalesce(verbal, 5)
        ) AS total
    FROM at_one_time
),

lowest AS (
    SELECT *
    FROM completed
    QUALIFY row_number() OVER (
        PARTITION BY patientunitstayid
        ORDER BY total ASC, nursingchartoffset ASC
    ) = 1
)

SELECT
    pat.patientunitstayid,
    pat.uniquepid,
    pat.patienthealthsystemstayid,
    -- Three components of 15 digits have no such sum; that must not stop the build.
    coalesce(try_cast(lowest.total AS DECIMAL(18, 3)), 15) AS gcs_min,
    coalesce(lowest.motor, 6) AS gcs_motor,
    coalesce(lowest.verbal, 5) AS gcs_verbal,
    coalesce(lowest.eyes, 4) AS gcs_eyes
FROM eicu_crd.patient AS pat
LEFT JOIN lowest ON pat.patientunitstayid = lowest.patientunitstayid
