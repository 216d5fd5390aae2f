-- purpose: Oxford Acute Severity of Illness Score of the first 24 hours in the unit; what is
--   missing scores 0.
-- grain: one row per unit stay
-- key: patientunitstayid
-- reads:
--   eicu_crd.patient (patientunitstayid, uniquepid, patienthealthsystemstayid, age,
--     hospitaladmitoffset, unitadmitsource)
--   eicu_crd.nursecharting (patientunitstayid, nursingchartoffset, nursingchartcelltypecat,
--     nursingchartcelltypevallabel, nursingchartcelltypevalname, nursingchartvalue)
--   eicu_crd.physicalexam (patientunitstayid, physicalexamoffset, physicalexampath,
--     physicalexamvalue)
--   eicu_crd.intakeoutput (patientunitstayid, intakeoutputoffset, cellpath, cellvaluenumeric)
--   eicu_crd.apacheapsvar (patientunitstayid, intubated, urine)
--   eicu_crd.apachepredvar (patientunitstayid, oobintubday1, electivesurgery)
--   eicu_crd.respiratorycare (patientunitstayid, respcarestatusoffset, airwaytype, airwaysize,
--     airwayposition, cuffpressure, setapneatv)
-- deviations: none
WITH charted AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        nursingchartcelltypecat AS category,
        nursingchartcelltypevallabel AS label,
        nursingchartcelltypevalname AS name,
        try_cast(nursingchartvalue AS DECIMAL(18, 3)) AS number
    FROM eicu_crd.nursecharting
    WHERE
        nursingchartoffset > 0
        AND nursingchartoffset <= 1440
        AND nursingchartcelltypecat IN (
            'Vital Signs', 'Scores', 'Other Vital Signs and Infusions'
        )
),

vital AS (
    SELECT
        patientunitstayid,
        min(number) FILTER (
            WHERE label = 'Heart Rate' AND name = 'Heart Rate' AND number BETWEEN 25 AND 225
        ) AS heart_rate_min,
        max(number) FILTER (
            WHERE label = 'Heart Rate' AND name = 'Heart Rate' AND number BETWEEN 25 AND 225
        ) AS heart_rate_max,
        min(number) FILTER (
            WHERE
            label = 'Respiratory Rate'
            AND name = 'Respiratory Rate'
            AND number > 0
            AND number <= 60
        ) AS resp_rate_min,
        max(number) FILTER (
            WHERE
            label = 'Respiratory Rate'
            AND name = 'Respiratory Rate'
            AND number BETWEEN 0 AND 60
        ) AS resp_rate_max,
        min(number) FILTER (
            WHERE label = 'Temperature' AND name = 'Temperature (C)' AND number BETWEEN 25 AND 46
        ) AS temperature_min,
        max(number) FILTER (
            WHERE label = 'Temperature' AND name = 'Temperature (C)' AND number BETWEEN 25 AND 46
        ) AS temperature_max,
        min(number) FILTER (
            WHERE
            number BETWEEN 1 AND 250
            AND (
                (label = 'Invasive BP' AND name = 'Invasive BP Mean')
                OR (label IN ('MAP (mmHg)', 'Arterial Line MAP (mmHg)') AND name = 'Value')
            )
        ) AS invasive_min,
        max(number) FILTER (
            WHERE
            number BETWEEN 1 AND 250
            AND (
                (label = 'Invasive BP' AND name = 'Invasive BP Mean')
                OR (label IN ('MAP (mmHg)', 'Arterial Line MAP (mmHg)') AND name = 'Value')
            )
        ) AS invasive_max,
        min(number) FILTER (
            WHERE
            number BETWEEN 1 AND 250
            AND label = 'Non-Invasive BP'
            AND name = 'Non-Invasive BP Mean'
        ) AS noninvasive_min,
        max(number) FILTER (
            WHERE
            number BETWEEN 1 AND 250
            AND label = 'Non-Invasive BP'
            AND name = 'Non-Invasive BP Mean'
        ) AS noninvasive_max
    FROM charted
    GROUP BY patientunitstayid
),

-- The lowest total of one time is judged: an impossible one hides the others of that time.
gcs_at_one_time AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        min(number) AS total
    FROM charted
    WHERE
        category IN ('Scores', 'Other Vital Signs and Infusions')
        AND (
            (label = 'Glasgow coma score' AND name = 'GCS Total')
            OR (label = 'Score (Glasgow Coma Scale)' AND name = 'Value')
        )
    GROUP BY patientunitstayid, nursingchartoffset
),

gcs_charted AS (
    SELECT
        patientunitstayid,
        min(total) AS gcs_min
    FROM gcs_at_one_time
    WHERE total > 2 AND total < 16
    GROUP BY patientunitstayid
),

gcs_examined AS (
    SELECT
        patientunitstayid,
        min(try_cast(physicalexamvalue AS DECIMAL(18, 3))) AS gcs_min
    FROM eicu_crd.physicalexam
    WHERE
        starts_with(
            physicalexampath, 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/'
        )
        AND length(physicalexampath)
        - length('notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/') IN (1, 2)
        AND physicalexamoffset > 0
        AND physicalexamoffset <= 1440
    GROUP BY patientunitstayid
),

urine_label (label) AS (
    VALUES
    ('3 Way Foley'), ('3 way foley'), ('Actual Urine'), ('Adjusted total UO NOC end shift'),
    ('BRP (Urine)'), ('BRP (urine)'), ('Condom Cath'), ('condom cath'), ('Condom Catheter'),
    ('condom catheter'), ('CONDOM CATHETER OUTPUT'), ('condome cath urine'), ('diaper urine'),
    ('inc of urine'), ('Inc Urine'), ('inc urine'), ('Inc. urine'), ('inc. urine'),
    ('incont of urine'), ('incont urine'), ('incont. of urine'), ('incont. of urine count'),
    ('Incont. Urine'), ('Incont. urine'), ('incont. urine'), ('Incontient Urine'),
    ('Incontient urine'), ('incontient urine'), ('incontinence of urine'), ('Incontinence-urine'),
    ('incontinence/ voids urine'), ('Incontinent (urine)'), ('INCONTINENT OF URINE'),
    ('incontinent of urine'), ('Incontinent UOP'), ('Incontinent Urine'), ('incontinent urine'),
    ('incontinent urine counts'), ('Indwelling Foley'), ('indwelling foley'),
    ('Intermittent/Straight Cath (mL)'), ('Straight  Cath'), ('Straight  cath'),
    ('Straight Cath'), ('Straight cath'), ('straight cath'), ('straight cath daily'),
    ('Straight cath ml''s'), ('straight cath ml''s'), ('Straight Cath Q6hrs'),
    ('Straight Cath UOP'), ('Straight Cath Urine'), ('straight cath urine'), ('Straight Cath''d'),
    ('Straight Cathed'), ('straight cathed'), ('Straight Catheter Output'),
    ('Straight Catheter-Foley'), ('Straight Catheter-Straight Catheter'),
    ('Straight catheterization'), ('Straight Catheterization Urine'), ('Straight caths'),
    ('straightcath'), ('strait cath Urine'), ('Suprapubic Urine Output'), ('True Urine'),
    ('true urine'), ('True Urine out'), ('Unmeasured Urine'), ('unmeasured urine'),
    ('unmeasured urine output'), ('Urethal Catheter'), ('Urethral Catheter'),
    ('urinary output 7AM - 7 PM'), ('urinary output 7AM-7PM'), ('URINE'), ('Urine'), ('urine'),
    ('Urine (measured)'), ('urine (void)'), ('URINE CATHETER'), ('Urine foley catheter'),
    ('urine output'), ('Urine Output-external catheter'), ('Urine Output-FOLEY'),
    ('Urine Output-Foley'), ('Urine Output-foley'), ('Urine Output-FOLEY CATH'),
    ('Urine Output-Foley cath'), ('Urine Output-FOLEY CATHETER'), ('Urine Output-Foley Catheter'),
    ('Urine Output-foley catheter'), ('Urine Output-Foley Output'), ('Urine Output-Fpley'),
    ('Urine Output-Ileoconduit'), ('Urine Output-L Nephrostomy'),
    ('Urine Output-L Nephrostomy Tube'), ('Urine Output-Left Nephrostomy'),
    ('Urine Output-left nephrostomy'), ('Urine Output-Left Nephrostomy Tube'),
    ('Urine Output-LEFT PCN TUBE'), ('Urine Output-Nephrostomy'), ('Urine Output-R Nephrostomy'),
    ('Urine Output-R nephrostomy'), ('Urine Output-R Nephrostomy Tube'),
    ('Urine Output-R. Nephrostomy'), ('Urine Output-right nephrostomy'),
    ('Urine Output-RIGHT Nephrouretero Stent Urine Output'), ('Urine Output-Rt Nephrectomy'),
    ('Urine Output-stent'), ('Urine Output-straight cath'), ('Urine Output-suprapubic'),
    ('Urine Output-Texas Cath'), ('Urine Output-Urine'), ('Urine Output-Urine Output'),
    ('Urine Straight Cath'), ('Urine via condom catheter'), ('Urine, L neph:'),
    ('Urine, R neph:'), ('Urine, void:'), ('Urine- Foley'), ('Urine- foley'), ('Urine- void'),
    ('Urine-foley'), ('Urine-straight cath')
),

output_cell AS (
    SELECT
        patientunitstayid,
        cellvaluenumeric,
        cellpath,
        substr(
            cellpath, length('flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|') + 1
        ) AS label
    FROM eicu_crd.intakeoutput
    WHERE
        starts_with(cellpath, 'flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|')
        AND intakeoutputoffset > 0
        AND intakeoutputoffset <= 1440
),

urine AS (
    SELECT
        patientunitstayid,
        sum(cellvaluenumeric) AS urineoutput
    FROM output_cell
    WHERE
        label IN (SELECT urine_label.label FROM urine_label)
        OR (
            starts_with(lower(label), 'foley')
            -- In the whole path, so an "or" in any word rules it out.
            AND NOT regexp_matches(lower(cellpath), 'pacu|or|ir')
        )
        OR regexp_matches(
            label, '(?s)^Output.*(Urinary Catheter|Urethral Catheter|External Urethral)'
        )
        OR starts_with(label, 'Urine Output (mL)')
        OR starts_with(label, 'Urinary Catheter Output')
    GROUP BY patientunitstayid
),

airway AS (
    SELECT DISTINCT patientunitstayid
    FROM eicu_crd.respiratorycare
    WHERE
        respcarestatusoffset > 0
        AND respcarestatusoffset <= 1440
        AND (
            airwaytype IS NOT NULL
            OR airwaysize IS NOT NULL
            OR airwayposition IS NOT NULL
            OR cuffpressure IS NOT NULL
            OR setapneatv IS NOT NULL
        )
),

gathered AS (
    SELECT
        pat.patientunitstayid,
        pat.uniquepid,
        pat.patienthealthsystemstayid,
        pat.hospitaladmitoffset,
        pat.unitadmitsource,
        if(pat.age = '> 89', 91, try_cast(pat.age AS INTEGER)) AS age,
        coalesce(gcs_charted.gcs_min, gcs_examined.gcs_min) AS gcs_min,
        coalesce(urine.urineoutput, if(aps.urine > 0, aps.urine, NULL)) AS urineoutput,
        coalesce(aps.intubated = 1, FALSE)
        OR coalesce(pred.oobintubday1 = 1, FALSE)
        OR airway.patientunitstayid IS NOT NULL AS is_ventilated,
        pred.electivesurgery,
        vital.* EXCLUDE (patientunitstayid)
    FROM eicu_crd.patient AS pat
    LEFT JOIN vital ON pat.patientunitstayid = vital.patientunitstayid
    LEFT JOIN gcs_charted ON pat.patientunitstayid = gcs_charted.patientunitstayid
    LEFT JOIN gcs_examined ON pat.patientunitstayid = gcs_examined.patientunitstayid
    LEFT JOIN urine ON pat.patientunitstayid = urine.patientunitstayid
    LEFT JOIN airway ON pat.patientunitstayid = airway.patientunitstayid
    LEFT JOIN eicu_crd.apacheapsvar AS aps ON pat.patientunitstayid = aps.patientunitstayid
    LEFT JOIN eicu_crd.apachepredvar AS pred ON pat.patientunitstayid = pred.patientunitstayid
),

-- Bands are tried in order; what lies between two bands, or is missing, scores 0.
scored AS (
    SELECT
        patientunitstayid,
        uniquepid,
        patienthealthsystemstayid,
        CASE
            WHEN hospitaladmitoffset > -10.2 THEN 5
            WHEN hospitaladmitoffset BETWEEN -296.4 AND -10.2 THEN 3
            WHEN hospitaladmitoffset BETWEEN -1440 AND -296.4 THEN 0
            WHEN hospitaladmitoffset BETWEEN -18708 AND -1440 THEN 2
            WHEN hospitaladmitoffset < -18708 THEN 1
            ELSE 0
        END AS preiculos_score,
        CASE
            WHEN age < 24 THEN 0
            WHEN age BETWEEN 24 AND 53 THEN 3
            WHEN age BETWEEN 54 AND 77 THEN 6
            WHEN age BETWEEN 78 AND 89 THEN 9
            WHEN age > 89 THEN 7
            ELSE 0
        END AS age_score,
        CASE
            WHEN gcs_min < 8 THEN 10
            WHEN gcs_min BETWEEN 8 AND 13 THEN 4
            WHEN gcs_min = 14 THEN 3
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN heart_rate_min < 33 THEN 4
            WHEN heart_rate_max BETWEEN 33 AND 88 THEN 0
            WHEN heart_rate_max BETWEEN 89 AND 106 THEN 1
            WHEN heart_rate_max BETWEEN 107 AND 125 THEN 3
            WHEN heart_rate_max > 125 THEN 6
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN invasive_min < 20.65 THEN 4
            WHEN invasive_min BETWEEN 20.65 AND 50.99 THEN 3
            WHEN invasive_min BETWEEN 51 AND 61.32 THEN 2
            WHEN invasive_min BETWEEN 61.33 AND 143.44 THEN 0
            WHEN invasive_max > 143.44 THEN 3
            WHEN noninvasive_min < 20.65 THEN 4
            WHEN noninvasive_min BETWEEN 20.65 AND 50.99 THEN 3
            WHEN noninvasive_min BETWEEN 51 AND 61.32 THEN 2
            WHEN noninvasive_min BETWEEN 61.33 AND 143.44 THEN 0
            WHEN noninvasive_max > 143.44 THEN 3
            ELSE 0
        END AS mbp_score,
        CASE
            WHEN resp_rate_min < 6 THEN 10
            WHEN resp_rate_min BETWEEN 6 AND 12 THEN 1
            WHEN resp_rate_min BETWEEN 13 AND 22 THEN 0
            WHEN resp_rate_max BETWEEN 23 AND 30 THEN 1
            WHEN resp_rate_max BETWEEN 31 AND 44 THEN 6
            WHEN resp_rate_max > 44 THEN 9
            ELSE 0
        END AS resp_rate_score,
        CASE
            WHEN temperature_min < 33.22 THEN 3
            WHEN temperature_min BETWEEN 33.22 AND 35.93 THEN 4
            WHEN temperature_max BETWEEN 33.22 AND 35.93 THEN 4
            WHEN temperature_min BETWEEN 35.94 AND 36.39 THEN 2
            WHEN temperature_max BETWEEN 36.40 AND 36.88 THEN 0
            WHEN temperature_max BETWEEN 36.89 AND 39.88 THEN 2
            WHEN temperature_max > 39.88 THEN 6
            ELSE 0
        END AS temp_score,
        CASE
            WHEN urineoutput < 671 THEN 10
            WHEN urineoutput BETWEEN 671 AND 1426.99 THEN 5
            WHEN urineoutput BETWEEN 1427 AND 2543.99 THEN 1
            WHEN urineoutput BETWEEN 2544 AND 6896 THEN 0
            WHEN urineoutput > 6896 THEN 8
            ELSE 0
        END AS urineoutput_score,
        if(is_ventilated, 9, 0) AS mechvent_score,
        CASE
            WHEN electivesurgery = 0 THEN 6
            WHEN electivesurgery IS NULL THEN 6
            WHEN unitadmitsource = 'Emergency Department' THEN 6
            ELSE 0
        END AS electivesurgery_score
    FROM gathered
)

SELECT
    patientunitstayid,
    uniquepid,
    patienthealthsystemstayid,
    preiculos_score
    + age_score
    + gcs_score
    + heart_rate_score
    + mbp_score
    + resp_rate_score
    + temp_score
    + urineoutput_score
    + mechvent_score
    + electivesurgery_score AS oasis,
    preiculos_score,
    age_score,
    gcs_score,
    heart_rate_score,
    mbp_score,
    resp_rate_score,
    temp_score,
    urineoutput_score,
    mechvent_score,
    electivesurgery_score
FROM scored
