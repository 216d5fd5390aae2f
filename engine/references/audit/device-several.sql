-- counts: Times of an oxygen flow with several different devices.
-- of: times with an oxygen flow and a device
-- targets: ventilation
-- why: Only the first by the alphabet counts, not the strongest.
SELECT
    count(*) FILTER (WHERE o2_delivery_device_2 IS NOT NULL) AS affected,
    count(*) AS total
FROM mimiciv_derived.oxygen_delivery
WHERE o2_delivery_device_1 IS NOT NULL
