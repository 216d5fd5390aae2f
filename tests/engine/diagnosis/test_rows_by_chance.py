"""Several different rows per key: which is compared is chance, and is not looked into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diagnosis_cases import Row, write

from engine.catalogue.task import find_task
from engine.diagnosis.signatures.find import by_chance, open_positions, value_candidates
from engine.diagnosis.table import open_diff
from engine.scoring import judge_table

HEADER = "subject_id,hadm_id,stay_id,meld"
REFERENCE = [[n, 100 + n, 1000 + n, 6.0 + (n * 7) % 30] for n in range(40)]


def positions(folder: Path, output: Sequence[Row]) -> tuple[list[int], set[int]]:
    diff = folder / "diff.duckdb"
    judge_table(
        find_task("mimic-meld-24h").evaluation,
        write(folder / "output.csv", HEADER, output),
        write(folder / "reference.csv", HEADER, REFERENCE),
        diff=diff,
    )
    table = open_diff(diff, memory_limit="200MB", scratch=folder)
    try:
        found = value_candidates(table, None)
        return open_positions(table, found), by_chance(table)
    finally:
        table.con.close()


def wrong(row: Row, n: int, day: int) -> list[object]:
    return [*row[:3], 40 + (n * 13 + day * 5) % 17]


def test_columns_of_another_grain_are_left_alone(tmp_path: Path) -> None:
    output = [wrong(row, n, day) for n, row in enumerate(REFERENCE) for day in range(3)]
    open_, chance = positions(tmp_path, output)
    assert chance
    assert chance <= set(open_)


def test_columns_that_are_wrong_without_repeats_are_not(tmp_path: Path) -> None:
    output = [
        wrong(row, n, day) for n, row in enumerate(REFERENCE) for day in range(1 + (n < 8) * 2)
    ]
    open_, chance = positions(tmp_path, output)
    assert open_
    assert not chance


def test_a_join_that_repeats_rows_is_no_grain(tmp_path: Path) -> None:
    output = [wrong(row, n, 0) for n, row in enumerate(REFERENCE) for _ in range(2)]
    assert not positions(tmp_path, output)[1]


def test_repeats_that_are_partly_alike_are_chance_where_they_differ(tmp_path: Path) -> None:
    output = [
        list(row) if n % 2 else wrong(row, n, day)
        for n, row in enumerate(REFERENCE)
        for day in range(3)
    ]
    assert positions(tmp_path, output)[1]
