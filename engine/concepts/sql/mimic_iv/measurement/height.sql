-- purpose: Charted body height in centimetres.
-- grain: one row per charted height (nominally per patient and chart time; repeats multiply)
-- key: none
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, itemid, valuenum)
-- deviations: none
WITH centimetre AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        -- Rounded twice. Far out of range stays out of range, but fits a decimal.
        greatest(least(valuenum, 1000), 0)::DECIMAL(18, 3)::DECIMAL(18, 2) AS height
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226730 AND valuenum IS NOT NULL
),

inch AS (
    SELECT
        subject_id,
        charttime,
        greatest(least(valuenum * 2.54, 1000), 0)::DECIMAL(18, 3)::DECIMAL(18, 2) AS height
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226707 AND valuenum IS NOT NULL
)

-- A height in inches alone has nobody's name on it: the public convention.
SELECT
    centimetre.subject_id,
    centimetre.stay_id,
    centimetre.charttime,
    coalesce(centimetre.height, inch.height) AS height
FROM centimetre
FULL OUTER JOIN inch
    ON centimetre.subject_id = inch.subject_id AND centimetre.charttime = inch.charttime
WHERE
    coalesce(centimetre.height, inch.height) > 120
    AND coalesce(centimetre.height, inch.height) < 230
