"""Changes of values: aggregates, fallbacks, rules of a score, arithmetic, rounding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.context import SORTS, columns, is_key, is_time, number
from engine.diagnosis.recompute.mutation import short

_SUFFIX = re.compile(r"_(min|max|mean|avg)$")
_CLOCKS = (
    "charttime",
    "starttime",
    "nursingchartoffset",
    "intakeoutputoffset",
    "physicalexamoffset",
)


def value_changes(node: exp.Expr) -> Iterator[Change]:  # noqa: C901 - one line per kind of node
    """Every change of a value that begins at `node`."""
    if isinstance(node, exp.Min | exp.Max | exp.Avg | exp.Sum):
        yield from _aggregate(node)
    elif isinstance(node, exp.Coalesce):
        yield from _coalesce(node)
    elif isinstance(node, exp.Case):
        yield from _case(node)
    elif isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        yield from _if(node)
    elif isinstance(node, exp.Mul | exp.Div | exp.Add | exp.Sub):
        yield from _arithmetic(node)
    elif isinstance(node, exp.Round | exp.Floor | exp.Ceil):
        yield ("rounding", node.this.copy(), "a rounding left out", {"way": "unrounded"})
    elif isinstance(node, exp.Cast):
        yield from _cast(node)
    elif isinstance(node, exp.Greatest | exp.Least):
        yield from _extreme(node)
    elif isinstance(node, exp.Column):
        yield from _sibling(node)
    elif isinstance(node, exp.Filter):
        condition = node.expression.this
        if not isinstance(condition, exp.Connector):
            yield (
                "condition-dropped",
                node.this.copy(),
                f"a condition left out ({short(condition, 80)})",
                {"without": short(condition)},
            )
    elif isinstance(node, exp.Lower | exp.Upper | exp.Trim):
        yield (
            "label-spelling",
            node.this.copy(),
            "labels compared as they are spelt",
            {"way": type(node).__name__.lower()},
        )


def _aggregate(node: exp.Expr) -> Iterator[Change]:
    inside = node.this
    named: dict[type[exp.Expr], str] = {
        exp.Min: "lowest",
        exp.Max: "highest",
        exp.Avg: "mean",
        exp.Sum: "sum",
    }
    was = named[type(node)]
    for other, said in named.items():
        if other is type(node) or (other is exp.Sum and type(node) is not exp.Avg):
            continue
        if other in (exp.Avg, exp.Sum) and is_time(inside):
            continue
        if exp.Sum in (other, type(node)):
            name = "sum-aggregate"
        elif exp.Avg in (other, type(node)):
            name = "mean-worst"
        else:
            name = "min-max"
        yield (
            name,
            other(this=inside.copy()),
            f"the {said} instead of the {was} of {short(inside, 60)}",
            {"taken": said, "instead_of": was},
        )
    if isinstance(node.parent, exp.Window):
        return
    clock = _clock(node)
    if clock is None or is_time(inside):
        return
    for function, said in (("arg_min", "first"), ("arg_max", "last")):
        yield (
            "first-last",
            exp.Anonymous(this=function, expressions=[inside.copy(), clock.copy()]),
            f"the {said} instead of the {was} of {short(inside, 60)}",
            {"taken": said, "instead_of": was},
        )


def added_up(node: exp.Expr) -> Iterator[Change]:
    """Values of the output added up, where one of several records is chosen.

    Only where the sum is seen as such: what is compared with a bound further on is above it by any
    sum of readings, so that would fit too much.
    """
    select = node.find_ancestor(exp.Select) if isinstance(node, exp.Max | exp.Min) else None
    if (
        select is not None
        and select.parent is None
        and select.args.get("group") is not None
        and not isinstance(node.parent, exp.Window)
        and not is_time(node.this)
    ):
        was = "highest" if isinstance(node, exp.Max) else "lowest"
        yield (
            "sum-aggregate",
            exp.Sum(this=node.this.copy()),
            f"the sum instead of the {was} of {short(node.this, 60)}",
            {"taken": "sum", "instead_of": was},
        )


def _clock(node: exp.Expr) -> exp.Column | None:
    """The time of the rows that an aggregate goes over, as far as its SELECT names one."""
    select = node.find_ancestor(exp.Select)
    if select is None:
        return None
    group = select.args.get("group")
    grouped = {c.name for c in columns(group)} if group is not None else set()
    mine = {c.table for c in columns(node)}
    for column in columns(select):
        if (
            column.name in _CLOCKS
            and column.name not in grouped
            and (column.table in mine or not mine - {""})
            and column.find_ancestor(exp.Select) is select
        ):
            return column
    if grouped & set(_CLOCKS):
        return None
    source = select.args.get("from_") or select.args.get("from")
    if len(mine) == 1 and source is not None:  # try the commonest; a failing change is passed over
        return exp.column(_CLOCKS[0], table=next(iter(mine)) or None)
    return None


def _coalesce(node: exp.Coalesce) -> Iterator[Change]:
    first, rest = node.this, list(node.expressions)
    if not rest:
        return
    last = rest[-1]
    value = number(last)
    shorter = (
        exp.Coalesce(this=first.copy(), expressions=[r.copy() for r in rest[:-1]])
        if len(rest) > 1
        else first.copy()
    )
    if value is not None:
        yield (
            "missing-left-null",
            shorter,
            f"no {value:g} for a missing {short(first, 60)}",
            {"normal": value},
        )
        for other in {0.0, 1.0} - {value}:
            new = node.copy()
            new.set("expressions", [*(r.copy() for r in rest[:-1]), exp.Literal.number(int(other))])
            yield (
                "missing-as-value",
                new,
                f"a missing {short(first, 60)} taken as {other:g} instead of {value:g}",
                {"taken": other, "normal": value},
            )
    else:
        yield ("fallback", shorter, f"no fallback on {short(last, 60)}", {"without": short(last)})
        without = (
            exp.Coalesce(this=rest[0].copy(), expressions=[r.copy() for r in rest[1:]])
            if len(rest) > 1
            else rest[0].copy()
        )
        yield (
            "fallback",
            without,
            f"{short(first, 60)} not taken at all",
            {"without": short(first)},
        )
        if len(rest) == 1:
            new = exp.Coalesce(this=last.copy(), expressions=[first.copy()])
            yield ("fallback", new, f"{short(last, 60)} taken first", {"first": short(last)})
    if len(rest) > 1 and value is not None:
        for gone in rest[:-1]:
            new = node.copy()
            new.set("expressions", [r.copy() for r in rest if r is not gone])
            yield ("fallback", new, f"no fallback on {short(gone, 60)}", {"without": short(gone)})


def _case(node: exp.Case) -> Iterator[Change]:
    branches = node.args["ifs"]
    if len(branches) == 1:
        yield from _if(branches[0], node.args.get("default"))
    for branch in branches if len(branches) > 1 else ():
        new = node.copy()
        new.set("ifs", [b.copy() for b in branches if b is not branch])
        asks_null = branch.find(exp.Is) is not None and branch.find(*SORTS) is None
        yield (
            "missing-as-value" if asks_null else "rule-dropped",
            new,
            f"a rule left out (when {short(branch.this, 80)})",
            {"without": short(branch.this)},
        )
    if node.args.get("default") is not None:
        new = node.copy()
        new.set("default", None)
        yield ("missing-left-null", new, "null where no rule applies", {})
    yield from _asked(node)


def _asked(node: exp.Case) -> Iterator[Change]:
    """What a rule asks of: missing taken as zero, or cut down before it is compared."""
    branches = node.args["ifs"]
    asked: dict[str, exp.Column] = {}
    for branch in branches:
        for comparison in branch.this.find_all(*SORTS, exp.Is):
            for column in columns(comparison):
                if not is_time(column) and not is_key(column):
                    asked.setdefault(column.sql(), column)
    has_bounds = any(number(c.expression) is not None for c in node.find_all(*SORTS))
    for text, column in list(asked.items())[:6]:
        yield (
            "missing-as-value",
            _wrapped(node, text, lambda c: exp.func("coalesce", c, exp.Literal.number(0))),
            f"a missing {column.name} taken as 0",
            {"taken": 0, "missing": column.name},
        )
        if has_bounds:
            yield (
                "rounding",
                _wrapped(node, text, lambda c: exp.Floor(this=c)),
                f"{column.name} cut down to whole numbers before it is compared",
                {"way": "floor", "of": column.name},
            )


def _wrapped(node: exp.Expr, column: str, wrap: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy with something around each use of a column."""
    new = node.copy()
    for inner in list(new.find_all(exp.Column)):
        if inner.sql() == column:
            inner.replace(wrap(inner.copy()))
    return new


def _if(node: exp.If, otherwise: exp.Expr | None = None) -> Iterator[Change]:
    yes, no = node.args["true"], node.args.get("false") or otherwise
    if no is None or isinstance(no, exp.Null):
        yield (
            "condition-dropped",
            yes.copy(),
            f"a condition left out ({short(node.this, 80)})",
            {"without": short(node.this)},
        )
    else:
        yield ("rule-dropped", no.copy(), f"a rule left out (if {short(node.this, 80)})", {})
        yield ("rule-dropped", yes.copy(), f"a rule always applied (if {short(node.this, 80)})", {})


def _arithmetic(node: exp.Expr) -> Iterator[Change]:
    assert isinstance(node, exp.Binary)  # noqa: S101 - for the type checker
    by = number(node.right)
    if by is not None and not is_time(node):
        yield (
            "unit-conversion",
            node.left.copy(),
            f"a conversion left out ({short(node, 60)})",
            {"without": f"{short(node, 80)}"},
        )
        inner = node.left
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Binary) and number(inner.right) is not None:
            yield (
                "unit-conversion",
                inner.left.copy(),
                f"a conversion left out ({short(node, 60)})",
                {"without": f"{short(node, 80)}"},
            )
        return
    if isinstance(node, exp.Add) and not isinstance(node.parent, exp.Add):
        yield from _summed(node)
    if isinstance(node, exp.Add) and not is_time(node):
        for gone, stays in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(gone, exp.Add):
                yield (
                    "sum-of-parts",
                    stays.copy(),
                    f"a sum without {short(gone, 60)}",
                    {"without": short(gone)},
                )
    if isinstance(node, exp.Div):
        yield ("unit-conversion", node.left.copy(), f"not divided by {short(node.right, 60)}", {})


def _cast(node: exp.Cast) -> Iterator[Change]:
    to = node.args["to"]
    if to.this in (exp.DType.DECIMAL,):
        yield (
            "rounding",
            exp.cast(node.this.copy(), "DOUBLE"),
            "a rounding left out",
            {"way": "unrounded"},
        )
    elif to.this in (exp.DType.INT, exp.DType.BIGINT) and not isinstance(node.this, exp.Predicate):
        yield (
            "rounding",
            exp.cast(exp.Floor(this=node.this.copy()), to.copy()),
            "numbers cut down",
            {"way": "floor"},
        )


def _extreme(node: exp.Expr) -> Iterator[Change]:
    parts = [node.this, *node.expressions]
    other = exp.Least if isinstance(node, exp.Greatest) else exp.Greatest
    named = "lowest" if other is exp.Least else "highest"
    yield (
        "min-max",
        other(this=parts[0].copy(), expressions=[p.copy() for p in parts[1:]]),
        f"the {named} of several values",
        {"taken": named},
    )
    if not any(is_time(p) for p in parts):
        yield "sum-aggregate", _sum(node), "several values added up", {"taken": "sum"}
    for gone in parts:
        rest = [p.copy() for p in parts if p is not gone]
        new = rest[0] if len(rest) == 1 else type(node)(this=rest[0], expressions=rest[1:])
        yield (
            "window" if is_time(gone) else "rule-dropped",
            new,
            f"{short(gone, 60)} not considered",
            {"without": short(gone)},
        )


def _sum(node: exp.Expr) -> exp.Expr:
    """The values of a `greatest` or `least` added up."""
    parts = [p.copy() for p in (node.this, *node.expressions)]
    total = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    return exp.Paren(this=total)


def _summed(node: exp.Add) -> Iterator[Change]:
    """A total in which every highest-of-several is added up instead: no rank among the parts."""
    new = node.copy()
    chosen = [n for n in new.find_all(exp.Greatest) if n.find_ancestor(exp.Select) is None]
    if len(chosen) > 1 and not is_time(node):
        for inner in chosen:
            inner.replace(_sum(inner))
        yield (
            "sum-aggregate",
            new,
            f"all parts added up where only the highest of some counts ({len(chosen)} places)",
            {"taken": "sum", "places": len(chosen)},
        )


def _sibling(node: exp.Column) -> Iterator[Change]:
    """``…_min`` for ``…_max``; where there is no such column the change is passed over."""
    match = _SUFFIX.search(node.name)
    if match is None:
        return
    named = {"min": "lowest", "max": "highest", "mean": "mean", "avg": "mean"}
    for other in ("min", "max", "mean"):
        if other != match.group(1):
            new = node.copy()
            new.set("this", exp.to_identifier(_SUFFIX.sub(f"_{other}", node.name)))
            yield (
                "mean-worst" if "mean" in (other, match.group(1)) else "min-max",
                new,
                (
                    f"the {named[other]} instead of the {named[match.group(1)]} "
                    f"{_SUFFIX.sub('', node.name)}"
                ),
                {"taken": named[other], "instead_of": named[match.group(1)]},
            )
