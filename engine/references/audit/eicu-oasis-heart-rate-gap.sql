-- counts: Unit stays with an extreme heart rate that lies in a gap between two bands.
-- of: unit stays with a heart rate in the window
-- targets: eicu-oasis
-- why: Bands are of whole numbers; 88.5 has no points.
WITH vital AS (
    SELECT
        patientunitstayid,
        max(try_cast(nursingchartvalue AS DECIMAL(18, 3))) AS highest
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartcelltypecat IN ('Vital Signs', 'Scores', 'Other Vital Signs and Infusions')
        AND nursingchartcelltypevallabel = 'Heart Rate'
        AND nursingchartcelltypevalname = 'Heart Rate'
        AND nursingchartoffset > 0
        AND nursingchartoffset <= 1440
        AND try_cast(nursingchartvalue AS DECIMAL(18, 3)) BETWEEN 25 AND 225
    GROUP BY patientunitstayid
)

SELECT
    count(*) FILTER (
        WHERE
        (highest > 88 AND highest < 89)
        OR (highest > 106 AND highest < 107)
    ) AS affected,
    count(*) AS total
FROM vital
