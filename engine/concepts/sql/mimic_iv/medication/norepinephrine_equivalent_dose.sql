-- purpose: Sum of five vasopressors as norepinephrine equivalents (Goradia et al. 2021).
-- grain: one row per piece of vasoactive_agent in which at least one of the five has a rate
-- key: none
-- reads:
--   mimiciv_derived.vasoactive_agent (stay_id, starttime, endtime, norepinephrine, epinephrine,
--     phenylephrine, dopamine, vasopressin)
-- deviations: none
SELECT
    stay_id,
    starttime,
    endtime,
    -- mcg/kg/min with three decimals; null where the sum is no finite number. The order of the
    -- terms matters for the last binary digit.
    try_cast(
        coalesce(norepinephrine, 0)
        + coalesce(epinephrine, 0)
        + coalesce(phenylephrine / 10, 0)
        + coalesce(dopamine / 100, 0)
        + coalesce(vasopressin * 2.5 / 60, 0)
        AS DECIMAL(18, 3)
    ) AS norepinephrine_equivalent_dose
FROM mimiciv_derived.vasoactive_agent
WHERE
    coalesce(norepinephrine, epinephrine, phenylephrine, dopamine, vasopressin) IS NOT NULL
