-- counts: Episodes Tracheostomy within which a ventilator mode was charted.
-- of: episodes
-- targets: ventilation
-- why: Patients ventilated through a tracheostomy are not invasively ventilated here.
SELECT
    count(*) FILTER (
        WHERE
        vent.ventilation_status = 'Tracheostomy'
        AND EXISTS (
            SELECT 1
            FROM mimiciv_derived.ventilator_setting AS setting
            WHERE
                setting.stay_id = vent.stay_id
                AND setting.charttime >= vent.starttime
                AND setting.charttime < vent.endtime
                AND (
                    setting.ventilator_mode IS NOT NULL
                    OR setting.ventilator_mode_hamilton IS NOT NULL
                )
        )
    ) AS affected,
    count(*) AS total
FROM mimiciv_derived.ventilation AS vent
