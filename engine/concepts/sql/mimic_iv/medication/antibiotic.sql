-- purpose: Hospital prescriptions of antibiotics, with the ICU stay in which they started.
-- grain: one row per prescription of an accepted pair of drug and route, and per ICU stay of its
--   admission that contains its start
-- key: none
-- reads:
--   mimiciv_hosp.prescriptions (subject_id, hadm_id, drug, drug_type, route, starttime, stoptime)
--   mimiciv_icu.icustays (hadm_id, stay_id, intime, outtime)
-- deviations: none
WITH name (fragment) AS (
    VALUES
    ('adoxa'), ('ala-tet'), ('alodox'), ('amikacin'), ('amikin'), ('amoxicill'),
    ('amphotericin'), ('anidulafungin'), ('ancef'), ('clavulanate'), ('ampicillin'),
    ('augmentin'), ('avelox'), ('avidoxy'), ('azactam'), ('azithromycin'), ('aztreonam'),
    ('axetil'), ('bactocill'), ('bactrim'), ('bactroban'), ('bethkis'), ('biaxin'),
    ('bicillin l-a'), ('cayston'), ('cefazolin'), ('cedax'), ('cefoxitin'), ('ceftazidime'),
    ('cefaclor'), ('cefadroxil'), ('cefdinir'), ('cefditoren'), ('cefepime'), ('cefotan'),
    ('cefotetan'), ('cefotaxime'), ('ceftaroline'), ('cefpodoxime'), ('cefpirome'),
    ('cefprozil'), ('ceftibuten'), ('ceftin'), ('ceftriaxone'), ('cefuroxime'),
    ('cephalexin'), ('cephalothin'), ('cephapririn'), ('chloramphenicol'), ('cipro'),
    ('ciprofloxacin'), ('claforan'), ('clarithromycin'), ('cleocin'), ('clindamycin'),
    ('cubicin'), ('dicloxacillin'), ('dirithromycin'), ('doryx'), ('doxycy'), ('duricef'),
    ('dynacin'), ('ery-tab'), ('eryped'), ('eryc'), ('erythrocin'), ('erythromycin'),
    ('factive'), ('flagyl'), ('fortaz'), ('furadantin'), ('garamycin'), ('gentamicin'),
    ('kanamycin'), ('keflex'), ('kefzol'), ('ketek'), ('levaquin'), ('levofloxacin'),
    ('lincocin'), ('linezolid'), ('macrobid'), ('macrodantin'), ('maxipime'), ('mefoxin'),
    ('metronidazole'), ('meropenem'), ('methicillin'), ('minocin'), ('minocycline'),
    ('monodox'), ('monurol'), ('morgidox'), ('moxatag'), ('moxifloxacin'), ('mupirocin'),
    ('myrac'), ('nafcillin'), ('neomycin'), ('nicazel doxy 30'), ('nitrofurantoin'),
    ('norfloxacin'), ('noroxin'), ('ocudox'), ('ofloxacin'), ('omnicef'), ('oracea'),
    ('oraxyl'), ('oxacillin'), ('pc pen vk'), ('pce dispertab'), ('panixine'),
    ('pediazole'), ('penicillin'), ('periostat'), ('pfizerpen'), ('piperacillin'),
    ('tazobactam'), ('primsol'), ('proquin'), ('raniclor'), ('rifadin'), ('rifampin'),
    ('rocephin'), ('smz-tmp'), ('septra'), ('septra ds'), ('solodyn'), ('spectracef'),
    ('streptomycin'), ('sulfadiazine'), ('sulfamethoxazole'), ('trimethoprim'),
    ('sulfatrim'), ('sulfisoxazole'), ('suprax'), ('synercid'), ('tazicef'),
    ('tetracycline'), ('timentin'), ('tobramycin'), ('unasyn'), ('vancocin'),
    ('vancomycin'), ('vantin'), ('vibativ'), ('vibra-tabs'), ('vibramycin'), ('zinacef'),
    ('zithromax'), ('zosyn'), ('zyvox')
),

drug_text AS (
    SELECT DISTINCT drug
    FROM mimiciv_hosp.prescriptions
),

accepted_drug AS (
    SELECT drug_text.drug
    FROM drug_text
    SEMI JOIN name ON contains(lower(drug_text.drug), name.fragment)
),

-- A pair is accepted when one prescription passes; its other prescriptions then follow, whatever
-- their type.
accepted_pair AS (
    SELECT DISTINCT
        rx.drug,
        rx.route
    FROM mimiciv_hosp.prescriptions AS rx
    SEMI JOIN accepted_drug ON rx.drug = accepted_drug.drug
    WHERE
        rx.drug_type != 'BASE'
        AND rx.route NOT IN ('OU', 'OS', 'OD', 'AU', 'AS', 'AD', 'TP')
        AND NOT regexp_matches(lower(rx.route), 'ear|eye')
        AND NOT regexp_matches(lower(rx.drug), 'cream|desensitization|ophth oint|gel')
)

SELECT
    rx.subject_id,
    rx.hadm_id,
    stay.stay_id,
    rx.drug AS antibiotic,
    rx.route,
    rx.starttime,
    rx.stoptime
FROM mimiciv_hosp.prescriptions AS rx
INNER JOIN accepted_pair ON rx.drug = accepted_pair.drug AND rx.route = accepted_pair.route
LEFT JOIN mimiciv_icu.icustays AS stay
    ON
        rx.hadm_id = stay.hadm_id
        AND rx.starttime >= stay.intime
        AND rx.starttime < stay.outtime
