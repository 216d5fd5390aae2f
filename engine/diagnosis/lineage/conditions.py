"""Conditions of our SQL: what they ask of rows, and in whose words."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, aggregates, conjuncts


def never(block: Block, condition: exp.Expr) -> bool:
    """Is an output one of some constants, and none of those that the condition asks for?"""
    if not isinstance(condition, (exp.EQ, exp.In)) or not isinstance(condition.this, exp.Column):
        return False
    asked = condition.expressions if isinstance(condition, exp.In) else [condition.expression]
    wanted = [_constants(each) for each in asked]
    given = _constants(block.outputs.get(condition.this.name.lower()))
    return bool(given) and bool(wanted) and all(wanted) and not given & set[str]().union(*wanted)


def _constants(expression: exp.Expr | None) -> set[str]:
    """The texts that an expression can be; empty where that is not known."""
    if isinstance(expression, exp.Literal) and expression.is_string:
        return {expression.name}
    if isinstance(expression, exp.If):
        sides = [_constants(expression.args.get(side)) for side in ("true", "false")]
        return set[str]().union(*sides) if all(sides) else set()
    return set()


def filters_of(expression: exp.Expr) -> Iterator[exp.Expr]:
    """What every aggregate of an output asks of its rows: FILTER, and the test of a bool_or."""
    each = [{c.sql(): c for c in _asked_by(aggregate)} for aggregate in aggregates(expression)]
    shared = set.intersection(*(set(one) for one in each)) if each else set[str]()
    for text in sorted(shared):
        yield each[0][text]


def _asked_by(aggregate: exp.AggFunc) -> Iterator[exp.Expr]:
    if isinstance(aggregate.parent, exp.Filter):
        yield from conjuncts(aggregate.parent.expression.this)
    if isinstance(aggregate, exp.LogicalOr) and isinstance(aggregate.this, exp.EQ):
        yield aggregate.this


def lowered(block: Block, extra: tuple[exp.Expr, ...]) -> Iterator[exp.Expr]:
    """Conditions on outputs as conditions on what the outputs are."""
    for condition in extra:
        names = {c.name.lower() for c in condition.find_all(exp.Column)}
        if all(_is_of_one_row(block.outputs.get(n)) for n in names):
            yield condition.copy().transform(
                lambda node: (
                    _enclosed(block.outputs[node.name.lower()].copy())
                    if isinstance(node, exp.Column)
                    else node
                )
            )


def _is_of_one_row(output: exp.Expr | None) -> bool:
    """Is the output worked out of its own row alone?"""
    return (
        output is not None
        and output.find(exp.Column) is not None
        and output.find(exp.AggFunc, exp.Window, exp.Exists, exp.Select, exp.Unnest, exp.Explode)
        is None
    )


def _enclosed(output: exp.Expr) -> exp.Expr:
    return output if isinstance(output, (exp.Column, exp.Func)) else exp.Paren(this=output)


def is_only_of(block: Block, condition: exp.Expr, alias: str) -> bool:
    """Can the condition be asked of one relation alone?"""
    if condition.find(exp.Exists, exp.Select, exp.Window, exp.AggFunc):
        return False
    return block.read(condition) == {alias} and alias in block.sources


def unaliased(condition: exp.Expr) -> exp.Expr:
    """The condition with its columns' aliases left out."""
    return condition.copy().transform(
        lambda n: exp.column(n.name.lower()) if isinstance(n, exp.Column) else n
    )


def refusing(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Comparisons that leave a value out: of filters, and of branches without another value."""
    for node in expression.walk(prune=lambda n: isinstance(n, (exp.Exists, exp.Select))):
        if isinstance(node, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)):
            branch = _branch(node)
            if branch is None or _is_null(_otherwise(branch)):
                yield node


def _branch(test: exp.Expr) -> exp.If | None:
    """The branch that a test decides."""
    node: exp.Expr = test
    while (parent := node.parent) is not None and not isinstance(parent, exp.Select):
        if isinstance(parent, exp.If) and node is parent.this:
            return parent
        node = parent
    return None


def _otherwise(branch: exp.If) -> exp.Expr | None:
    """The value where no branch is taken."""
    whole = branch.parent if isinstance(branch.parent, exp.Case) else None
    found = branch.args.get("false") if whole is None else whole.args.get("default")
    return found if isinstance(found, exp.Expr) else None


def _is_null(expression: exp.Expr | None) -> bool:
    return expression is None or isinstance(expression, exp.Null)


NOT_MET = "not met: "
"""Before a condition that refuses a row."""
_OTHER_TESTS = (exp.EQ, exp.NEQ, exp.In, exp.Is, exp.Like, exp.Length, exp.Anonymous)


def refusal(rule: str) -> str:
    """A rule of a row's own values (SQL), with what it means that the row fails it."""
    test = sqlglot.parse_one(rule, read="duckdb")
    compares = test.find(exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between) is not None
    is_range = compares and test.find(*_OTHER_TESTS) is None
    return f"{'out of range: ' if is_range else NOT_MET}{rule}"


def text_of(expression: exp.Expr) -> str:
    """In SQL, without comments."""
    return expression.sql(dialect="duckdb", comments=False)
