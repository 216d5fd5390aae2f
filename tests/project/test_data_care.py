"""No value, identifier or path of a source gets into a log, a progress event or an error text."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from engine.base.duck import connect
from engine.cli.main import run

MARK = "PLANTED7F3A"
"""Stands in the name of the source's folder and in cells of it."""


def rows_of(path: Path) -> list[dict[str, str]]:
    """A small CSV.gz file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rewrite(path: Path, rows: list[dict[str, str]]) -> None:
    """Write such a file."""
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def some_patients(mimic_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some patients of the demo, as a folder of the same form."""
    folder = tmp_path_factory.mktemp("some") / "mimic"
    with connect() as connection:
        for table in sorted(mimic_demo.glob("*/*.csv.gz")):
            copy = folder / table.parent.name / table.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            rows = connection.read_csv(str(table), all_varchar=True)
            if "subject_id" in rows.columns:
                rows.filter("subject_id < '10005'").write_csv(str(copy), compression="gzip")
            else:
                shutil.copy(table, copy)
    return folder


@pytest.fixture
def planted(some_patients: Path, tmp_path: Path) -> tuple[Path, re.Pattern[str]]:
    """A folder with marks among its rows, and a pattern of what must not be told."""
    folder = tmp_path / f"folder-{MARK}" / "mimic"
    shutil.copytree(some_patients, folder)
    stays = folder / "icu" / "icustays.csv.gz"
    rows = rows_of(stays)
    for row in rows:
        row["first_careunit"] = f"Unit {MARK}"
    rewrite(stays, rows)
    ids = {row[name] for row in rows for name in ("subject_id", "hadm_id", "stay_id")}
    assert len(rows) > 10
    assert all(len(value) == 8 for value in ids)
    return folder, re.compile(rf"{MARK}|(?<!\d)(?:{'|'.join(sorted(ids))})(?!\d)")


def told(home: Path) -> str:
    """Everything in the program's own logs."""
    logs = [path for path in (home / "logs").rglob("*") if path.is_file()]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)


SCRIPT = """
import csv, duckdb, os, sys
con = duckdb.connect(DATABASE, read_only=True)
print(con.execute("SELECT stay_id, first_careunit FROM mimiciv_icu.icustays LIMIT 20").fetchall())
raise SystemExit("agents may shout what they like")
"""


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.shared_data
def test_nothing_of_a_source_is_told(
    planted: tuple[Path, re.Pattern[str]],
    home_dir: Path,
    tmp_path: Path,
    bubblewrap: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder, secret = planted
    output = tmp_path / "output.csv"
    output.write_text(f"stay_id,starttime\n30000000,{MARK}\n")
    noisy = tmp_path / "noisy.py"
    noisy.write_text(SCRIPT.replace("DATABASE", repr("database.duckdb")))
    task = "mimic-ventilation"
    for code, *command in (
        (0, "source", "add", "care", str(folder)),
        (0, "references", "build", "care", "--target", "ventilation"),
        (0, "references", "verify", "care"),
        (0, "score", task, str(output), "--source", "care"),
        (0, "diff", task, str(output), "--source", "care", "--out", str(tmp_path / "d.parquet")),
        (0, "run", task, "care", "--agent", "script", "--script", str(noisy)),
        (0, "runs", "list"),
        (0, "source", "list"),
    ):
        assert run([*command, "--events", "ndjson", "--json"]) == code, capfd.readouterr().err
        said = capfd.readouterr().err.splitlines()
        # What the agent itself prints is shown to whoever started it, and is kept with the run.
        ours = "\n".join(line for line in said if json.loads(line)["event"] != "log")
        assert secret.findall(ours) == [], command[0]
    assert secret.findall(told(home_dir)) == []


@pytest.mark.shared_data
def test_a_refusal_names_the_place_and_not_the_value(
    planted: tuple[Path, re.Pattern[str]], home_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, secret = planted
    stays = folder / "icu" / "icustays.csv.gz"
    rows = rows_of(stays)
    rows[2]["los"] = f"long {MARK}"
    rewrite(stays, rows)
    assert run(["source", "add", "care", str(folder)]) == 3
    said = capfd.readouterr().err
    assert "icustays.csv.gz, line 4, column los" in said
    # The user is told which file; which value stands in it, and whose, is for the file to say.
    assert secret.findall(said.replace(str(folder), "")) == []
    assert secret.findall(told(home_dir)) == []
