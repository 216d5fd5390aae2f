-- counts: Gases with a pO2 whose type of specimen is not recorded.
-- of: gases with a pO2
-- targets: apsiii-24h, sapsii-24h, sepsis3, sirs-24h, sofa-24h
-- why: A gas without a type is not arterial here, so it is lost for oxygenation and pCO2.
SELECT
    count(*) FILTER (WHERE specimen IS NULL) AS affected,
    count(*) AS total
FROM mimiciv_derived.bg
