-- purpose: Lowest Glasgow Coma Scale around the first ICU day, with the components at that time;
--   what is missing counts as normal.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_derived.gcs (stay_id, charttime, gcs, gcs_motor, gcs_verbal, gcs_eyes)
-- deviations: none
SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    coalesce(gcs.gcs, 15)::DOUBLE AS gcs_min,
    coalesce(gcs.gcs_motor, 6)::DOUBLE AS gcs_motor,
    coalesce(gcs.gcs_verbal, 5)::DOUBLE AS gcs_verbal,
    coalesce(gcs.gcs_eyes, 4)::DOUBLE AS gcs_eyes
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.gcs AS gcs
    ON
        stay.stay_id = gcs.stay_id
        AND gcs.charttime >= stay.intime - INTERVAL 6 HOURS
        AND gcs.charttime <= stay.intime + INTERVAL 24 HOURS
QUALIFY row_number() OVER (
    PARTITION BY stay.stay_id
    ORDER BY
        gcs.gcs ASC NULLS FIRST, gcs.charttime, gcs.gcs_motor, gcs.gcs_verbal, gcs.gcs_eyes
) = 1
