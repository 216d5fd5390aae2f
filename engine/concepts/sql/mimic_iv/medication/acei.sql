-- purpose: Hospital prescriptions of ACE inhibitors.
-- grain: one row per prescription whose drug text contains one of the names
-- key: none
-- reads:
--   mimiciv_hosp.prescriptions (subject_id, hadm_id, drug, starttime, stoptime)
-- deviations: none
WITH name (fragment) AS (
    VALUES
    ('benazepril'), ('captopril'), ('enalapril'), ('fosinopril'), ('lisinopril'), ('moexipril'),
    ('perindopril'), ('quinapril'), ('ramipril'), ('trandolapril')
),

-- Each text is searched once, not each of its prescriptions.
drug_text AS (
    SELECT DISTINCT drug
    FROM mimiciv_hosp.prescriptions
),

accepted_drug AS (
    SELECT drug_text.drug
    FROM drug_text
    SEMI JOIN name ON contains(lower(drug_text.drug), name.fragment)
)

SELECT
    rx.subject_id,
    rx.hadm_id,
    rx.drug AS acei,
    rx.starttime,
    rx.stoptime
FROM mimiciv_hosp.prescriptions AS rx
SEMI JOIN accepted_drug ON rx.drug = accepted_drug.drug
