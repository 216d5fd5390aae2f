-- purpose: Vasopressin: rate, amount and time of each administration record.
-- grain: one row per record of the drug
-- key: none
-- reads:
--   mimiciv_icu.inputevents (stay_id, linkorderid, itemid, rate, rateuom, amount, starttime,
--     endtime)
-- deviations: none
SELECT
    stay_id,
    linkorderid,
    if(rateuom = 'units/min', rate * 60, rate) AS vaso_rate, -- units/hour
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid = 222315
