-- purpose: Milrinone: rate, amount and time of each administration record.
-- grain: one row per record of the drug
-- key: none
-- reads:
--   mimiciv_icu.inputevents (stay_id, linkorderid, itemid, rate, amount, starttime, endtime)
-- deviations: none
SELECT
    stay_id,
    linkorderid,
    rate AS vaso_rate, -- mcg/kg/min
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid = 221986
