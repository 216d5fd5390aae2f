"""A what-if gives the statuses that the scorer gives at that tolerance."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.catalogue.task import TableEvaluation
from engine.diagnosis.columns import tolerance_curve
from engine.scoring import judge_table
from engine.scoring.whatif import Compared, mismatches_with

NUMBERS = ["", "0", "1", "1.5", "1.75", "2", "-3", "7.35", "7.36", "1e-05", "inf", "-inf",
           "9007199254740993", "9007199254740992"]  # fmt: skip
ODD = [" 1", "+2", "007", ".5"]
TIMES = ["", "2150-01-01 00:00:00", "2150-01-01 00:00:01", "2150-01-01 01:00:00",
         "2150-01-02 00:00:00", "2151-01-01 00:00:00"]  # fmt: skip
TOLERANCES = [0.0, 0.25, 0.01, 1.0, 3600.0, 1e6, 1e300]

pairs = st.lists(
    st.tuples(
        st.sampled_from(NUMBERS),
        st.sampled_from(NUMBERS + ODD),
        st.sampled_from(TIMES),
        st.sampled_from(TIMES),
        st.sampled_from(["both", "both", "both", "missing", "extra"]),
    ),
    min_size=1,
    max_size=12,
)


def scored_at(folder: Path, tolerance: float) -> Path:
    """The diff of the two tables in `folder` at a tolerance."""
    evaluation = TableEvaluation(
        key_columns=("k",), value_columns=("v", "t"), tolerance={"v": tolerance, "t": tolerance}
    )
    diff = folder / f"{tolerance}.duckdb"
    judge_table(evaluation, folder / "output.csv", folder / "reference.csv", diff=diff)
    return diff


@settings(max_examples=20, deadline=None)
@given(rows=pairs, first=st.sampled_from(TOLERANCES), second=st.sampled_from(TOLERANCES))
def test_statuses_bits_and_curve_are_the_scorers(
    rows: list[tuple[str, str, str, str, str]], first: float, second: float
) -> None:
    rows = [("1", "1", TIMES[1], TIMES[1], "both"), *rows]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, v, t, absent in (("reference", 0, 2, "extra"), ("output", 1, 3, "missing")):
            lines = [f"{k},{row[v]},{row[t]}" for k, row in enumerate(rows) if row[4] != absent]
            (folder / f"{side}.csv").write_text("\n".join(["k,v,t", *lines]) + "\n")
        here, there = scored_at(folder, first), scored_at(folder, second)
        with duckdb.connect(str(there), read_only=True) as con:
            expected = con.execute("SELECT s0, s1, mismatches FROM diff ORDER BY row").fetchall()
            matches = con.execute("SELECT count(*) FROM diff WHERE s0 IN (0, 1, 5)").fetchone()
        with duckdb.connect(str(here), read_only=True) as con:
            columns = con.execute(
                "SELECT position, compared_as FROM diff_columns WHERE role = 'scored' ORDER BY 1"
            ).fetchall()
            types = {row[0]: row[1] for row in con.execute("DESCRIBE diff").fetchall()}
            what_if = {
                at: Compared(at, kind, types[f"r{at}"], types[f"a{at}"]).status(second)
                for at, kind in columns
                if kind != "text"
            }
            shown = [what_if.get(at, f"s{at}") for at in range(2)]
            found = con.execute(
                f"SELECT {shown[0]}, {shown[1]}, {mismatches_with(what_if)} FROM diff ORDER BY row"
            ).fetchall()
            assert found == expected
            if 0 in what_if:
                value = Compared(0, columns[0][1], types["r0"], types["a0"])
                rows_there = con.execute("SELECT count(*) FROM diff WHERE key_status < 2")
                count = (rows_there.fetchone() or (0,))[0]
                curve = tolerance_curve(
                    con, value, own=second, reference_rows=count, job=SimpleJob()
                )
                at_second = next(point for point in curve if point.tolerance == second)
                if second or here == there:
                    assert (at_second.matches,) == matches
                assert [p.matches for p in curve] == sorted(p.matches for p in curve)


def test_an_unusual_spelling_keeps_the_scorers_word(tmp_path: Path) -> None:
    (tmp_path / "reference.csv").write_text(
        "k,v,t\n1,1,2150-01-01 00:00:00\n2,1,2150-01-02 00:00:00\n"
    )
    (tmp_path / "output.csv").write_text("k,v,t\n1,1,01/01/2150 00:30\n2,1,02/01/2150 00:00\n")
    with duckdb.connect(str(scored_at(tmp_path, 60.0)), read_only=True) as con:
        types = {row[0]: row[1] for row in con.execute("DESCRIBE diff").fetchall()}
        kind = con.execute("SELECT compared_as FROM diff_columns WHERE name = 't'").fetchone()
        column = Compared(1, (kind or ("",))[0], types["r1"], types["a1"])
        if column.compared_as != "time":
            pytest.fail("the case does not try what it is there for")
        row = con.execute(
            f"SELECT count(*) FILTER ({column.unknown}), "
            f"count(*) FILTER ({column.status(1e9)} = s1), count(*) FROM diff"
        ).fetchone()
        assert row is not None
        assert row[0] >= 1
        assert row[1] == row[2]


@pytest.mark.parametrize("tolerance", [-1.0, math.nan])
def test_what_is_no_tolerance_is_refused(tolerance: float) -> None:
    with pytest.raises(UsageError):
        Compared(0, "number", "DOUBLE", "DOUBLE").status(tolerance)


def test_texts_have_no_tolerance() -> None:
    with pytest.raises(UsageError):
        Compared(0, "text", "VARCHAR", "VARCHAR").status(1.0)
