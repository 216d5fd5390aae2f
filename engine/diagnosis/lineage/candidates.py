"""The rows of a cell's items that did not enter it, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import duckdb

from engine.diagnosis.lineage.conditions import NOT_MET, refusal
from engine.diagnosis.lineage.events import SHAPES, Part
from engine.diagnosis.lineage.leaves import STATEMENTS, Leaf
from engine.diagnosis.lineage.lookups import OUTER, Lookup
from engine.diagnosis.lineage.model import EPOCH, Value, Window
from engine.diagnosis.lineage.scope import ROW
from engine.diagnosis.lineage.unmet import Unmet

ELSEWHERE = (
    "took no part: it is of another time, specimen or episode, makes no value, or another row goes "
    "before it"
)
BESIDE = "part of another row of this table"
_MOST = 20_000
Spans = Sequence[Sequence[Window]]
"""Of every way to a leaf the windows that a row has to be in."""


@dataclass(frozen=True)
class Looked:
    """What is known of the rows that the leaves are about, whether they entered or not."""

    parts: Mapping[int, Part]
    """By address why the row would not enter; at most 20,000."""
    unlisted: frozenset[int]
    """Rows that no leaf's lists let in, or that state something of another admission."""

    @property
    def free(self) -> frozenset[int]:
        """Rows that nothing is known to refuse."""
        return frozenset(a for a, part in self.parts.items() if part.rule == ELSEWHERE)

    def columns_of(self, address: int) -> tuple[str, ...]:
        """The outputs that a row can go into."""
        part = self.parts.get(address)
        return () if part is None else part.columns

    def placed(self, decisive: Set[int], entered: Set[int], beside: Set[int]) -> dict[int, Part]:
        """The part of every row.

        Args:
            decisive: addresses that decide the value.
            entered: addresses that took part.
            beside: addresses that other rows of the table rest on.
        """
        placed = dict(self.parts)
        for address, part in self.parts.items():
            if address in decisive:
                placed[address] = Part("decisive", "", part.columns)
            elif address in entered and address not in self.unlisted:
                placed[address] = Part("entered", "", part.columns)
            elif part.rule == ELSEWHERE and address in beside:
                placed[address] = Part("outside", BESIDE, part.columns)
        return placed


def candidates(
    con: duckdb.DuckDBPyConnection,
    leaves: Mapping[Leaf, Spans],
    unmet: Mapping[Leaf, Unmet],
    *,
    admission: Value = None,
    others: Set[int] = frozenset(),
) -> Looked:
    """Look at every row that the leaves are about.

    Args:
        con: holds the base tables with addresses.
        leaves: what the cell rests on, with the spans of time of every way there.
        unmet: by leaf, what refuses rows further up (`unmet_on_the_way`).
        admission: ``hadm_id`` of the cell's row; None where it is not known.
        others: addresses of other patients' rows, which are not looked into.
    """
    parts: dict[int, Part] = {}
    listed: set[int] = set()
    for leaf, spans in leaves.items():
        for row in _rows(con, leaf, admission):
            address = row.address
            if address in others or (address not in parts and len(parts) >= _MOST):
                continue
            column = f"{leaf.query}.{leaf.column}"
            known = parts.get(address)
            columns = tuple(dict.fromkeys((*(known.columns if known else ()), column)))
            failed = row.unlisted or row.failed
            known_of = unmet[leaf]
            outside = "" if address in known_of.strangers else why_not(row.time, spans)
            why = failed or outside or known_of.rules.get(address, row.elsewhere)
            part = Part("rejected" if failed else "outside", why, columns)
            if known is not None and _tells(known) >= _tells(part):
                part = Part(known.role, known.rule, columns)
            parts[address] = part
            if not row.unlisted and row.elsewhere == ELSEWHERE:
                listed.add(address)
    return Looked(parts, frozenset(set(parts) - listed))


def _tells(part: Part) -> int:
    """A rule that refuses a value says less than a window, and more than that nothing is known."""
    if part.role == "rejected":
        return 1
    return 0 if part.rule == ELSEWHERE else 2


@dataclass(frozen=True)
class _Row:
    address: int
    time: datetime | None
    failed: str
    """The first rule that it fails; empty if none."""
    unlisted: str
    """Why it is not in a list that it would have to be in; empty if it is."""
    elsewhere: str = ELSEWHERE
    """What can be said of it when nothing else is known."""


def _rows(con: duckdb.DuckDBPyConnection, leaf: Leaf, admission: Value) -> Iterator[_Row]:
    """Rows of the leaf's items."""
    shape = SHAPES[leaf.table]
    time = f"coalesce({', '.join(shape.start)})" if shape.start else "NULL"
    rules = [test for guard, rule in leaf.rules for test in _rule_tests(guard, rule)]
    lists = [test for lookup in leaf.lookups for test in _list_tests(lookup)]
    whose = "hadm_id" if leaf.table in STATEMENTS else "NULL"
    where = [f"({c})" for c in leaf.identity]
    where += [f"({k.listed} OR {k.item})" for k in leaf.lookups if k.item]
    rows = con.execute(
        f"SELECT {ROW}[1], {time}, {_first(rules)}, {_first(lists)}, {whose} "  # noqa: S608
        f"FROM {leaf.table} AS {OUTER} WHERE {' AND '.join(where) or 'TRUE'}"
    ).fetchall()
    for address, at, failed, unlisted, of in rows:
        row = _Row(int(address), time_of(at), _named(rules, failed), _named(lists, unlisted))
        if admission is None or of in (None, admission):
            yield row
        elif not (row.failed or row.unlisted):  # what another admission says beside is no matter
            yield replace(row, elsewhere="of another admission")


def _rule_tests(guard: str, rule: str) -> Iterator[tuple[str, str]]:
    yield f"({guard}) AND ({rule}) IS NULL", f"not recorded: {rule}"
    yield f"({guard}) AND NOT ({rule})", refusal(rule)


def _list_tests(lookup: Lookup) -> Iterator[tuple[str, str]]:
    for test, told in lookup.rules:
        yield f"NOT {lookup.listed} AND NOT coalesce(({test}), FALSE)", f"{NOT_MET}{told}"
    yield f"NOT {lookup.listed}", f"not in the list: {lookup.told}"
    if lookup.told_wanted:
        yield f"NOT {lookup.wanted}", f"listed, but not as this: {lookup.told_wanted}"


def _first(tests: Sequence[tuple[str, str]]) -> str:
    """SQL for the number of the first test that is true, −1 if none."""
    cases = " ".join(f"WHEN {test} THEN {number}" for number, (test, _) in enumerate(tests))
    return f"CASE {cases} ELSE -1 END" if tests else "-1"


def _named(tests: Sequence[tuple[str, str]], number: int) -> str:
    return tests[number][1] if number >= 0 else ""


def time_of(value: object) -> datetime | None:
    """A recorded time, or an offset in minutes from `EPOCH`."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)):
        return EPOCH + timedelta(minutes=float(value))
    return None


def why_not(time: datetime | None, spans: Spans) -> str:
    """The window that a row is not in, of every way there; empty where one way lets it in.

    Of several the nearest window is told.
    """
    if time is None or not spans:
        return ""
    refused = [_refusing(time, windows) for windows in spans]
    if not all(refused):
        return ""
    return min((each for each in refused if each), key=lambda e: _distance(time, e[0]))[1]


def _refusing(time: datetime, windows: Sequence[Window]) -> tuple[Window, str] | None:
    for window in windows:
        if window.start is not None and time < window.start:
            return window, f"before the window: {window.rule}"
        if window.end is not None and time > window.end:
            return window, f"after the window: {window.rule}"
        bounds = zip((window.start, window.end), window.without, strict=True)
        if any(strict and time == at for at, strict in bounds):
            return window, f"on the window's bound, which does not count: {window.rule}"
    return None


def _distance(time: datetime, window: Window) -> timedelta:
    return min(abs(time - bound) for bound in (window.start, window.end) if bound is not None)
