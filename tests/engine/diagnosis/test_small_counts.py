"""No small count can be worked out from what is told of a diagnosis, a run or a comparison.

The reader of these tests knows how the counts hang together, and asks for every count that is from
1 to 10, whether it is told or not, how far what is told pins it down. What is known of a count must
be no narrower than "from 1 to 10".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from count_reader import Reader
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.disclosure import SMALL, Ledger
from engine.base.errors import Cancelled
from engine.diagnosis.compare.exporting import told_comparison
from engine.diagnosis.compare.model import CHANGES, ColumnChanges, Comparison, RunChanges
from engine.diagnosis.exporting import DiagnosisCounts, exported
from engine.diagnosis.model import (
    NO_ROWS,
    ColumnDiagnosis,
    Diagnosis,
    KeyDiagnosis,
    Rows,
    Segment,
    Signature,
)
from engine.diagnosis.report.facts import _Figures
from engine.runs.records import TestResults


def rows(number: int) -> Rows:
    return Rows("true", number)


def signature(
    name: str, columns: Iterable[str], *, explained: int, tested: int, gained: int, broken: int
) -> Signature:
    return Signature(
        id="window", title="Window", words=f"Consistent with {name}.", predicts="other values",
        columns=tuple(columns), evidence="source", parameters={"repeated": 3}, explained=explained,
        tested=tested, gained=gained, broken=broken, rows=rows(explained), against=NO_ROWS,
        counter_example=None,
    )  # fmt: skip


@st.composite
def diagnoses(draw: st.DrawFn) -> Diagnosis:
    """Counts that hang together as those of a real diagnosis do."""
    few = st.one_of(st.integers(0, 12), st.integers(0, 300))
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    by_key = [draw(few) for _ in range(3)]
    listed: dict[str, list[Signature]] = {name: [] for name in names}
    wrong: dict[str, int] = {}
    left: dict[str, int] = {}
    for name in names:
        gained = [draw(few) for _ in range(draw(st.integers(0, 2)))]
        left[name] = draw(few)
        wrong[name] = sum(gained) + left[name]
        for at, g in enumerate(gained):
            explained = min(wrong[name], g + draw(st.integers(0, 12)))
            listed[name].append(
                signature(
                    f"{at} in all", [name], explained=explained, tested=wrong[name], gained=g,
                    broken=draw(few),
                )
            )  # fmt: skip
    ranked = []
    for at in range(2):
        mine = [(n, listed[n][at]) for n in names if len(listed[n]) > at]
        if mine:
            ranked.append(
                signature(
                    f"{at} in all",
                    [n for n, _ in mine],
                    explained=sum(s.explained for _, s in mine),
                    tested=sum(s.tested for _, s in mine),
                    gained=sum(s.gained for _, s in mine),
                    broken=sum(s.broken for _, s in mine),
                )
            )
    segments = []
    for name in names:
        everything = wrong[name] + draw(st.integers(1, 400))
        rest, bad = everything, wrong[name]
        for level in range(draw(st.integers(0, 3))):
            here = draw(st.integers(0, bad))
            size = draw(st.integers(here, here + rest - bad))
            if not here or size >= everything or wrong[name] == here:
                continue
            base = (wrong[name] - here) / (everything - size)
            segments.append(
                Segment(
                    column=name, features=("unit",), levels=(str(level),), words=f"unit {level}",
                    rows=rows(size), mismatches=rows(here), share=here / size, base=base,
                    ratio=None, covered=here / wrong[name], difference=(0, 1), p=0.01,
                    people=(size, here, everything - size, wrong[name] - here),
                )
            )  # fmt: skip
            rest, bad = rest - size, bad - here
    return Diagnosis(
        task="t",
        mismatches=sum(wrong.values()) + len(names) * sum(by_key),
        ranked=tuple(ranked),
        unexplained=sum(left.values()) + len(names) * sum(by_key),
        columns=tuple(
            ColumnDiagnosis(n, at, wrong[n], tuple(listed[n]), rows(left[n]))
            for at, n in enumerate(names)
        ),
        keys=KeyDiagnosis(by_key[0], by_key[1], by_key[2], (), rows(sum(by_key))),
        segments=tuple(segments),
        proposals=(),
    )


def read_diagnosis(reader: Reader, found: Diagnosis, told: Mapping[str, Any]) -> None:
    """Everything that is told, and how it hangs together."""
    for name in ("missing", "extra", "duplicates"):
        reader.sees(name, getattr(found.keys, name), told["keys"][name])
    by_key = found.keys.missing + found.keys.extra + found.keys.duplicates
    reader.sees("keys", by_key, silent=True)
    reader.adds("keys", ["missing", "extra", "duplicates"])
    reader.sees("keys left", found.keys.residual.count, told["keys"]["unexplained"])
    reader.adds("keys", ["keys left"], rest="keys explained")
    for column, said in zip(found.columns, told["columns"], strict=True):
        name = column.column
        reader.sees(name, column.mismatches, said["mismatches"])
        reader.sees(f"{name} left", column.residual.count, said["unexplained"])
        reader.adds(name, [f"{name} left"], rest=f"{name} explained")
        read_signatures(reader, name, column.signatures, said["signatures"])
        gained = [f"{name}{at} gained" for at in range(len(column.signatures))]
        reader.adds(name, [*gained, f"{name} left"])
    names = [c.column for c in found.columns]
    reader.sees("all", found.mismatches, told["mismatches"])
    reader.adds("all", names + ["keys"] * len(names))
    reader.sees("left", found.unexplained, told["unexplained"])
    reader.adds("all", ["left"], rest="all explained")
    read_signatures(reader, "all", found.ranked, told["signatures"])
    for at, s in enumerate(found.ranked):
        for what in ("explained", "tested", "broken"):
            parts = [
                f"{c.column}{n} {what}"
                for c in found.columns
                for n, other in enumerate(c.signatures)
                if other.words == s.words
            ]
            reader.adds(f"all{at} {what}", parts)
    shown = {(s["column"], s["words"]): s for s in told["segments"]}
    assert told["segments_suppressed"] == len(found.segments) - len(shown)
    for column in found.columns:
        mine = [g for g in found.segments if g.column == column.column]
        for group in mine:
            name = f"{group.column} {group.words}"
            said = shown.get((group.column, group.words))
            reader.sees(f"{name} rows", group.rows.count, said and said["rows"])
            reader.sees(f"{name} wrong", group.mismatches.count, said and said["mismatches"])
            reader.adds(f"{name} rows", [f"{name} wrong"], rest=f"{name} right")
        if mine:
            wrong = [f"{g.column} {g.words} wrong" for g in mine]
            reader.adds(column.column, wrong, rest=f"{column.column} out")


def read_signatures(
    reader: Reader, scope: str, signatures: Sequence[Signature], told: Sequence[Mapping[str, Any]]
) -> None:
    for at, (s, said) in enumerate(zip(signatures, told, strict=True)):
        name = f"{scope}{at}"
        for what in ("explained", "tested", "gained", "broken"):
            reader.sees(f"{name} {what}", getattr(s, what), said.get(what))
        reader.adds(f"{name} tested", [f"{name} explained"], rest=f"{name} not")
        reader.adds(f"{name} explained", [f"{name} gained"], rest=f"{name} shared")
        reader.adds(f"{name} tested", list(s.columns))
        if said["share"] is not None:
            assert isinstance(said["explained"], int)
            assert isinstance(said["tested"], int)
        assert "repeated" not in said["parameters"]


@settings(max_examples=8)
@given(found=diagnoses())
def test_a_diagnosis_gives_no_small_count_away(found: Diagnosis) -> None:
    reader = Reader()
    read_diagnosis(reader, found, exported(found))
    assert not reader.pinned()


@settings(max_examples=8)
@given(found=diagnoses(), further=st.integers(0, 400))
def test_a_run_with_its_rates_gives_no_small_count_away(found: Diagnosis, further: int) -> None:
    keys = found.keys
    by_key = keys.missing + keys.extra + keys.duplicates
    rows_ = max(c.mismatches for c in found.columns) + by_key + further
    right = {c.column: rows_ - c.mismatches - by_key for c in found.columns}
    results = TestResults(
        passed=0, failed=0, errors=0, total=0,
        reward=round(sum(right.values()) / len(right) / rows_, 8) if rows_ else None,
        strict_pass=False, match_rates={n: k / rows_ if rows_ else 1.0 for n, k in right.items()},
        key_precision=None, key_recall=None, key_f1=None, extra_keys=keys.extra,
        missing_keys=keys.missing, duplicate_keys=keys.duplicates, agent_unique_keys=None,
        ordered_nmae=None, diagnostics=(), warnings=(),
    )  # fmt: skip
    ledger = Ledger()
    counts = DiagnosisCounts(ledger, found)
    figures = _Figures(ledger, results, rows_)
    ledger.settle()
    told = figures.told()
    assert told is not None
    reader = Reader()
    read_diagnosis(reader, found, counts.told(rows=False))
    if rows_ < SMALL:
        assert set(digits(told)) == {None}
    if rows_ < 2 * SMALL:
        return  # of so few rows every count is small
    reader.sees("rows", rows_, silent=True)
    reader.ranges[-1] = (rows_, rows_)
    if any(0 < n < SMALL for n in (keys.extra, keys.duplicates)):
        assert not any(isinstance(rate, float) for rate in digits(told))
    for name, number in right.items():
        reader.sees(f"{name} right", number, silent=True)
        reader.ranges[-1] = of_rate(told["match_rates"][name], rows_)
        reader.adds("rows", [f"{name} right", name, "keys"])
    reader.sees("reward", sum(right.values()), silent=True)
    reader.ranges[-1] = of_rate(told["reward"], rows_ * len(right))
    reader.adds("reward", [f"{name} right" for name in right])
    assert not reader.pinned()


def digits(told: Mapping[str, Any]) -> list[object]:
    """The rates and the reward."""
    return [told["reward"], *told["match_rates"].values()]


def of_rate(told: object, whole: int) -> tuple[float, float]:
    """What a rate, or a reward, says of the cells that are right."""
    if told is None:
        return 0, whole
    if isinstance(told, float):
        return round(told * whole), round(told * whole)
    low, high = (float(end) for end in str(told).split("–"))
    return np.floor(low * whole), np.ceil(high * whole)


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Two or three runs on one or two columns, row by row."""
    number = draw(st.integers(1, 2))
    columns = ["a", "b"][:number]
    runs = draw(st.integers(2, 3))
    # How many rows have which cells right, run by run; wrong ones may be wrong in two ways.
    cells = st.lists(st.integers(0, 2), min_size=runs * number, max_size=runs * number)
    blocks = draw(st.lists(st.tuples(cells, st.integers(1, 60)), min_size=1, max_size=6))
    blocks.append(([0] * (runs * number), 2 * SMALL))  # of very few rows every count is small

    def change(before: Sequence[int], now: Sequence[int]) -> str:
        if not any(before) and not any(now):
            return "right"
        if not any(now):
            return "mended"
        if not any(before):
            return "broken"
        return "wrong" if list(before) == list(now) else "wrong_otherwise"

    others = []
    first_extra = draw(st.integers(0, 30))
    for run in range(1, runs):
        whole: dict[Any, int] = dict.fromkeys(CHANGES, 0)
        by_column: list[dict[Any, int]] = [dict.fromkeys(CHANGES, 0) for _ in columns]
        for state, times in blocks:
            first, mine = state[:number], state[run * number : (run + 1) * number]
            whole[change(first, mine)] += times
            for at in range(number):
                by_column[at][change([first[at]], [mine[at]])] += times
        kept, new = draw(st.integers(0, first_extra)), draw(st.integers(0, 30))
        others.append(
            RunChanges(
                f"run {run}", whole,
                tuple(ColumnChanges(n, c) for n, c in zip(columns, by_column, strict=True)),
                extra=kept + new, duplicates=draw(st.integers(0, 20)), new_extra=new,
                gone_extra=first_extra - kept,
            )
        )  # fmt: skip
    wrong = [
        sum(times for state, times in blocks if any(state[:number])),
        sum(
            times
            for state, times in blocks
            if all(any(state[r * number : (r + 1) * number]) for r in range(runs))
        ),
    ]
    return Comparison(
        runs=tuple(f"run {r}" for r in range(runs)),
        reference_rows=sum(times for _, times in blocks), columns=tuple(columns), keys=("k",),
        first_wrong=wrong[0], others=tuple(others), always_wrong=wrong[1],
        first_extra=first_extra, first_duplicates=draw(st.integers(0, 20)),
    )  # fmt: skip


@settings(max_examples=8)
@given(found=comparisons())
def test_a_comparison_gives_no_small_count_away(found: Comparison) -> None:
    number = len(found.columns)
    cells = found.others[0].columns
    right = [sum(c.cells["right"] + c.cells["broken"] for c in cells)]
    right += [
        sum(c.cells["right"] + c.cells["mended"] for c in other.columns) for other in found.others
    ]
    further = [(found.first_extra, found.first_duplicates)]
    further += [(other.extra, other.duplicates) for other in found.others]
    wholes = [(found.reference_rows + sum(more)) * number for more in further]
    told, rewards = told_comparison(found, [n / w for n, w in zip(right, wholes, strict=True)])
    reader = Reader()
    reader.sees("rows", found.reference_rows, told["reference_rows"])
    reader.sees("first wrong", found.first_wrong, told["first_wrong"])
    reader.adds("rows", ["first wrong"], rest="first right")
    reader.sees("always wrong", found.always_wrong, told["always_wrong"])
    reader.adds("first wrong", ["always wrong"], rest="once right")
    reader.sees("first extra", found.first_extra, told["first_extra"])
    reader.sees("first repeated", found.first_duplicates, told["first_duplicates"])
    for reward, more in zip(rewards, further, strict=True):
        if isinstance(reward, float) and reward:
            assert not [n for n in (*more, sum(more)) if 0 < n < SMALL]
    said_others: Any = told["others"]
    for r, (other, said) in enumerate(zip(found.others, said_others, strict=True)):
        tables = [("row", other.rows, said["rows"])] + [
            (c.column, c.cells, s) for c, s in zip(other.columns, said["columns"], strict=True)
        ]
        for name, counts, shown in tables:
            for change in CHANGES:
                reader.sees(f"{r} {name} {change}", counts[change], shown[change])
            reader.adds("rows", [f"{r} {name} {change}" for change in CHANGES])
        reader.adds("first wrong", [f"{r} row {c}" for c in ("mended", "wrong", "wrong_otherwise")])
        for c in found.columns:
            reader.adds(f"{r} {c} right", [f"{r} row right"], rest=f"{r} {c} else")
            if r == 0:
                one = f"first {c} right"
                reader.sees(
                    one, cells[0 if c == "a" else 1].cells["right"]
                    + cells[0 if c == "a" else 1].cells["broken"], silent=True,
                )  # fmt: skip
            reader.adds(f"first {c} right", [f"{r} {c} right", f"{r} {c} broken"])
        for what in ("extra", "new_extra", "gone_extra", "duplicates"):
            reader.sees(f"{r} {what}", getattr(other, what), said[what])
        reader.adds(f"{r} extra", [f"{r} new_extra"], rest=f"{r} kept")
        reader.adds("first extra", [f"{r} gone_extra", f"{r} kept"])
        reader.sees(f"{r} reward", right[r + 1], silent=True)
        reader.ranges[-1] = of_rate(rewards[r + 1], wholes[r + 1])
        mine = [f"{r} {c} {change}" for c in found.columns for change in ("right", "mended")]
        reader.adds(f"{r} reward", mine)
    assert not reader.pinned()


def test_a_part_that_leaves_a_small_rest_is_a_range() -> None:
    ledger = Ledger()
    ledger.count("whole", 149, keep=2)
    ledger.count("part", 141)
    ledger.total("whole", ["part"], rest="rest")
    ledger.settle()
    assert ledger.told("whole") == 149
    assert ledger.told("part") == "140–159"
    assert ledger.known("rest") == (0, 9)


def test_what_leaves_nothing_small_is_told_as_it_is() -> None:
    ledger = Ledger()
    ledger.count("whole", 100, keep=2)
    for name, number in (("a", 40), ("b", 60), ("c", 0)):
        ledger.count(name, number)
    ledger.total("whole", ["a", "b", "c"])
    ledger.settle()
    assert [ledger.told(name) for name in ("whole", "a", "b", "c")] == [100, 40, 60, 0]


def test_two_small_parts_hide_each_other_only_if_they_can_be_anything() -> None:
    ledger = Ledger()
    ledger.count("whole", 102, keep=2)
    for name, number in (("a", 100), ("b", 1), ("c", 1)):
        ledger.count(name, number)
    ledger.total("whole", ["a", "b", "c"])
    ledger.settle()
    assert ledger.told("b") == ledger.told("c") == "<11"
    assert ledger.told("a") != 100  # else both could only be 1
    low, high = ledger.known("b")
    assert high - low >= SMALL - 2


def test_what_a_few_missing_stays_have_in_common_is_not_told() -> None:
    """A bound of a few stays' ages is the age of one of them."""
    cohort = Signature(
        id="filtered-cohort", title="Filtered cohort",
        words="Consistent with a filtered cohort: stays age (years) up to 19 are missing.",
        predicts="no row for stays age (years) up to 19", columns=(), evidence="values",
        parameters={"feature": "age (years)"}, explained=3, tested=3, gained=3, broken=0,
        rows=rows(3), against=rows(0), counter_example=None,
        alike=("Consistent with a filtered cohort: stays length of stay up to 0.4 are missing.",),
    )  # fmt: skip
    found = Diagnosis(
        task="t", mismatches=3, ranked=(cohort,), unexplained=0, columns=(),
        keys=KeyDiagnosis(3, 0, 0, (cohort,), rows(0)), segments=(), proposals=(),
    )  # fmt: skip
    told = json.dumps(found.as_dict())
    assert "age (years)" in told
    assert "up to" not in told
    many = replace(cohort, explained=30, tested=30, rows=rows(30))
    assert "up to 19" in json.dumps(
        replace(found, ranked=(many,), keys=KeyDiagnosis(30, 0, 0, (many,), rows(0))).as_dict()
    )


def test_a_group_of_many_rows_but_few_patients_is_not_told() -> None:
    group = Segment(
        column="score", features=("unit",), levels=("A",), words="unit A", rows=rows(400),
        mismatches=rows(200), share=0.5, base=0.1, ratio=5.0, covered=0.5, difference=(0.3, 0.5),
        p=0.001, people=(9, 9, 500, 60),
    )  # fmt: skip
    found = Diagnosis(
        task="t", mismatches=400, ranked=(), unexplained=400,
        columns=(ColumnDiagnosis("score", 0, 400, (), rows(400)),),
        keys=KeyDiagnosis(0, 0, 0, (), rows(0)), segments=(group,), proposals=(),
    )  # fmt: skip
    assert found.as_dict()["segments"] == []
    more = replace(group, people=(19, 19, 500, 60))
    assert len(replace(found, segments=(more,)).as_dict()["segments"]) == 1  # type: ignore[arg-type]


def test_deciding_what_may_be_told_can_be_cancelled() -> None:
    ledger = Ledger()
    ledger.count("all", 100)
    ledger.count("few", 3)
    ledger.count("most", 97)
    ledger.total("all", ["few", "most"])

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        ledger.settle(stop)
