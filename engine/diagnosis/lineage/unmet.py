"""Conditions between a source row and the cell that the row does not meet.

A gas of another specimen is refused where the gases of a day are chosen, far above the row itself;
a result of another admission where the two are joined; a gas under ventilation by the filter of an
aggregate. Asked are the conditions of one relation alone (``bg.specimen = 'ART.'``) and those
between it and the cell's row (``lab.hadm_id = stay.hadm_id``), at concepts, CTEs and source tables
on the way. A row was refused where every way to the cell refuses it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

import duckdb
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, conjuncts
from engine.diagnosis.lineage.conditions import NOT_MET, text_of
from engine.diagnosis.lineage.frames import filled
from engine.diagnosis.lineage.leaves import Leaf, Passage, Trail, says_when
from engine.diagnosis.lineage.lookups import PERSON
from engine.diagnosis.lineage.lost import BEFORE_IT
from engine.diagnosis.lineage.model import Value
from engine.diagnosis.lineage.scope import ROW
from engine.diagnosis.lineage.ways import Ways
from engine.diagnosis.lineage.windows import bound_of, bound_value

_WHOSE = {"stay_id": "stay", "hadm_id": "admission", "patientunitstayid": "stay"}
_SEVERAL = ("before the window: ", "after the window: ", NOT_MET)
_FEW = 3
_ANOTHER = "of another "
_ANOTHER_STAY = f"{_ANOTHER}stay: "
_Refused = dict[int, str]
"""Address to why the row was refused."""


@dataclass(frozen=True)
class Unmet:
    """What is known of the rows of a leaf that some condition refuses on every way."""

    rules: Mapping[int, str] = field(default_factory=dict)
    """By address the condition."""
    strangers: frozenset[int] = frozenset()
    """Of these the rows that are refused everywhere for being of another stay or admission: that
    they also lie outside of the window is no matter."""


def unmet_on_the_way(
    ways: Ways, trails: Mapping[Leaf, Iterable[Trail]], key: Mapping[str, Value]
) -> dict[Leaf, Unmet]:
    """By leaf, address to the first condition that a row does not meet on each way to the cell.

    Args:
        ways: the cell's database.
        trails: the SELECTs between the cell and the rows of each leaf, for every way.
        key: the cell's row, and other identifiers of it.
    """
    asked = _Asked(ways, key)
    own: dict[str, set[int]] = {}
    foreign: dict[str, set[int]] = {}
    found: dict[Leaf, Unmet] = {}
    for number, (leaf, each) in enumerate(trails.items()):
        done = 2 + number / len(trails)
        ways.job.progress("lineage", done, 4, "Looking at the rows that did not enter")
        if leaf.table not in own:
            own[leaf.table] = _of_the_stay(ways, leaf.table, key)
            foreign[leaf.table] = of_another(ways, leaf.table, key)
        refused = [
            _of_table(ways, leaf.table, asked.on(trail, foreign[leaf.table])) for trail in each
        ]
        rules = _by_all(refused, own[leaf.table]) if refused else {}
        told = set[str]().union(*asked.whose.values())
        strangers = foreign[leaf.table] & rules.keys()
        found[leaf] = Unmet(
            rules, frozenset(a for a in strangers if all(each[a] in told for each in refused))
        )
    return found


def _of_the_stay(ways: Ways, table: str, key: Mapping[str, Value]) -> set[int]:
    """Rows that are of the cell's own stay: by its id, or by its admission and hours."""
    stay, names = key.get("stay_id"), ways.columns(table)
    if stay is None:
        return set()
    where = "stay_id = ?"
    if "stay_id" not in names:
        if not {"hadm_id", "charttime"} <= set(names):
            return set()
        where = (
            "EXISTS (SELECT 1 FROM mimiciv_icu.icustays AS own WHERE own.stay_id = ? "
            "AND own.hadm_id = t.hadm_id AND t.charttime BETWEEN own.intime AND own.outtime)"
        )
    rows = ways.con.execute(
        f"SELECT {ROW}[1] FROM {table} AS t WHERE {where}",  # noqa: S608 - our own names
        [stay],
    ).fetchall()
    return {int(address) for (address,) in rows}


def of_another(ways: Ways, table: str, key: Mapping[str, Value]) -> set[int]:
    """Rows that themselves say that they are of another stay or admission."""
    names = [n for n in _WHOSE if n in ways.columns(table) and key.get(n) is not None]
    if not names:
        return set()
    rows = ways.con.execute(
        f"SELECT {ROW}[1] FROM {table} WHERE {' OR '.join(f'{n} != ?' for n in names)}",  # noqa: S608
        [key[name] for name in names],
    ).fetchall()
    return {int(address) for (address,) in rows}


def _of_table(ways: Ways, table: str, refused: _Refused) -> _Refused:
    """Those rows that are the table's."""
    return {
        address: rule
        for address, rule in refused.items()
        if ways.extract.unpack(address)[0] == table
    }


def _by_all(refused: list[_Refused], own: Set[int]) -> _Refused:
    """What every one refuses, in the words of the one that tells most."""
    by_all = set(refused[0]).intersection(*refused[1:])
    return {
        address: _most_told(tuple(each[address] for each in refused), own=address in own)
        for address in by_all
    }


@functools.lru_cache(maxsize=4096)
def _most_told(rules: tuple[str, ...], *, own: bool) -> str:
    """Of conditions, and of windows on the same side, all that refuse, if they are few.

    A row of the cell's own stay can also be taken along with another stay's: that this copy is of
    another stay is no reason for the row, the others are.
    """
    if own:
        rules = tuple(rule for rule in rules if not rule.startswith(_ANOTHER_STAY)) or tuple(
            f"{NOT_MET}{rule.partition(': ')[2]}" for rule in rules
        )
    best = max(dict.fromkeys(rules), key=_tells)
    start = next((s for s in _SEVERAL if best.startswith(s)), "")
    each = dict.fromkeys(r.removeprefix(start) for r in rules if start and r.startswith(start))
    return f"{start}{', nor '.join(each)}" if 1 < len(each) <= _FEW else best


def _by_both(left: _Refused, right: _Refused) -> _Refused:
    """What both of two alternatives refuse, in the words of both."""
    return {a: _of_both(rule, right[a]) for a, rule in left.items() if a in right}


def _of_both(rule: str, other: str) -> str:
    """Alternatives that a null test tells apart are not for the same rows: the other's words."""
    if _is_null_test(other) or rule == other:
        return rule
    return other if _is_null_test(rule) else f"{rule}, and {other}"


def _is_null_test(rule: str) -> bool:
    return rule.startswith(NOT_MET) and rule.endswith(" IS NULL")


def _tells(rule: str) -> int:
    """What got further on its way tells more; a mere condition tells least."""
    if rule.startswith(BEFORE_IT):
        return 2
    return 0 if rule.startswith(NOT_MET) else 1


@dataclass
class _Asked:
    ways: Ways
    key: Mapping[str, Value]
    known: dict[tuple[object, ...], _Refused] = field(default_factory=dict)
    whose: dict[tuple[object, ...], set[str]] = field(default_factory=dict)
    """Rules that read of which stay or admission the rows themselves are."""
    answers: dict[tuple[Value, ...], frozenset[int]] = field(default_factory=dict)

    def on(self, trail: Trail, foreign: Set[int]) -> _Refused:
        """Rows that a way refuses.

        The innermost condition speaks, but of a foreign row the one that reads its stay or
        admission: what went before it in its own stay is no matter.
        """
        refused: _Refused = {}
        for passage in reversed(trail):
            mark = (id(passage.block), passage.alias, passage.column, passage.filters, passage.own)
            if mark not in self.known:
                self.known[mark] = self._passage(passage)
                self.whose[mark] = set(_by_own_identifier(passage))
            said = self.known[mark]
            whose = {a for a, rule in said.items() if rule in self.whose.get(mark, ())} & foreign
            refused = {**said, **refused, **{address: said[address] for address in whose}}
        return refused

    def _passage(self, passage: Passage) -> _Refused:
        refused: _Refused = {}
        for condition in passage.conditions:
            refused = {**self._refused(passage, condition), **refused}
        return {**self._lost(passage), **refused}

    def _refused(self, passage: Passage, condition: exp.Expr) -> _Refused:
        """Rows that do not meet a condition; of alternatives, none of them."""
        bare = condition.unnest()
        if isinstance(bare, exp.Or):
            sides = (bare.left, bare.right)
            return _by_both(*(self._refused(passage, side) for side in sides))
        if isinstance(bare, exp.And):
            refused: _Refused = {}
            for part in conjuncts(bare):
                refused = {**self._refused(passage, part), **refused}
            return refused
        if bare.find(exp.Window, exp.AggFunc, exp.Placeholder):
            return {}
        mine = _identifier(passage.block, passage.alias, bare)
        if mine is not None:
            return self._of_another(passage, mine, text_of(bare))
        failing = self._failing(passage, bare)
        refused = dict.fromkeys(failing, self._told(passage, bare))
        if failing and passage.block.touched(bare) - {passage.alias}:
            with_another = failing - self._failing(passage, bare, of_any=True)
            told = f"met only by rows of another stay or admission: {text_of(bare)}"
            refused |= dict.fromkeys(with_another, told)
            refused |= self._by_whose(passage, with_another, text_of(bare))
        return refused

    def _told(self, passage: Passage, condition: exp.Expr) -> str:
        """A bound of one value for the cell's row is a window's; of many rows it pairs them.

        What was read for a gas does not lie where the gas lies.
        """
        sql = text_of(condition)
        bound = bound_of(passage, condition)
        if bound is not None and self._is_one(passage, bound.at):
            whose = "" if passage.bounds_events(condition) else "read for what lies "
            return f"{whose}{'before' if bound.lower else 'after'} the window: {sql}"
        return f"{NOT_MET}{sql}"

    def _is_one(self, passage: Passage, bound: exp.Expr) -> bool:
        filled_in = filled(bound, self.key)
        return (
            filled_in is not None
            and bound_value(self.ways.con, passage.block, filled_in, self.key) is not None
        )

    def _by_whose(self, passage: Passage, addresses: Set[int], told: str) -> _Refused:
        """Of rows that only rows of another stay or admission go with, those that are of it."""
        table = self.ways.table(passage.block, passage.alias)
        if table is None or not addresses:
            return {}
        found: _Refused = {}
        what = self.ways.addresses(table, passage.alias, passage.column)
        for name in reversed([n for n in _WHOSE if n in self.ways.columns(table)]):
            if self.key.get(name) is not None:
                of_it = self._addresses(
                    f"SELECT unnest({what}) FROM {table} AS {passage.alias} "  # noqa: S608
                    f"WHERE {name} != ?",
                    [self.key[name]],
                )
                found |= dict.fromkeys(addresses & of_it, f"{_ANOTHER}{_WHOSE[name]}: {told}")
        return found

    def _of_another(self, passage: Passage, mine: exp.Column, told: str) -> _Refused:
        """Rows of another stay or admission than the cell's, or of none; all are the patient's."""
        name = mine.name.lower()
        value = self.key.get(name)
        if name not in _WHOSE or value is None:
            return {}
        same = exp.EQ(this=mine.copy(), expression=exp.convert(value))
        there = exp.Not(this=exp.Is(this=mine.copy(), expression=exp.Null()))
        another = f"{_ANOTHER}{_WHOSE[name]}: {told}"
        unknown = f"no {_WHOSE[name]} is recorded with it: {told}"
        return {
            **dict.fromkeys(self._failing(passage, same), another),
            **dict.fromkeys(self._failing(passage, there), unknown),
        }

    def _failing(self, passage: Passage, condition: exp.Expr, *, of_any: bool = False) -> Set[int]:
        """Rows that do not meet a condition with a row of the cell's, or of the patient's."""
        block, alias = passage.block, passage.alias
        table = self.ways.table(block, alias)
        others = block.touched(condition) - {alias}
        if table is None or len(others) > 1:
            return frozenset()
        rows = (
            f"SELECT unnest({self.ways.addresses(table, alias, passage.column)}) "  # noqa: S608
            f"FROM {table} AS {alias}"
        )
        test, values = f"coalesce(({text_of(condition)}), FALSE)", list[Value]()
        for other in others:
            beside = self.ways.table(block, other)
            shared = [n for n in self.key if beside and n in self.ways.columns(beside)]
            if beside is None or not shared:
                return frozenset()
            owned: list[str] = []
            if of_any:  # also another stay's, but then of the row's own
                known = self.ways.columns(table)
                owned = [f"{other}.{n} = {alias}.{n}" for n in shared if n in _WHOSE and n in known]
                shared = [name for name in shared if name not in _WHOSE]
            same = [*owned, *(f"{other}.{name} IS NOT DISTINCT FROM ?" for name in shared)]
            whose = " AND ".join(same) or "TRUE"
            values = [self.key[name] for name in shared]
            test = f"EXISTS (SELECT 1 FROM {beside} AS {other} WHERE {whose} AND {test})"  # noqa: S608
        with_ = block.with_sql if condition.find(exp.Select) is not None else ""
        return self._addresses(
            f"{with_} {rows} WHERE NOT {test} EXCEPT {rows} WHERE {test}", values + values
        )

    def _addresses(self, query: str, values: list[Value]) -> frozenset[int]:
        """What a query tells; several columns of a relation often ask the same."""
        mark = (query, *values)
        if mark not in self.answers:
            self.ways.job.check()
            try:
                rows = self.ways.con.execute(query, values).fetchall()
            except duckdb.Error:
                rows = []  # a condition that cannot be asked alone is not told
            self.answers[mark] = frozenset(int(address) for (address,) in rows)
        return self.answers[mark]

    def _lost(self, passage: Passage) -> _Refused:
        """Rows that the SELECT reads and then leaves out, by HAVING or for others (QUALIFY)."""
        found: _Refused = {}
        for part, told in (("having", NOT_MET), ("qualify", BEFORE_IT)):
            clause = passage.block.select.args.get(part)
            if clause is not None:
                test = text_of(clause.this)
                addresses = self._left_out(passage, part, test)
                found |= dict.fromkeys(addresses, f"{told}{test}")
        return found

    def _left_out(self, passage: Passage, part: str, test: str) -> Set[int]:
        block, ways = passage.block, self.ways
        table = ways.table(block, passage.alias)
        if table is None or ROW not in ways.columns(table):
            return frozenset()
        what = ways.addresses(table, passage.alias)  # the order is decided by whole rows
        if part == "having":
            # Of the row itself only: what a window lent it from its neighbours is in their groups.
            what = f"flatten(list({passage.alias}.{ROW}))"
        # Of the cell's stay or order; where that is not known, what no row leaves out.
        mine = [
            exp.NullSafeEQ(this=block.outputs[name].copy(), expression=exp.convert(value))
            for name, value in self.key.items()
            if name in block.outputs
            and not says_when(name)
            and not block.outputs[name].find(exp.Window, exp.AggFunc)
        ]
        with_, body = ways.body(block, part, more=mine)
        kept = f"SELECT unnest(a) FROM (SELECT {what} AS a {body} {part} "  # noqa: S608
        return self._addresses(
            f"{with_} {kept} NOT coalesce(({test}), FALSE)) EXCEPT {kept} ({test}))", []
        )


def _by_own_identifier(passage: Passage) -> Iterator[str]:
    """What is told of rows by the identifiers that they themselves bring."""
    for condition in passage.conditions:
        bare = condition.unnest()
        mine = _identifier(passage.block, passage.alias, bare)
        name = "" if mine is None else mine.name.lower()
        if name in _WHOSE and (passage.own is None or name in passage.own):
            yield f"{_ANOTHER}{_WHOSE[name]}: {text_of(bare)}"


def _identifier(block: Block, alias: str, condition: exp.Expr) -> exp.Column | None:
    """The relation's identifier in an equality with another relation's."""
    if not isinstance(condition, exp.EQ):
        return None
    for mine, other in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        if isinstance(mine, exp.Column) and block.read(mine) == {alias} != block.read(other):
            return mine if mine.name.lower() in PERSON else None
    return None
