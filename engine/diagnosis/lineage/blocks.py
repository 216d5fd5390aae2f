"""A query as a graph of SELECTs: what each output is made of, and what each row had to meet.

Only reads our own SQL; nothing is run here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.diagnosis.lineage.clauses import named_outputs
from engine.diagnosis.lineage.scope import Relation, Scope, Seen


@dataclass(eq=False)
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
    """What every row has met: WHERE, inner and semi-joins (as EXISTS), split at AND."""
    outer: Mapping[str, tuple[exp.Expr, ...]] = field(default_factory=dict)
    """By alias of an outer join: what its rows have met (nothing, where both sides are kept)."""
    around: Block | None = None
    """The SELECT that this one is an EXISTS of."""
    found: Mapping[str, Block] = field(default_factory=dict)
    """The SELECTs of its EXISTS, each by the EXISTS' text."""

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

    def read(self, expression: exp.Expr) -> set[str]:
        """Aliases whose columns an expression reads, those of the SELECTs around included."""
        return {alias for _, alias, _ in self.scope.columns(expression)}

    def touched(self, expression: exp.Expr) -> set[str]:
        """`read`, and what its EXISTS read of this SELECT."""
        lent = {
            alias
            for inner in self.exists(expression)
            for condition in inner.conditions
            for scope, alias, _ in inner.scope.columns(condition)
            if scope is self.scope
        }
        return self.read(expression) | lent

    def node(self, alias: str) -> exp.Expr | None:
        """The part of FROM that an alias stands for."""
        parts = [self.select.args.get("from_"), *(self.select.args.get("joins") or ())]
        nodes = [part.this for part in parts if part is not None]
        return next((n for n in nodes if (n.alias or n.name).lower() == alias), None)

    def of(self, alias: str) -> Block | None:
        """The SELECT, this or one around it, that has a relation of that alias."""
        at: Block | None = self
        while at is not None and alias not in at.sources:
            at = at.around
        return at

    def exists(self, expression: exp.Expr) -> Iterator[Block]:
        """The SELECTs of the EXISTS in an expression of this SELECT."""
        for node in own_exists(expression):
            yield self.found[_text(node)]

    @functools.cached_property
    def with_sql(self) -> str:
        """WITH and the CTEs that the SELECT can name, its own or those around it; or empty."""
        at: exp.Expr | None = self.select
        while at is not None:
            if isinstance(found := at.args.get("with_"), exp.With):
                return found.sql(dialect="duckdb", comments=False)
            at = at.parent
        return ""

    @functools.cached_property
    def body(self) -> str:
        """The SELECT from FROM on, without ORDER BY and LIMIT."""
        return self.without()

    def without(self, *parts: str, more: Iterable[exp.Expr] = ()) -> str:
        """The body, further parts left out.

        Args:
            parts: their names in sqlglot, e.g. ``qualify``.
            more: conditions that its rows have to meet beside WHERE.
        """
        left_out = ("with_", "expressions", "distinct", "order", "limit", *parts)
        kept = {
            name: [p.copy() for p in part] if isinstance(part, list) else part.copy()
            for name, part in self.select.args.items()
            if name not in left_out and part
        }
        select = exp.Select(expressions=[exp.Literal.number(1)], **kept)
        for condition in more:
            select.where(condition.copy(), copy=False)
        text = select.sql(dialect="duckdb", comments=False)
        return text.removeprefix("SELECT 1")

    def met(self, alias: str) -> tuple[exp.Expr, ...]:
        """Conditions that rows of this alias have met and that read it."""
        conditions = (*self.conditions, *self.outer.get(alias, ()))
        return tuple(c for c in conditions if alias in self.touched(c))


Source = str | tuple[Block, ...]
"""A table (``schema.table``), or the SELECTs of a CTE or subquery (several for a UNION)."""


def below(source: Source, columns: Columns) -> tuple[Block, ...]:
    """The SELECTs that make a relation's rows; none for a table of the source."""
    if not isinstance(source, str):
        return source
    schema, _, name = source.partition(".")
    return blocks_of(concept_graph().concepts[name], columns) if schema == DERIVED else ()


def conjuncts(expression: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that all have to hold."""
    if isinstance(expression, exp.Paren):
        return conjuncts(expression.this)
    if isinstance(expression, exp.And):
        return [*conjuncts(expression.left), *conjuncts(expression.right)]
    return [expression]


def own_exists(expression: exp.Expr) -> Iterator[exp.Exists]:
    """Every EXISTS that is not in another."""
    for node in expression.walk(prune=lambda n: isinstance(n, (exp.Exists, exp.Select))):
        if isinstance(node, exp.Exists):
            yield node


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
        around: Block | None = None,
    ) -> Block:
        scope = Scope(parent=around.scope if around is not None else None)
        sources: dict[str, Source] = {}
        conditions: list[exp.Expr] = []
        outer: dict[str, tuple[exp.Expr, ...]] = {}
        from_ = tree.args.get("from_") or tree.args.get("from")
        joins = tree.args.get("joins") or ()
        for part in [*([from_] if from_ is not None else []), *joins]:
            on = part.args.get("on")
            met = conjuncts(on) if on is not None else []
            if isinstance(part, exp.Join) and str(part.kind).upper() == "SEMI":
                conditions += [c for c in met if _only(scope, c)]
                conditions.append(_as_exists(part, tree))
                continue
            alias, names, source = self._source(part.this, known)
            scope.aliases[alias] = Seen(Relation(names))
            sources[alias] = source
            side = str(part.side).upper() if isinstance(part, exp.Join) else ""
            if side in ("LEFT", "FULL"):
                outer[alias] = tuple(met) if side == "LEFT" else ()
            else:
                conditions += met
        if (where := tree.args.get("where")) is not None:
            conditions += conjuncts(where.this)
        outputs = dict(named_outputs(tree, scope))
        scope.named = outputs
        block = Block(self._query, tree, outputs, scope, sources, tuple(conditions), outer, around)
        block.found = {
            _text(node): self._select(node.this, known, block)
            for expression in (*conditions, *outputs.values())
            for node in own_exists(expression)
            if isinstance(node.this, exp.Select)
        }
        return block

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


def _as_exists(join: exp.Join, around: exp.Select) -> exp.Exists:
    """A semi-join as the EXISTS that it is; knows the SELECT around it, for the CTEs' sake."""
    select = exp.select("1").from_(join.this.copy())
    if (on := join.args.get("on")) is not None:
        select = select.where(on.copy())
    exists = exp.Exists(this=select)
    exists.parent = around
    return exists


def _text(node: exp.Exists) -> str:
    return node.sql(dialect="duckdb", comments=False)


def _only(scope: Scope, expression: exp.Expr) -> bool:
    return all(scope.find(column) is not None for column in expression.find_all(exp.Column))
