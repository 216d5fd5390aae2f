-- counts: Times with a weaning, standby or CPAP mode, which has no status.
-- of: times with a ventilator mode
-- targets: ventilation
-- why: SPONT, Standby and CPAP are unclassified: weaning time is lost or bridged.
SELECT
    count(*) FILTER (
        WHERE
        coalesce(ventilator_mode IN ('SPONT', 'Standby', 'CPAP'), FALSE)
        OR coalesce(ventilator_mode_hamilton = 'SPONT', FALSE)
    ) AS affected,
    count(*) AS total
FROM mimiciv_derived.ventilator_setting
WHERE ventilator_mode IS NOT NULL OR ventilator_mode_hamilton IS NOT NULL
