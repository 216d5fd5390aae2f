-- counts: ICU stays with several different weights that begin to hold at one time.
-- of: ICU stays with a weight
-- targets: kdigo-48h, urine-output-rate
-- why: The public code leaves open which of them goes on; here an admission weight comes first,
--   then the smaller one.
WITH weight AS (
    SELECT
        chart.stay_id,
        chart.charttime,
        chart.valuenum,
        chart.itemid = 226512 AND row_number() OVER (
            PARTITION BY chart.stay_id, chart.itemid
            ORDER BY chart.charttime ASC NULLS FIRST, chart.valuenum
        ) = 1 AS is_first_admission
    FROM mimiciv_icu.chartevents AS chart
    INNER JOIN mimiciv_icu.icustays AS stay ON chart.stay_id = stay.stay_id
    WHERE chart.itemid IN (226512, 224639) AND chart.valuenum > 0
),

by_begin AS (
    SELECT
        stay_id,
        count(DISTINCT valuenum) AS n
    FROM weight
    GROUP BY stay_id, is_first_admission, charttime
),

by_stay AS (
    SELECT
        stay_id,
        max(n) AS n
    FROM by_begin
    GROUP BY stay_id
)

SELECT
    count(*) FILTER (WHERE n > 1) AS affected,
    count(*) AS total
FROM by_stay
