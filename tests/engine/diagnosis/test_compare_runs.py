"""Comparing runs: every cell's change, held against one worked out row by row in Python."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.base.errors import BadInput, UsageError
from engine.catalogue.task import TableEvaluation
from engine.cli.runs import _changes
from engine.diagnosis.compare import CHANGES, compare, open_comparison
from engine.diagnosis.report.page import page
from engine.scoring import align

EVALUATION = TableEvaluation(key_columns=("id",), value_columns=("x", "y"))


def diff_of(folder: Path, name: str, reference: pd.DataFrame, rows: pd.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    reference.to_csv(folder / "reference.csv", index=False)
    rows.to_csv(folder / f"{name}.csv", index=False)
    to = folder / f"{name}.duckdb"
    to.unlink(missing_ok=True)
    align(EVALUATION, folder / f"{name}.csv", folder / "reference.csv", to=to)
    return to


def test_what_became_of_each_cell(tmp_path: Path):
    reference = pd.DataFrame({"id": range(6), "x": [0, 1, 2, 3, 4, 5], "y": [0] * 6})
    first = reference.assign(x=[0, 9, 9, 3, 9, 9]).iloc[:5]
    second = pd.DataFrame({"id": [0, 1, 2, 3, 4, 7], "x": [0, 1, 9, 9, 8, 1], "y": [0] * 6})
    diffs = {"a": diff_of(tmp_path, "a", reference, first)}
    diffs["b"] = diff_of(tmp_path, "b", reference, second)
    found = compare(diffs, tmp_path / "compare.duckdb")
    (other,) = found.others
    assert found.reference_rows == 6
    assert (found.first_wrong, found.always_wrong) == (4, 3)
    assert dict(other.columns[0].cells) == {
        "right": 1, "mended": 1, "broken": 1, "wrong": 2, "wrong_otherwise": 1,
    }  # fmt: skip
    assert dict(other.columns[1].cells)["right"] == 5
    assert dict(other.columns[1].cells)["wrong"] == 1  # the row that both lack
    assert dict(other.rows) == dict(other.columns[0].cells)
    assert (other.extra, other.new_extra, other.gone_extra, other.duplicates) == (1, 1, 0, 0)
    assert (found.first_extra, found.first_duplicates) == (0, 0)
    with open_comparison(tmp_path / "compare.duckdb") as con:
        rows = con.execute("SELECT k0, c0_1, c_1 FROM compare ORDER BY row").fetchall()
    words = {key: (CHANGES[cell], CHANGES[row]) for key, cell, row in rows}
    assert words[1] == ("mended", "mended")
    assert words[2] == ("wrong", "wrong")
    assert words[3] == ("broken", "broken")
    assert words[4] == ("wrong_otherwise", "wrong_otherwise")
    assert 0 not in words
    told = found.as_dict()
    assert told["reference_rows"] == "<11"
    assert "9" not in str(told["others"]).replace("<11", "")


def test_repeated_rows_that_are_mended_are_counted(tmp_path: Path):
    reference = pd.DataFrame({"id": range(30), "x": [0] * 30, "y": [0] * 30})
    first = pd.concat([reference, reference.iloc[:20], reference.iloc[:1].assign(id=99)])
    diffs = {"a": diff_of(tmp_path, "a", reference, first)}
    diffs["b"] = diff_of(tmp_path, "b", reference, reference)
    found = compare(diffs, tmp_path / "compare.duckdb")
    (other,) = found.others
    assert (found.first_extra, found.first_duplicates) == (1, 20)
    assert (other.extra, other.gone_extra, other.duplicates) == (0, 1, 0)
    told = found.as_dict()
    assert (told["first_extra"], told["first_duplicates"]) == ("<11", 20)
    rows = {row["column"]: row for row in _changes(found, other)}
    assert (rows["(repeated rows)"]["mended"], rows["(repeated rows)"]["broken"]) == (20, 0)
    assert (rows["(extra keys)"]["mended"], rows["(extra keys)"]["wrong"]) == (1, 0)
    about = {
        "run_id": "r", "task": "t", "agent": "script", "model": "m", "condition": "no-skill",
        "trial": 1, "reward": 1.0,
    }  # fmt: skip
    facts = {
        "kind": "comparison", "engine": "1", "runs": [about, about], "comparison": told
    }  # fmt: skip
    assert "a key: 20 in A, 0 in\nB." in page(facts)


table = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 2), st.one_of(st.none(), st.integers(0, 1))),
    max_size=8,
    unique_by=lambda row: row[0],
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=table, second=table)
def test_counts_agree_with_the_rows(tmp_path: Path, first, second):
    reference = pd.DataFrame({"id": range(6), "x": [0, 1, 2, 0, 1, 2], "y": [0, None, 1, 0, 1, 0]})
    sides = [pd.DataFrame(rows, columns=["id", "x", "y"]) for rows in (first, second)]
    diffs = {
        name: diff_of(tmp_path, name, reference, side)
        for name, side in zip("ab", sides, strict=True)
    }
    (tmp_path / "c.duckdb").unlink(missing_ok=True)
    found = compare(diffs, tmp_path / "c.duckdb")
    expected = dict.fromkeys(CHANGES, 0)
    tables = [side.set_index("id") for side in sides]
    for key, x, y in reference.itertuples(index=False):
        cells = [tuple(t.loc[key]) if key in t.index else None for t in tables]
        right = [cell is not None and same(cell[0], x) and same(cell[1], y) for cell in cells]
        if all(right):
            change = "right"
        elif any(right):
            change = "mended" if right[1] else "broken"
        else:
            before, now = (
                (cell and tuple(None if pd.isna(v) else v for v in cell)) for cell in cells
            )
            nothing = {None, (None, None)}
            alike = before == now or {before, now} <= nothing
            change = "wrong" if alike else "wrong_otherwise"
        expected[change] += 1
    assert dict(found.others[0].rows) == expected


def same(one: object, other: object) -> bool:
    return (pd.isna(one) and pd.isna(other)) or one == other


def test_what_cannot_be_compared_is_said(tmp_path: Path):
    reference = pd.DataFrame({"id": [1], "x": [1], "y": [1]})
    one = diff_of(tmp_path / "one", "a", reference, reference)
    more = pd.DataFrame({"id": [1, 2], "x": [1, 2], "y": [1, 2]})
    other = diff_of(tmp_path / "two", "b", more, more)
    with pytest.raises(UsageError, match="one reference"):
        compare({"a": one, "b": other}, tmp_path / "c.duckdb")
    with pytest.raises(UsageError, match="Two to 8"):
        compare({"a": one}, tmp_path / "c.duckdb")
    (tmp_path / "no.duckdb").write_text("no diff")
    with pytest.raises(BadInput, match="no diff"):
        compare({"a": one, "b": tmp_path / "no.duckdb"}, tmp_path / "c.duckdb")
    assert not (tmp_path / "c.duckdb").exists()


def test_references_of_as_many_rows_but_other_keys_are_told_apart(tmp_path: Path):
    one = pd.DataFrame({"id": range(6), "x": range(6), "y": [0] * 6})
    other = one.assign(id=range(1, 7))
    diffs = {"a": diff_of(tmp_path, "a", one, one), "b": diff_of(tmp_path, "b", other, other)}
    with pytest.raises(UsageError, match="one reference"):
        compare(diffs, tmp_path / "compare.duckdb")
    assert not (tmp_path / "compare.duckdb").exists()
