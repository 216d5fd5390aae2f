"""Where a cell's column meets source tables: which rows are of its items, which rules they meet.

Goes down from the column through CTEs and concepts, along what the value is made of and what chose
it: the conditions on computed columns, the filters of aggregates, and what an EXISTS looked for. A
condition on the way that reads only columns which are passed through unchanged goes along, so that
``avg(number) FILTER (WHERE itemid = 220045)`` above a CTE is known as a condition on the table's
own rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from engine.concepts.query import DERIVED
from engine.diagnosis.lineage.blocks import Block, Columns, Source, aggregates, below, conjuncts
from engine.diagnosis.lineage.clauses import is_null_test
from engine.diagnosis.lineage.conditions import (
    filters_of,
    is_only_of,
    lowered,
    never,
    refusing,
    text_of,
    unaliased,
)
from engine.diagnosis.lineage.frames import frames
from engine.diagnosis.lineage.lookups import PERSON, Lookup, is_lookup, lookups

_CODES = frozenset({"icd_code", "icd_version", "curr_service", "admission_type"})
_IDENTITY = _CODES | {
    *("itemid", "drug", "drug_type", "route", "spec_type_desc"),
    *("category", "label", "name", "careunit"),
    *("nursingchartcelltypecat", "nursingchartcelltypevallabel"),
    *("nursingchartcelltypevalname", "physicalexampath", "cellpath"),
}
"""Columns that say what was recorded; a condition on these alone chooses the items."""
_PLACES = ("time", "date", "offset")
"""Columns that say when; that they were compared does not make their rows part of a choice."""
_MOST = 48
"""Ways from one cell to one leaf that are told apart."""


@dataclass(frozen=True)
class Leaf:
    """Rows of a source table that a cell's column can rest on."""

    query: str
    """Name of the concept or target that reads the table."""
    column: str
    """Its output that the rows go into."""
    table: str
    """``schema.table``."""
    identity: tuple[str, ...]
    """Conditions (SQL over the table's columns) that choose the items."""
    rules: tuple[tuple[str, str], ...]
    """Guard and condition: where the guard holds, a row that fails the condition is refused. The
    guard of a rule for all rows is ``true``."""
    lookups: tuple[Lookup, ...] = ()
    """Lists of codes or drugs that the rows have to be in."""


@dataclass(frozen=True)
class Passage:
    """A block on the way and the alias through which the rows come: its conditions on them."""

    block: Block
    """The SELECT."""
    alias: str
    """The relation that leads to the events."""
    column: str = ""
    """Its column that does; empty for a source table."""
    filters: tuple[exp.Expr, ...] = ()
    """What the aggregates and the frames of windows on the way ask of the rows they take in."""
    own: frozenset[str] | None = None
    """Columns of the relation that are worked out of the events' own rows, so that a bound on them
    bounds the events; None when all are (the relation is the source table)."""

    @property
    def conditions(self) -> tuple[exp.Expr, ...]:
        """All that a row has to meet here."""
        return (*self.block.met(self.alias), *self.filters)

    def bounds_events(self, condition: exp.Expr) -> bool:
        """Is it of a time of the events themselves, not of what they were chosen for?"""
        names = {c.name.lower() for c in condition.find_all(exp.Column)}
        return self.own is None or bool(names & self.own)


Trail = tuple[Passage, ...]
"""One way from the cell down to a leaf, outermost first; passages that ask nothing left out."""
_Found = dict[tuple[Leaf, Trail], frozenset[str]]
"""With the outputs of the block that are worked out of the leaf's rows."""


def leaves(block: Block, column: str, columns: Columns) -> dict[Leaf, tuple[Trail, ...]]:
    """What an output column of a block rests on, and all ways that lead there.

    Args:
        block: the target's SELECT.
        column: one of its outputs.
        columns: columns of the source's tables.
    """
    by_leaf: dict[Leaf, list[Trail]] = {}
    if column in block.outputs:
        for leaf, trail in _Walk(columns).down(block, column, block.outputs[column], ()):
            by_leaf.setdefault(leaf, []).append(trail)
    return {leaf: tuple(trails[:_MOST]) for leaf, trails in by_leaf.items()}


@dataclass(frozen=True)
class _Here:
    """An expression in a SELECT."""

    block: Block
    name: str
    expression: exp.Expr
    met: tuple[exp.Expr, ...]
    """What its rows have met, filters of its aggregates included."""
    filters: tuple[exp.Expr, ...]

    def measured(self, read: set[tuple[str, str]]) -> list[tuple[str, str]]:
        """For columns of a list (codes, bands of a score) those that were looked up in it."""
        sources = self.block.sources
        found: set[tuple[str, str]] = set()
        for alias, name in read:
            if not is_lookup(sources[alias]):
                found.add((alias, name))
                continue
            for condition in (*self.met, *self.block.outer.get(alias, ())):
                columns = set(self.block.columns(condition))
                if alias in {a for a, _ in columns}:
                    found |= {(a, n) for a, n in columns if not is_lookup(sources[a])}
        return sorted(found or read)


@dataclass
class _Walk:
    columns: Columns
    known: dict[tuple[object, ...], _Found] = field(default_factory=dict)

    def down(
        self, at: Block, name: str, expression: exp.Expr, extra: tuple[exp.Expr, ...]
    ) -> _Found:
        """Leaves of an expression of a block, for rows that also meet `extra` (on its outputs)."""
        mark = (id(at), name, text_of(expression), *(text_of(e) for e in extra))
        if mark not in self.known:
            self.known[mark] = {}
            if not any(never(at, condition) for condition in extra):
                self.known[mark] = self._leaves(at, name, expression, extra)
        return self.known[mark]

    def _leaves(
        self, at: Block, name: str, expression: exp.Expr, extra: tuple[exp.Expr, ...]
    ) -> _Found:
        filters = tuple(filters_of(expression))
        here = _Here(at, name, expression, (*at.conditions, *lowered(at, extra), *filters), filters)
        value = self._values(at, expression)
        joined = [c for alias in sorted({a for a, _ in value}) for c in at.outer.get(alias, ())]
        chosen = self._choosers(at, expression, [*at.conditions, *filters, *joined]) - value
        if not value and not chosen:
            value = {(alias, "") for alias, source in at.sources.items() if _is_base(source)}
        found: _Found = {}
        for each in here.measured(value):
            found |= self._of_column(here, *each)
        for each in here.measured(chosen):
            found |= self._of_column(here, *each)
        for condition in (expression, *at.conditions, *filters):
            for inner in at.exists(condition):
                found |= dict.fromkeys(self._looked_for(inner, name), frozenset[str]())
        return found

    def _of_column(self, here: _Here, alias: str, column: str) -> _Found:
        at = here.block
        source = at.sources[alias]
        asked = (*here.filters, *frames(at, here.expression))
        lower = "" if _is_base(source) else column
        passed = Passage(at, alias, lower, tuple(c for c in asked if alias in at.read(c)))
        mine = [c for c in (*here.met, *at.outer.get(alias, ())) if is_only_of(at, c, alias)]
        if isinstance(source, str) and _is_base(source):
            leaf = _leaf(here, source, alias, mine)
            return {} if leaf is None else {(leaf, _asking(passed)): _outputs_of(at, alias, None)}
        found: _Found = {}
        for block in below(source, self.columns):
            if column in block.outputs:
                bare = tuple(unaliased(c) for c in mine)
                found_below = self.down(block, column, block.outputs[column], bare)
                for (leaf, trail), own in found_below.items():
                    way = (*_asking(replace(passed, own=own)), *trail)
                    found[leaf, way] = _outputs_of(at, alias, own)
        return found

    def _looked_for(self, inner: Block, name: str) -> _Found:
        """Leaves of what an EXISTS asks of its own rows; of lists of codes nothing."""
        columns = {
            (alias, column)
            for condition in inner.conditions
            for alias, column in inner.columns(condition)
            if column not in PERSON and not is_lookup(inner.sources[alias])
        }
        if not columns:
            return {}
        asked = exp.Tuple(expressions=[exp.column(c, table=a) for a, c in sorted(columns)])
        return self.down(inner, name, asked, ())

    def _values(self, at: Block, expression: exp.Expr) -> set[tuple[str, str]]:
        """Columns that the value is made of; those of FILTER only choose its rows.

        A null test that alone decides a branch says whether something is there (``if(is_known,
        total, NULL)``): what that was made of does not tell of the value, if other columns do.
        """
        bare = expression.copy().transform(lambda n: n.this if isinstance(n, exp.Filter) else n)
        whole = set(at.columns(bare)) or set(at.columns(expression))
        for branch in bare.find_all(exp.If):
            if self._only_presence(at, branch.this):
                branch.set("this", exp.true())
        return set(at.columns(bare)) or whole

    def _only_presence(self, at: Block, condition: exp.Expr) -> bool:
        test = condition.this if isinstance(condition, exp.Not) else condition
        if isinstance(test, exp.Column):
            outputs = [
                b.outputs[n]
                for alias, n in at.columns(test)
                if not _is_base(at.sources[alias])
                for b in below(at.sources[alias], self.columns)
                if n in b.outputs
            ]
            return bool(outputs) and all(is_null_test(output) for output in outputs)
        return is_null_test(test)

    def _choosers(
        self, at: Block, expression: exp.Expr, met: list[exp.Expr]
    ) -> set[tuple[str, str]]:
        """Computed columns that conditions of one relation, or filters of aggregates, read."""
        asked = [c for c in met if any(is_only_of(at, c, alias) for alias in at.sources)]
        asked += [
            c
            for aggregate in aggregates(expression)
            if isinstance(aggregate.parent, exp.Filter)
            for c in conjuncts(aggregate.parent.expression.this)
        ]
        return {
            (alias, name)
            for condition in asked
            for alias, name in at.columns(condition)
            if not says_when(name)
            and name not in PERSON
            and name != "hr"
            and self._computed(at, alias, name)
        }

    def _computed(self, at: Block, alias: str, name: str) -> bool:
        """Is the column worked out of others on the way, neither read as it is nor a constant?"""
        source = at.sources[alias]
        if _is_base(source) or is_lookup(source):
            return False
        for block in below(source, self.columns):
            output = block.outputs.get(name)
            if isinstance(output, exp.Column):
                if any(self._computed(block, a, n) for a, n in block.columns(output)):
                    return True
            elif output is not None and (
                set(block.columns(output)) or any(True for _ in block.exists(output))
            ):
                return True
        return False


def _outputs_of(block: Block, alias: str, own: frozenset[str] | None) -> frozenset[str]:
    """Outputs that read some columns of a relation, or what equals one of them."""
    same = {
        other
        for condition in (*block.conditions, *(c for on in block.outer.values() for c in on))
        for mine, other in _equals(block, condition)
        if mine[0] == alias and (own is None or mine[1] in own)
    }
    return frozenset(
        name
        for name, expression in block.outputs.items()
        if any(
            (a, c) in same or (a == alias and (own is None or c in own))
            for a, c in block.columns(expression)
        )
    )


def _equals(block: Block, condition: exp.Expr) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Both ways: alias and name of two columns that are taken for one time or identifier."""
    if isinstance(condition, exp.EQ):
        sides = [list(block.columns(s)) for s in (condition.this, condition.expression)]
        plain = isinstance(condition.this, exp.Column) and isinstance(
            condition.expression, exp.Column
        )
        if plain and all(len(s) == 1 and (s[0][1] in PERSON or says_when(s[0][1])) for s in sides):
            ((left,), (right,)) = sides
            yield left, right
            yield right, left


def says_when(name: str) -> bool:
    """Is a column of that name a time?"""
    return any(part in name for part in _PLACES)


def _asking(passage: Passage) -> Trail:
    select = passage.block.select
    chooses = any(select.args.get(part) is not None for part in ("qualify", "having"))
    return (passage,) if chooses or passage.conditions else ()


def _is_base(source: Source) -> bool:
    return isinstance(source, str) and not source.startswith(f"{DERIVED}.")


def _leaf(here: _Here, table: str, alias: str, mine: list[exp.Expr]) -> Leaf | None:
    """None for tables that say nothing but who and when (stays, admissions)."""
    identity = [c for c in mine if _is_identity(c, table)]
    rules = [("true", _sql(c)) for c in mine if not (_is_identity(c, table) or _is_of_time(c))]
    rules += [
        (_guard(here.block, test, alias), _sql(test))
        for test in refusing(here.expression)
        if is_only_of(here.block, test, alias)
        and not _is_identity(test, table)
        and not _is_of_time(test)
        and not _in_met(test, mine)
    ]
    listed = lookups(here.block, alias, table, here.met)
    if not identity and not rules and not listed and table in FRAME:
        return None
    return Leaf(
        here.block.query.name,
        here.name,
        table,
        tuple(dict.fromkeys(_sql(c) for c in identity)),
        tuple(dict.fromkeys(rules)),
        listed,
    )


FRAME = frozenset(
    {"mimiciv_icu.icustays", "mimiciv_hosp.admissions", "mimiciv_hosp.patients", "eicu_crd.patient"}
)
"""Tables that frame a stay; their rows are shown when used, but none is 'refused'."""
STATEMENTS = frozenset(
    {"mimiciv_hosp.diagnoses_icd", "mimiciv_hosp.procedures_icd", "mimiciv_hosp.services"}
)
"""Tables whose rows each state something of an admission: all of the admission were looked at, and
one that is of no code asked for was refused for that."""


def _is_identity(condition: exp.Expr, table: str) -> bool:
    names = {c.name.lower() for c in condition.find_all(exp.Column)}
    codes = _IDENTITY - _CODES if table in STATEMENTS else _IDENTITY
    # The length of a path says whether it is written as one of an item, not of which.
    return bool(names) and names <= codes and condition.find(exp.Length) is None


def _is_of_time(condition: exp.Expr) -> bool:
    """Is it a bound of the window?"""
    names = [c.name.lower() for c in condition.find_all(exp.Column)]
    return isinstance(condition, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)) and all(
        says_when(name) for name in names
    )


def _in_met(test: exp.Expr, met: list[exp.Expr]) -> bool:
    return any(test.sql() in condition.sql() for condition in met)


def _guard(block: Block, test: exp.Expr, alias: str) -> str:
    """The conditions on items under which a test inside CASE, IF or FILTER counts."""
    guards: list[str] = []
    node: exp.Expr = test
    while node.parent is not None:
        parent = node.parent
        conditions: list[exp.Expr] = []
        if isinstance(parent, exp.If) and node is not parent.this:
            conditions = conjuncts(parent.this)
        elif isinstance(parent, exp.Filter) and node is parent.this:
            conditions = conjuncts(parent.expression.this)
        elif isinstance(parent, exp.And):
            conditions = conjuncts(parent)
        guards += [
            _sql(c)
            for c in conditions
            if c is not test and _is_identity(c, "") and is_only_of(block, c, alias)
        ]
        node = parent
    return " AND ".join(f"({g})" for g in dict.fromkeys(guards)) or "true"


def _sql(condition: exp.Expr) -> str:
    return unaliased(condition).sql(dialect="duckdb", comments=False)
