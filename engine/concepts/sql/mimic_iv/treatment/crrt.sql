-- purpose: Charted settings and circuit state of continuous renal replacement therapy.
-- grain: one row per stay and chart time with at least one of the items
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.chartevents (stay_id, charttime, itemid, value, valuenum)
-- deviations: none
SELECT
    stay_id,
    charttime,
    max(value) FILTER (WHERE itemid = 227290) AS crrt_mode,
    max(valuenum) FILTER (WHERE itemid = 224149) AS access_pressure,
    max(valuenum) FILTER (WHERE itemid = 224144) AS blood_flow,
    max(valuenum) FILTER (WHERE itemid = 228004) AS citrate,
    max(valuenum) FILTER (WHERE itemid = 225183) AS current_goal,
    max(value) FILTER (WHERE itemid = 225977) AS dialysate_fluid,
    max(valuenum) FILTER (WHERE itemid = 224154) AS dialysate_rate,
    max(valuenum) FILTER (WHERE itemid = 224151) AS effluent_pressure,
    max(valuenum) FILTER (WHERE itemid = 224150) AS filter_pressure,
    max(value) FILTER (WHERE itemid = 225958) AS heparin_concentration,
    max(valuenum) FILTER (WHERE itemid = 224145) AS heparin_dose,
    max(valuenum) FILTER (WHERE itemid = 224191) AS hourly_patient_fluid_removal,
    max(valuenum) FILTER (WHERE itemid = 228005) AS prefilter_replacement_rate,
    max(valuenum) FILTER (WHERE itemid = 228006) AS postfilter_replacement_rate,
    max(value) FILTER (WHERE itemid = 225976) AS replacement_fluid,
    max(valuenum) FILTER (WHERE itemid = 224153) AS replacement_rate,
    max(valuenum) FILTER (WHERE itemid = 224152) AS return_pressure,
    max(valuenum) FILTER (WHERE itemid = 226457) AS ultrafiltrate_output,
    -- System Integrity: 1 wins over 0, 0 over nothing.
    max(
        CASE
            WHEN value IN ('Active', 'Initiated', 'Reinitiated', 'New Filter') THEN 1
            WHEN value IN ('Recirculating', 'Discontinued') THEN 0
        END
    ) FILTER (WHERE itemid = 224146) AS system_active,
    max(
        CASE WHEN value = 'Clots Present' THEN 1 WHEN value = 'No Clot Present' THEN 0 END
    ) FILTER (WHERE itemid = 224146) AS clots,
    max(
        CASE WHEN value IN ('Clots Increasing', 'Clot Increasing') THEN 1 END
    ) FILTER (WHERE itemid = 224146) AS clots_increasing,
    max(CASE WHEN value = 'Clotted' THEN 1 END) FILTER (WHERE itemid = 224146) AS clotted
FROM mimiciv_icu.chartevents
WHERE
    value IS NOT NULL
    AND itemid IN (
        227290, 224146, 224149, 224144, 228004, 225183, 225977, 224154, 224151, 224150, 225958,
        224145, 224191, 228005, 228006, 225976, 224153, 224152, 226457
    )
GROUP BY stay_id, charttime
