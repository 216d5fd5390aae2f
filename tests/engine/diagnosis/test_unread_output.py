"""An output that cannot be read, or lacks columns: the judge's reason reaches whoever looks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from diagnosis_cases import Row, write

from engine.catalogue.task import find_task
from engine.cli.main import run
from engine.diagnosis import Diagnosis, diagnose, keeping, unmet
from engine.diagnosis.report.page import page
from engine.scoring import judge_table, look

TASK = "mimic-ventilation"
HEADER = "stay_id,ventilation_seq,starttime,endtime,ventilation_status"
ROWS: list[Row] = [
    (stay, n, f"2150-01-0{n} 00:00:00", f"2150-01-0{n} 04:00:00", "HFNC")
    for stay in range(1, 9)
    for n in range(1, 5)
]
LINES = [",".join(str(cell) for cell in row) for row in ROWS]
RIGHT = "\n".join([HEADER, *LINES]) + "\n"
BROKEN = {
    "quote": (RIGHT.replace("2,1,2150", '2,1,"2150'), "EOF inside string"),
    "ragged": (RIGHT.replace("2,1,2150", "2,1,7,7,2150"), "line 6"),
    "empty": ("", "The output is empty"),
    "no rows": (HEADER + "\n", "0 data rows"),
    "binary": ("\0\1\2\3\n\0", "Missing: stay_id"),
    "semicolons": (RIGHT.replace(",", ";"), "one column with semicolons in it"),
    "key": (RIGHT.replace("stay_id", "stay"), "Missing: stay_id"),
}


def _found(folder: Path, output: str, **more: Any) -> Diagnosis:
    task = find_task(TASK)
    reference = write(folder / "reference.csv", HEADER, ROWS)
    (folder / "output.csv").write_text(output)
    diff = folder / "diff.duckdb"
    score = judge_table(task.evaluation, folder / "output.csv", reference, diff=diff)
    return diagnose(diff, task=task, judged=unmet(score.diagnostics), **more)


@pytest.mark.parametrize("case", BROKEN)
def test_an_unreadable_output_is_the_agents_with_the_judges_reason(
    tmp_path: Path, case: str
) -> None:
    text, reason = BROKEN[case]
    found = _found(tmp_path, text)
    assert reason in " ".join(item.detail for item in found.judged)
    (signature,) = found.ranked
    assert signature.id == "no-output"
    assert reason in signature.words
    (proposal,) = found.proposals
    assert (proposal.fault, proposal.signature) == ("agent", "no-output")
    assert reason in proposal.words
    asked = "stay_id" if case == "key" else "CSV file"
    assert {c.about for c in proposal.clues} == {"instruction"}
    assert asked in proposal.clues[0].text
    told: Any = json.loads(json.dumps(found.as_dict()))
    assert reason in " ".join(item["detail"] for item in told["judged"])


def test_a_column_that_is_not_there_is_the_agents_where_it_was_asked_for(tmp_path: Path) -> None:
    output = RIGHT.replace("endtime", "ende")
    found = _found(tmp_path, output)
    assert [(j.name, j.detail) for j in found.judged] == [("required_columns", "Missing: endtime.")]
    (proposal,) = found.proposals
    assert (proposal.fault, proposal.columns) == ("agent", ("endtime",))
    assert "lacks endtime" in proposal.words
    assert any("endtime" in c.text and c.where.startswith("instruction") for c in proposal.clues)
    unsaid = _found(tmp_path, output, given=frozenset())
    assert unsaid.proposals[0].fault == "instruction"
    assert all("not given" in c.where for c in unsaid.proposals[0].clues)


def test_a_right_output_has_nothing_of_it(tmp_path: Path) -> None:
    assert _found(tmp_path, RIGHT).judged == ()


@pytest.mark.parametrize("case", BROKEN)
def test_looking_alone_says_what_the_score_says(tmp_path: Path, case: str) -> None:
    found = _found(tmp_path, BROKEN[case][0])
    seen = unmet(look(find_task(TASK).evaluation, tmp_path / "output.csv"))
    assert [j.name for j in seen] == [j.name for j in found.judged]
    if case != "no rows":
        assert seen == found.judged


def test_what_was_kept_of_another_broken_output_is_not_taken(tmp_path: Path) -> None:
    found = _found(tmp_path, "")
    diff, task = tmp_path / "diff.duckdb", find_task(TASK)
    other = [replace(found.judged[0], detail="Another reason.")]
    assert keeping.key_of(diff, task, "", (), found.judged) != keeping.key_of(
        diff, task, "", (), other
    )


@pytest.mark.parametrize("case", BROKEN)
def test_the_command_line_gives_the_reason(
    tmp_path: Path, home_dir: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    text, reason = BROKEN[case]
    reference = write(tmp_path / "reference.csv", HEADER, ROWS)
    (tmp_path / "output.csv").write_text(text)
    call = [TASK, str(tmp_path / "output.csv"), "--reference", str(reference)]
    assert run(["diagnose", *call]) == 0
    out = capsys.readouterr().out
    assert f"{reason}" in out.partition("Whose fault")[0]
    assert "agent: No row of the agent's file can be compared." in out
    assert "perhaps it is not said" not in out
    assert run(["diff", *call, "--out", str(tmp_path / "d.parquet")]) == 0
    assert reason in capsys.readouterr().out


def test_the_report_gives_the_reason_beside_the_check() -> None:
    run_facts = {
        "run_id": "r", "task": "t", "agent": "script", "model": "m", "condition": "no-skill",
        "schema": "native", "trial": 1, "reward": 0.0, "started_at": "", "strict_pass": False,
        "agent_seconds": None,
    }  # fmt: skip
    figures = {
        "match_rates": {}, "missing_keys": 1, "extra_keys": 0, "duplicate_keys": 0,
        "diagnostics": [
            {"name": "has_rows", "passed": False, "detail": "EOF inside <string>."},
            {"name": "key_recall", "passed": False, "detail": None},
        ],
    }  # fmt: skip
    told = page(
        {
            "kind": "run", "engine": "1", "failure": None, "tokens": None, "run": run_facts,
            "figures": figures, "diagnosis": None, "care": {},
        }
    )  # fmt: skip
    assert "EOF inside &lt;string&gt;." in told
