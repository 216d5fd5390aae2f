-- purpose: Lowest Glasgow Coma Scale around the first ICU day, with the components at that time.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.gcs (stay_id, charttime, gcs, gcs_motor, gcs_verbal, gcs_eyes, gcs_unable)
-- deviations: Of rows with the same lowest total the public code takes an undefined one; here one
--   with the components that more than half of them share, otherwise the earliest.
WITH charted AS (
    SELECT
        stay.subject_id,
        stay.stay_id,
        gcs.charttime,
        gcs.gcs,
        gcs.gcs_motor,
        gcs.gcs_verbal,
        gcs.gcs_eyes,
        gcs.gcs_unable,
        count(*) OVER (
            PARTITION BY
                stay.stay_id, gcs.gcs, gcs.gcs_motor, gcs.gcs_verbal, gcs.gcs_eyes, gcs.gcs_unable
        ) AS alike,
        count(*) OVER (PARTITION BY stay.stay_id, gcs.gcs) AS tied
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN mimiciv_derived.gcs AS gcs
        ON
            stay.stay_id = gcs.stay_id
            AND gcs.charttime >= stay.intime - INTERVAL 6 HOURS
            AND gcs.charttime <= stay.intime + INTERVAL 24 HOURS
)

SELECT
    subject_id,
    stay_id,
    gcs AS gcs_min,
    gcs_motor,
    gcs_verbal,
    gcs_eyes,
    gcs_unable
FROM charted
QUALIFY row_number() OVER (
    PARTITION BY stay_id ORDER BY gcs ASC NULLS LAST, alike * 2 > tied DESC, charttime
) = 1
