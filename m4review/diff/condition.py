"""A condition that somebody types in SQL: read, checked and made into one of our own.

What comes out is built from the parsed tree, never from the text. Only columns of the diff,
literals, operators and a list of harmless functions are let through: no query, no file, no
setting. (The connection beneath is read-only and may not touch any file; this is the first wall.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.base.duck import quote, quote_text
from engine.base.errors import UsageError
from engine.scoring.diff import CELL_WORDS, KEY_WORDS
from m4review.diff.layout import Layout

_FIELD = re.compile(r"[kras][0-9]+|key_status|mismatches")
LONGEST = 4_000
"""Characters of a condition."""
_NEAREST, _LISTED = 3, 12
"""Names that are told where one is wrong."""
_OFFERED = (
    "abs bit_count ceil coalesce concat contains date_diff date_trunc day dayofweek "
    "ends_with epoch exp floor greatest hour if isfinite isinf isnan least left length ln "
    "log lower ltrim minute month nullif pow regexp_full_match regexp_matches replace "
    "reverse right round rtrim second sign sqrt starts_with substring trim upper year"
)
FUNCTIONS = frozenset(_OFFERED.split())
"""What is offered, by DuckDB's names."""
_PARSERS = (
    "and or xor if case cast try_cast power length regexp_like is_nan is_inf time_to_unix "
    "timestamp_trunc date_diff timestamp_diff day_of_week day_of_month extract "
    "datediff str_position lower upper starts_with ends_with bitwise_count arrow_any_value"
)
_THEIRS = frozenset(_PARSERS.split())
"""The parser's own names for some of them, and for operators."""
_SAFE = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Paren,
    exp.Binary,
    exp.Unary,
    exp.Between,
    exp.In,
    exp.Tuple,
    exp.DataType,
    exp.DataTypeParam,
    exp.Interval,
    exp.Var,
    exp.Case,
    exp.If,
    exp.Cast,
    exp.Func,
)
_REFUSED = (exp.Query, exp.AggFunc, exp.Window, exp.Star, exp.Placeholder, exp.Parameter)


def _help(layout: Layout) -> str:
    one = layout.scored[0].name if layout.scored else "column"
    return (
        f"Write a condition over the diff's columns, for example: {one}__agent IS NOT NULL AND "
        f"{one}__status = 'different'."
    )


def names(layout: Layout) -> Mapping[str, str]:
    """What may be named, in the order in which it is offered: name to SQL.

    The readable names of an export, and the file's own (``k0``, ``r0``, ``a0``, ``s0``).
    """
    found: dict[str, str] = {key.name: quote(key.field) for key in layout.keys}
    for column in layout.scored:
        found.setdefault(f"{column.name}__reference", quote(column.reference))
        found.setdefault(f"{column.name}__agent", quote(column.agent))
        found.setdefault(f"{column.name}__status", _words(column.status, CELL_WORDS))
    found.setdefault("row_status", _words("key_status", KEY_WORDS))
    for own in ("row", "key_status", "mismatches"):
        found.setdefault(own, quote(own))
    for key in layout.keys:
        found.setdefault(key.field, quote(key.field))
    for column in layout.scored:
        for field in (column.reference, column.agent, column.status):
            found.setdefault(field, quote(field))
    return found


def is_field(name: str) -> bool:
    """Is it one of the file's own names (``r0``), which need not be offered?"""
    return bool(_FIELD.fullmatch(name))


def checked(text: str, layout: Layout) -> str:
    """The SQL of a typed condition.

    Args:
        text: what was typed.
        layout: the columns that there are.

    Raises:
        UsageError: it is no condition, or names what it must not; says what to do.
    """
    given = text.strip()
    if not given:
        raise UsageError("The condition is empty.", todo=_help(layout))
    if len(given) > LONGEST or "\0" in given:
        raise UsageError("The condition is too long.", todo=f"At most {LONGEST:,} characters.")
    tree = _parsed(given, layout)
    known = {name.casefold(): sql for name, sql in names(layout).items()}
    for node in tree.walk():
        _allow(node, layout)
    columns = list(tree.find_all(exp.Column))
    for column in columns:
        sql = known.get(column.name.casefold()) if not column.table else None
        if sql is None:
            raise UsageError(
                f"There is no column {column.sql(dialect='duckdb')} in this diff.",
                todo=_meant(column.name, layout),
            )
        own = sqlglot.parse_one(sql, dialect="duckdb", into=exp.Condition)
        piece = own if isinstance(own, exp.Column) else exp.Paren(this=own)
        if column is tree:
            tree = piece
        else:
            column.replace(piece)
    return f"({tree.sql(dialect='duckdb', comments=False)})"


def _meant(name: str, layout: Layout) -> str:
    """The names that come next to a wrong one; else those that there are."""
    offered = {each.casefold(): each for each in names(layout) if not is_field(each)}
    wanted = name.casefold()
    near = [each for lower, each in offered.items() if wanted and lower.startswith(f"{wanted}__")]
    near += [offered[lower] for lower in get_close_matches(wanted, offered, n=_NEAREST)]
    if near:
        return f"Did you mean {' or '.join(dict.fromkeys(near))}?"
    listed = ", ".join(list(offered.values())[:_LISTED])
    more = len(offered) - _LISTED
    return (
        f"There are: {listed}{f' and {more} more (see the tip of the field)' if more > 0 else ''}."
    )


def _parsed(text: str, layout: Layout) -> exp.Expression:
    try:
        parsed = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, RecursionError) as error:
        raise UsageError("This is no condition in SQL.", todo=_help(layout)) from error
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Expression):
        raise UsageError("Only one condition is taken, without a semicolon.", todo=_help(layout))
    return parsed[0]


def _allow(node: exp.Expr, layout: Layout) -> None:
    if isinstance(node, _REFUSED) or not isinstance(node, _SAFE):
        raise UsageError("Only a condition on single rows is taken, no query.", todo=_help(layout))
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        if name.casefold() not in FUNCTIONS | _THEIRS:
            raise UsageError(
                f"The function {name.lower()} is not offered in a condition.",
                todo=f"There are: {', '.join(sorted(FUNCTIONS))}.",
            )


def _words(column: str, words: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {i} THEN {quote_text(word)}" for i, word in enumerate(words))
    return f"CASE {quote(column)} {cases} END"
