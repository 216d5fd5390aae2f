"""What a SELECT sees: its relations, and which hidden lists say where a value came from.

Beside its visible columns an annotated relation has ``row__p`` (the source rows that suffice for
this row to exist) and, where a column needs others, ``NAME__p`` (the source rows that suffice for
the row *and* this value). A column without a list of its own needs only the row's. Lists hold
packed addresses (see `extract.pack`). Every list is enough in this sense: in any part of the source
that holds at least these rows, the query gives the same value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from engine.base.errors import HarnessFault

ROW = "row__p"
"""The hidden column of the row itself."""
NOTHING = "[]::BIGINT[]"
"""A list without addresses."""


@dataclass(frozen=True)
class Relation:
    """A table, a CTE or a subquery as the SELECT above it sees it."""

    columns: tuple[str, ...]
    """Visible columns, in order."""
    row: bool = False
    """It has `ROW`: its rows come from rows of the source."""
    own: frozenset[str] = frozenset()
    """Columns with a list of their own."""


def hidden(column: str) -> str:
    """Name of the column's own list."""
    return f"{column}__p"


def joined(lists: Iterable[str]) -> str:
    """SQL for the union of lists of addresses, nulls left out."""
    parts = sorted(set(lists))
    if not parts:
        return NOTHING
    if len(parts) == 1 and parts[0] != "NULL":
        return f"coalesce({parts[0]}, {NOTHING})"
    return f"coalesce(list_distinct(flatten([{', '.join(parts)}])), {NOTHING})"


def same(lists: str) -> str:
    """SQL for one of a group's lists, the same each time."""
    return extreme("min", f"list_sort({lists})")


def extreme(function: str, each: str, asked: str = "") -> str:
    """SQL for the least or greatest of lists or pairs; `asked` is its FILTER and OVER."""
    if "(SELECT" not in each:
        return f"{function}({each}){asked}"
    # DuckDB's min and max of nested values refuse a subquery in their argument.
    return f"list_sort(list({each}){asked})[{1 if function == 'min' else -1}]"


@dataclass
class Seen:
    """One relation in a FROM clause."""

    relation: Relation
    """What it is."""
    optional: bool = False
    """It may be null-extended: its row is not needed for the result's row."""
    on: tuple[exp.Expr, ...] = ()
    """Conditions under which an optional relation is matched."""


@dataclass
class Scope:
    """The names that the expressions of one SELECT can use."""

    aliases: dict[str, Seen] = field(default_factory=dict)
    """Relations of FROM and JOIN, by lower-case alias."""
    named: Mapping[str, exp.Expr] = field(default_factory=dict)
    """The SELECT's own output names, for references to them."""
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    """Named windows."""
    parent: Scope | None = None
    """The SELECT around a subquery."""

    def find(self, column: exp.Column) -> tuple[str, str] | None:
        """Alias and name of a column of this SELECT; None when it is the parent's."""
        name, table = column.name.lower(), column.table.lower()
        if table:
            return (table, name) if table in self.aliases else None
        for alias, seen in self.aliases.items():
            if name in seen.relation.columns:
                return alias, name
        return None

    def output(self, column: exp.Column) -> exp.Expr | None:
        """The SELECT's own output that a bare name means, if it is not that column itself."""
        named = None if column.table else self.named.get(column.name.lower())
        if isinstance(named, exp.Column) and named.name.lower() == column.name.lower():
            return None
        return named

    def columns(self, expression: exp.Expr) -> Iterator[tuple[Scope, str, str]]:
        """All columns of an expression (subqueries left out), each with the scope it is of.

        Raises:
            HarnessFault: a name that nobody knows; our own SQL is always resolvable.
        """
        for node in expression.walk(prune=lambda n: isinstance(n, (exp.Exists, exp.Select))):
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                continue
            yield from self._resolved(node)

    def _resolved(self, node: exp.Column) -> Iterator[tuple[Scope, str, str]]:
        found = self.find(node)
        if found is not None:
            yield self, *found
        elif (named := self.output(node)) is not None:
            yield from self.columns(named)
        elif self.parent is not None:
            yield from self.parent._resolved(node)  # noqa: SLF001 - its own kind
        else:
            raise HarnessFault(f"The lineage of the column {node.sql()} is not known.")


def outside(scope: Scope, node: exp.Column) -> set[str]:
    """A column of a SELECT around this one: nothing here, its owner adds it."""
    at = scope.parent
    while at is not None:
        if at.find(node) is not None:
            return set()
        at = at.parent
    raise HarnessFault(f"The lineage of the column {node.sql()} is not known.")


def join_to(scope: Scope, join: exp.Join, alias: str, relation: Relation) -> list[exp.Expr]:
    """Add a joined relation to the scope; the conditions that each row then has met."""
    on = join.args.get("on")
    side = str(join.side).upper()
    if join.args.get("using") or side == "RIGHT":
        raise HarnessFault("The lineage of this JOIN is not known.")
    if side in ("LEFT", "FULL"):
        if on is None:
            raise HarnessFault("An outer join has no condition.")
        scope.aliases[alias] = Seen(relation, optional=True, on=(on,))
        if side == "FULL":
            for seen in scope.aliases.values():
                seen.optional, seen.on = True, (*seen.on, on)
        return []
    scope.aliases[alias] = Seen(relation)
    return [on] if on is not None else []
