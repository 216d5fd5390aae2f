"""Frames of window functions as bounds on the rows that they take in.

``sum(uo) OVER (ORDER BY charttime RANGE BETWEEN INTERVAL 23 HOURS PRECEDING AND CURRENT ROW)`` of
one row takes in what lies in the 23 hours before it. The row's own value stands as a placeholder
of the output's name, to be filled from the cell's key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block
from engine.diagnosis.lineage.conditions import text_of


def frames(block: Block, expression: exp.Expr) -> tuple[exp.Expr, ...]:
    """The bounds that every window function of an expression sets; none where one sets none.

    Args:
        block: the SELECT.
        expression: one of its outputs.
    """
    each = [
        {bound.sql(dialect="duckdb"): bound for bound in _bounds(block, window)}
        for window in expression.find_all(exp.Window)
    ]
    shared = set.intersection(*(set(one) for one in each)) if each else set[str]()
    return tuple(each[0][text] for text in sorted(shared))


def filled(bound: exp.Expr, key: Mapping[str, object]) -> exp.Expr | None:
    """The expression with the key's values for its placeholders; None where the key lacks one."""
    if bound.find(exp.Placeholder) is None:
        return bound
    names = [node.name for node in bound.find_all(exp.Placeholder)]
    if any(name not in key for name in names):
        return None
    return bound.copy().transform(
        lambda n: exp.convert(key[n.name]) if isinstance(n, exp.Placeholder) else n
    )


def told(bound: exp.Expr) -> str:
    """The bound in SQL; the row's own value by its column's name."""
    plain = bound.copy().transform(
        lambda n: exp.column(n.name, table="this_row") if isinstance(n, exp.Placeholder) else n
    )
    return text_of(plain)


def _bounds(block: Block, window: exp.Window) -> Iterator[exp.Expr]:
    named = {w.name.lower(): w for w in block.select.args.get("windows") or ()}
    whole = named.get(window.alias.lower(), window) if window.alias else window
    order, spec = whole.args.get("order"), whole.args.get("spec")
    if order is None or spec is None or str(spec.args.get("kind")).upper() != "RANGE":
        return
    first, *others = order.expressions
    by = first.this
    if others or first.args.get("desc") or not isinstance(by, exp.Column):
        return
    own = next((n for n, e in block.outputs.items() if e == by or n == by.name.lower()), None)
    if own is None:
        return
    for side, kind, move in (("start", exp.GTE, exp.Sub), ("end", exp.LTE, exp.Add)):
        here: exp.Expr = exp.Placeholder(this=own)
        at = spec.args.get(side)
        if isinstance(at, exp.Expr) and isinstance(at, exp.Interval):
            here = move(this=here, expression=at.copy())
        elif str(at).upper() != "CURRENT ROW":
            continue
        yield kind(this=by.copy(), expression=here)
