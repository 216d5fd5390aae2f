"""A changed query computed as far as the change reaches: one common table expression at a time.

What a query's common table expressions (CTEs) hold on a few patients is kept. Under a change only
those are computed again that it touches, or that read one that came out different: most changes
come out as it was long before the query's end, and a small statement is planned in far less time
than a query of many CTEs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb

from engine.base.duck import quote
from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.writing import Piece, Written

PIECES = "pieces"
"""Schema of what is kept."""
_TRIED = "tried"

Print = tuple[int, int, str | None]
"""Rows, sum of their hashes, and the columns with their types (None without rows)."""


@dataclass
class _Kept:
    """The pieces of one query without a change, as far as somebody asked."""

    number: int
    written: Written
    prints: dict[str, Print] = field(default_factory=dict)
    failed: bool = False
    """They cannot be computed one by one."""


class Piecewise:
    """Keeps the pieces of queries in a database, and runs changed ones.

    Args:
        con: where the tables are that the queries read; gets the schema `PIECES`.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._kept: dict[int, _Kept] = {}
        con.execute(f"CREATE SCHEMA {PIECES}")

    def last(
        self,
        written: Written,
        mutation: Mutation | None,
        redirected: Callable[[str], str],
    ) -> str | None:
        """The SQL of the query's end, over the pieces before it; None where nothing reaches it.

        Args:
            written: the query.
            mutation: the change, if it is one of this query.
            redirected: gives a text that reads changed tables instead of the plain ones.

        Raises:
            duckdb.Error: a changed piece cannot be computed.
        """
        kept = self._kept.setdefault(id(written), _Kept(len(self._kept), written))
        changed = None if kept.failed else written.pieces(mutation)
        if changed is None:
            return redirected(written.plain if mutation is None else written.changed(mutation))
        *before, end = changed
        needed = _needed(changed)
        try:
            for piece in before:
                if piece.name in needed:
                    self._keep(kept, piece.name)
        except duckdb.InterruptException:
            raise  # it took too long, or was cancelled: that says nothing of the pieces
        except duckdb.Error:
            kept.failed = True
            return self.last(written, mutation, redirected)
        different: set[str] = set()
        for piece in before:
            if piece.name in needed and self._try(kept, piece, different, redirected):
                different.add(piece.name)
        text = redirected(end.text)
        if not end.changed and text == end.text and different.isdisjoint(end.reads):
            return None
        return self._over(kept, end, text, different)

    def _try(
        self,
        kept: _Kept,
        piece: Piece,
        different: set[str],
        redirected: Callable[[str], str],
    ) -> bool:
        """Does the piece come out otherwise?"""
        text = redirected(piece.text)
        if not piece.changed and text == piece.text and different.isdisjoint(piece.reads):
            return False
        table = self._table(kept, piece.name, _TRIED)
        self._make(table, self._over(kept, piece, text, different))
        return self._print(table) != kept.prints[piece.name]

    def _keep(self, kept: _Kept, name: str) -> None:
        """Compute the piece as it is, and those it reads, unless they are there."""
        if name in kept.prints:
            return
        pieces = {piece.name: piece for piece in kept.written.pieces(None) or ()}
        piece = pieces[name]
        for other in piece.reads:
            self._keep(kept, other)
        table = self._table(kept, name, "")
        self._make(table, self._over(kept, piece, piece.text, set()))
        kept.prints[name] = self._print(table)

    def _make(self, table: str, sql: str) -> None:
        self._con.execute(f"CREATE OR REPLACE TABLE {table} AS {sql}")

    def _over(self, kept: _Kept, piece: Piece, text: str, different: set[str]) -> str:
        """The piece's SQL over the tables of those it reads."""
        read = ", ".join(
            f"{quote(name)} AS (FROM "
            f"{self._table(kept, name, _TRIED if name in different else '')})"
            for name in piece.reads
        )
        named = f" AS piece_({', '.join(map(quote, piece.columns))})" if piece.columns else ""
        return f"{f'WITH {read} ' if read else ''}SELECT * FROM ({text}){named}"  # noqa: S608 - our own SQL

    def _table(self, kept: _Kept, name: str, way: str) -> str:
        return f"{PIECES}.{quote(f'{kept.number}_{way}_{name}')}"

    def _print(self, table: str) -> Print:
        # With its types: what is an integer here is divided otherwise further on.
        rows = self._con.execute(
            f"SELECT count(*), sum(hash(row_)::HUGEINT), any_value(typeof(row_)) FROM {table} row_"  # noqa: S608 - our own names
        ).fetchall()
        return int(rows[0][0]), int(rows[0][1] or 0), rows[0][2]


def _needed(pieces: tuple[Piece, ...]) -> set[str]:
    """The pieces that the end rests on."""
    by_name: Mapping[str, Piece] = {piece.name: piece for piece in pieces}
    needed: set[str] = set()
    edge = [pieces[-1]]
    while edge:
        names = [name for piece in edge for name in piece.reads if name not in needed]
        needed.update(names)
        edge = [by_name[name] for name in dict.fromkeys(names)]
    return needed
