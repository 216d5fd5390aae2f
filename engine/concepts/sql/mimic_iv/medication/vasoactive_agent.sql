-- purpose: The time line of each stay, cut at every start and end of seven vasoactive drugs, with
--   the rates that run in each piece.
-- grain: one row per piece, and per combination of records that cover it
-- key: none
-- reads:
--   mimiciv_derived.dopamine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.epinephrine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.norepinephrine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.phenylephrine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.vasopressin (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.dobutamine (stay_id, starttime, endtime, vaso_rate)
--   mimiciv_derived.milrinone (stay_id, starttime, endtime, vaso_rate)
-- deviations: none
WITH cut AS (
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.dopamine
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.dopamine
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.epinephrine
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.epinephrine
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.norepinephrine
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.norepinephrine
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.phenylephrine
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.phenylephrine
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.vasopressin
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.vasopressin
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.dobutamine
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.dobutamine
    UNION
    SELECT
        stay_id,
        starttime AS boundary
    FROM mimiciv_derived.milrinone
    UNION
    SELECT
        stay_id,
        endtime AS boundary
    FROM mimiciv_derived.milrinone
),

piece AS (
    SELECT
        stay_id,
        boundary AS starttime,
        lead(boundary) OVER (PARTITION BY stay_id ORDER BY boundary ASC NULLS FIRST) AS endtime
    FROM cut
    QUALIFY endtime IS NOT NULL
)

-- Two records of one drug over one piece give two rows: the public convention.
SELECT
    piece.stay_id,
    piece.starttime,
    piece.endtime,
    dopamine.vaso_rate AS dopamine,
    epinephrine.vaso_rate AS epinephrine,
    norepinephrine.vaso_rate AS norepinephrine,
    phenylephrine.vaso_rate AS phenylephrine,
    vasopressin.vaso_rate AS vasopressin,
    dobutamine.vaso_rate AS dobutamine,
    milrinone.vaso_rate AS milrinone
FROM piece
LEFT JOIN mimiciv_derived.dopamine AS dopamine
    ON
        piece.stay_id = dopamine.stay_id
        AND piece.starttime >= dopamine.starttime
        AND piece.endtime <= dopamine.endtime
LEFT JOIN mimiciv_derived.epinephrine AS epinephrine
    ON
        piece.stay_id = epinephrine.stay_id
        AND piece.starttime >= epinephrine.starttime
        AND piece.endtime <= epinephrine.endtime
LEFT JOIN mimiciv_derived.norepinephrine AS norepinephrine
    ON
        piece.stay_id = norepinephrine.stay_id
        AND piece.starttime >= norepinephrine.starttime
        AND piece.endtime <= norepinephrine.endtime
LEFT JOIN mimiciv_derived.phenylephrine AS phenylephrine
    ON
        piece.stay_id = phenylephrine.stay_id
        AND piece.starttime >= phenylephrine.starttime
        AND piece.endtime <= phenylephrine.endtime
LEFT JOIN mimiciv_derived.vasopressin AS vasopressin
    ON
        piece.stay_id = vasopressin.stay_id
        AND piece.starttime >= vasopressin.starttime
        AND piece.endtime <= vasopressin.endtime
LEFT JOIN mimiciv_derived.dobutamine AS dobutamine
    ON
        piece.stay_id = dobutamine.stay_id
        AND piece.starttime >= dobutamine.starttime
        AND piece.endtime <= dobutamine.endtime
LEFT JOIN mimiciv_derived.milrinone AS milrinone
    ON
        piece.stay_id = milrinone.stay_id
        AND piece.starttime >= milrinone.starttime
        AND piece.endtime <= milrinone.endtime
