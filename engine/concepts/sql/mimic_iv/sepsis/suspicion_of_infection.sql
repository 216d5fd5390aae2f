-- purpose: Each systemic antibiotic order with a culture close in time; a pair is a suspected
--   infection.
-- grain: one row per row of antibiotic
-- key: subject_id, ab_id
-- reads:
--   mimiciv_derived.antibiotic (subject_id, hadm_id, stay_id, antibiotic, starttime, stoptime)
--   mimiciv_hosp.microbiologyevents (micro_specimen_id, subject_id, chartdate, charttime,
--     spec_type_desc, org_itemid, org_name)
-- deviations: Orders that are equal but for admission and stay are numbered by these; cultures of
--   equal date and time are taken positive first, then by micro_specimen_id. The public code leaves
--   both undefined.
WITH ordered AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        antibiotic,
        starttime,
        row_number() OVER (
            PARTITION BY subject_id
            ORDER BY
                starttime ASC NULLS FIRST, stoptime ASC NULLS FIRST, antibiotic ASC NULLS FIRST,
                hadm_id ASC NULLS FIRST, stay_id ASC NULLS FIRST
        ) AS ab_id
    FROM mimiciv_derived.antibiotic
),

culture AS (
    SELECT
        micro_specimen_id,
        max(subject_id) AS subject_id,
        max(chartdate)::DATE AS chartdate,
        max(charttime) AS charttime,
        max(spec_type_desc) AS specimen,
        -- 90856 is the organism "NEGATIVE".
        coalesce(
            max(if(org_name IS NOT NULL AND org_name != '' AND org_itemid != 90856, 1, 0)), 0
        ) AS positive
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
),

-- A culture without a time of day counts by its date.
before AS (
    SELECT
        ordered.subject_id,
        ordered.ab_id,
        coalesce(culture.charttime, culture.chartdate::TIMESTAMP) AS culture_time,
        culture.specimen,
        culture.positive
    FROM ordered
    INNER JOIN culture
        ON
            ordered.subject_id = culture.subject_id
            AND (
                (
                    culture.charttime IS NOT NULL
                    AND ordered.starttime > culture.charttime
                    AND ordered.starttime <= culture.charttime + INTERVAL 72 HOURS
                )
                OR (
                    culture.charttime IS NULL
                    AND ordered.starttime::DATE >= culture.chartdate
                    AND ordered.starttime::DATE <= culture.chartdate + INTERVAL 3 DAYS
                )
            )
    QUALIFY row_number() OVER (
        PARTITION BY ordered.subject_id, ordered.ab_id
        ORDER BY
            culture.chartdate ASC NULLS FIRST, culture.charttime ASC NULLS LAST,
            culture.positive DESC, culture.micro_specimen_id
    ) = 1
),

after AS (
    SELECT
        ordered.subject_id,
        ordered.ab_id,
        coalesce(culture.charttime, culture.chartdate::TIMESTAMP) AS culture_time,
        culture.specimen,
        culture.positive
    FROM ordered
    INNER JOIN culture
        ON
            ordered.subject_id = culture.subject_id
            AND (
                (
                    culture.charttime IS NOT NULL
                    AND ordered.starttime >= culture.charttime - INTERVAL 24 HOURS
                    AND ordered.starttime < culture.charttime
                )
                OR (
                    culture.charttime IS NULL
                    AND ordered.starttime::DATE >= culture.chartdate - INTERVAL 1 DAY
                    AND ordered.starttime::DATE <= culture.chartdate
                )
            )
    QUALIFY row_number() OVER (
        PARTITION BY ordered.subject_id, ordered.ab_id
        ORDER BY
            culture.chartdate ASC NULLS FIRST, culture.charttime ASC NULLS LAST,
            culture.positive DESC, culture.micro_specimen_id
    ) = 1
)

-- A culture whose specimen has no name makes no suspicion, but lends its time.
SELECT
    ordered.subject_id,
    ordered.stay_id,
    ordered.hadm_id,
    ordered.ab_id,
    ordered.antibiotic,
    ordered.starttime AS antibiotic_time,
    if(coalesce(before.specimen, after.specimen) IS NULL, 0, 1) AS suspected_infection,
    if(
        coalesce(before.specimen, after.specimen) IS NULL,
        NULL,
        coalesce(before.culture_time, ordered.starttime)
    ) AS suspected_infection_time,
    coalesce(before.culture_time, after.culture_time) AS culture_time,
    coalesce(before.specimen, after.specimen) AS specimen,
    coalesce(before.positive, after.positive) AS positive_culture
FROM ordered
LEFT JOIN before ON ordered.subject_id = before.subject_id AND ordered.ab_id = before.ab_id
LEFT JOIN after ON ordered.subject_id = after.subject_id AND ordered.ab_id = after.ab_id
