"""Changes of conditions: strictness, bounds, what is left out, joins, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from engine.diagnosis.recompute.context import (
    SORTS,
    columns,
    is_item,
    is_key,
    is_time,
    joins_keys,
    kind,
    literal,
    number,
)
from engine.diagnosis.recompute.mutation import short

Change = tuple[str, exp.Expr, str, dict[str, str | float | int]]
"""Hypothesis id, what stands there instead, words, parameters."""

_FLIPPED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.LTE,
    exp.LTE: exp.LT,
    exp.GT: exp.GTE,
    exp.GTE: exp.GT,
}
_LONG = 60
"""Longer lists are dropped from as wholes only."""
_LOW = 15
"""Up to here a threshold one off is tried: a total of points, not a measurement."""
_SHORT = 8
"""Of shorter lists each member alone is tried too."""
_MINUTES = (0, 60, 360, 720, 1440, 2880)
_SAID = {
    "window": "a bound in time left out",
    "item-set": "a choice of items left out",
    "condition-dropped": "a condition left out",
}


def condition_changes(node: exp.Expr) -> Iterator[Change]:
    """Every change of a condition that begins at `node`."""
    if isinstance(node, SORTS):
        yield from _comparison(node)
    elif isinstance(node, exp.Between):
        yield from _between(node)
    elif isinstance(node, exp.And):
        yield from _left_out(node)
    elif isinstance(node, exp.Or):
        yield from _alternative(node)
    elif isinstance(node, exp.Where | exp.Qualify | exp.Having):
        yield from _clause(node)
    elif isinstance(node, exp.In):
        yield from _list(node)
    elif isinstance(node, exp.Join):
        yield from _join(node)
    elif isinstance(node, exp.Exists):
        yield ("condition-dropped", exp.true(), "a condition on other rows left out", {})
        yield ("rule-dropped", exp.false(), "a rule never applied", {})
    elif isinstance(node, exp.EQ):
        yield from _key_changed(node)


def _comparison(node: exp.Expr) -> Iterator[Change]:
    assert isinstance(node, exp.Binary)  # noqa: S101 - for the type checker
    flipped = _FLIPPED[type(node)](this=node.left.copy(), expression=node.right.copy())
    strict = isinstance(flipped, exp.LT | exp.GT)
    timed = is_time(node) and number(node.right) is None
    words = (
        f"an end of the window {'left out' if strict else 'counted in'}"
        if timed
        else f"a threshold taken as {'strict' if strict else 'inclusive'}"
    )
    yield (
        "threshold-edge" if not timed else "window",
        flipped,
        words,
        {"edge": "strict" if strict else "inclusive"},
    )
    bound = number(node.right)
    if bound is None:
        return
    if is_time(node):  # minutes from an admission
        for other in _MINUTES:
            if abs(bound) != other:
                signed = -other if bound < 0 else other
                yield (
                    "window",
                    type(node)(this=node.left.copy(), expression=literal(float(signed))),
                    "another end of the window",
                    {"end": signed, "instead_of": bound},
                )
        return
    nearby = [bound - 1, bound + 1] if bound == int(bound) and bound <= _LOW else []
    for near in nearby:
        if near != bound:
            yield (
                "threshold",
                type(node)(this=node.left.copy(), expression=literal(near)),
                "another threshold",
                {"threshold": near},
            )


def _between(node: exp.Between) -> Iterator[Change]:
    value, low, high = node.this, node.args["low"], node.args["high"]
    timed = is_time(node)
    for lower, upper, edge in (
        (exp.GT, exp.LTE, "lower"),
        (exp.GTE, exp.LT, "upper"),
        (exp.GT, exp.LT, "both"),
    ):
        new = exp.and_(
            lower(this=value.copy(), expression=low.copy()),
            upper(this=value.copy(), expression=high.copy()),
        )
        yield (
            "window" if timed else "threshold-edge",
            exp.Paren(this=new),
            "an end left out that counts",
            {"edge": edge},
        )
    name = "window" if timed else "condition-dropped"
    yield (name, exp.GTE(this=value.copy(), expression=low.copy()), "no upper bound", {})
    yield (name, exp.LTE(this=value.copy(), expression=high.copy()), "no lower bound", {})
    if timed:
        first, last = number(low), number(high)
        for wide in _MINUTES[1:]:
            if last is not None and wide != last:
                new_high = node.copy()
                new_high.set("high", literal(wide))
                yield ("window", new_high, "another end of the window", {"end": wide})
            if first is not None and -wide != first:
                new_low = node.copy()
                new_low.set("low", literal(-wide))
                yield ("window", new_low, "another start of the window", {"start": -wide})
        if first:
            from_zero = node.copy()
            from_zero.set("low", literal(0))
            yield ("window", from_zero, "a window that starts later", {"start": 0})


def _left_out(node: exp.And) -> Iterator[Change]:
    if not isinstance(node.parent, exp.Connector):
        yield from _unbounded(node)
    for gone, stays in ((node.left, node.right), (node.right, node.left)):
        if isinstance(gone, exp.And) or any(joins_keys(part) for part in _parts(gone)):
            continue
        name = kind(gone)
        yield (name, stays.copy(), f"{_SAID[name]} ({short(gone, 80)})", {"without": short(gone)})


def _unbounded(node: exp.And) -> Iterator[Change]:
    """Both ends of a window left out: all rows of whatever time are joined."""
    parts = list(node.flatten())
    bounds = [p for p in parts if kind(p) == "window" and not joins_keys(p)]
    rest = [p.copy() for p in parts if not any(p is bound for bound in bounds)]
    if len(bounds) < 2 or not rest:  # noqa: PLR2004 - one end alone is `_left_out`
        return
    join = node.parent if isinstance(node.parent, exp.Join) else None
    said = f"rows of {join.this.name} of any time joined" if join else "rows of any time counted"
    yield (
        "one-to-many-join" if join else "window",
        exp.and_(*rest, copy=False),
        f"{said}: no {' and '.join(short(b, 60) for b in bounds)}",
        {"without": " AND ".join(short(b) for b in bounds)},
    )


def _parts(node: exp.Expr) -> list[exp.Expr]:
    inner = node.this if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Connector):
        return [*_parts(inner.left), *_parts(inner.right)]
    return [inner]


def _alternative(node: exp.Or) -> Iterator[Change]:
    for gone, stays in ((node.left, node.right), (node.right, node.left)):
        if isinstance(gone, exp.Or):
            continue
        name = "item-set" if is_item(gone) else "rule-dropped"
        yield (
            name,
            stays.copy(),
            f"an alternative left out ({short(gone, 80)})",
            {"without": short(gone)},
        )
    yield (
        "condition-changed",
        exp.Paren(this=exp.And(this=node.left.copy(), expression=node.right.copy())),
        "two conditions both asked for where one is enough",
        {},
    )


def _clause(node: exp.Expr) -> Iterator[Change]:
    condition = node.this
    if isinstance(condition, exp.Connector) or any(joins_keys(p) for p in _parts(condition)):
        return
    name = kind(condition)
    if isinstance(node, exp.Qualify):
        name = "one-to-many-join"
    yield (
        name,
        type(node)(this=exp.true()),
        f"{_SAID.get(name, 'a choice of one row left out')} ({short(condition, 80)})",
        {"without": short(condition)},
    )


def _list(node: exp.In) -> Iterator[Change]:
    members = node.args.get("expressions") or []
    yield from _spelt(node)
    if not 1 < len(members) <= _LONG:
        return
    for gone in members:
        new = node.copy()
        new.set("expressions", [m.copy() for m in members if m is not gone])
        yield (
            "item-set",
            new,
            f"{columns(node)[0].name if columns(node) else 'a list'} without {short(gone, 60)}",
            {"without": short(gone)},
        )
    if len(members) <= _SHORT:
        for kept in members:
            new = node.copy()
            new.set("expressions", [kept.copy()])
            yield (
                "item-set",
                new,
                f"only {short(kept, 60)} of {len(members)}",
                {"only": short(kept)},
            )


def _spelt(node: exp.Expr) -> Iterator[Change]:
    """Labels asked for as they look, not as they are: without blanks at an end, in small letters.

    A label that is not there as it is spelt chooses no row.
    """
    labels = [text.this for text in node.find_all(exp.Literal) if text.is_string]
    ways: tuple[tuple[str, Callable[[str], str], str], ...] = (
        ("space", str.strip, "labels looked for without the blanks at their ends"),
        ("case", str.lower, "labels looked for in small letters"),
        ("case-up", str.upper, "labels looked for in capitals"),
    )
    for way, spell, said in ways:
        if any(spell(label) != label for label in labels):
            new = node.copy()
            for text in list(new.find_all(exp.Literal)):
                if text.is_string:
                    text.replace(exp.Literal.string(spell(text.this)))
            yield "label-matching", new, said, {"way": way}


def _join(node: exp.Join) -> Iterator[Change]:
    new = node.copy()
    if node.side == "LEFT":
        new.set("side", None)
        new.set("kind", "INNER" if node.method != "ASOF" else None)
        said = node.this.name or node.alias_or_name
        yield (
            "inner-join",
            new,
            f"an inner instead of a left join: stays without {said} are lost",
            {"without": said},
        )
    elif node.kind in ("", "INNER") and node.method != "ASOF" and node.args.get("on"):
        new.set("kind", None)
        new.set("side", "LEFT")
        yield (
            "filtered-cohort",
            new,
            "a left instead of an inner join: stays are kept that should be lost",
            {"join": "left"},
        )


def _key_changed(node: exp.EQ) -> Iterator[Change]:
    """A join by admission instead of patient, and the like."""
    names = ("subject_id", "hadm_id", "stay_id")
    one, other = node.left, node.right
    if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
        if isinstance(other, exp.Literal) and isinstance(one, exp.Column) and not is_key(one):
            yield from _spelt(node)
            yield from _equal(node)
        return
    if one.name != other.name or one.name not in names or one.table == other.table:
        return
    for name in names:
        if name != one.name:
            new = exp.EQ(
                this=exp.column(name, table=one.table), expression=exp.column(name, other.table)
            )
            yield (
                "condition-changed",
                new,
                f"rows joined by {name} instead of {one.name}",
                {"joined_by": name},
            )


def _equal(node: exp.EQ) -> Iterator[Change]:
    """A number asked for exactly, taken as a bound."""
    value = number(node.right)
    if value is None or is_item(node):
        return
    for kind_, said in ((exp.GTE, "at least"), (exp.LTE, "at most")):
        yield (
            "condition-changed",
            kind_(this=node.left.copy(), expression=node.right.copy()),
            f"{said} {value:g} instead of exactly {value:g}",
            {},
        )
