-- purpose: Hospital prescriptions of non-steroidal anti-inflammatory drugs, aspirin included.
-- grain: one row per prescription whose drug text contains one of the names
-- key: none
-- reads:
--   mimiciv_hosp.prescriptions (subject_id, hadm_id, drug, starttime, stoptime)
-- deviations: none
WITH name (fragment) AS (
    VALUES
    ('aspirin'), ('bromfenac'), ('celecoxib'), ('diclofenac'), ('diflunisal'), ('etodolac'),
    ('fenoprofen'), ('flurbiprofen'), ('ibuprofen'), ('indomethacin'), ('ketoprofen'),
    ('mefenamic acid'), ('meloxicam'), ('nabumetone'), ('naproxen'), ('nepafenac'),
    ('oxaprozin'), ('piroxicam'), ('sulindac'), ('tolmetin')
)

SELECT
    rx.subject_id,
    rx.hadm_id,
    rx.drug AS nsaid,
    rx.starttime,
    rx.stoptime
FROM mimiciv_hosp.prescriptions AS rx
SEMI JOIN name ON contains(lower(rx.drug), name.fragment)
