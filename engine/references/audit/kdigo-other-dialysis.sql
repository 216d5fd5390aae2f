-- counts: ICU stays with running dialysis but no CRRT mode in the first 48 hours.
-- of: ICU stays
-- targets: kdigo-48h
-- why: Any renal replacement therapy is stage 3 in the guideline; here only a charted CRRT mode.
SELECT
    count(*) FILTER (
        WHERE
        EXISTS (
            SELECT 1
            FROM mimiciv_derived.rrt AS rrt
            WHERE
                rrt.stay_id = stay.stay_id
                AND rrt.dialysis_active = 1
                AND rrt.charttime >= stay.intime
                AND rrt.charttime <= stay.intime + INTERVAL 48 HOURS
        )
        AND NOT EXISTS (
            SELECT 1
            FROM mimiciv_derived.crrt AS crrt
            WHERE
                crrt.stay_id = stay.stay_id
                AND crrt.crrt_mode IS NOT NULL
                AND crrt.charttime >= stay.intime
                AND crrt.charttime <= stay.intime + INTERVAL 48 HOURS
        )
    ) AS affected,
    count(*) AS total
FROM mimiciv_icu.icustays AS stay
