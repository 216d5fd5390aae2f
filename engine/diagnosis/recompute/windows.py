"""Changes of windows in time, of order, and of where rows come from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.context import is_time, number
from engine.diagnosis.recompute.mutation import short

_LENGTHS: dict[str, tuple[int, ...]] = {
    "HOUR": (0, 1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 48, 72, 96),
    "DAY": (0, 1, 2, 3, 5, 7, 14, 30),
    "MINUTE": (0, 1, 5, 15, 30, 60),
    "MONTH": (0, 1, 3, 6, 12),
    "YEAR": (0, 1, 2, 5),
}
_ANCHORS = ("intime", "admittime")


def window_changes(node: exp.Expr) -> Iterator[Change]:
    """Every change of a window, an order or a source that begins at `node`."""
    if isinstance(node, exp.Interval):
        yield from _interval(node)
    elif isinstance(node, exp.Column) and node.name in _ANCHORS:
        yield from _anchor(node)
    elif isinstance(node, exp.Add | exp.Sub) and isinstance(node.right, exp.Interval):
        yield (
            "window",
            node.left.copy(),
            f"a window without the {_said(node.right)}",
            {"length": 0, "instead_of": _said(node.right)},
        )
    elif isinstance(node, exp.Ordered):
        yield from _order(node)
    elif isinstance(node, exp.Order):
        yield from _reversed(node)
    elif isinstance(node, exp.WindowSpec):
        yield from _frame(node)
    elif isinstance(node, exp.SetOperation):
        yield from _union(node)
    elif isinstance(node, exp.Lag | exp.Lead) or (
        isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Select)
    ):
        yield from _neighbour(node)


def _said(interval: exp.Expr) -> str:
    value, unit = _parts(interval)
    return f"{value:g} {unit.lower()}{'s' if value != 1 else ''}" if value is not None else "length"


def _parts(interval: exp.Expr) -> tuple[float | None, str]:
    inside = interval.this
    value = (
        float(inside.this)
        if isinstance(inside, exp.Literal) and inside.this.replace(".", "", 1).isdigit()
        else number(inside)
    )
    unit = str(interval.args.get("unit") or "").upper().rstrip("S")
    return value, unit


def _interval(node: exp.Interval) -> Iterator[Change]:
    value, unit = _parts(node)
    if value is None or unit not in _LENGTHS:
        return
    for other in sorted({*_LENGTHS[unit], int(value) - 1, int(value) + 1, int(value) // 2}):
        if other == value or (other == 0 and isinstance(node.parent, exp.Add | exp.Sub)):
            continue
        new = node.copy()
        new.set("this", exp.Literal.string(str(other)))
        yield (
            "window",
            new,
            f"{other} instead of {value:g} {unit.lower()}s",
            {"length": other, "instead_of": value, "unit": unit.lower()},
        )


def _anchor(node: exp.Column) -> Iterator[Change]:
    if isinstance(node.parent, exp.Alias | exp.Select | exp.Group):
        return
    yield (
        "window",
        exp.func("date_trunc", exp.Literal.string("day"), node.copy(), dialect="duckdb"),
        "a window that starts at midnight: calendar days",
        {"anchor": "calendar day"},
    )


def _order(node: exp.Ordered) -> Iterator[Change]:
    over = node.parent
    terms = list(over.expressions) if over is not None else []
    is_first = bool(terms) and terms[0] is node
    new = node.copy()
    now_desc = not node.args.get("desc")
    new.set("desc", now_desc)
    if is_first and is_time(node.this):
        name, words = (
            "first-last",
            f"the {'last' if now_desc else 'first'} by {short(node.this, 60)}",
        )
    elif is_first:
        name, words = (
            "min-max",
            f"the {'highest' if now_desc else 'lowest'} {short(node.this, 60)} chosen",
        )
    else:
        name, words = "tie-break", f"ties decided the other way by {short(node.this, 60)}"
    yield name, new, words, {"order": short(new)}
    if is_first and len(terms) > 1:
        follows = terms[1].this
        timed = is_time(follows) and not is_time(node.this)
        yield (
            "first-last" if timed else "tie-break",
            exp.Ordered(this=exp.Literal.number(1)),
            (
                f"{'the first by ' if timed else 'ordered by '}{short(follows, 60)} chosen, "
                f"not by {short(node.this, 60)}"
            ),
            {"without": short(node)},
        )
    if not is_first and len(terms) > 1:
        value = exp.Ordered(this=exp.Literal.number(1))
        yield (
            "tie-break",
            value,
            f"ties not decided by {short(node.this, 60)}",
            {"without": short(node)},
        )


def _reversed(node: exp.Order) -> Iterator[Change]:
    """The last instead of the first, where a day and a time (or two times) tell the order."""
    new = node.copy()
    times = list(itertools.takewhile(lambda term: is_time(term.this), new.expressions))
    if len(times) < 2:  # noqa: PLR2004 - one alone is `_order`
        return
    now_desc = not times[0].args.get("desc")
    for term in times:
        term.set("desc", not term.args.get("desc"))
        term.set("nulls_first", not term.args.get("nulls_first"))
    named = " and ".join(short(term.this, 60) for term in times)
    said = "last" if now_desc else "first"
    yield "first-last", new, f"the {said} by {named}", {"taken": said}


def _frame(node: exp.WindowSpec) -> Iterator[Change]:
    if node.args.get("exclude"):
        new = node.copy()
        new.set("exclude", None)
        yield "window", new, "the current row counted in", {"edge": "inclusive"}
    start = node.args.get("start")
    if isinstance(start, exp.Expr):
        wide = node.copy()
        wide.set("start", "UNBOUNDED")
        yield "window", wide, "a window that reaches back without an end", {"start": "unbounded"}
        length = number(start)
        if length:
            for factor in (0.5, 2.0):
                new = node.copy()
                new.set("start", exp.Literal.number(int(length * factor)))
                yield (
                    "window",
                    new,
                    f"a window {factor:g} times as long",
                    {"length": length * factor, "instead_of": length},
                )


def _union(node: exp.SetOperation) -> Iterator[Change]:
    for gone, stays in ((node.left, node.right), (node.right, node.left)):
        if isinstance(gone, exp.SetOperation):
            continue
        if (isinstance(stays, exp.Select) and isinstance(node.right, exp.Select)) or isinstance(
            stays, exp.SetOperation
        ):
            new = stays.copy()
        else:
            continue
        if node.args.get("with_") is not None:
            new.set("with_", node.args["with_"].copy())
        source = gone.find(exp.Table)
        said = source.name if source is not None else "one"
        yield ("source-dropped", new, f"rows of {said} left out", {"without": said})


def _neighbour(node: exp.Expr) -> Iterator[Change]:
    if isinstance(node, exp.Lag | exp.Lead):
        other = exp.Lead if isinstance(node, exp.Lag) else exp.Lag
        yield (
            "neighbouring-row",
            other(this=node.this.copy()),
            "the neighbour on the other side",
            {"row": "after" if other is exp.Lead else "before"},
        )
