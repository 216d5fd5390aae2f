-- counts: Vital sign times with an axillary temperature.
-- of: vital sign times with a temperature
-- targets: apsiii-24h
-- why: The published score corrects them; the reference does not.
SELECT
    count(*) FILTER (WHERE coalesce(lower(temperature_site) LIKE '%axil%', FALSE)) AS affected,
    count(*) AS total
FROM mimiciv_derived.vitalsign
WHERE temperature IS NOT NULL
