-- counts: ICU stays whose lowest ventilated P/F is 200 to 399 and no other gas is below 400.
-- of: ICU stays with an arterial P/F
-- targets: sofa-24h
-- why: The published score gives 2 or 1 points; the reference gives 0.
WITH gas AS (
    SELECT
        stay.stay_id,
        bg.pao2fio2ratio,
        exists(
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND bg.charttime >= vent.starttime
                AND bg.charttime <= vent.endtime
        ) AS is_ventilated
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            stay.subject_id = bg.subject_id
            AND bg.charttime >= stay.intime - INTERVAL 6 HOURS
            AND bg.charttime <= stay.intime + INTERVAL 24 HOURS
    WHERE bg.specimen = 'ART.'
),

ratio AS (
    SELECT
        stay_id,
        min(pao2fio2ratio) FILTER (WHERE is_ventilated) AS vent,
        min(pao2fio2ratio) FILTER (WHERE NOT is_ventilated) AS novent
    FROM gas
    GROUP BY stay_id
)

SELECT
    count(*) FILTER (WHERE vent >= 200 AND vent < 400 AND coalesce(novent, 400) >= 400) AS affected,
    count(*) AS total
FROM ratio
WHERE vent IS NOT NULL OR novent IS NOT NULL
