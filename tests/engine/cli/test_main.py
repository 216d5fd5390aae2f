"""The frame of the command line: exit codes, where things are printed, options anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.base.errors import BadInput, Cancelled, HarnessFault, M4Error, Place
from engine.cli.context import CliContext
from engine.cli.lineage import _short
from engine.cli.main import COMMANDS, run


def test_an_unknown_task_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], home_dir: Path
) -> None:
    assert run(["tasks", "show", "mimic-ventilatoin", "--json"]) == 2
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["error"] == "UsageError"
    assert "mimic-ventilation" in document["todo"]
    assert "mimic-ventilation" in err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_an_unknown_flag_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tasks", "list", "--frobnicate"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["nope"],
        ["run"],
        ["tasks", "list", "--frobnicate"],
        ["runs", "list", "extra"],
        ["run", "mimic-ventilation", "source", "--trial", "0"],
    ],
)
def test_with_json_a_wrong_call_too_is_one_document(
    arguments: list[str], capsys: pytest.CaptureFixture[str], home_dir: Path
) -> None:
    assert run([*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == "UsageError"
    assert "Usage: m4bench" in err


def test_with_events_a_wrong_call_is_an_event(
    capsys: pytest.CaptureFixture[str], home_dir: Path
) -> None:
    assert run(["--events", "ndjson", "runs", "list", "extra"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["error"]


def test_with_json_a_bug_of_ours_is_one_document(
    capsys: pytest.CaptureFixture[str], home_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.cli.tasks.list_tasks", lambda: 1 / 0)
    assert run(["tasks", "list", "--json"]) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == "HarnessFault"
    assert "ZeroDivisionError" in err


def test_errors_name_the_place_and_what_to_do() -> None:
    error = BadInput(
        "A number was expected.", todo="Mend the file.", place=Place(file="a.csv", line=3)
    )
    assert str(error) == "a.csv, line 3: A number was expected. Mend the file."


def test_exit_codes_are_the_contract() -> None:
    codes = {error.__name__: error.exit_code for error in _tree(M4Error)}
    assert codes == {
        "UsageError": 2,
        "BadInput": 3,
        "MissingPrerequisite": 4,
        "StorageFull": 4,
        "Busy": 4,
        "JudgedFailed": 1,
        Cancelled.__name__: 5,
        HarnessFault.__name__: 70,
    }


def _tree(top: type[M4Error]) -> list[type[M4Error]]:
    here = [kind for kind in top.__subclasses__() if kind.__module__ == "engine.base.errors"]
    return [*here, *(deep for kind in here for deep in _tree(kind))]


def test_progress_never_runs_backwards(capsys: pytest.CaptureFixture[str]) -> None:
    with CliContext().job() as job:
        for done, total in ((0, 8), (6, 8), (7, 20), (20, 20), (0, 4), (3, 4)):
            job.progress("a stage", done, total, "at work")
    shares = [line.split("at work")[0].strip() for line in capsys.readouterr().err.splitlines()]
    assert shares == ["0 %", "75 %", "done", "0 %", "75 %"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.4684722222222222, "1.4685"), (2.0, "2"), (0.00012345678, "0.0001235"), (7, 7), ("x", "x")],
)
def test_a_value_of_a_row_has_no_digits_that_only_a_division_made(
    value: object, shown: object
) -> None:
    assert _short(value) == shown
