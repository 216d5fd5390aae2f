"""Clauses of a SELECT of ours: its outputs, and what functions in it look at."""

from __future__ import annotations

from sqlglot import exp

from engine.base.errors import HarnessFault
from engine.diagnosis.lineage.scope import Scope

RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
"""Functions that count rows before a row."""


def keeps_the_first(condition: exp.Expr) -> bool:
    """Is it ``row_number() OVER (…) = 1``?"""
    return (
        isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Window)
        and isinstance(condition.this.this, RANKS)
        and condition.expression.sql() == "1"
    )


def named_outputs(tree: exp.Select, scope: Scope) -> list[tuple[str, exp.Expr]]:
    """Name and expression of every output, stars written out."""
    outputs: list[tuple[str, exp.Expr]] = []
    for projection in tree.expressions:
        star = projection.this if isinstance(projection, exp.Column) else projection
        if isinstance(star, exp.Star):
            left_out = {
                e.name.lower() for e in star.args.get("except_") or star.args.get("except") or ()
            }
            table = projection.table.lower() if isinstance(projection, exp.Column) else ""
            for alias, seen in scope.aliases.items():
                if table in ("", alias):
                    outputs += [
                        (name, exp.column(name, table=alias))
                        for name in seen.relation.columns
                        if name not in left_out
                    ]
            continue
        name = projection.alias_or_name.lower()
        if not name:
            raise HarnessFault("An output column has no name.")
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        outputs.append((name, inner))
    return outputs


def is_null_test(condition: exp.Expr) -> bool:
    """Does it ask only whether something is null, or is not?"""
    test = condition.this if isinstance(condition, exp.Not) else condition
    return isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)


def argument_of(node: exp.Expr) -> exp.Expr | None:
    """What an aggregate or window function looks at; None for ``count(*)``."""
    argument = node.this
    while isinstance(argument, (exp.Order, exp.Distinct)):
        argument = argument.this if isinstance(argument, exp.Order) else argument.expressions[0]
    return None if argument is None or isinstance(argument, exp.Star) else argument


def in_window(node: exp.Expr) -> bool:
    """Is it a function over a window?"""
    parent = node.parent
    if isinstance(parent, exp.Filter):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def over_text(node: exp.Window) -> str:
    """The text from OVER on."""
    copy = node.copy()
    copy.set("this", exp.Var(this="f"))
    text = copy.sql(dialect="duckdb", comments=False)
    return text[1:]
