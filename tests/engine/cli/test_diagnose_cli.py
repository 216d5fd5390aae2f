"""`m4bench diagnose` as a program and as a person call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.diagnosis_words import report
from engine.cli.main import run
from engine.diagnosis import (
    Change,
    ColumnDiagnosis,
    Diagnosis,
    KeyDiagnosis,
    Rows,
    Segment,
    Signature,
)
from engine.diagnosis.model import NO_ROWS

HEADER = "stay_id,ventilation_seq,starttime,endtime,ventilation_status"
REFERENCE = [
    f"{stay},{n},2150-01-0{n} 00:00:00,2150-01-0{n} 04:00:00,HFNC"
    for stay in range(1, 9)
    for n in range(1, 5)
]


@pytest.fixture
def files(tmp_path: Path, home_dir: Path) -> tuple[str, str]:
    reference, output = tmp_path / "reference.csv", tmp_path / "output.csv"
    reference.write_text("\n".join([HEADER, *REFERENCE]) + "\n")
    later = [line.replace(" 04:00:00,HFNC", " 05:00:00,hfnc") for line in REFERENCE]
    output.write_text("\n".join([HEADER, *later]) + "\n")
    return str(output), str(reference)


def test_as_json(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    output, reference = files
    call = ["diagnose", "mimic-ventilation", output, "--reference", reference, "--json"]
    assert run(call) == 0
    said = json.loads(capsys.readouterr().out)
    assert {s["id"] for s in said["signatures"]} == {"off-by-hour", "label-spelling"}
    assert said["mismatches"] == 2 * len(REFERENCE)
    assert said["unexplained"] == 0
    assert any("no source" in note for note in said["notes"])
    assert said.keys() == {
        "task", "mismatches", "unexplained", "signatures", "columns", "keys", "segments",
        "segments_suppressed", "proposals", "notes", "cut_short", "judged",
    }  # fmt: skip


def test_for_people(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    output, reference = files
    assert run(["diagnose", "mimic-ventilation", output, "--reference", reference]) == 0
    said = capsys.readouterr().out
    assert "Off by hours (endtime)" in said
    assert "Consistent with" in said
    assert "caused by" not in said
    assert "2150" not in said
    assert "for you to decide" in said
    assert "32 of the 32 mismatching cells of these columns it was tested on" in said
    assert "no matching cell contradicts it" in said
    assert "counter-example" not in said


def test_a_right_output(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    _, reference = files
    assert run(["diagnose", "mimic-ventilation", reference, "--reference", reference]) == 0
    assert "no mismatches" in capsys.readouterr().out


def test_what_is_wrong_is_said(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "mimic-ventilation", files[0]]) == 2
    assert "--source NAME or --reference" in capsys.readouterr().err


def test_a_name_that_is_neither_file_nor_run_is_bad_input(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = str(tmp_path / "gone.csv")
    assert run(["diagnose", "mimic-ventilation", gone, "--reference", files[1]]) == 3
    said = capsys.readouterr().err
    assert "no run of that name" in said
    assert "m4bench runs list" in said


def test_of_a_file_in_a_runs_folder_it_is_known_what_the_agent_had(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    folder = tmp_path / "run"
    (folder / "agent").mkdir(parents=True)
    text = Path(output).read_text()
    (folder / "output.csv").write_text(text)
    call = ["diagnose", "mimic-ventilation", str(folder / "output.csv"), "--reference", reference]
    assert run([*call, "--json"]) == 0
    unknown = json.loads(capsys.readouterr().out)
    assert any("taken as given" in note for note in unknown["notes"])
    record = {
        "engine_version": "1", "task": "mimic-ventilation", "condition": "no-skill",
        "agent": "script", "given_files": {"instruction.md": "0"},
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(record))
    (folder / "agent" / "flawed.sql").write_text(
        "SELECT endtime + INTERVAL 1 HOUR AS endtime WHERE stay_id <> 39765412"
    )
    assert run([*call, "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert not any("taken as given" in note for note in known["notes"])
    clues = [clue for p in known["proposals"] for clue in p["clues"]]
    assert any("INTERVAL 1 HOUR" in c["text"] for c in clues if c["about"] == "agent")
    assert run(call) == 0
    said = "".join(capsys.readouterr())
    assert "INTERVAL 1 HOUR" in said
    assert "39765412" not in said + json.dumps(known)  # a key in the agent's SQL
    assert all("not given to this run" in c["where"] for c in clues if c["about"] == "skill")
    (folder / "result.json").write_text(json.dumps({**record, "task": "another"}))
    assert run([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == unknown


def test_the_numbers_of_the_text_add_up(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    lines = Path(output).read_text().splitlines()
    rows = [f"{100 + n},1,2150-01-01 00:00:00,2150-01-01 04:00:00,HFNC" for n in range(12)]
    Path(output).write_text("\n".join([*lines, *rows, *lines[1:17]]) + "\n")
    assert run(["diagnose", "mimic-ventilation", output, "--reference", reference]) == 0
    said = capsys.readouterr().out
    assert "148 cells mismatch" in said
    assert "in rows that both sides have: 32 + 32 = 64" in said
    assert "in other rows: (0 missing + 12 extra + 16 repeated) × 3 columns" in said
    assert 64 + (12 + 16) * 3 == 148
    assert "of these rows are unexplained, each 3 cells" in said
    assert "  1. agent: " in said or "  1. instruction: " in said
    by_keys = [line for line in said.splitlines() if "missing, extra or repeated rows it" in line]
    assert by_keys
    assert all("(the keys of both sides)" in line for line in by_keys)


def test_several_changes_and_groups_that_are_not_told_are_said() -> None:
    change = Change("some_query", "a > 1; b = 'x'", "a > 2; b = 'y'")
    signature = Signature(
        id="window", title="Two changes together", words="Consistent with 2; and with y.",
        predicts="", columns=("a",), evidence="source", parameters={"besides": "y"}, explained=40,
        tested=40, gained=40, broken=0, rows=NO_ROWS, against=NO_ROWS, counter_example=None,
        change=change,
    )  # fmt: skip
    column = ColumnDiagnosis("a", 0, 40, (signature,), NO_ROWS)
    small = Segment(
        "a", ("unit",), ("MICU",), "unit MICU", Rows("true", 3), Rows("true", 2), 0.6, 0.1, 6.0,
        0.1, (0.1, 0.9), 0.01, (1, 1, 1, 1),
    )  # fmt: skip
    found = Diagnosis(
        "t", 40, (signature,), 0, (column,), KeyDiagnosis(0, 0, 0, (), NO_ROWS), (small,), ()
    )
    said = report(found)
    assert "with these 2 changes together" in said
    assert "some_query: a > 1  →  a > 2" in said
    assert "some_query: b = 'x'  →  b = 'y'" in said
    assert "Groups of stays that are not told, since a count of theirs is small: 1" in said
    assert "in other rows" not in said
