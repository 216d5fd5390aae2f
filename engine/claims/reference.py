"""What the SQL of a reference says beyond `engine.preflight.facts`: texts, codes, bands by case.

Everything is read from the syntax trees of the target and of every derived table below it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp, parse_one

from engine.concepts import concept_graph
from engine.preflight.facts import LARGE, SECONDS, ReferenceFacts, reference_facts
from engine.references import find_target

Pair = tuple[float, float]
"""A number of a condition, and what is given where it holds."""
Window = tuple[str, float, str]
"""``+`` or ``-``, seconds, and how the time is compared with that end (``<=``, ``>``, …)."""

T = TypeVar("T", str, float)

CODE = re.compile(r"(?:[A-TV-Z]\d[0-9A-Z]{1,3}|[VE]?\d{2,5})")
"""How a diagnosis code without its dot looks."""
_GROUP = 3
"""Cells of a row that lists the codes of a condition: its name, …, the codes."""
_OPERATORS: dict[type[exp.Expr], str] = {exp.LT: "<", exp.GT: ">", exp.LTE: "<=", exp.GTE: ">="}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class ReferenceRules:
    """What one target's SQL says, with that of every derived table below it."""

    facts: ReferenceFacts
    """Items, numbers and bounds as the lint knows them."""
    texts: frozenset[str]
    """Texts that columns are compared with and that the SQL does not itself make."""
    lists: tuple[frozenset[str], ...]
    """The same, those together that one query compares one column with."""
    literals: frozenset[str]
    """Every text of the SQL."""
    given: Mapping[str, frozenset[str]]
    """Text to what is given where it is found, both as they stand in the SQL."""
    codes: frozenset[str]
    """Diagnosis codes without a dot, ranges as ``a..b``."""
    groups: Mapping[str, frozenset[str]]
    """Condition to its codes, where the SQL has them as a list by condition."""
    cases: tuple[frozenset[Pair], ...]
    """The bands of each CASE."""
    windows: frozenset[Window]
    """Ends of windows, counted from admission to the unit."""
    defaults: Mapping[str, frozenset[float]]
    """Column to the numbers that stand for it where it is missing."""
    products: Mapping[str, frozenset[float]]
    """Column to the numbers that it is multiplied with or divided by."""
    reads: Mapping[str, tuple[str, ...]]
    """Table of the source (``schema.table``) to the columns that are read."""


@functools.lru_cache(maxsize=64)
def reference_rules(key: str) -> ReferenceRules:
    """The rules of the target called `key`.

    Raises:
        UsageError: there is no such target.
    """
    target = find_target(key)
    queries = (*concept_graph().order(target.concepts), target)
    trees = [parse_one(query.sql, dialect="duckdb") for query in queries]
    reads: dict[str, tuple[str, ...]] = {}
    for query in queries:
        for table in query.base_tables:
            reads[table] = tuple(dict.fromkeys([*reads.get(table, ()), *query.reads[table]]))
    groups = _gathered(pair for tree in trees for pair in _groups(tree))
    made = frozenset(text for tree in trees for text in _made(tree))
    literals = frozenset(text for tree in trees for text in _strings(tree))
    lists = [_gathered(_texts(tree)) for tree in trees]
    return ReferenceRules(
        facts=reference_facts(key),
        texts=frozenset().union(*(texts for found in lists for texts in found.values())) - made,
        lists=tuple(texts - made for found in lists for texts in found.values() if texts - made),
        literals=literals,
        given=_gathered(pair for tree in trees for pair in _given(tree)),
        codes=frozenset(code for tree in trees for code in _codes(tree)).union(*groups.values()),
        groups=groups,
        cases=tuple(
            pairs
            for tree in trees
            for pairs in (*_cases(tree), *_band_rows(tree))
            if len(pairs) > 1
        ),
        windows=frozenset(window for tree in trees for window in _windows(tree)),
        defaults=_gathered(pair for tree in trees for pair in _defaults(tree)),
        products=_gathered(pair for tree in trees for pair in _products(tree)),
        reads=reads,
    )


def _gathered(pairs: Iterator[tuple[str, T]]) -> dict[str, frozenset[T]]:
    found: dict[str, set[T]] = {}
    for name, value in pairs:
        found.setdefault(name, set()).add(value)
    return {name: frozenset(values) for name, values in found.items()}


def _strings(node: exp.Expr) -> Iterator[str]:
    for literal in node.find_all(exp.Literal):
        if literal.is_string:
            yield literal.this


def _is_code(predicate: exp.Expr) -> bool:
    return any("icd" in column.name or column.name == "code" for column in _columns(predicate))


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    yield from node.find_all(exp.Column)


def _made(tree: exp.Expr) -> Iterator[str]:
    """Texts that the SQL puts out itself."""
    for literal in tree.find_all(exp.Literal):
        parent = literal.parent
        if not literal.is_string:
            continue
        given = isinstance(parent, exp.If) and parent.args.get("true") is literal
        in_row = isinstance(parent, exp.Tuple) and len(parent.expressions) > 1
        if given or in_row or isinstance(parent, exp.Case | exp.Alias | exp.Select):
            yield literal.this


def _texts(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Column, and a text that it is compared with."""
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Contains, exp.StartsWith, exp.Tuple):
        if isinstance(node, exp.Tuple):
            if len(node.expressions) == 1 and isinstance(node.parent, exp.Values):
                yield from (("", text) for text in _strings(node))
        elif not _is_code(node) and any(True for _ in _columns(node.this)):
            for literal in [node.expression, *node.expressions]:
                if isinstance(literal, exp.Literal) and literal.is_string and literal.this:
                    yield next(_columns(node.this)).name, literal.this
    for node in tree.find_all(exp.RegexpLike):
        pattern = node.expression
        if isinstance(pattern, exp.Literal) and re.fullmatch(r"[\w |-]+", pattern.this):
            yield from (("~" + node.this.sql(), part) for part in pattern.this.split("|"))


def _given(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for branch in tree.find_all(exp.If):
        result = branch.args.get("true")
        if isinstance(result, exp.Literal) and result.is_string:
            for text in _strings(branch.this):
                yield text, result.this


def _groups(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for row in tree.find_all(exp.Tuple):
        cells = [cell for cell in row.expressions if isinstance(cell, exp.Literal)]
        if len(cells) >= _GROUP and cells[0].is_string and cells[-1].is_string:
            words = cells[-1].this.split()
            if words and all(
                re.fullmatch(rf"{CODE.pattern}(\.\.{CODE.pattern})?", w) for w in words
            ):
                yield from ((cells[0].this, word) for word in words)


def _codes(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.EQ, exp.In, exp.Between):
        if not any("icd_code" in column.name for column in _columns(node.this)):
            continue
        if isinstance(node, exp.Between):
            low, high = node.args["low"], node.args["high"]
            if not isinstance(low, exp.Literal):
                continue
            yield f"{low.name}..{high.name}"
        else:
            yield from _strings(node)


def _number(node: exp.Expr | None) -> float | None:
    sign = 1
    while isinstance(node, exp.Neg | exp.Cast | exp.Paren):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        return sign * float(node.this)
    return None


def _cases(tree: exp.Expr) -> Iterator[frozenset[Pair]]:
    """Of every CASE the numbers of a condition with what it gives, and with what the next gives."""
    for case in tree.find_all(exp.Case, exp.If):
        if isinstance(case, exp.If) and isinstance(case.parent, exp.Case):
            continue
        branches = case.args.get("ifs") if isinstance(case, exp.Case) else [case]
        pairs: set[Pair] = set()
        before: set[float] = set()
        for branch in branches or []:
            inside = {
                abs(float(literal.this))
                for literal in branch.this.find_all(exp.Literal)
                if not literal.is_string
            }
            result = _number(branch.args.get("true"))
            if isinstance(branch.args.get("true"), exp.Null):
                result = 0  # a missing variable has no points
            if result is not None:
                pairs |= {(number, result) for number in inside | before}
            before = inside
        result = _number(case.args.get("default") or case.args.get("false"))
        if result is not None:
            pairs |= {(number, result) for number in before}
        yield frozenset(pairs)


def _band_rows(tree: exp.Expr) -> Iterator[frozenset[Pair]]:
    """Bands that the SQL holds as rows in order: name, from where, points."""
    found: dict[str, set[Pair]] = {}
    before: dict[str, float] = {}
    for row in tree.find_all(exp.Tuple):
        if len(row.expressions) != _GROUP or not isinstance(row.expressions[0], exp.Literal):
            continue
        name = row.expressions[0].this
        start, given = _number(row.expressions[1]), _number(row.expressions[2])
        if given is None:
            continue
        if start is not None:
            ends = {
                (abs(start), points) for points in (before.get(name), given) if points is not None
            }
            found.setdefault(name, set()).update(ends)
        before[name] = given
    yield from map(frozenset, found.values())


def _windows(tree: exp.Expr) -> Iterator[Window]:
    for node in tree.find_all(exp.Add, exp.Sub):
        interval = node.expression
        if isinstance(interval, exp.Interval) and "intime" in node.this.name:
            unit = str(interval.args.get("unit") or "").lower().rstrip("s")
            if isinstance(interval.this, exp.Literal) and unit in SECONDS:
                seconds = float(interval.this.this) * SECONDS[unit]
                yield "+" if isinstance(node, exp.Add) else "-", seconds, _compared(node)
    for node in tree.find_all(exp.LT, exp.GT, exp.LTE, exp.GTE):
        number = _number(node.expression)
        if number and "offset" in node.this.name and abs(number) >= LARGE:  # minutes
            sign = "+" if number > 0 else "-"
            yield sign, abs(number) * 60, _OPERATORS[type(node)]
    for between in tree.find_all(exp.Between):
        for side, operator in (("low", ">="), ("high", "<=")):
            number = _number(between.args[side])
            if number and "offset" in between.this.name:
                yield "+" if number > 0 else "-", abs(number) * 60, operator


def _compared(node: exp.Expr) -> str:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        node, parent = parent, parent.parent
    operator = _OPERATORS.get(type(parent), "") if parent is not None else ""
    if isinstance(parent, exp.Between):
        return ">=" if parent.args["low"] is node else "<="
    return _TURNED[operator] if operator and parent and parent.this is node else operator


def _defaults(tree: exp.Expr) -> Iterator[tuple[str, float]]:
    for node in tree.find_all(exp.Coalesce):
        number = _number(node.expressions[-1] if node.expressions else None)
        if number is not None:
            yield from ((column.name, number) for column in node.this.find_all(exp.Column))


def _products(tree: exp.Expr) -> Iterator[tuple[str, float]]:
    for node in tree.find_all(exp.Mul, exp.Div):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            number = _number(other)
            if number is not None:
                yield from ((column.name, abs(number)) for column in _columns(one))
