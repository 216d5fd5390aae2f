-- counts: ICU stays without a bilirubin, an INR or a creatinine in the window.
-- of: ICU stays
-- targets: meld-24h
-- why: Missing results count as normal.
SELECT
    count(*) FILTER (
        WHERE bilirubin_total_max IS NULL OR inr_max IS NULL OR creatinine_max IS NULL
    ) AS affected,
    count(*) AS total
FROM mimiciv_derived.meld
