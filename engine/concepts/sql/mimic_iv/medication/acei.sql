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
)

SELECT
    rx.subject_id,
    rx.hadm_id,
    rx.drug AS acei,
    rx.starttime,
    rx.stoptime
FROM mimiciv_hosp.prescriptions AS rx
SEMI JOIN name ON contains(lower(rx.drug), name.fragment)
