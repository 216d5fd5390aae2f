-- counts: Foley volumes that are no urine because of letters elsewhere in their path.
-- of: volumes whose label begins with foley
-- targets: eicu-oasis
-- why: A path with pacu, or, ir anywhere in it is left out, also inside of a word.
WITH volume AS (
    SELECT lower(cellpath) AS path
    FROM eicu_crd.intakeoutput
    WHERE
        intakeoutputoffset > 0
        AND intakeoutputoffset <= 1440
        AND cellpath ILIKE 'flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|foley%'
)

SELECT
    count(*) FILTER (
        WHERE contains(path, 'pacu') OR contains(path, 'or') OR contains(path, 'ir')
    ) AS affected,
    count(*) AS total
FROM volume
