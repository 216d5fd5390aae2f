"""Which pieces of the SQL behind a target bear on given columns: a backward slice.

Within a query a piece counts when it stands in the expression of a needed column, or in a clause
that decides which rows there are (joins, WHERE, GROUP BY, QUALIFY …) of a SELECT that is needed.
A LEFT JOIN that lends no needed column is passed over, unless the rows themselves are in question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from engine.concepts import Graph, Query
from engine.concepts.query import DERIVED

_CLAUSES = ("from_", "from", "where", "group", "having", "qualify", "windows", "distinct")


@dataclass(frozen=True)
class Parsed:
    """One query as a tree whose nodes are numbered."""

    name: str
    tree: exp.Expr
    nodes: tuple[exp.Expr, ...]
    """In the order of `walk`, which is that of every copy."""
    number: Mapping[int, int]
    """`id` of a node to its place in `nodes`."""
    changes: dict[int, tuple[Any, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Numbers of nodes to the changes that begin there, as far as somebody asked."""


@dataclass
class Slice:
    """What bears on the columns: per query the numbers of its nodes, and the columns it lends."""

    nodes: dict[str, set[int]] = field(default_factory=dict)
    kept: dict[str, set[int]] = field(default_factory=dict)
    """What must stand in the text besides, so that joins which only keep rows can be made."""
    columns: dict[str, set[str]] = field(default_factory=dict)
    texts: dict[str, Any] = field(default_factory=dict)
    """Queries cut down to the slice and written, once (`engine.diagnosis.recompute.writing`)."""


def parse(query: Query) -> Parsed:
    """Parse a concept or target."""
    tree = sqlglot.parse_one(query.sql, read="duckdb")
    nodes = tuple(tree.walk())
    return Parsed(query.name, tree, nodes, {id(node): n for n, node in enumerate(nodes)})


def slice_for(
    graph: Graph,
    target: Query,
    parsed: Mapping[str, Parsed],
    columns: Iterable[str],
    *,
    rows: bool,
) -> Slice:
    """The pieces that bear on `columns` of `target`; on its rows too where `rows`.

    Args:
        graph: the concepts.
        target: the target.
        parsed: the target and every concept behind it, by name.
        columns: names of columns of the target.
        rows: keys are missing, extra or repeated.
    """
    order = [target, *reversed(graph.order(target.concepts))]
    wanted = set(columns) | set(target.key)
    nodes, needed = _slice_all(order, parsed, wanted, rows=rows, joined=False)
    kept = nodes
    if rows:
        kept, needed = _slice_all(order, parsed, wanted, rows=rows, joined=True)
    return Slice(nodes, kept, needed)


def _slice_all(
    order: Iterable[Query],
    parsed: Mapping[str, Parsed],
    columns: set[str],
    *,
    rows: bool,
    joined: bool,
) -> tuple[dict[str, set[int]], dict[str, set[str]]]:
    """Per query the numbers of the nodes that bear, and the columns it lends."""
    nodes: dict[str, set[int]] = {}
    needed: dict[str, set[str]] = {}
    wanted: dict[str, set[str]] = {}
    for query in order:
        if query.name not in wanted and nodes:
            continue
        needed[query.name] = wanted.get(query.name, set()) if nodes else columns
        nodes[query.name], lent = _slice_one(
            parsed[query.name], needed[query.name], rows=rows, joined=joined
        )
        for concept, names in lent.items():
            wanted.setdefault(concept, set()).update(names)
    return nodes, needed


def _slice_one(
    parsed: Parsed, needed: set[str], *, rows: bool, joined: bool
) -> tuple[set[int], dict[str, set[str]]]:
    marked: set[int] = set()
    lent: dict[str, set[str]] = {}
    wanted: dict[int, set[str]] = {}
    scopes = list(traverse_scope(parsed.tree))
    wanted[id(scopes[-1])] = set(needed)
    for scope in reversed(scopes):
        if id(scope) not in wanted and not _is_marked(scope, parsed, marked):
            continue
        if isinstance(scope.expression, exp.Values):  # a list: all of it bears
            marked.update(parsed.number[id(piece)] for piece in scope.expression.walk())
            continue
        names = wanted.get(id(scope), {"*"})
        if isinstance(scope.expression, exp.SetOperation):
            marked.add(parsed.number[id(scope.expression)])
            for branch in scope.set_operation_scopes or ():
                wanted.setdefault(id(branch), set()).update(names)
            continue
        _slice_select(scope, names, parsed, marked, wanted, lent, rows=rows, joined=joined)
    return marked, lent


def _is_marked(scope: Scope, parsed: Parsed, marked: set[int]) -> bool:
    number = parsed.number.get(id(scope.expression))
    return number is not None and number in marked


def _slice_select(  # noqa: C901, PLR0917 - one pass over the clauses
    scope: Scope,
    names: set[str],
    parsed: Parsed,
    marked: set[int],
    wanted: dict[int, set[str]],
    lent: dict[str, set[str]],
    *,
    rows: bool,
    joined: bool,
) -> None:
    select = scope.expression
    used: list[exp.Column] = []
    stars: list[exp.Expr] = []
    # Of these the text keeps all columns (`writing`), so all must be there.
    uncut = isinstance(select.parent, exp.SetOperation) or bool(select.args.get("distinct"))
    everything = "*" in names or (joined and uncut)

    def mark(node: exp.Expr) -> None:
        for piece in node.walk():
            marked.add(parsed.number[id(piece)])
            if isinstance(piece, exp.Column):
                used.append(piece)
            elif isinstance(piece, exp.Star):
                stars.append(piece)

    for projection in select.expressions:
        if everything or projection.is_star or projection.alias_or_name in names:
            mark(projection)
    for clause in _CLAUSES:
        value = select.args.get(clause)
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, exp.Expr) and not _is_from(node):
                mark(node)
    joins = list(select.args.get("joins") or [])
    # From the last to the first: a join may lend columns to a later one's condition.
    for join in reversed(joins):
        lends = _lends(join, used, names if stars else set(), scope)
        condition = join.args.get("on")
        if join.side == "LEFT" and not lends and not (rows and joined):
            # It lends nothing, but it may lose rows (as an inner one) or multiply them.
            if rows:
                marked.add(parsed.number[id(join)])
                if condition is not None:
                    marked.update(parsed.number[id(piece)] for piece in condition.walk())
            continue
        marked.add(parsed.number[id(join)])
        if condition is not None:
            mark(condition)
    for column in used:
        _need(scope, column.table, {column.name}, wanted, lent)
    if stars:
        # Those that the star leaves out must be there to be left out.
        left_out = {i.name for star in stars for i in star.find_all(exp.Identifier)}
        _need(scope, "", set(names) | left_out, wanted, lent)


def _is_from(node: exp.Expr) -> bool:
    return isinstance(node, exp.From)


def _lends(join: exp.Join, used: list[exp.Column], through_star: set[str], scope: Scope) -> bool:
    alias = join.alias_or_name
    if any(column.table in (alias, "") for column in used):
        return True
    source = scope.sources.get(alias)
    offered: set[str] = set()
    if isinstance(source, Scope) and isinstance(source.expression, exp.Query):
        offered = set(source.expression.named_selects)
    return bool(through_star & offered)


def _need(
    scope: Scope,
    alias: str,
    names: set[str],
    wanted: dict[int, set[str]],
    lent: dict[str, set[str]],
) -> None:
    """Ask the source(s) called `alias` (all where it is empty) for columns."""
    at: Scope | None = scope
    while at is not None:
        sources = {name: source for name, (_, source) in at.selected_sources.items()}
        for join in at.expression.args.get("joins") or ():
            # A semi or anti join lends no column, but decides which rows there are.
            if join.kind in ("SEMI", "ANTI") and join.alias_or_name in at.sources:
                sources.setdefault(join.alias_or_name, at.sources[join.alias_or_name])
        chosen = [sources[alias]] if alias and alias in sources else []
        if not alias:
            chosen = list(sources.values())
        for source in chosen:
            if isinstance(source, Scope):
                wanted.setdefault(id(source), set()).update(names)
            elif isinstance(source, exp.Table) and source.db == DERIVED:
                lent.setdefault(source.name, set()).update(names)
        if chosen:
            return
        at = at.parent
