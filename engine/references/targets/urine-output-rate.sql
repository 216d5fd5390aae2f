-- purpose: Urine volume and rate over the trailing 6, 12 and 24 hours at each urine measurement.
-- grain: one row per stay and time of a urine measurement, for stays with a heart rate
-- key: stay_id, charttime
-- reads:
--   mimiciv_derived.urine_output_rate (stay_id, charttime, weight, uo, urineoutput_6hr,
--     urineoutput_12hr, urineoutput_24hr, uo_mlkghr_6hr, uo_mlkghr_12hr, uo_mlkghr_24hr,
--     uo_tm_6hr, uo_tm_12hr, uo_tm_24hr)
-- deviations: none of its own
SELECT
    stay_id,
    charttime,
    weight,
    uo,
    urineoutput_6hr,
    urineoutput_12hr,
    urineoutput_24hr,
    uo_mlkghr_6hr,
    uo_mlkghr_12hr,
    uo_mlkghr_24hr,
    uo_tm_6hr,
    uo_tm_12hr,
    uo_tm_24hr
FROM mimiciv_derived.urine_output_rate
