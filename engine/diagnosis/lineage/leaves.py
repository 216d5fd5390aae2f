"""Where a cell's column meets source tables: which rows are of its items, which rules they meet.

Goes down from the column through CTEs and concepts. A condition on the way that reads only
columns which are passed through unchanged goes along, so that ``avg(number) FILTER (WHERE itemid
= 220045)`` above a CTE is known as a condition on the table's own rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED
from engine.diagnosis.lineage.blocks import Block, Columns, Source, aggregates, blocks_of, conjuncts

_IDENTITY = frozenset(
    {
        *("itemid", "icd_code", "icd_version", "drug", "drug_type", "route", "spec_type_desc"),
        *("category", "label", "name", "curr_service", "admission_type", "careunit"),
        *("nursingchartcelltypecat", "nursingchartcelltypevallabel"),
        *("nursingchartcelltypevalname", "physicalexampath", "cellpath"),
    }
)
"""Columns that say what was recorded; a condition on these alone chooses the items."""
_DEPTH = 24


@dataclass(frozen=True)
class Leaf:
    """One way from the cell's column to rows of a source table."""

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


@dataclass(frozen=True)
class Passage:
    """A block on the way and the alias through which the rows come: its conditions on them."""

    block: Block
    """The SELECT."""
    alias: str
    """The relation that leads to the events."""


def leaves(block: Block, column: str, columns: Columns) -> dict[Leaf, tuple[Passage, ...]]:
    """All ways down from an output column of a block, each with the SELECTs it passes."""
    found: dict[Leaf, dict[tuple[int, str], Passage]] = {}
    seen: set[tuple[object, ...]] = set()

    def visit(
        at: Block, name: str, extra: tuple[exp.Expr, ...], trail: tuple[Passage, ...]
    ) -> None:
        mark = (id(at), name, *(e.sql() for e in extra))
        if mark in seen or len(trail) > _DEPTH or name not in at.outputs:
            return
        seen.add(mark)
        if any(_never(at, condition) for condition in extra):
            return
        expression = at.outputs[name]
        met = [*at.conditions, *_lowered(at, extra), *_filters(expression)]
        for alias, below in sorted(_chosen(at, _values(at, expression), met)):
            source = at.sources.get(alias)
            if source is None:
                continue
            passed = (*trail, Passage(at, alias))
            mine = [c for c in (*met, *at.outer.get(alias, ())) if is_only_of(at, c, alias)]
            if isinstance(source, str) and not source.startswith(f"{DERIVED}."):
                leaf = _leaf(at, name, source, alias, mine)
                if leaf is not None:
                    of_leaf = found.setdefault(leaf, {})
                    of_leaf.update({(id(p.block), p.alias): p for p in passed})
                continue
            for block_ in _below(source, columns):
                visit(block_, below, tuple(_bare(c) for c in mine), passed)

    visit(block, column, (), ())
    return {leaf: tuple(passed.values()) for leaf, passed in found.items()}


def _below(source: Source, columns: Columns) -> tuple[Block, ...]:
    if isinstance(source, str):
        concept = concept_graph().concepts[source.removeprefix(f"{DERIVED}.")]
        return blocks_of(concept, columns)
    return source


def _values(block: Block, expression: exp.Expr) -> set[tuple[str, str]]:
    """Columns that the value is made of; those of FILTER only choose its rows."""
    bare = expression.copy().transform(lambda n: n.this if isinstance(n, exp.Filter) else n)
    columns = set(block.columns(bare)) or set(block.columns(expression))
    for exists in expression.find_all(exp.Exists):
        columns |= set(block.columns(exists.this))
    return columns


def _chosen(
    block: Block, values: set[tuple[str, str]], met: list[exp.Expr]
) -> set[tuple[str, str]]:
    """For values out of a list of constants (bands of a score) what chose them there."""
    found: set[tuple[str, str]] = set()
    for alias, name in values:
        if block.sources.get(alias) != ():
            found.add((alias, name))
            continue
        for condition in (*met, *block.outer.get(alias, ())):
            columns = set(block.columns(condition))
            if alias in {a for a, _ in columns}:
                found |= {(a, n) for a, n in columns if a != alias}
    return found


def _never(block: Block, condition: exp.Expr) -> bool:
    """Is an output one of some constants, and none of those that the condition asks for?"""
    if not isinstance(condition, (exp.EQ, exp.In)) or not isinstance(condition.this, exp.Column):
        return False
    asked = condition.expressions if isinstance(condition, exp.In) else [condition.expression]
    wanted = [_constants(each) for each in asked]
    given = _constants(block.outputs.get(condition.this.name.lower()))
    return bool(given) and bool(wanted) and all(wanted) and not given & set[str]().union(*wanted)


def _constants(expression: exp.Expr | None) -> set[str]:
    """The texts that an expression can be; empty where that is not known."""
    if isinstance(expression, exp.Literal) and expression.is_string:
        return {expression.name}
    if isinstance(expression, exp.If):
        sides = [_constants(expression.args.get(side)) for side in ("true", "false")]
        return set[str]().union(*sides) if all(sides) else set()
    return set()


def _filters(expression: exp.Expr) -> Iterator[exp.Expr]:
    """FILTER conditions of an output; only those that every aggregate in it shares."""
    each = [
        {c.sql(): c for c in conjuncts(a.parent.expression.this)}
        if isinstance(a.parent, exp.Filter)
        else {}
        for a in aggregates(expression)
    ]
    for text in set.intersection(*(set(one) for one in each)) if each else ():
        yield each[0][text]


def _lowered(block: Block, extra: tuple[exp.Expr, ...]) -> Iterator[exp.Expr]:
    """Conditions on outputs as conditions on what the outputs are."""
    for condition in extra:
        names = {c.name.lower() for c in condition.find_all(exp.Column)}
        if all(isinstance(block.outputs.get(n), exp.Column) for n in names):
            yield condition.copy().transform(
                lambda node: (
                    block.outputs[node.name.lower()].copy()
                    if isinstance(node, exp.Column)
                    else node
                )
            )


def is_only_of(block: Block, condition: exp.Expr, alias: str) -> bool:
    """Can the condition be asked of one relation alone?"""
    if condition.find(exp.Exists, exp.Select, exp.Window, exp.AggFunc):
        return False
    return {a for a, _ in block.columns(condition)} == {alias}


def _bare(condition: exp.Expr) -> exp.Expr:
    """The condition with its columns' aliases left out."""
    return condition.copy().transform(
        lambda n: exp.column(n.name.lower()) if isinstance(n, exp.Column) else n
    )


def _leaf(block: Block, name: str, table: str, alias: str, met: list[exp.Expr]) -> Leaf | None:
    """None for tables that say nothing but who and when (stays, admissions)."""
    expression = block.outputs[name]
    identity = [c for c in met if _is_identity(c)]
    rules = [("true", _sql(c)) for c in met if not _is_identity(c)]
    rules += [
        (_guard(block, test, alias), _sql(test))
        for test in _tests(expression)
        if is_only_of(block, test, alias) and not _is_identity(test) and not _in_met(test, met)
    ]
    if not identity and not rules and table in FRAME:
        return None
    return Leaf(
        block.query.name,
        name,
        table,
        tuple(dict.fromkeys(_sql(c) for c in identity)),
        tuple(dict.fromkeys(rules)),
    )


def _tests(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Comparisons in an expression, those of subqueries left out."""
    for node in expression.walk(prune=lambda n: isinstance(n, (exp.Exists, exp.Select))):
        if isinstance(node, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)):
            yield node


FRAME = frozenset(
    {"mimiciv_icu.icustays", "mimiciv_hosp.admissions", "mimiciv_hosp.patients", "eicu_crd.patient"}
)
"""Tables that frame a stay; their rows are shown when used, but none is 'refused'."""


def _is_identity(condition: exp.Expr) -> bool:
    names = {c.name.lower() for c in condition.find_all(exp.Column)}
    return bool(names) and names <= _IDENTITY


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
            if c is not test and _is_identity(c) and is_only_of(block, c, alias)
        ]
        node = parent
    return " AND ".join(f"({g})" for g in dict.fromkeys(guards)) or "true"


def _sql(condition: exp.Expr) -> str:
    return _bare(condition).sql(dialect="duckdb", comments=False)
