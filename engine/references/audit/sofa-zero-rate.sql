-- counts: ICU stays with an epinephrine or norepinephrine record of rate 0 and none above, in
--   the window.
-- of: ICU stays
-- targets: sofa-24h
-- why: The public table gives 3 points for a rate of 0; here it is no vasopressor.
WITH infusion AS (
    SELECT
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.epinephrine
    UNION ALL
    SELECT
        stay_id,
        starttime,
        vaso_rate
    FROM mimiciv_derived.norepinephrine
),

highest AS (
    SELECT
        stay.stay_id,
        max(infusion.vaso_rate) AS rate
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN infusion
        ON
            stay.stay_id = infusion.stay_id
            AND infusion.starttime >= stay.intime - INTERVAL 6 HOURS
            AND infusion.starttime <= stay.intime + INTERVAL 24 HOURS
    GROUP BY stay.stay_id
)

SELECT
    count(*) FILTER (WHERE rate = 0) AS affected,
    count(*) AS total
FROM highest
