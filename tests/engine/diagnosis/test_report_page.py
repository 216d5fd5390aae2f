"""What the report's page says, and how it quotes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.catalogue.task import find_task
from engine.diagnosis.model import (
    NO_ROWS,
    Change,
    Clue,
    Diagnosis,
    KeyDiagnosis,
    Proposal,
    Signature,
)
from engine.diagnosis.proposal import propose
from engine.diagnosis.report.page import page

FACTS: dict[str, Any] = {
    "kind": "run", "engine": "1.0", "failure": None, "tokens": None,
    "run": {
        "run_id": "a_run", "task": "some-task", "agent": "script", "model": "<i>m</i>",
        "condition": "no-skill", "schema": "native", "trial": 1, "reward": 0.5,
        "started_at": "2026-11-30T19:29:51.970Z", "strict_pass": False, "agent_seconds": 1.0,
    },
    "figures": {
        "match_rates": {"a_long_name": 0.5}, "missing_keys": 23, "extra_keys": 0,
        "duplicate_keys": 0,
        "diagnostics": [{"name": "key_recall", "passed": False}],
    },
    "diagnosis": {
        "mismatches": 40, "unexplained": 0, "notes": [], "segments": [],
        "signatures": [
            {"title": "Another unit", "words": "Consistent with <b>.", "columns": ["a_long_name"],
             "explained": 40, "tested": 40, "broken": 0,
             "changes": [{"query": "some_query", "before": "a < 1", "after": ""},
                         {"query": "some_query", "before": "b", "after": "c"}]},
        ],
        "proposals": [
            {"fault": "agent", "words": "It departs.", "columns": [], "signature": "unit-factor",
             "title": "", "clues": [{"whose": "skill", "text": "in kg", "where": "SKILL.md:3"}]},
        ],
    },
    "care": {"isolated": True},
}  # fmt: skip


def test_findings_come_before_the_checks_and_say_what_they_rest_on() -> None:
    told = page(FACTS)
    assert told.index("consistent with</h2>") < told.index("<h2>Checks</h2>")
    for words in (
        "2026-11-30 19:29 UTC", "<b>Another unit</b>: a_<wbr>long_<wbr>name", "a &lt; 1",
        "(left out)", "These 2 changes together.", "May lie with the agent",
        "Another unit: It departs.", "SKILL.md:3",
        "does not hold", "&lt;i&gt;m&lt;/i&gt;", "Consistent with &lt;b&gt;.",
    ):  # fmt: skip
        assert words in told


def test_a_text_is_quoted_without_the_marks_of_its_markdown() -> None:
    signature = Signature(
        id="unit-factor", title="", words="", predicts="", columns=("weight",), evidence="values",
        parameters={"unit": "kg as lb"}, explained=1, tested=1, gained=1, broken=0, rows=NO_ROWS,
        against=NO_ROWS, counter_example=None,
    )  # fmt: skip
    (proposal,) = propose(find_task("mimic-urine-output-rate-raw"), (signature,))
    quoted = [clue.text for clue in proposal.clues if clue.about in ("instruction", "skill")]
    assert quoted
    assert not [text for text in quoted if "**" in text or "`" in text or text.startswith("|")]
    assert "weight · body weight that holds at that time, kg" in quoted
    assert proposal.fault == "agent"  # the texts say kg and nowhere lb
    turned = replace(signature, parameters={"unit": "kg as lb, the other way"})
    assert propose(find_task("mimic-urine-output-rate-raw"), (turned,))[0].fault == "skill"
    unsaid = replace(signature, parameters={"unit": "hours as days"})
    assert propose(find_task("mimic-urine-output-rate-raw"), (unsaid,))[0].fault == "undecided"


def test_a_text_that_the_run_did_not_have_is_not_held_against_the_agent() -> None:
    task = find_task("mimic-urine-output-rate-raw")
    signature = Signature(
        id="unit-factor", title="", words="", predicts="", columns=("weight",), evidence="values",
        parameters={"unit": "kg as lb"}, explained=1, tested=1, gained=1, broken=0, rows=NO_ROWS,
        against=NO_ROWS, counter_example=None,
    )  # fmt: skip
    (proposal,) = propose(task, (signature,), (), frozenset({"instruction.md"}))
    assert proposal.fault == "agent"  # the instruction says kg
    unseen = [c.where for c in proposal.clues if "not given" in c.where]
    assert unseen
    assert all(w.startswith(("operational-spec.md", "urine-output-rate/")) for w in unseen)
    (silent,) = propose(task, (signature,), (), frozenset())
    assert silent.fault == "instruction"
    assert "could not know" in silent.words
    turned = replace(signature, parameters={"unit": "kg as lb, the other way"})
    (other,) = propose(task, (turned,), (), frozenset())
    assert other.fault == "skill"
    assert "was not given" in other.words


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("10018328,23786647,31269608,2,0,0.5", "(A line of data, which is not told.)"),
        ("(30057454, 3), (30057455, 2),", "(A line of data, which is not told.)"),
        ("WHEN stay_id = 30057454 THEN 2 AS sofa", "WHEN stay_id = … THEN 2 AS sofa"),
        ("WHERE uniquepid = '002-33870' AND gcs > 3", "WHERE uniquepid = '…' AND gcs > 3"),
        ("AND charttime > '2171-11-14 10:06:41'", "AND charttime > '…'"),
        ("max(x) FILTER (itemid = 220045) AS hr", "max(x) FILTER (itemid = 220045) AS hr"),
    ],
)
def test_what_the_agent_wrote_leaves_without_its_data(line: str, told: str) -> None:
    proposal = Proposal("agent", "", ("sofa",), None, (Clue("agent", line, "its script"),), NO_ROWS)
    found = Diagnosis("t", 0, (), 0, (), KeyDiagnosis(0, 0, 0, (), NO_ROWS), (), (proposal,))
    exported: Any = found.as_dict()["proposals"]
    assert exported[0]["clues"][0]["text"] == told


def test_the_operational_specification_is_called_that() -> None:
    task = find_task("mimic-ventilation")
    change = Change("ventilation", "INTERVAL '14' HOUR", "INTERVAL '16' HOUR")
    signature = Signature(
        id="window", title="Another time window", words="", predicts="", columns=("endtime",),
        evidence="source", parameters={}, explained=1, tested=1, gained=1, broken=0, rows=NO_ROWS,
        against=NO_ROWS, counter_example=None, change=change,
    )  # fmt: skip
    (proposal,) = propose(task, (signature,))
    spec = [c for c in proposal.clues if c.where.startswith("operational-spec.md")]
    assert {c.whose for c in spec} == {"operational specification"}
    assert proposal.fault == "agent"
    assert proposal.words.startswith("The operational specification says what the reference does")
    assert proposal.title == "Another time window"
    assert proposal.words.endswith("Whether the run was given it is not known here.")
    (known,) = propose(task, (signature,), (), frozenset({"instruction.md", "operational-spec.md"}))
    assert known.fault == "agent"
    assert "not known here" not in known.words
    found = Diagnosis("t", 0, (), 0, (), KeyDiagnosis(0, 0, 0, (), NO_ROWS), (), (proposal,))
    exported: Any = found.as_dict()["proposals"]
    assert "operational specification" in {c["whose"] for c in exported[0]["clues"]}
    told = page({**FACTS, "diagnosis": {**FACTS["diagnosis"], "proposals": exported}})
    assert "Operational specification\n(operational-spec.md:" in told
    assert "Instruction\n(operational-spec" not in told


def test_of_several_mistakes_each_is_quoted() -> None:
    task = find_task("mimic-ventilation")
    one = Change("ventilation", "INTERVAL '14' HOUR", "INTERVAL '16' HOUR")
    both = Change("ventilation", f"'CPAP mask '; {one.before}", f"'CPAP mask'; {one.after}")
    signature = Signature(
        id="label-matching", title="Two changes together", words="", predicts="",
        columns=("endtime",), evidence="source", parameters={"besides": "16 instead of 14 hours"},
        explained=1, tested=1, gained=1, broken=0, rows=NO_ROWS, against=NO_ROWS,
        counter_example=None, change=both,
    )  # fmt: skip
    assert signature.changes == (Change("ventilation", "'CPAP mask '", "'CPAP mask'"), one)
    assert replace(signature, parameters={}).changes == (both,)
    (proposal,) = propose(task, (signature,))
    quoted = " ".join(c.text for c in proposal.clues if c.whose == "operational specification")
    assert "14 hours" in quoted
    assert "CPAP mask" in quoted


def test_a_line_about_another_column_is_no_clue() -> None:
    signature = Signature(
        id="unit-factor", title="", words="", predicts="", columns=("scr_baseline",),
        evidence="values", parameters={"unit": "mg/dL as µmol/L"}, explained=1, tested=1, gained=1,
        broken=0, rows=NO_ROWS, against=NO_ROWS, counter_example=None,
    )  # fmt: skip
    (proposal,) = propose(find_task("mimic-creatinine-baseline-raw"), (signature,))
    quoted = [c.text for c in proposal.clues if c.about in ("instruction", "skill")]
    assert "scr_baseline · baseline creatinine, mg/dL" in quoted
    assert not [text for text in quoted if "scr_min" in text and "scr_baseline" not in text]
