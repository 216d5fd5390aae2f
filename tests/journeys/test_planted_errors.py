"""Planted errors on the real demo: each gets the reward that the definition gives, and the diff
shows exactly the rows that it spoilt.

The expected figures come from a naive comparison written here from the two tables, row by row
in plain Python; nothing of the scorer is used for them.
"""

from __future__ import annotations

import csv
import functools
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.workbench import RunRecord, RunRequest, Workbench

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.shared_data]

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "resources" / "samples"
PLANTED = ROOT / "tests" / "material" / "ventilation"
SCORED = ("ventilation_status", "starttime", "endtime")
ERRORS = sorted(path.stem for path in PLANTED.glob("*.sql"))

Key = tuple[int, int]


@pytest.fixture(scope="module")
def workbench(mimic_built: Home, sandbox_store: Path, tmp_path_factory) -> Workbench:
    """The demo with references; runs and workspaces go into a home of this module's own."""

    root = tmp_path_factory.mktemp("planted") / "home"
    shutil.copytree(mimic_built.root, root, ignore=shutil.ignore_patterns("lock", "scratch"))
    return Workbench(share_sandbox(Home(root), sandbox_store))


def run(workbench: Workbench, task: str, script: Path) -> RunRecord:
    request = RunRequest(task=task, source="mimic-demo", script=script)
    return workbench.run(request, job=SimpleJob())


@pytest.fixture(scope="module")
def planted(workbench: Workbench) -> Callable[[str], RunRecord]:
    """The run of a script with a planted error; each is run once."""
    return functools.cache(
        lambda error: run(workbench, "mimic-ventilation-raw", PLANTED / f"{error}.sql")
    )


@dataclass(frozen=True)
class Expected:
    """What the definition gives."""

    rates: Mapping[str, float]
    missing: set[Key]
    extra: set[Key]
    duplicates: int
    wrong: Mapping[str, set[Key]]
    """Per column the reference keys whose cells do not match."""

    @property
    def reward(self) -> float:
        return sum(self.rates.values()) / len(self.rates)


def naive(reference: list[dict[str, str]], output: list[dict[str, str]]) -> Expected:
    """The scoring contract for this task, row by row."""

    def key(row: Mapping[str, str]) -> Key:
        return int(row["stay_id"]), int(row["ventilation_seq"])

    kept: dict[Key, dict[str, str]] = {}
    duplicates = 0
    for row in output:
        if key(row) in kept:
            duplicates += 1
        else:
            kept[key(row)] = row
    wanted = {key(row): row for row in reference}
    extra = set(kept) - set(wanted)
    total = len(wanted) + len(extra) + duplicates
    wrong: dict[str, set[Key]] = {}
    for column in SCORED:
        pairs = {k: (row[column], kept[k][column]) for k, row in wanted.items() if k in kept}
        as_time = column != "ventilation_status" and all(
            _time(b) is not None for a, b in pairs.values() if a and b
        )
        wrong[column] = set(wanted) - {
            k
            for k, (a, b) in pairs.items()
            if a == b or (as_time and a and b and _time(a) == _time(b))
        }
    rates = {column: (len(wanted) - len(wrong[column])) / total for column in SCORED}
    return Expected(rates, set(wanted) - set(kept), extra, duplicates, wrong)


def _time(text: str) -> datetime | None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", text):
        return None
    return datetime.fromisoformat(text)


def reference_rows(workbench: Workbench) -> list[dict[str, str]]:
    path = workbench.home.references / "mimic-demo" / "ventilation.parquet"
    with duckdb.connect() as con:
        found = con.execute(
            "SELECT stay_id::TEXT, ventilation_seq::TEXT, strftime(starttime, '%Y-%m-%d %H:%M:%S'),"
            " strftime(endtime, '%Y-%m-%d %H:%M:%S'), ventilation_status FROM read_parquet(?)",
            [str(path)],
        ).fetchall()
    names = ("stay_id", "ventilation_seq", "starttime", "endtime", "ventilation_status")
    return [dict(zip(names, row, strict=True)) for row in found]


def output_rows(record: RunRecord) -> list[dict[str, str]]:
    with (record.folder / "output.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def diff_rows(path: Path):
    """Per key status the keys; per scored column the reference keys whose cells differ."""
    with duckdb.connect(str(path), read_only=True) as con:
        names = [
            row[0]
            for row in con.execute(
                "SELECT name FROM diff_columns WHERE role = 'scored' ORDER BY position"
            ).fetchall()
        ]
        rows = con.execute(
            "SELECT k0, k1, key_status, mismatches FROM diff ORDER BY row"
        ).fetchall()
    by_status: dict[int, list[Key]] = {0: [], 1: [], 2: [], 3: []}
    wrong: dict[str, set[Key]] = {name: set() for name in names}
    for stay, seq, status, mismatches in rows:
        key = (int(stay), int(seq))
        by_status[status].append(key)
        if status in (0, 1):
            for bit, name in enumerate(names):
                if mismatches >> bit & 1:
                    wrong[name].add(key)
    return by_status, wrong


@pytest.mark.parametrize(
    ("task", "script"),
    [("mimic-ventilation-raw", "ventilation-raw"), ("mimic-ventilation", "ventilation")],
)
def test_a_right_script_scores_one_and_passes_strictly(workbench: Workbench, task, script):
    record = run(workbench, task, SAMPLES / f"{script}.sql")
    assert record.summary.state == "done"
    assert record.summary.reward == 1.0
    assert record.summary.strict_pass is True
    assert record.test_results is not None
    assert set(record.test_results.match_rates.values()) == {1.0}
    by_status, wrong = diff_rows(record.folder / "diff.duckdb")
    assert len(by_status[0]) == len(reference_rows(workbench)) > 200
    assert not any(wrong.values())
    assert naive(reference_rows(workbench), output_rows(record)).reward == 1.0


@pytest.mark.parametrize("error", ERRORS)
def test_a_planted_error_gets_exactly_its_reward_and_its_rows(
    workbench: Workbench, planted: Callable[[str], RunRecord], error: str
):
    record = planted(error)
    assert record.summary.state == "done"
    expected = naive(reference_rows(workbench), output_rows(record))
    assert expected.reward < 1, "the planted error does nothing on this data"

    found = record.test_results
    assert found is not None
    assert record.summary.reward == round(expected.reward, 8)
    assert found.match_rates == {name: round(rate, 8) for name, rate in expected.rates.items()}
    assert (found.missing_keys, found.extra_keys, found.duplicate_keys) == (
        len(expected.missing),
        len(expected.extra),
        expected.duplicates,
    )
    strict = all(rate >= 0.85 for rate in expected.rates.values()) and (
        len(expected.missing) <= 0.1 * len(reference_rows(workbench))
    )
    assert record.summary.strict_pass is strict

    by_status, wrong = diff_rows(record.folder / "diff.duckdb")
    assert set(by_status[1]) == expected.missing
    assert set(by_status[2]) == expected.extra
    assert len(by_status[3]) == expected.duplicates
    assert wrong == dict(expected.wrong)


def test_the_planted_errors_are_of_different_kinds(
    workbench: Workbench, planted: Callable[[str], RunRecord]
):
    """Each is there for one way of going wrong; none may turn into another unnoticed."""
    reference = reference_rows(workbench)
    seen = {error: naive(reference, output_rows(planted(error))) for error in ERRORS}
    assert seen["dropped_last"].missing
    assert not seen["dropped_last"].extra
    assert seen["duplicate_keys"].duplicates
    assert not any(seen["duplicate_keys"].wrong.values())
    assert seen["off_by_one_gap"].wrong["endtime"]
    assert seen["trailing_space_lost"].missing
    assert seen["text_timestamp"].wrong["endtime"]
    assert not seen["text_timestamp"].wrong["starttime"]
