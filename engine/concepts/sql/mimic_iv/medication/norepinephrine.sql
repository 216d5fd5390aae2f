-- purpose: Norepinephrine: rate, amount and time of each administration record.
-- grain: one row per record of the drug
-- key: none
-- reads:
--   mimiciv_icu.inputevents (stay_id, linkorderid, itemid, rate, rateuom, patientweight, amount,
--     starttime, endtime)
-- deviations: none
SELECT
    stay_id,
    linkorderid,
    -- mcg/kg/min. A few records say mg/kg/min; those with a weight of 1 are mislabelled and hold
    -- mcg/kg/min already.
    CASE
        WHEN rateuom = 'mg/kg/min' AND patientweight = 1 THEN rate
        WHEN rateuom = 'mg/kg/min' THEN rate * 1000
        ELSE rate
    END AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid = 221906
