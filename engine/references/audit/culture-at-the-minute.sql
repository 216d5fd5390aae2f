-- counts: Antibiotic orders with a timed culture at exactly their start.
-- of: antibiotic orders with a start
-- targets: sepsis3, suspicion-infection
-- why: Such a culture lies in neither window, though it is the typical case.
SELECT
    count(*) FILTER (
        WHERE EXISTS (
            SELECT 1
            FROM mimiciv_hosp.microbiologyevents AS micro
            WHERE micro.subject_id = ab.subject_id AND micro.charttime = ab.starttime
        )
    ) AS affected,
    count(*) AS total
FROM mimiciv_derived.antibiotic AS ab
WHERE ab.starttime IS NOT NULL
