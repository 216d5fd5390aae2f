"""What a node of a query is about: time, items, keys, numbers."""

from __future__ import annotations

import re

from sqlglot import exp

_KEYS = re.compile(r"(^|_)(id|seq)$|^patient|^uniquepid$|^ab_id$")
_TIME = re.compile(r"time|offset|date|^hr$")
_ITEM = re.compile(
    r"itemid$|label$|name$|^antibiotic$|drug|icd_code|path$|curr_service|mode|device"
)
SORTS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def columns(node: exp.Expr) -> list[exp.Column]:
    """The columns named below a node."""
    return list(node.find_all(exp.Column))


def is_key(column: exp.Expr) -> bool:
    """A column that names somebody or something."""
    return isinstance(column, exp.Column) and bool(_KEYS.search(column.name))


def joins_keys(node: exp.Expr) -> bool:
    """An equality of two columns, without which a join would be everything by everything."""
    return (
        isinstance(node, exp.EQ)
        and isinstance(node.left, exp.Column)
        and isinstance(node.right, exp.Column)
        and (is_key(node.left) or is_key(node.right) or is_time(node))
    )


def is_time(node: exp.Expr) -> bool:
    """It compares or computes times."""
    if node.find(exp.Interval):
        return True
    return any(_TIME.search(column.name) and not is_key(column) for column in columns(node))


def is_item(node: exp.Expr) -> bool:
    """It chooses items: by number, label or code."""
    return any(_ITEM.search(column.name) for column in columns(node)) and (
        node.find(exp.Literal) is not None
    )


def kind(node: exp.Expr) -> str:
    """Which hypothesis leaving the condition out is."""
    if any(isinstance(n, exp.Is | exp.Exists) for n in (node, node.this)) and not is_item(node):
        return "condition-dropped"
    if is_time(node) and not is_item(node):
        return "window"
    if is_item(node):
        return "item-set"
    return "condition-dropped"


def number(node: exp.Expr | None) -> float | None:
    """The value of a numeric literal, perhaps with a sign or a cast."""
    if isinstance(node, exp.Neg):
        inner = number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast | exp.Paren):
        return number(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return None


def literal(value: float) -> exp.Expr:
    """A number as a literal, whole where it is whole."""
    text = str(int(value)) if value == int(value) else repr(value)
    made = exp.Literal.number(text.lstrip("-"))
    return exp.Neg(this=made) if value < 0 else made
