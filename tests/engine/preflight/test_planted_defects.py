# ruff: noqa: E501 - one defect is one line
"""Every rule finds what is planted for it, at its line, and nothing in the text before."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.catalogue.task import find_task
from engine.preflight import TITLES, lint_text
from engine.preflight.finding import Kind
from engine.preflight.lint import RULES


class Plant(NamedTuple):
    """One defect: in a task's text `old` becomes `new`."""

    rule: str
    task: str
    kind: Kind
    old: str
    new: str


ASK, SPEC, SKILL = "instruction", "operational-spec", "skill"
VENT, KDIGO, SOFA = "mimic-ventilation", "mimic-kdigo-48h", "mimic-sofa-24h"
VENT_RAW = "mimic-ventilation-raw"
SAPS, MELD, OASIS = "mimic-sapsii-24h", "mimic-meld-24h", "mimic-oasis-24h"
UO, BASE, SUSP = "mimic-urine-output-rate", "mimic-creatinine-baseline", "mimic-suspicion-infection"
SIRS, CHARLSON, EOASIS = "mimic-sirs-24h-raw", "mimic-charlson-raw", "eicu-oasis"

PLANTS = (
    # what an instruction must not tell
    Plant("schema-name", VENT, ASK, "For each ICU stay", "In mimiciv_icu, for each ICU stay"),
    Plant("table-name", VENT, ASK, "For each ICU stay", "From chartevents, for each ICU stay"),
    Plant("table-name", KDIGO, ASK, "The stage of", "Use kdigo_creatinine. The stage of"),
    Plant("long-number", VENT, ASK, "oxygen delivery devices", "oxygen delivery devices (226732)"),
    Plant("sql", VENT, ASK, "For each ICU stay", "SELECT stay_id FROM events. For each ICU stay"),
    Plant("sql", VENT, ASK, "For each ICU stay", "```sql\nx\n```\nFor each ICU stay"),
    Plant("place-holder", VENT, ASK, "{db_path}", "/job/database.duckdb"),
    Plant("place-holder", VENT, ASK, "{output_path}", "{output}"),
    Plant("columns", VENT, ASK, "| endtime | end of", "| end | end of"),
    Plant("columns", KDIGO, ASK, "| hadm_id | hospital admission |\n", ""),
    Plant("columns", KDIGO, ASK, "| subject_id | patient |\n", "| hadm_id | x |\n| subject_id | x |\n"),
    Plant("reference-code", SOFA, ASK, "For **every ICU stay**", "As in mimic-code, for every stay"),
    Plant("window-differs", KDIGO, ASK, "within 48 hours", "within 47 hours"),
    # what no text may hold
    Plant("invisible-character", VENT, ASK, "For each ICU", "For\u200b each ICU"),
    Plant("invisible-character", VENT, SKILL, "## Purpose", "## Pur\u202epose"),
    Plant("invisible-character", VENT, "task", 'difficulty = "hard"', 'difficulty = "hard"  # \u00a0'),
    Plant("remote-content", VENT, SKILL, "## Purpose\n", "## Purpose\n![x](https://example.org/a.png)\n"),
    Plant("remote-content", VENT, SKILL, "## Purpose\n", "## Purpose\n[x](javascript:alert(1))\n"),
    Plant("remote-content", VENT, ASK, "## Output\n", "## Output\n<script src='x'></script>\n"),
    # skills
    Plant("front-matter", VENT, SKILL, "tier: community", "tier: gold"),
    Plant("front-matter", VENT, SKILL, "tier: community\n", ""),
    Plant("front-matter", VENT, SKILL, "category: clinical", "category: clinical\nauthor: me"),
    Plant("front-matter", VENT, SKILL, "name: ventilation", "name: ventilator"),
    Plant("sql", SOFA, SKILL, "## Purpose\n", "## Purpose\n```SQL\nx\n```\n"),
    Plant("sql", SOFA, SKILL, "## Purpose\n", "## Purpose\nUse a LEFT JOIN on stays.\n"),
    Plant("schema-name", SOFA, SKILL, "## Purpose\n", "## Purpose\nSee mimiciv_derived.\n"),
    Plant("dropped-table", SOFA, SKILL, "## Purpose\n", "## Purpose\nLook into first_day_sofa.\n"),
    Plant("dropped-table", VENT, SKILL, "## Purpose\n", "## Purpose\nThe table `ventilation` has it.\n"),
    Plant("derived-table", SOFA, SKILL, "## Purpose\n", "## Purpose\nfirst_day_lab has these.\n"),
    Plant("code-block", SOFA, SKILL, "## Purpose\n", "## Purpose\n```python\nx = 1\n```\n"),
    Plant("precomputed-section", SOFA, SKILL, "## Purpose\n", "## Pre-computed tables\n## Purpose\n"),
    # numbers
    Plant("item-unknown", KDIGO, SKILL, "| 50912 |", "| 50913 |"),
    Plant("item-missing", KDIGO, SKILL, "| 226565 | L Nephrostomy |\n", ""),
    Plant("item-missing", KDIGO, SKILL, "| 50912 |", "| 50913 |"),
    Plant("item-unknown", VENT, SKILL, "| 223834 | O2 Flow |", "| 323834 | O2 Flow |"),
    Plant("unit-differs", KDIGO, SKILL, "mg/dL | v ≤ 150", "µmol/L | v ≤ 150"),
    Plant("number-differs", KDIGO, SKILL, "v ≤ 150, no", "v ≤ 160, no"),
    Plant("number-differs", SAPS, SPEC, "lowest < 70: 13", "lowest < 71: 13"),
    Plant("number-differs", SAPS, SKILL, "highest ≥ 39.0: 3", "highest ≥ 39.5: 3"),
    Plant("number-differs", MELD, SKILL, "0.957 × ln 4", "0.975 × ln 4"),
    Plant("number-differs", MELD, SPEC, "0.378", "0.387"),
    Plant("range-differs", SAPS, SKILL, "| systolic pressure, mmHg | 0 < v < 400 |", "| systolic pressure, mmHg | 0 < v < 300 |"),
    Plant("range-differs", MELD, SKILL, "mg/dL | 0 < v ≤ 150 |", "mg/dL | 0 < v ≤ 200 |"),
    Plant("points-differ", SAPS, SKILL, "< 60: 7;", "< 60: 8;"),
    Plant("points-differ", SAPS, SPEC, "lowest < 40: 11", "lowest < 40: 10"),
    Plant("points-differ", OASIS, SKILL, "< 24: 0", "< 24: 4"),
    Plant("points-differ", EOASIS, SKILL, "lowest < 33: 4", "lowest < 33: 3"),
    Plant("bound-differs", SAPS, SKILL, "highest ≥ 160: 7", "highest > 160: 7"),
    Plant("bound-differs", SAPS, SPEC, "lowest < 125: 5", "lowest ≤ 125: 5"),
    Plant("bound-differs", KDIGO, SKILL, "≥ 6 and < 12", "≥ 6 and ≤ 12"),
    Plant("window-differs", VENT, SKILL, "**14 hours or more**", "**15 hours or more**"),
    Plant("window-differs", SOFA, SPEC, "6 hours before", "8 hours before"),
    Plant("window-differs", UO, SKILL, "| 12 hours | 11 hours", "| 12 hours | 10 hours"),
    Plant("window-differs", SUSP, SKILL, "time + 72 hours", "time + 71 hours"),
    Plant("window-differs", EOASIS, SPEC, "1440 minutes", "1400 minutes"),
    # task.toml
    Plant("task-file", VENT, "task", 'mode = "standard"', 'mode = "easy"'),
    Plant("task-file", VENT, "task", "[evaluation]", "[evaluation"),
    Plant("task-file", VENT, "task", 'name = "mimic-ventilation"', 'name = "mimic-vent"'),
    Plant("task-columns", VENT, "task", '["stay_id", "ventilation_seq", "starttime"', '["stay_id", "starttime"'),
    Plant("task-columns", KDIGO, "task", "row_coverage", "tolerance = { aki = 1 }\nrow_coverage"),
    Plant("target", VENT_RAW, "task", 'alias = "ventilation"', 'alias = "ventilations"'),
    Plant("target", VENT, "task", '"starttime", "endtime"', '"starttime", "end"'),
    Plant("target", VENT, "task", 'key_columns = ["stay_id", "ventilation_seq"]', 'key_columns = ["stay_id"]'),
    Plant("drop-tables", VENT, "task", "mimiciv_derived.ventilation", "mimiciv_derived.ventilations"),
    Plant("drop-tables", VENT, "task", '["mimiciv_derived.ventilation"]', "[]"),
    Plant("skill-missing", VENT, "task", 'names = ["ventilation"]', 'names = ["ventilator"]'),
    # PROVENANCE.yaml
    Plant("provenance", VENT, "provenance", "licence: MIT", "license: MIT"),
    Plant("provenance", VENT, "provenance", "  - mimic-ventilation\n", ""),
    Plant("provenance", VENT, "provenance", "changelog:", "changes:"),
    Plant("provenance", VENT, "provenance", "reviews: []", "reviews: ["),
    Plant("provenance", VENT, "provenance", "date: 2026-11-30\nreviews", "date: 2026-13-45\nreviews"),
    Plant("provenance", VENT, "provenance", "reviews: []", "reviews: " + "[" * 3000),
    Plant("task-file", VENT, "task", "[skills]\nnames =", "[skills]\nnames = 3\nmore ="),
    Plant("task-file", VENT, "task", "[metadata]", "x = " + "[" * 3000 + "\n[metadata]"),
    Plant(
        "review-without-ledger", VENT, "provenance", "reviews: []",
        "reviews:\n  - {by: somebody, date: 2026-01-01, scope: all, notes: fine}",
    ),
)  # fmt: skip


def _text(plant: Plant) -> tuple[str, Path]:
    task = find_task(plant.task)
    paths = {
        "task": task.folder / "task.toml",
        "instruction": task.folder / "instruction.md",
        "operational-spec": task.folder / "operational-spec.md",
        "provenance": task.folder.parent / "PROVENANCE.yaml",
        "skill": task.skill_folders[0] / "SKILL.md",
    }
    return paths[plant.kind].read_text(encoding="utf-8"), paths[plant.kind]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda p: f"{p.rule}-{p.task}-{p.new[:16]}")
def test_a_planted_defect_is_found(plant: Plant) -> None:
    text, path = _text(plant)
    assert plant.old in text
    task = find_task(plant.task)
    assert plant.rule not in {f.rule for f in lint_text(plant.kind, text, task)}
    planted = text.replace(plant.old, plant.new, 1)
    found = [f for f in lint_text(plant.kind, planted, task) if f.rule == plant.rule]
    assert found
    assert all(f.path == path and f.message and f.fix for f in found)
    assert all(1 <= f.line <= planted.count("\n") + 1 for f in found)


@pytest.mark.parametrize("kind", ["task", "instruction", "operational-spec", "skill", "provenance"])
@given(text=st.text(st.sampled_from("|-#`:[]{}()<>≤×.,;0123456789 ab\n'\"!") | st.characters()))
@example(text="| item | unit |\n|---|---|\n| 50912 |")
@example(text="| item |\n| 5 | 5 |")
@example(text="1, " * 2000)
@example(text="SELECT " * 2000)
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_lint(kind: Kind, text: str) -> None:
    task = find_task(VENT)
    for found in lint_text(kind, text, task):
        assert found.line <= text.count("\n") + 1
        assert found.column >= 1


def test_a_finding_says_line_and_column() -> None:
    task = find_task(VENT)
    text = task.instruction.replace("oxygen delivery", "oxygen 226732 delivery")
    (found,) = lint_text("instruction", text, task)
    line = text.splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith("226732")


def test_every_rule_has_a_plant() -> None:
    planted = {plant.rule for plant in PLANTS}
    assert {rule.id for rule in RULES} - planted == {"window-missing"}  # see test_lint.py
    assert planted <= set(TITLES)
