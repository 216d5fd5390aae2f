"""The scorer against the contract written out naively, on tables that Hypothesis makes up."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive_scorer import naive_score

from engine.catalogue.task import TableEvaluation
from engine.scoring import CELL_WORDS, KEY_WORDS, Score, judge_table, score_table

Table = list[dict[str, str]]

EXAMPLES = int(os.environ.get("M4REVIEW_TEST_EXAMPLES", "50"))
FEW = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
INTEGERS = st.integers(-3, 12).map(str)
FLOATS = st.sampled_from(
    ["0.0", "1.5", "2.25", "7.35", "1e-05", "123456.789", "-0.5", "3.0", "1.51"]
)
TIMES = st.integers(0, 400).map(
    lambda m: f"2150-01-{1 + m // 144:02d} {m // 6 % 24:02d}:{m % 6}0:00"
)
WORDS = st.sampled_from(
    ["HFNC", "None", "NA", "nan", "NULL", "a b", "é", "True", "01", "x,y", 'q"q']
)
FLAGS = st.sampled_from(["True", "False"])
# Without numbers of 2**63 and more: beside an empty field pandas reads that field as a text.
ODD_NUMBERS = st.sampled_from(
    ["1_0", " 1", "1 ", "+2", "007", "1.", ".5", "inf", "-inf", "nan", "1e309", "0x1", "1e3",
     "Infinity",
     "9007199254740993", "1,5", "\t4", "--1", "1e", "-0.0", "inf "]
)  # fmt: skip
ODD_TIMES = st.sampled_from(
    ["2150-01-01T00:00:00", "2150-01-01 00:00", "2150-01-01", "2150-01-01 00:00:00.5", "12:30",
     "2150-01-01 00:00:00Z", "2150-01-01 02:00:00+02:00", "2150-02-30 00:00:00", "01/02/2150",
     "2150-1-1 0:00:00", "2150-01-01 24:00:00", "2150-01-01 00:00:60", "4733510400000000000",
     "later"]
)  # fmt: skip
KINDS = {"int": INTEGERS, "float": FLOATS, "time": TIMES, "text": WORDS, "flag": FLAGS}
NAMES = ("v0", "v1", "v2")


def write(path: Path, header: list[str], rows: Table) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([row[name] for name in header] for row in rows)
    return path


@st.composite
def keys(draw: st.DrawFn) -> tuple[list[tuple[str, str]], str]:
    kind = draw(st.sampled_from(["int", "time", "text", "null"]))
    second = {"int": INTEGERS, "time": TIMES, "text": WORDS, "null": INTEGERS | st.just("")}[kind]
    pairs = draw(st.lists(st.tuples(INTEGERS, second), min_size=1, max_size=12, unique=True))
    return pairs, kind


@st.composite
def cases(  # noqa: C901  (one thing after the other)
    draw: st.DrawFn,
) -> tuple[Table, Table, list[str], dict[str, float]]:
    """Reference, output, the output's header, tolerances."""
    pairs, _ = draw(keys())
    kinds = {name: draw(st.sampled_from(sorted(KINDS))) for name in NAMES}
    cells = {
        name: KINDS[kind] if draw(st.booleans()) else KINDS[kind] | st.just("")
        for name, kind in kinds.items()
    }
    reference = [
        {"k0": k0, "k1": k1, **{name: draw(cells[name]) for name in NAMES}} for k0, k1 in pairs
    ]
    output: Table = []
    for row in reference:
        if draw(st.integers(0, 9)) == 0:
            continue  # missing
        new = dict(row)
        for name in NAMES:
            if draw(st.integers(0, 4)) == 0:
                new[name] = draw(cells[name])
        output.append(new)
    for _ in range(draw(st.integers(0, 3))):  # extra, or duplicate
        k0, k1 = draw(st.tuples(INTEGERS, st.sampled_from([pair[1] for pair in pairs])))
        output.append({"k0": k0, "k1": k1, **{name: draw(cells[name]) for name in NAMES}})
    if output and draw(st.booleans()):  # a harsh one
        name = draw(st.sampled_from([*NAMES, "k0", "k1"]))
        odd = ODD_TIMES if kinds.get(name) == "time" else ODD_NUMBERS | WORDS
        spread = draw(st.booleans())
        for row in draw(st.permutations(output))[: len(output) if spread else 1]:
            row[name] = draw(odd)
    if output and draw(st.booleans()):  # the whole column spelt another way
        name = draw(st.sampled_from([*NAMES, "k1"]))
        spell = draw(st.sampled_from(["T", "minutes", "float", "zone", "quarter"]))
        for row in output:
            row[name] = respelt(row[name], spell)
    output = draw(st.permutations(output))
    header = draw(st.permutations(["k0", "k1", *NAMES, "other"]))
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=1)):
        if draw(st.integers(0, 3)) == 0:
            header.remove(name)
    for row in output:
        row["other"] = draw(WORDS | st.just(""))
    tolerance = {name: draw(st.sampled_from([0.0, 0.5, 1.0, 600.0])) for name in NAMES}
    return reference, output, header, tolerance


def respelt(text: str, spell: str) -> str:
    if len(text) == 19 and text[4] == "-":
        return {
            "T": text.replace(" ", "T"),
            "minutes": text[:16],
            "zone": text + "+00:00",
            "quarter": text + ".250",
        }.get(spell, text)
    return text + ".0" if spell == "float" and text.lstrip("-").isdigit() else text


def evaluation_of(tolerance: dict[str, float]) -> TableEvaluation:
    return TableEvaluation(
        key_columns=("k0", "k1"),
        value_columns=("v0", "v1"),
        required_columns=("k0", "k1", *NAMES),
        tolerance=tolerance,
    )


def assert_same(score: Score, evaluation: TableEvaluation, output: Path, reference: Path) -> None:
    naive = naive_score(evaluation, output, reference)
    assert dict(score.matched) == naive.matched
    assert score.total == naive.total
    assert score.match_rates == pytest.approx(naive.match_rates, abs=1e-12)
    for name in ("reward", "key_precision", "key_recall", "key_f1", "ordered_nmae"):
        expected = getattr(naive, name)
        got = getattr(score, name)
        assert got == (None if expected is None else pytest.approx(expected, abs=1e-9)), name
    assert (score.extra_keys, score.duplicate_keys) == (naive.extra_keys, naive.duplicate_keys)
    assert score.missing_keys == naive.missing_keys
    assert [d.passed for d in score.diagnostics] == naive.strict
    assert len(score.diagnostics) == 4 + len(evaluation.scored_columns)
    assert {w.column for w in score.warnings if w.code == "compared_as_text"} == naive.as_text
    assert 0 <= score.reward <= 1


@pytest.mark.slow
@FEW
@given(cases())
def test_every_figure_is_the_definitions(
    case: tuple[Table, Table, list[str], dict[str, float]],
) -> None:
    reference_rows, output_rows, header, tolerance = case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference = write(folder / "r.csv", ["k0", "k1", *NAMES], reference_rows)
        output = write(folder / "o.csv", header, output_rows)
        evaluation = evaluation_of(tolerance)
        diff = folder / "d.duckdb"
        score = judge_table(evaluation, output, reference, diff=diff)
        assert_same(score, evaluation, output, reference)
        expected = naive_score(evaluation, output, reference).rows
        with duckdb.connect(str(diff), read_only=True) as con:
            states = ", ".join(f"s{i}" for i in range(len(NAMES)))
            rows = con.execute(f"SELECT key_status, {states} FROM diff").fetchall()
            found = [(KEY_WORDS[row[0]], [CELL_WORDS[s] for s in row[1:]]) for row in rows]
            assert sorted(found) == sorted(expected)
            assert_diff_is_sound(con)


def assert_diff_is_sound(con: duckdb.DuckDBPyConnection) -> None:
    """Numbered, sorted by key with the reference row first, bits and counts right."""
    assert con.execute("SELECT count(*) FROM diff WHERE row <> rowid").fetchone() == (0,)
    rows = con.execute(
        "SELECT key_status, mismatches, s0, s1, s2 FROM diff ORDER BY row"
    ).fetchall()
    for _, bits, *states in rows:
        assert bits == sum(1 << i for i, s in enumerate(states) if s not in (0, 1, 5))
    unsorted = con.execute(
        "SELECT count(*) FROM (SELECT k0, k1, key_status, lead(k0) OVER w AS n0, lead(k1) OVER w "
        "AS n1, lead(key_status) OVER w AS ns FROM diff WINDOW w AS (ORDER BY row)) "
        "WHERE typeof(k0) <> 'VARCHAR' AND typeof(k1) <> 'VARCHAR' AND "
        "(n0 < k0 OR (n0 = k0 AND n1 < k1) OR (n0 = k0 AND n1 = k1 AND ns < key_status))"
    ).fetchone()
    assert unsorted == (0,)
    for position in range(3):
        counted = con.execute(
            f"SELECT s{position}, count(*) FROM diff GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        kept = con.execute(
            "SELECT status, count FROM diff_counts WHERE role = 'scored' AND position = ? "
            "ORDER BY ALL",
            [position],
        ).fetchall()
        assert counted == kept


@pytest.mark.slow
@settings(FEW, max_examples=EXAMPLES * 2 // 5)
@given(cases(), st.randoms(use_true_random=False))
def test_what_may_not_matter(case, random) -> None:
    """Column order, extra columns, and row order but for duplicates; itself scores 1."""
    reference_rows, output_rows, header, tolerance = case
    evaluation = evaluation_of(tolerance)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference = write(folder / "r.csv", ["k0", "k1", *NAMES], reference_rows)
        itself = score_table(evaluation, reference, reference)
        assert itself.reward == 1
        assert itself.strict_pass
        assert itself.ordered_nmae in (0, None)
        before = score_table(evaluation, write(folder / "o.csv", header, output_rows), reference)
        if before.duplicate_keys or before.warnings:
            return  # the first row counts; and the first value sets a column's time format
        shuffled = list(output_rows)
        random.shuffle(shuffled)
        other = [name for name in header if name != "other"]
        random.shuffle(other)
        after = score_table(evaluation, write(folder / "p.csv", other, shuffled), reference)
        assert after.as_dict() == before.as_dict()
