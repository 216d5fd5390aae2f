"""A query as a graph of SELECTs: what each output is made of, and what each row had to meet.

Only reads our own SQL; nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.diagnosis.lineage.annotate import named_outputs
from engine.diagnosis.lineage.scope import Relation, Scope, Seen


@dataclass
class Block:
    """One SELECT."""

    query: Query
    """The concept or target that it stands in."""
    select: exp.Select
    """The SELECT itself."""
    outputs: Mapping[str, exp.Expr]
    """Name to expression, in order, stars written out."""
    scope: Scope
    """Resolves its columns."""
    sources: dict[str, Source] = field(default_factory=dict)
    """By alias: the SELECTs below, or a table's name."""
    conditions: tuple[exp.Expr, ...] = ()
    """What every row has met: WHERE and inner joins, split at AND."""
    outer: Mapping[str, tuple[exp.Expr, ...]] = field(default_factory=dict)
    """By alias of an outer join: what its rows have met."""

    @property
    def grouped(self) -> bool:
        """Does one output row stand for several?"""
        return (
            self.select.args.get("group") is not None
            or self.select.args.get("distinct") is not None
            or any(list(aggregates(e)) for e in self.outputs.values())
        )

    def columns(self, expression: exp.Expr) -> Iterator[tuple[str, str]]:
        """Alias and name of every column of this SELECT in an expression."""
        for scope, alias, name in self.scope.columns(expression):
            if scope is self.scope:
                yield alias, name

    @property
    def with_(self) -> exp.With | None:
        """The CTEs that the SELECT can name, its own or those around it."""
        at: exp.Expr | None = self.select
        while at is not None:
            found = at.args.get("with_")
            if isinstance(found, exp.With):
                return found
            at = at.parent
        return None

    def met(self, alias: str) -> tuple[exp.Expr, ...]:
        """Conditions that rows of this alias have met and that read it."""
        conditions = (*self.conditions, *self.outer.get(alias, ()))
        return tuple(c for c in conditions if any(a == alias for a, _ in self.columns(c)))


Source = str | tuple[Block, ...]
"""A table (``schema.table``), or the SELECTs of a CTE or subquery (several for a UNION)."""


def conjuncts(expression: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that all have to hold."""
    if isinstance(expression, exp.Paren):
        return conjuncts(expression.this)
    if isinstance(expression, exp.And):
        return [*conjuncts(expression.left), *conjuncts(expression.right)]
    return [expression]


def aggregates(expression: exp.Expr) -> Iterator[exp.AggFunc]:
    """Aggregate functions outside of windows and subqueries."""
    skip = (exp.Window, exp.Select, exp.Exists)
    for node in expression.walk(prune=lambda n: isinstance(n, (*skip, exp.AggFunc))):
        if isinstance(node, exp.AggFunc):
            yield node


def blocks_of(query: Query, columns: Columns) -> tuple[Block, ...]:
    """The SELECTs that make the query's rows, the CTEs below them.

    Args:
        query: a concept or target.
        columns: columns of the source's tables (`Columns`), for stars.
    """
    known = _READ.get((query.text, columns))
    if known is None:
        known = _Reader(query, columns).read(sqlglot.parse_one(query.sql, read="duckdb"), {})
        _READ[query.text, columns] = known
    return known


@dataclass(frozen=True)
class Columns:
    """Columns of base tables by ``schema.table``; hashable."""

    tables: tuple[tuple[str, tuple[str, ...]], ...]
    """Sorted by name."""

    def of(self, table: str) -> tuple[str, ...]:
        """The table's columns; of a derived table, what its query puts out."""
        schema, _, name = table.partition(".")
        if schema == DERIVED:
            return tuple(blocks_of(concept_graph().concepts[name], self)[0].outputs)
        return dict(self.tables)[table]


_READ: dict[tuple[str, Columns], tuple[Block, ...]] = {}


class _Reader:
    def __init__(self, query: Query, columns: Columns) -> None:
        self._query = query
        self._columns = columns

    def read(
        self, tree: exp.Expr, below: Mapping[str, tuple[tuple[str, ...], tuple[Block, ...]]]
    ) -> tuple[Block, ...]:
        """`below` holds CTEs: their columns and SELECTs (none for constants)."""
        known = dict(below)
        with_ = tree.args.get("with_") or tree.args.get("with")
        for cte in with_.expressions if with_ is not None else ():
            blocks = self.read(cte.this, known)
            named = tuple(c.name.lower() for c in cte.args["alias"].args.get("columns") or ())
            names = named or (tuple(blocks[0].outputs) if blocks else ())
            known[cte.alias.lower()] = (names, () if named else blocks)
        if isinstance(tree, exp.Subquery):
            return self.read(tree.this, known)
        if isinstance(tree, exp.Union):
            return (*self.read(tree.this, known), *self.read(tree.expression, known))
        if isinstance(tree, exp.Select):
            return (self._select(tree, known),)
        return ()  # VALUES

    def _select(
        self,
        tree: exp.Select,
        known: Mapping[str, tuple[tuple[str, ...], tuple[Block, ...]]],
    ) -> Block:
        scope = Scope()
        sources: dict[str, Source] = {}
        conditions: list[exp.Expr] = []
        outer: dict[str, tuple[exp.Expr, ...]] = {}
        from_ = tree.args.get("from_") or tree.args.get("from")
        joins = tree.args.get("joins") or ()
        for part in [*([from_] if from_ is not None else []), *joins]:
            alias, names, source = self._source(part.this, known)
            on = part.args.get("on")
            met = conjuncts(on) if on is not None else []
            if isinstance(part, exp.Join) and str(part.kind).upper() == "SEMI":
                conditions += [c for c in met if _only(scope, c)]
                continue
            scope.aliases[alias] = Seen(Relation(names))
            sources[alias] = source
            if isinstance(part, exp.Join) and str(part.side).upper() in ("LEFT", "FULL"):
                outer[alias] = tuple(met)
            else:
                conditions += met
        if (where := tree.args.get("where")) is not None:
            conditions += conjuncts(where.this)
        outputs = dict(named_outputs(tree, scope))
        scope.named = outputs
        return Block(self._query, tree, outputs, scope, sources, tuple(conditions), outer)

    def _source(
        self,
        node: exp.Expr,
        known: Mapping[str, tuple[tuple[str, ...], tuple[Block, ...]]],
    ) -> tuple[str, tuple[str, ...], Source]:
        if isinstance(node, exp.Table) and node.db:
            table = f"{node.db}.{node.name}".lower()
            return (node.alias or node.name).lower(), self._columns.of(table), table
        if isinstance(node, exp.Table):
            names, blocks = known[node.name.lower()]
            return (node.alias or node.name).lower(), names, blocks
        blocks = self.read(node, known)
        return node.alias.lower(), tuple(blocks[0].outputs) if blocks else (), blocks


def _only(scope: Scope, expression: exp.Expr) -> bool:
    return all(scope.find(column) is not None for column in expression.find_all(exp.Column))
