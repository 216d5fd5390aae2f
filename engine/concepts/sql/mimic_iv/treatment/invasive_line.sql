-- purpose: Invasive lines with harmonised names of type and site.
-- grain: one row per charted line procedure whose item is in the dictionary
-- key: none
-- reads:
--   mimiciv_icu.procedureevents (stay_id, itemid, location, starttime, endtime)
--   mimiciv_icu.d_items (itemid, label)
-- deviations: none
SELECT
    line.stay_id,
    CASE
        WHEN item.label IN ('Arterial Line', 'A-Line') THEN 'Arterial'
        WHEN item.label IN ('CCO PA Line', 'CCO PAC') THEN 'Continuous Cardiac Output PA'
        WHEN item.label IN ('Dialysis Catheter', 'Dialysis Line') THEN 'Dialysis'
        WHEN item.label IN ('Hickman', 'Tunneled (Hickman) Line') THEN 'Hickman'
        WHEN item.label IN ('IABP', 'IABP line') THEN 'IABP'
        WHEN item.label IN ('Multi Lumen', 'Multi-lumen') THEN 'Multi Lumen'
        WHEN item.label IN ('PA Catheter', 'PA line') THEN 'PA'
        WHEN item.label IN ('PICC Line', 'PICC line') THEN 'PICC'
        WHEN item.label IN ('Pre-Sep Catheter', 'Presep Catheter') THEN 'Pre-Sep'
        WHEN item.label IN ('Trauma Line', 'Trauma line') THEN 'Trauma'
        WHEN item.label IN ('Triple Introducer', 'TripleIntroducer') THEN 'Triple Introducer'
        WHEN item.label IN ('Portacath', 'Indwelling Port (PortaCath)') THEN 'Portacath'
        ELSE item.label
    END AS line_type,
    CASE
        WHEN line.location = 'Left Antecub' THEN 'Left Antecube'
        WHEN line.location = 'Right Antecub' THEN 'Right Antecube'
        WHEN line.location IN (
            'Left Axilla.', 'Left Brachial.', 'Left Femoral.',
            'Right Axilla.', 'Right Brachial.', 'Right Femoral.'
        ) THEN rtrim(line.location, '.')
        ELSE line.location
    END AS line_site,
    line.starttime,
    line.endtime
FROM mimiciv_icu.procedureevents AS line
INNER JOIN mimiciv_icu.d_items AS item ON line.itemid = item.itemid
WHERE
    line.itemid IN (
        227719, 225752, 224269, 224267, 224270, 224272, 226124, 228169, 225202, 228286, 225204,
        224263, 224560, 224264, 225203, 224273, 225789, 225761, 228201, 228202, 224268, 225199,
        225315, 225205
    )
