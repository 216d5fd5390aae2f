-- purpose: Vecuronium and cisatracurium: rate, amount and time of each infusion record.
-- grain: one row per record of the two drugs that has a rate
-- key: none
-- reads:
--   mimiciv_icu.inputevents (stay_id, orderid, itemid, rate, amount, starttime, endtime)
-- deviations: none
SELECT
    stay_id,
    orderid,
    rate AS drug_rate,
    amount AS drug_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid IN (222062, 221555) AND rate IS NOT NULL
