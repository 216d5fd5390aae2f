"""Changes of which kinds of rows count: a category let past a condition, or left out; list rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.mutation import short

_MOST_LEVELS = 12
"""Of a category; what has more is no status."""
_MOST_CODES = 60
"""Of a range in the SQL; of longer ones no beginning is tried."""
_CODE = re.compile(r"([A-Za-z]*)(\d+)")
_MOST_ROWS = 200
"""Of a list in the SQL; longer ones are left as they are."""


def kind_changes(node: exp.Expr) -> Iterator[Change]:
    """Every change of what kinds of rows count that begins at `node`."""
    if isinstance(node, exp.Where | exp.Having | exp.Qualify):
        yield from _category(node)
    elif isinstance(node, exp.Values):
        yield from _rows(node)
    elif isinstance(node, exp.Literal) and node.is_string and node.find_ancestor(exp.Values):
        yield from _words(node)
    elif isinstance(node, exp.Between):
        yield from _codes(node)
    elif isinstance(node, exp.Case):
        yield from _levels(node)


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


def _words(node: exp.Literal) -> Iterator[Change]:
    """A text of several codes without one of them, or with a range of codes cut short."""
    words = str(node.this).split(" ")
    for place, word in enumerate(words):
        if len(words) > 1:
            rest = [w for n, w in enumerate(words) if n != place]
            yield _text(rest, f"a list without {word}", word)
        first, dots, last = word.partition("..")
        for lower, upper, gone in _shorter(first, last) if dots else ():
            shorter = lower if lower == upper else f"{lower}..{upper}"
            yield _text(
                [*words[:place], shorter, *words[place + 1 :]],
                f"{shorter} instead of {word}: without {gone}",
                gone,
            )


def _text(words: list[str], said: str, gone: str) -> Change:
    return ("item-set", exp.Literal.string(" ".join(words)), said, {"without": gone})


def _codes(node: exp.Between) -> Iterator[Change]:
    """A range of codes cut short."""
    low, high = node.args["low"], node.args["high"]
    if not all(isinstance(end, exp.Literal) and end.is_string for end in (low, high)):
        return
    for lower, upper, gone in _shorter(low.this, high.this):
        new = node.copy()
        new.set("low", exp.Literal.string(lower))
        new.set("high", exp.Literal.string(upper))
        yield (
            "item-set",
            new,
            f"codes from {lower} to {upper}: without {gone}",
            {"without": gone},
        )


def _shorter(first: str, last: str) -> Iterator[tuple[str, str, str]]:
    """Every beginning and every end of a range of codes, and what is not in it.

    Codes are letters and a number of so many digits: J40 to J47.
    """
    one, other = _CODE.fullmatch(first), _CODE.fullmatch(last)
    if one is None or other is None or one[1] != other[1] or len(first) != len(last):
        return
    lowest, highest, digits = int(one[2]), int(other[2]), len(one[2])
    if highest - lowest > _MOST_CODES:
        return
    codes = [f"{one[1]}{n:0{digits}}" for n in range(lowest, highest + 1)]
    for at in range(1, len(codes)):
        begun, rest = codes[:at], codes[at:]
        yield begun[0], begun[-1], _span(rest)
        yield rest[0], rest[-1], _span(begun)


def _span(codes: list[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{codes[0]} to {codes[-1]}"


def _levels(node: exp.Case) -> Iterator[Change]:
    """One category counted as another."""
    values = [branch.args["true"] for branch in node.args["ifs"]]
    if node.args.get("default") is not None:
        values.append(node.args["default"])
    texts = [v.this if isinstance(v, exp.Literal) and v.is_string else None for v in values]
    levels = list(dict.fromkeys(texts))
    if None in levels or not 1 < len(levels) <= _MOST_LEVELS:
        return
    for level in levels:
        for other in levels:
            if other == level:
                continue
            new = node.copy()
            shown = [branch.args["true"] for branch in new.args["ifs"]]
            for value in [*shown, *([new.args["default"]] if new.args.get("default") else [])]:
                if value.this == level:
                    value.replace(exp.Literal.string(other))
            yield (
                "label-renamed",
                new,
                f"'{level}' counted as '{other}'",
                {"kind": str(level), "as": str(other)},
            )


def _without(node: exp.Values, gone: list[exp.Expr], words: str, named: str) -> Change:
    new = node.copy()
    left_out = {id(row) for row in gone}
    kept = [row.copy() for row in node.expressions if id(row) not in left_out]
    new.set("expressions", kept)
    return ("item-set", new, words, {"without": named})
