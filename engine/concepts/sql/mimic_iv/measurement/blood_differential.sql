-- purpose: White cell differential of one lab specimen: counts in K/uL (measured, or percentage
--   times white cell count) and percentages.
-- grain: one row per specimen with a number of zero or more for at least one of the 23 items
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
WITH specimen AS (
    SELECT
        max(subject_id) AS subject_id,
        max(hadm_id) AS hadm_id,
        max(charttime) AS charttime,
        specimen_id,
        max(valuenum) FILTER (WHERE itemid IN (51300, 51301, 51755)) AS wbc,
        max(valuenum) FILTER (WHERE itemid = 52069) AS basophils_count,
        -- The second item of a pair is per uL, the first per thousand of them.
        max(if(itemid = 51199, valuenum / 1000, valuenum))
        FILTER (WHERE itemid IN (52073, 51199)) AS eosinophils_count,
        max(if(itemid = 52769, valuenum / 1000, valuenum))
        FILTER (WHERE itemid IN (51133, 52769)) AS lymphocytes_count,
        max(if(itemid = 51253, valuenum / 1000, valuenum))
        FILTER (WHERE itemid IN (52074, 51253)) AS monocytes_count,
        max(valuenum) FILTER (WHERE itemid = 52075) AS neutrophils_count,
        max(valuenum) FILTER (WHERE itemid = 51146) AS basophils,
        max(valuenum) FILTER (WHERE itemid = 51200) AS eosinophils,
        max(valuenum) FILTER (WHERE itemid IN (51244, 51245)) AS lymphocytes,
        max(valuenum) FILTER (WHERE itemid = 51254) AS monocytes,
        max(valuenum) FILTER (WHERE itemid = 51256) AS neutrophils,
        max(valuenum) FILTER (WHERE itemid = 51143) AS atypical_lymphocytes,
        max(valuenum) FILTER (WHERE itemid = 51144) AS bands,
        max(valuenum) FILTER (WHERE itemid = 52135) AS immature_granulocytes,
        max(valuenum) FILTER (WHERE itemid = 51251) AS metamyelocytes,
        max(valuenum) FILTER (WHERE itemid = 51257) AS nrbc,
        coalesce(
            sum(valuenum) FILTER (WHERE itemid IN (51146, 51200, 51244, 51245, 51254, 51256)) > 0,
            FALSE
        ) AS has_percentages
    FROM mimiciv_hosp.labevents
    WHERE
        itemid IN (
            51146, 52069, 51199, 51200, 52073, 51244, 51245, 51133, 52769, 51253, 51254, 52074,
            51256, 52075, 51143, 51144, 51218, 52135, 51251, 51257, 51300, 51301, 51755
        )
        AND valuenum >= 0
    GROUP BY specimen_id
),

share AS (
    SELECT
        *,
        -- What a percentage is multiplied with; null when counts may not be imputed.
        if(wbc > 0 AND has_percentages, wbc, NULL) AS imputing_wbc
    FROM specimen
)

-- Counts are converted to three decimals; what does not fit becomes null.
SELECT
    subject_id,
    hadm_id,
    charttime,
    specimen_id,
    wbc,
    try_cast(
        coalesce(basophils_count, basophils * imputing_wbc / 100) AS DECIMAL(18, 3)
    ) AS basophils_abs,
    try_cast(
        coalesce(eosinophils_count, eosinophils * imputing_wbc / 100) AS DECIMAL(18, 3)
    ) AS eosinophils_abs,
    try_cast(
        coalesce(lymphocytes_count, lymphocytes * imputing_wbc / 100) AS DECIMAL(18, 3)
    ) AS lymphocytes_abs,
    try_cast(
        coalesce(monocytes_count, monocytes * imputing_wbc / 100) AS DECIMAL(18, 3)
    ) AS monocytes_abs,
    try_cast(
        coalesce(neutrophils_count, neutrophils * imputing_wbc / 100) AS DECIMAL(18, 3)
    ) AS neutrophils_abs,
    basophils,
    eosinophils,
    lymphocytes,
    monocytes,
    neutrophils,
    atypical_lymphocytes,
    bands,
    immature_granulocytes,
    metamyelocytes,
    nrbc
FROM share
