"""What is shown of a diff, as a value: filters and order, and the SQL made from them.

Words that the user types become parameters. A condition in SQL comes from the engine, or from
`condition.checked`, which makes one of our own out of what an expert typed.
"""

from __future__ import annotations

import enum
import shlex
from dataclasses import dataclass
from typing import Any

from engine.base.duck import quote
from engine.scoring.whatif import mismatches_with
from m4review.diff.layout import CellStatus, KeyStatus, Layout


class Kind(enum.Enum):
    """Kinds of departure that a row can be filtered by."""

    DIFFERENT = "different"
    MISSING = "missing"
    EXTRA = "extra"
    DUPLICATE = "duplicate"
    NULL = "null"
    NEAR = "near"


KEY_KINDS = {
    Kind.MISSING: KeyStatus.MISSING,
    Kind.EXTRA: KeyStatus.EXTRA,
    Kind.DUPLICATE: KeyStatus.DUPLICATE,
}
CELL_KINDS = {
    Kind.DIFFERENT: (CellStatus.DIFFERENT,),
    Kind.NULL: (CellStatus.REFERENCE_NULL, CellStatus.AGENT_NULL),
    Kind.NEAR: (CellStatus.NEAR,),
}


@dataclass(frozen=True)
class Pair:
    """Two values that stand opposite to each other in a column."""

    column: int
    """Which scored column."""
    reference: Any
    """The reference's value; None is null."""
    agent: Any
    """The agent's value; None is null."""


@dataclass(frozen=True)
class Chosen:
    """Rows chosen by a condition, and what they are in words."""

    sql: str
    """A condition over the table ``diff``: the engine's, or one that `condition.checked` made."""
    words: str
    """What the rows are, for the reader."""


@dataclass(frozen=True)
class Sort:
    """Order by one column of the file."""

    field: str
    """Name in the file (`k0`, `a2`, `s1`), ``mismatches`` for their number, or ``row``."""
    descending: bool = False
    """Largest first?"""


@dataclass(frozen=True)
class Query:
    """Which rows are shown, in which order; empty: all rows as they lie."""

    only_mismatches: bool = False
    """Leave out rows in which every scored column matches."""
    column: int | None = None
    """Where a scored column is chosen, mismatches and kinds are those of that column."""
    kinds: frozenset[Kind] = frozenset()
    """Rows of any of these; empty: all."""
    text: str = ""
    """Words that must occur in the key; ``column=value`` for one key column, exactly."""
    pair: Pair | None = None
    """Only rows with these two values."""
    chosen: Chosen | None = None
    """Only rows for which this condition holds."""
    sort: tuple[Sort, ...] = ()
    """First is first."""
    tolerances: tuple[tuple[int, float], ...] = ()
    """What if: another tolerance (unit; seconds) by scored column. The score stays as it is."""

    @property
    def filtered(self) -> bool:
        """Are rows left out?"""
        return bool(
            self.only_mismatches or self.kinds or self.text.strip() or self.pair or self.chosen
        )

    @property
    def plain(self) -> bool:
        """Are all rows shown in the file's order?"""
        return not self.filtered and not self.sort


@dataclass(frozen=True)
class Sql:
    """A piece of SQL and the values of its place-holders."""

    text: str
    """With ``?`` place-holders."""
    values: tuple[Any, ...] = ()
    """In order."""


def mismatch_condition(column: int | None) -> str:
    """The condition that a row departs, in one column or in any."""
    if column is None:
        return "mismatches <> 0"
    return f"(mismatches & {1 << column}::UBIGINT) <> 0"


def replaced(query: Query, layout: Layout) -> dict[str, str]:
    """The columns of the file that a what-if changes: SQL by field; empty without one."""
    statuses = {at: layout.scored[at].compared.status(t) for at, t in query.tolerances}
    if not statuses:
        return {}
    fields = {layout.scored[at].status: sql for at, sql in statuses.items()}
    return {**fields, "mismatches": mismatches_with(statuses)}


def relation(query: Query, layout: Layout) -> str:
    """What filters and order look at: the table, or the table as it would be."""
    changed = replaced(query, layout)
    if not changed:
        return "diff"
    instead = ", ".join(f"{sql} AS {quote(field)}" for field, sql in changed.items())
    return f"(SELECT * REPLACE ({instead}) FROM diff)"  # noqa: S608 - our own SQL


def where(query: Query, layout: Layout) -> Sql:
    """The condition of `query`; ``TRUE`` when it leaves nothing out."""
    parts: list[str] = []
    values: list[Any] = []
    if query.only_mismatches:
        parts.append(mismatch_condition(query.column))
    if query.kinds:
        parts.append(_kinds(query, layout))
    for word in words(query.text):
        piece = _word(word, layout)
        parts.append(piece.text)
        values += piece.values
    if query.pair is not None:
        column = layout.scored[query.pair.column]
        parts.append(
            f"{quote(column.reference)} IS NOT DISTINCT FROM ? "
            f"AND {quote(column.agent)} IS NOT DISTINCT FROM ? AND key_status = 0"
        )
        values += [query.pair.reference, query.pair.agent]
    if query.chosen is not None:
        parts.append(query.chosen.sql)
    return Sql(" AND ".join(f"({part})" for part in parts) or "TRUE", tuple(values))


def _kinds(query: Query, layout: Layout) -> str:
    options = [f"key_status = {int(s)}" for k, s in KEY_KINDS.items() if k in query.kinds]
    columns = layout.scored if query.column is None else (layout.scored[query.column],)
    statuses = sorted(int(s) for kind in query.kinds & CELL_KINDS.keys() for s in CELL_KINDS[kind])
    if statuses:
        among = ", ".join(map(str, statuses))
        options += [f"{quote(column.status)} IN ({among})" for column in columns]
    return " OR ".join(options) or "FALSE"


def words(text: str) -> list[str]:
    """The words of a filter; quotes keep spaces together."""
    try:
        return shlex.split(text)
    except ValueError:  # an open quote, while she is still typing
        return text.replace('"', " ").replace("'", " ").split()


def _word(word: str, layout: Layout) -> Sql:
    """One word: `name=value` names a key column, anything else may stand in any of them."""
    name, equals, value = word.partition("=")
    for key in layout.keys:
        if equals and name.casefold() == key.name.casefold():
            if not value:
                return Sql(f"{quote(key.field)} IS NULL")
            return Sql(f"lower(CAST({quote(key.field)} AS VARCHAR)) = lower(?)", (value,))
    options = [
        f"contains(lower(CAST({quote(key.field)} AS VARCHAR)), lower(?))" for key in layout.keys
    ]
    return Sql(" OR ".join(options) or "FALSE", (word,) * len(options))


def order(query: Query, layout: Layout) -> str:
    """The ORDER BY list; ties stay in the file's order."""
    known = {key.field for key in layout.keys} | {"row", "key_status"}
    for column in layout.scored:
        known |= {column.reference, column.agent, column.status}
    parts = []
    for sort in query.sort:
        direction = "DESC" if sort.descending else "ASC"
        if sort.field == "mismatches":
            parts.append(f"bit_count(mismatches) {direction}")
        elif sort.field in known:
            parts.append(f"{quote(sort.field)} {direction} NULLS LAST")
    return ", ".join([*parts, quote("row")])
