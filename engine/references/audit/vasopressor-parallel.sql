-- counts: Records that begin at the time of another one of the same drug in the stay.
-- of: records of norepinephrine, epinephrine, dopamine, phenylephrine and vasopressin
-- targets: vasopressor-equivalents
-- why: They are alternatives, of which the larger dose counts, not a sum.
WITH record AS (
    SELECT
        stay_id,
        itemid,
        starttime,
        count(*) AS n
    FROM mimiciv_icu.inputevents
    WHERE itemid IN (221906, 221289, 221662, 221749, 222315)
    GROUP BY stay_id, itemid, starttime
)

SELECT
    coalesce(sum(n) FILTER (WHERE n > 1), 0)::BIGINT AS affected,
    coalesce(sum(n), 0)::BIGINT AS total
FROM record
