"""Which cells of eICU's intake and output are urine: every label of the list, and near misses."""

from __future__ import annotations

from concept_cases import Row, run_query

from engine.references import find_target

OUTPUT = "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|"
LABELS = [
    "3 Way Foley", "3 way foley", "Actual Urine", "Adjusted total UO NOC end shift", "BRP (Urine)",
    "BRP (urine)", "Condom Cath", "condom cath", "Condom Catheter", "condom catheter",
    "CONDOM CATHETER OUTPUT", "condome cath urine", "diaper urine", "inc of urine", "Inc Urine",
    "inc urine", "Inc. urine", "inc. urine", "incont of urine", "incont urine", "incont. of urine",
    "incont. of urine count", "Incont. Urine", "Incont. urine", "incont. urine",
    "Incontient Urine", "Incontient urine", "incontient urine", "incontinence of urine",
    "Incontinence-urine", "incontinence/ voids urine", "Incontinent (urine)",
    "INCONTINENT OF URINE", "incontinent of urine", "Incontinent UOP", "Incontinent Urine",
    "incontinent urine", "incontinent urine counts", "Indwelling Foley", "indwelling foley",
    "Intermittent/Straight Cath (mL)", "Straight  Cath", "Straight  cath", "Straight Cath",
    "Straight cath", "straight cath", "straight cath daily", "Straight cath ml's",
    "straight cath ml's", "Straight Cath Q6hrs", "Straight Cath UOP", "Straight Cath Urine",
    "straight cath urine", "Straight Cath'd", "Straight Cathed", "straight cathed",
    "Straight Catheter Output", "Straight Catheter-Foley", "Straight Catheter-Straight Catheter",
    "Straight catheterization", "Straight Catheterization Urine", "Straight caths", "straightcath",
    "strait cath Urine", "Suprapubic Urine Output", "True Urine", "true urine", "True Urine out",
    "Unmeasured Urine", "unmeasured urine", "unmeasured urine output", "Urethal Catheter",
    "Urethral Catheter", "urinary output 7AM - 7 PM", "urinary output 7AM-7PM", "URINE", "Urine",
    "urine", "Urine (measured)", "urine (void)", "URINE CATHETER", "Urine foley catheter",
    "urine output", "Urine Output-external catheter", "Urine Output-FOLEY", "Urine Output-Foley",
    "Urine Output-foley", "Urine Output-FOLEY CATH", "Urine Output-Foley cath",
    "Urine Output-FOLEY CATHETER", "Urine Output-Foley Catheter", "Urine Output-foley catheter",
    "Urine Output-Foley Output", "Urine Output-Fpley", "Urine Output-Ileoconduit",
    "Urine Output-L Nephrostomy", "Urine Output-L Nephrostomy Tube",
    "Urine Output-Left Nephrostomy", "Urine Output-left nephrostomy",
    "Urine Output-Left Nephrostomy Tube", "Urine Output-LEFT PCN TUBE", "Urine Output-Nephrostomy",
    "Urine Output-R Nephrostomy", "Urine Output-R nephrostomy", "Urine Output-R Nephrostomy Tube",
    "Urine Output-R. Nephrostomy", "Urine Output-right nephrostomy",
    "Urine Output-RIGHT Nephrouretero Stent Urine Output", "Urine Output-Rt Nephrectomy",
    "Urine Output-stent", "Urine Output-straight cath", "Urine Output-suprapubic",
    "Urine Output-Texas Cath", "Urine Output-Urine", "Urine Output-Urine Output",
    "Urine Straight Cath", "Urine via condom catheter", "Urine, L neph:", "Urine, R neph:",
    "Urine, void:", "Urine- Foley", "Urine- foley", "Urine- void", "Urine-foley",
    "Urine-straight cath",
]  # fmt: skip


def _urine(paths: list[str]) -> set[str]:
    """Of `paths`, those whose 100 mL count: one stay each, less than 671 mL scores."""
    stays: list[Row] = [{"patientunitstayid": str(n)} for n in range(len(paths))]
    cells: list[Row] = [
        {
            "patientunitstayid": str(n),
            "cellpath": path,
            "intakeoutputoffset": "10",
            "cellvaluenumeric": "100",
        }
        for n, path in enumerate(paths)
    ]
    inputs = {"eicu_crd.patient": stays, "eicu_crd.intakeoutput": cells}
    types, rows = run_query(find_target("eicu-oasis"), inputs)
    found = [dict(zip(types, row, strict=True)) for row in rows]
    return {paths[r["patientunitstayid"]] for r in found if r["urineoutput_score"] == 10}


def test_every_label_is_urine() -> None:
    assert len(set(LABELS)) == 125
    paths = [OUTPUT + label for label in LABELS]
    assert _urine(paths) == set(paths)


def test_the_list_is_exact() -> None:
    begins = ("foley", "urine output (ml)")
    changed = {f"{label} " for label in LABELS} | {f" {label}" for label in LABELS}
    changed |= {label.swapcase() for label in LABELS} - set(LABELS)
    changed |= {label[:-1] for label in LABELS} - set(LABELS)
    near = [OUTPUT + label for label in sorted(changed) if not label.lower().startswith(begins)]
    near += ["flowsheet|flowsheet Cell Labels|I&O|Output (ml)|Urine", "Urine", OUTPUT + "%"]
    assert _urine(near) == set()


def test_labels_by_their_parts() -> None:
    urine = [
        "Foley", "fOLEY x", "Output Urinary Catheter", "Output-Urethral Catheter x",
        "Output x External Urethral", "OutputExternal Urethral", "Urine Output (mL)",
        "Urine Output (mL)x", "Urinary Catheter Output", "Urinary Catheter Output x",
    ]  # fmt: skip
    other = [
        "a Foley", "Foley pacu", "FOLEY OR", "foley fLOOR", "Foley IRR", "output Urinary Catheter",
        "Output urinary Catheter", "x Output Urinary Catheter", "urine output (mL)",
        "Urine Output (ml)", "Urinary catheter Output",
    ]  # fmt: skip
    paths = [OUTPUT + label for label in [*urine, *other]]
    assert _urine(paths) == {OUTPUT + label for label in urine}
