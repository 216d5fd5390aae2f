"""Changes of which kinds of rows count: a category let past a condition, or left out; list rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.mutation import short

_MOST_LEVELS = 12
"""Of a category; what has more is no status."""
_MOST_ROWS = 200
"""Of a list in the SQL; longer ones are left as they are."""


def kind_changes(node: exp.Expr) -> Iterator[Change]:
    """Every change of what kinds of rows count that begins at `node`."""
    if isinstance(node, exp.Where | exp.Having | exp.Qualify):
        yield from _category(node)
    elif isinstance(node, exp.Values):
        yield from _rows(node)


def _category(node: exp.Expr) -> Iterator[Change]:
    """A condition not asked of one category, or one category left out besides."""
    select = node.parent
    if not isinstance(select, exp.Select):
        return
    for column, levels in _categories(select).items():
        value = _value(select, column, grouped=isinstance(node, exp.Having))
        if value is None:
            continue
        for level in levels:
            literal = exp.Literal.string(level)
            is_it = exp.EQ(this=value.copy(), expression=literal.copy())
            is_not = exp.NullSafeNEQ(this=value.copy(), expression=literal)
            if not node.find(exp.Is):
                either = exp.Or(this=exp.Paren(this=node.this.copy()), expression=is_it)
                yield (
                    "condition-changed",
                    type(node)(this=either),
                    f"a condition ({short(node.this, 60)}) not asked of {column} '{level}'",
                    {"kind": level, "without": short(node.this)},
                )
            both = exp.And(this=exp.Paren(this=node.this.copy()), expression=is_not)
            yield (
                "rule-dropped",
                type(node)(this=both),
                f"{column} '{level}' left out",
                {"without": level},
            )


def _categories(select: exp.Select) -> Mapping[str, tuple[str, ...]]:
    """The columns of the query that a CASE fills with a few fixed texts, and these texts."""
    found: dict[str, tuple[str, ...]] = {}
    for case in select.root().find_all(exp.Case):
        alias = case.parent
        if not isinstance(alias, exp.Alias):
            continue
        values = [branch.args["true"] for branch in case.args["ifs"]]
        values += [case.args["default"]] if case.args.get("default") is not None else []
        texts = [v.this for v in values if isinstance(v, exp.Literal) and v.is_string]
        levels = tuple(dict.fromkeys(texts))
        if len(texts) == len(values) and 1 < len(levels) <= _MOST_LEVELS:
            found[alias.alias] = levels
    return found


def _value(select: exp.Select, column: str, *, grouped: bool) -> exp.Expr | None:
    """What a clause of the SELECT asks for the column, where its rows have it."""
    for shown in select.expressions:
        if shown.alias_or_name == column:
            inside: exp.Expr = shown.unalias()
            if isinstance(inside, exp.Column) or (grouped and inside.find(exp.AggFunc)):
                return inside
    return None


def _rows(node: exp.Values) -> Iterator[Change]:
    """A list in the SQL without a row, or without all rows that share one of few values."""
    rows = list(node.expressions)
    if not 1 < len(rows) <= _MOST_ROWS:
        return
    for gone in rows:
        yield _without(node, [gone], f"a list without {short(gone, 60)}", short(gone))
    cells = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows]
    if len(cells[0]) == 1 or len({len(c) for c in cells}) > 1:
        return
    for position in range(len(cells[0])):
        by_text: dict[str, list[exp.Expr]] = {}
        for row, values in zip(rows, cells, strict=True):
            by_text.setdefault(values[position].sql(), []).append(row)
        for text, several in by_text.items():
            if 1 < len(several) < len(rows):
                yield _without(node, several, f"a list without the rows of {text}", text)


def _without(node: exp.Values, gone: list[exp.Expr], words: str, named: str) -> Change:
    new = node.copy()
    left_out = {id(row) for row in gone}
    kept = [row.copy() for row in node.expressions if id(row) not in left_out]
    new.set("expressions", kept)
    return ("item-set", new, words, {"without": named})
