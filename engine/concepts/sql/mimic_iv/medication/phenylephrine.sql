-- purpose: Phenylephrine: rate, amount and time of each administration record.
-- grain: one row per record of the drug
-- key: none
-- reads:
--   mimiciv_icu.inputevents (stay_id, linkorderid, itemid, rate, rateuom, patientweight, amount,
--     starttime, endtime)
-- deviations: none
SELECT
    stay_id,
    linkorderid,
    -- mcg/kg/min. A weight of zero gives an infinite rate, as in the public code (and no error,
    -- whatever the engine's setting for divisions by zero).
    CASE
        WHEN rateuom = 'mcg/min' AND patientweight = 0 AND rate > 0 THEN 'Infinity'::DOUBLE
        WHEN rateuom = 'mcg/min' AND patientweight = 0 AND rate < 0 THEN '-Infinity'::DOUBLE
        WHEN rateuom = 'mcg/min' AND patientweight = 0 AND rate = 0 THEN 'NaN'::DOUBLE
        WHEN rateuom = 'mcg/min' THEN rate / patientweight
        ELSE rate
    END AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid = 221749
