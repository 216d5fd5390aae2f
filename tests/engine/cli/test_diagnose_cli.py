"""`m4bench diagnose` as a program and as a person call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.main import run

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
    (folder / "agent" / "flawed.sql").write_text("SELECT endtime + INTERVAL 1 HOUR AS endtime")
    assert run([*call, "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert not any("taken as given" in note for note in known["notes"])
    clues = [clue for p in known["proposals"] for clue in p["clues"]]
    assert any("INTERVAL 1 HOUR" in c["text"] for c in clues if c["about"] == "agent")
    assert all("not given to this run" in c["where"] for c in clues if c["about"] == "skill")
    (folder / "result.json").write_text(json.dumps({**record, "task": "another"}))
    assert run([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == unknown
