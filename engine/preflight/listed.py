"""Bands that a query keeps as a list of VALUES: from each bound on, a result."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from sqlglot import exp

_SIDES = {exp.GTE: "low", exp.LT: "low", exp.LTE: "high", exp.GT: "high"}
"""What a column's numbers are when something is compared with them, in that order."""
_TURNED = {exp.LTE: "low", exp.GT: "low", exp.GTE: "high", exp.LT: "high"}


def listed_bounds(tree: exp.Query) -> Iterator[tuple[float, str]]:
    """Numbers of listed bounds and how they bound: ``low`` (< or ≥), ``high`` (≤ or >)."""
    for rows, place, side in _lists(tree):
        for row in rows:
            number = _number(row[place])
            if number is not None:
                yield number, side


def listed_bands(tree: exp.Query) -> Iterator[tuple[float, float]]:
    """Numbers of listed bounds with what holds on either side of them.

    Rows of one name belong together, in their order.
    """
    for rows, place, _ in _lists(tree):
        for _, group in groupby(rows, key=_name):
            for before, row in pairwise([None, *group]):
                number = _number(row[place]) if row is not None else None
                if row is None or number is None:
                    continue
                for other in (before, row):
                    for at, cell in enumerate(other or ()):
                        result = _number(cell) if at != place else None
                        if result is not None:
                            yield number, result


def _lists(tree: exp.Query) -> Iterator[tuple[list[list[exp.Expr]], int, str]]:
    """Rows of every list that something is compared with, the column compared, and its side."""
    for values in tree.find_all(exp.Values):
        owner = values.find_ancestor(exp.CTE, exp.Subquery)
        alias = owner.args.get("alias") if owner is not None else values.args.get("alias")
        if alias is None:
            continue
        names = [column.name for column in alias.columns]
        rows = [list(row.expressions) for row in values.expressions]
        for place, side in dict.fromkeys(_compared(tree, alias.name, names)):
            yield rows, place, side


def _compared(tree: exp.Query, table: str, names: list[str]) -> Iterator[tuple[int, str]]:
    for node in tree.find_all(*_SIDES):
        for column, sides in ((node.expression, _SIDES), (node.this, _TURNED)):
            if isinstance(column, exp.Column) and column.table == table and column.name in names:
                yield names.index(column.name), sides[type(node)]


def _name(row: list[exp.Expr]) -> tuple[str, ...]:
    return tuple(c.this for c in row if isinstance(c, exp.Literal) and c.is_string and not _far(c))


def _far(cell: exp.Expr) -> bool:
    while isinstance(cell, exp.Cast):
        cell = cell.this
    return isinstance(cell, exp.Literal) and cell.this.lstrip("+-").startswith("inf")


def _number(cell: exp.Expr) -> float | None:
    """The absolute value of a cell's number; None for a text and for no bound (infinity)."""
    while isinstance(cell, exp.Neg | exp.Cast | exp.Paren):
        cell = cell.this
    return float(cell.this) if isinstance(cell, exp.Literal) and not cell.is_string else None
