"""A shift of every key is said where the extra keys come from it, not where keys only lack."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnosis_cases import write

from engine.catalogue.task import find_task
from engine.diagnosis.signatures.find import value_candidates
from engine.diagnosis.table import open_diff
from engine.scoring import judge_table

HEADER = "subject_id,hadm_id,stay_id,meld"
REFERENCE = [[n, 100 + n, 1000 + 10 * n, 6.0 + (n * 7) % 30] for n in range(60)]


@pytest.mark.parametrize(("offset", "every", "is_said"), [
    (-1, 1, True), (1, 1, True), (5_000_000, 1, False), (5_000_000, 4, False),
])  # fmt: skip
def test_a_shift_is_said_of_keys_that_it_gives(
    tmp_path: Path, offset: int, every: int, is_said: bool
) -> None:
    output = [
        [*row[:2], row[2] + (offset if n % every == 0 else 0), row[3]]
        for n, row in enumerate(REFERENCE)
    ]
    diff = tmp_path / "diff.duckdb"
    judge_table(
        find_task("mimic-meld-24h").evaluation,
        write(tmp_path / "output.csv", HEADER, output),
        write(tmp_path / "reference.csv", HEADER, REFERENCE),
        diff=diff,
    )
    table = open_diff(diff, memory_limit="200MB", scratch=tmp_path)
    try:
        found = [c for c in value_candidates(table, None) if c.id == "shifted-keys"]
    finally:
        table.con.close()
    offsets = {c.parameters["offset"] for c in found}
    assert offsets == ({offset} if is_said else set())
