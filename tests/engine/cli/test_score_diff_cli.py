"""`m4bench score` and `m4bench diff` as a program calls them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from engine.cli.main import run

HEADER = "stay_id,ventilation_seq,starttime,endtime,ventilation_status"
ROWS = [
    "1,1,2150-01-01 00:00:00,2150-01-01 04:00:00,HFNC",
    "1,2,2150-01-01 04:00:00,2150-01-02 00:00:00,None",
    "2,1,2150-02-01 00:00:00,2150-02-01 06:00:00,InvasiveVent",
]
FIELDS = {
    "reward", "match_rates", "matched", "total", "key_precision", "key_recall", "key_f1",
    "extra_keys", "duplicate_keys", "missing_keys", "ordered_nmae", "strict_pass", "diagnostics",
    "warnings",
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, home_dir: Path) -> tuple[Path, Path]:
    reference = tmp_path / "reference.csv"
    reference.write_text("\n".join([HEADER, *ROWS]) + "\n")
    output = tmp_path / "output.csv"
    output.write_text("\n".join([HEADER, ROWS[0], ROWS[1].replace("None", "HFNC")]) + "\n")
    return output, reference


def test_score_prints_the_contracts_fields(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    call = ["score", "mimic-ventilation", str(output), "--reference", str(reference), "--json"]
    assert run(call) == 0
    score = json.loads(capsys.readouterr().out)
    assert score.keys() >= FIELDS
    assert score["matched"] == {"ventilation_status": 1, "starttime": 2, "endtime": 2}
    assert score["reward"] == pytest.approx(5 / 9, abs=1e-8)
    assert score["strict_pass"] is False
    assert [d["name"] for d in score["diagnostics"]][:4] == [
        "output_exists",
        "has_rows",
        "required_columns",
        "key_recall",
    ]
    assert all(d.keys() == {"name", "passed", "detail"} for d in score["diagnostics"])
    assert len(score["diagnostics"]) == 7


def test_score_speaks_to_people(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    assert run(["score", "mimic-ventilation", str(output), "--reference", str(reference)]) == 0
    out = capsys.readouterr().out
    assert "reward 0.55555556, no strict pass" in out
    assert "1 keys missing" in out


def test_a_missing_output_is_judged(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = str(tmp_path / "gone.csv")
    assert run(["score", "mimic-ventilation", gone, "--reference", str(files[1]), "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert score["reward"] == 0
    assert score["diagnostics"][0]["passed"] is False


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["score", "mimic-ventilatoin", "o.csv", "--reference", "r.csv"], 2, "mimic-ventilation"),
        (["score", "mimic-ventilation", "o.csv"], 2, "--source NAME or --reference"),
        (["score", "mimic-ventilation", "o.csv", "--reference", "absent.csv"], 3, "absent.csv"),
        (["score", "mimic-ventilation", "o.csv", "--source", "nowhere"], 2, "no source"),
        (["diff", "mimic-ventilation", "o.csv", "--reference", "r.csv"], 2, "--out"),
    ],
    ids=["task", "reference", "absent", "source", "out"],
)
def test_what_is_wrong_is_said(
    home_dir: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    assert run(arguments) == code
    assert words in capsys.readouterr().err


def test_diff_writes_the_aligned_rows(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    out = tmp_path / "aligned.parquet"
    call = ["diff", "mimic-ventilation", str(output), "--reference", str(reference)]
    assert run([*call, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 3
    assert run([*call, "--out", str(out), "--only", "mismatches", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 2
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT stay_id, ventilation_seq, key_status, ventilation_status__reference, "
            f"ventilation_status__agent, ventilation_status__status FROM '{out}'"
        ).fetchall()
    assert rows == [
        (1, 2, "matched", "None", "HFNC", "different"),
        (2, 1, "missing", "InvasiveVent", None, "no agent value"),
    ]


def test_diff_writes_what_the_ending_says(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    call = ["diff", "mimic-ventilation", str(output), "--reference", str(reference), "--out"]
    assert run([*call, str(tmp_path / "a.CSV")]) == 0
    lines = (tmp_path / "a.CSV").read_text().splitlines()
    assert lines[0].startswith("row,key_status,mismatching_columns,stay_id,ventilation_seq,")
    assert lines[1].startswith("0,matched,,1,1,") or lines[1].startswith('0,matched,"",1,1,')
    assert "1,matched,ventilation_status,1,2," in lines[2]
    assert "2150-01-01 04:00:00" in lines[1]
    assert len(lines) == 4
    assert run([*call, str(tmp_path / "a.xlsx")]) == 2
    assert ".csv or .parquet" in capsys.readouterr().err
    assert not (tmp_path / "a.xlsx").exists()


def test_diff_writes_over_nothing_that_it_compares(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = files
    before = output.read_bytes(), reference.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(output)
    (tmp_path / "folder.csv").mkdir()
    call = ["diff", "mimic-ventilation", str(output), "--reference", str(reference), "--out"]
    for out in (output, reference, link):
        assert run([*call, str(out)]) == 2
        assert "one of the two that are compared" in capsys.readouterr().err
    assert run([*call, str(tmp_path / "folder.csv")]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert (output.read_bytes(), reference.read_bytes()) == before


def test_the_next_step_is_named_to_people_alone(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    output, reference = (str(path) for path in files)
    call = ["score", "mimic-ventilation", output, "--reference", reference]
    assert run(call) == 0
    said = capsys.readouterr()
    assert f"m4bench diagnose mimic-ventilation {output} --reference {reference}" in said.err
    assert "m4bench diff mimic-ventilation" in said.err
    assert "Next" not in said.out
    assert run([*call, "--json"]) == 0
    assert "Next" not in capsys.readouterr().err
    assert run(["score", "mimic-ventilation", reference, "--reference", reference]) == 0
    assert "Next" not in capsys.readouterr().err
