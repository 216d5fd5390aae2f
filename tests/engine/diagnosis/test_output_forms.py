"""Outputs that are wrong in their form: what is said of them, and that nothing is made up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from diagnosis_cases import Row, on_values, write

from engine.base import duck
from engine.base.jobs import SimpleJob
from engine.catalogue.task import find_task
from engine.diagnosis import Diagnosis
from engine.diagnosis.columns import study_column
from engine.scoring import judge_table
from engine.scoring.whatif import Compared

TASK = "mimic-ventilation-raw"
HEADER = "stay_id,ventilation_seq,starttime,endtime,ventilation_status"
WEIGHTS = "stay_id,charttime,weight,uo"


def at(stay: int, hours: int) -> datetime:
    return datetime(2150, 3, 1, 8, 11) + timedelta(days=stay, hours=hours)  # noqa: DTZ001 - as MIMIC


ROWS: list[Row] = [
    [stay, n, at(stay, 5 * n), at(stay, 5 * n + 4), ("HFNC", "InvasiveVent")[n % 2]]
    for stay in range(1, 13)
    for n in range(1, 4)
]


def said_of(folder: Path, output: list[Row]) -> Diagnosis:
    return on_values(folder, TASK, HEADER, ROWS, output)


def test_an_output_without_rows_is_no_filter(tmp_path: Path) -> None:
    found = said_of(tmp_path, [])
    assert [s.id for s in found.ranked] == ["no-output"]
    assert found.unexplained == 0


def test_keys_in_another_form_and_empty_keys(tmp_path: Path) -> None:
    found = said_of(tmp_path, [[f"stay {s:08}", *rest] for s, *rest in ROWS])
    assert [s.id for s in found.ranked] == ["key-format"]
    assert found.unexplained == 0
    (empty,) = (tmp_path / "empty",)
    empty.mkdir()
    found = said_of(empty, [*ROWS, *([None, *rest] for _, *rest in ROWS)])
    assert found.ranked[0].id == "key-format"
    assert "empty" in found.ranked[0].words


def ends(of: Callable[[datetime], object]) -> list[Row]:
    return [[s, n, b, of(e), v] for s, n, b, e, v in ROWS]  # type: ignore[arg-type]


def zoned(hours: int) -> Callable[[datetime], str]:
    return lambda t: t.replace(tzinfo=timezone(timedelta(hours=hours))).isoformat()


@pytest.mark.parametrize(
    ("of", "name", "form"),
    [
        (lambda t: t.strftime("%d.%m.%Y %H:%M"), "time-format", "day, month, year"),
        (lambda t: f"{t} Europe/Berlin", "time-format", "spelling"),
        (lambda t: int(t.replace(tzinfo=UTC).timestamp()), "time-format", "seconds"),
        (zoned(-5), "off-by-hour", None),
    ],
    ids=["order", "zone name", "seconds", "offset"],
)
def test_times_in_another_form(
    tmp_path: Path, of: Callable[[datetime], object], name: str, form: str | None
) -> None:
    found = said_of(tmp_path, ends(of))
    first = found.ranked[0]
    assert (first.id, first.columns) == (name, ("endtime",))
    assert first.parameters.get("form") == form
    assert found.unexplained == 0


def test_a_time_with_an_offset_is_as_far_away_as_the_score_has_it(tmp_path: Path) -> None:
    diff = tmp_path / "diff.duckdb"
    judge_table(
        find_task(TASK).evaluation,
        write(tmp_path / "output.csv", HEADER, ends(zoned(2))),
        write(tmp_path / "reference.csv", HEADER, ROWS),
        diff=diff,
    )
    con = duck.connect(diff, read_only=True)
    try:
        column = Compared(2, "time", "TIMESTAMP", "VARCHAR")
        study = study_column(con, column, tolerance=0.0, job=SimpleJob())
    finally:
        con.close()
    assert study.rate == 0
    assert study.histogram is not None
    assert (study.histogram.smallest, study.histogram.largest) == (-7200, -7200)
    assert [(p.tolerance, p.matches) for p in study.curve] == [(0, 0), (7200, len(ROWS))]


def test_times_an_hour_off_that_are_keys_are_no_neighbouring_rows(tmp_path: Path) -> None:
    columns = find_task("mimic-urine-output-rate-raw").evaluation
    header = ",".join(["stay_id", "charttime", *columns.scored_columns])
    rows = [
        [stay, at(0, hour), *((stay * 97 + hour * 31 + n * 7) % 89 for n, _ in
                              enumerate(columns.scored_columns))]
        for stay in range(1, 9)
        for hour in range(10)
    ]  # fmt: skip
    output = [[s, t - timedelta(hours=1), *rest] for s, t, *rest in rows]  # type: ignore[operator]
    found = on_values(tmp_path, "mimic-urine-output-rate-raw", header, rows, output)
    assert [s.id for s in found.ranked] == ["shifted-keys"]
    assert found.ranked[0].parameters["offset"] == -3600
    assert found.unexplained == 0


def numbers(folder: Path, of: Callable[[float], object]) -> Diagnosis:
    columns = find_task("mimic-creatinine-baseline").evaluation.scored_columns
    header = ",".join(["hadm_id", *columns])
    rows = [[n, *(1.25 + n % 9 * 0.5 for _ in columns)] for n in range(60)]
    output = [[n, of(v), *rest] for n, v, *rest in rows]  # type: ignore[arg-type]
    return on_values(folder, "mimic-creatinine-baseline", header, rows, output)


@pytest.mark.parametrize(
    ("of", "form"),
    [
        (lambda v: f'"{v}"'.replace(".", ","), "comma"),
        (lambda v: f"{v} mg/dL", "unit"),
        (lambda v: f"<{v} ", "unit"),
    ],
    ids=["comma", "unit", "sign"],
)
def test_numbers_in_another_form(tmp_path: Path, of: Callable[[float], object], form: str) -> None:
    found = numbers(tmp_path, of)
    first = found.ranked[0]
    assert (first.id, first.parameters.get("form")) == ("number-format", form)
    assert found.unexplained == 0


def test_one_other_value_is_neither_a_factor_nor_a_bound(tmp_path: Path) -> None:
    found = numbers(tmp_path, lambda v: 7.31 if v == 1.25 else 0.17 if v == 2.25 else v)
    assert found.mismatches
    names = {s.id for s in found.ranked}
    assert not names & {"constant-factor", "constant-offset", "capped"}


def test_nothing_is_swapped_where_the_reference_is_empty(tmp_path: Path) -> None:
    empty: list[Row] = [[s, n, None, None, v] for s, n, _, _, v in ROWS]
    found = on_values(tmp_path, TASK, HEADER, empty, ROWS)
    assert found.mismatches
    assert not {s.id for s in found.ranked} & {"swapped-columns", "copied-column"}


def test_capitals_are_named_where_nothing_else_differs(tmp_path: Path) -> None:
    found = said_of(tmp_path, [[*rest, str(label).upper()] for *rest, label in ROWS])
    assert found.ranked[0].parameters["way"] == "case"
    assert found.unexplained == 0
