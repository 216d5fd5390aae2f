-- counts: Admissions with two first services at one time of transfer.
-- of: admissions with a service
-- targets: sapsii-24h
-- why: The public code takes an undefined one; here the first by its code.
WITH first_service AS (
    SELECT
        hadm_id,
        curr_service
    FROM mimiciv_hosp.services
    QUALIFY rank() OVER (PARTITION BY hadm_id ORDER BY transfertime ASC NULLS FIRST) = 1
),

by_admission AS (
    SELECT
        hadm_id,
        count(DISTINCT curr_service) AS n
    FROM first_service
    GROUP BY hadm_id
)

SELECT
    count(*) FILTER (WHERE n > 1) AS affected,
    count(*) AS total
FROM by_admission
