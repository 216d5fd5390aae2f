-- counts: Admissions with a code that counts as malignancy only because ranges are ranges of
--   texts.
-- of: admissions with a diagnosis
-- targets: charlson
-- why: Bare 179, 185 and 193 lie between 1740 and 1958 as texts, C4A between C45 and C58.
SELECT
    count(DISTINCT hadm_id) FILTER (
        WHERE
        (icd_version = 9 AND trim(icd_code) IN ('179', '185', '193'))
        OR (icd_version = 10 AND left(icd_code, 3) = 'C4A')
    ) AS affected,
    count(DISTINCT hadm_id) AS total
FROM mimiciv_hosp.diagnoses_icd
