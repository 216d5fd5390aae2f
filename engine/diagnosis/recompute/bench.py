"""Where changes are tried: a part of a source in memory, with all that a target rests on.

The source is only read. A change rebuilds the queries it touches and those that read them, as far
as their tables come out different; what comes out is kept by its content hash.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from engine.base import duck
from engine.base.duck import quote
from engine.base.jobs import Job
from engine.concepts import Graph, Query
from engine.concepts.query import DERIVED
from engine.diagnosis.recompute.items import dictionary, items_read, near
from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.patients import (
    SOURCE,
    attach,
    choose_patients,
    copy_part,
    source_columns,
)
from engine.diagnosis.recompute.piecewise import Piecewise
from engine.diagnosis.recompute.slicing import Parsed, Slice, parse
from engine.diagnosis.recompute.writing import Written

TARGET = "the reference"
"""Name of the target among the queries: some targets are called as a concept is."""
_TRIAL = "trial"
_MEMORY = "1GB"
_AGAIN = 0.05
"""Seconds between two interrupts."""
_FEW = 40
"""Patients up to which the pieces of queries are kept: small tables."""


class Bench:
    """A part of a source, ready to try changes of one target's SQL.

    Args:
        source: the source's database file.
        target: the target.
        graph: the concepts.
        patients: whose rows; all when None.
        job: cancel.
        scratch: where to spill.
        in_pieces: of few patients, keep the pieces of queries and compute only what a change
            reaches; the outcome is the same.
    """

    def __init__(
        self,
        source: Path,
        target: Query,
        graph: Graph,
        *,
        patients: Sequence[str] | None,
        job: Job | None,
        scratch: Path | None,
        in_pieces: bool = True,
    ) -> None:
        self.target = replace(target, name=TARGET)
        self.graph = graph
        self.failed = False
        """The last change could not be computed, or not in time."""
        self.order = (*graph.order(target.concepts), self.target)
        self.con = duck.connect(
            memory_limit=_MEMORY, scratch=scratch, threads=1 if patients is not None else None
        )
        self._have: dict[str, dict[str, str]] = {}
        self._prints: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
        try:
            with duck.interruptible(self.con, job):
                attach(self.con, source)
                tables = graph.base_tables(target)
                condition = choose_patients(self.con, patients)
                present = source_columns(self.con)
                self.items = dictionary(
                    self.con, tables, SOURCE, lambda t: condition(t, present.get(t, set()))
                )
                read = items_read(self.order)
                others = {o.number for item in read for o in near(item, self.items, read)}
                copy_part(self.con, tables, condition, read | others)
                self.con.execute(f"DETACH {SOURCE}")
                self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {DERIVED}")
                self.con.execute(f"CREATE SCHEMA {_TRIAL}")
                few = in_pieces and patients is not None and len(patients) <= _FEW
                self._piecewise = Piecewise(self.con) if few else None
                for query in self.order:
                    self.con.execute(f"CREATE TABLE {DERIVED}.{quote(query.name)} AS {query.sql}")
        except duckdb.Error as error:
            self.con.close()
            raise duck.in_words(error, "preparing a part of the source") from error

    def close(self) -> None:
        """Forget everything."""
        self.con.close()

    def parsed(self) -> dict[str, Parsed]:
        """All queries as trees."""
        return {query.name: parse(query) for query in self.order}

    def baseline(self, columns: Iterable[str]) -> pa.Table:
        """The target as it is, on this part."""
        return self._fetch(DERIVED, columns)

    def run(
        self,
        mutation: Mutation,
        parsed: dict[str, Parsed],
        sliced: Slice,
        columns: Sequence[str],
        *,
        seconds: float,
        job: Job | None,
    ) -> pa.Table | None:
        """The target under a change; None where it changes nothing, or cannot be computed.

        Args:
            mutation: the change.
            parsed: the queries as trees.
            sliced: what of them bears on the columns; other columns are not computed.
            columns: the target's columns to return, besides its key.
            seconds: longer than that a query may not take.
            job: cancel.
        """
        self.failed = False
        try:
            with _deadline(self.con, seconds, job):
                return self._run(mutation, parsed, sliced, columns)
        except duckdb.Error:
            # A change may ask for a column that is not there, overflow or take too long: it
            # explains nothing.
            if job is not None:
                job.check()
            self.failed = True
            return None

    def _run(
        self,
        mutation: Mutation,
        parsed: dict[str, Parsed],
        sliced: Slice,
        columns: Sequence[str],
    ) -> pa.Table | None:
        different: set[str] = set()
        for query in self.order:
            changed = query.name in mutation.queries
            if not changed and not different.intersection(query.concepts):
                continue
            is_target = query.name == TARGET
            if not is_target and query.name not in sliced.columns:
                continue
            needed = (
                (*self.target.key, *columns)
                if is_target
                else tuple(sorted(sliced.columns[query.name]))
            )
            nodes = sliced.kept.get(query.name, set())
            if query.name not in sliced.texts:
                sliced.texts[query.name] = Written(parsed[query.name], nodes)
            text: Written = sliced.texts[query.name]
            read = functools.partial(_redirected, different=different)
            if self._piecewise is None:
                sql: str | None = read(text.changed(mutation) if changed else text.plain)
            else:
                sql = self._piecewise.last(text, mutation if changed else None, read)
            if sql is None:
                continue
            self._try(query.name, sql, needed)
            if not self._same(query.name, needed):
                different.add(query.name)
        return self._fetch(_TRIAL, columns) if TARGET in different else None

    def _try(self, name: str, sql: str, needed: Sequence[str]) -> None:
        # What is not needed is null: readers name it, though nothing comes of it.
        wanted = ", ".join(
            quote(c) if c in needed else f"NULL::{kind} AS {quote(c)}"
            for c, kind in self._columns(name).items()
        )
        self.con.execute(
            f"CREATE OR REPLACE TABLE {_TRIAL}.{quote(name)} AS SELECT {wanted} FROM ({sql})"  # noqa: S608 - our own SQL
        )

    def _columns(self, name: str) -> dict[str, str]:
        if name not in self._have:
            described = self.con.execute(f"DESCRIBE {DERIVED}.{quote(name)}").fetchall()
            self._have[name] = {str(row[0]): str(row[1]) for row in described}
        return self._have[name]

    def _same(self, name: str, needed: Sequence[str]) -> bool:
        """Is the trial table what it is without the change, as far as it is needed?"""
        have = self._columns(name)
        listed = tuple(c for c in dict.fromkeys(needed) if c in have)
        key = (name, listed)
        if key not in self._prints:
            self._prints[key] = self._print(DERIVED, name, listed)
        return self._print(_TRIAL, name, listed) == self._prints[key]

    def _print(self, schema: str, name: str, columns: Sequence[str]) -> tuple[int, int]:
        # As text: a changed type (a whole number, a decimal) alone is no change.
        values = ", ".join(
            f"coalesce(try_cast({quote(c)} AS DOUBLE)::VARCHAR, {quote(c)}::VARCHAR)"
            for c in columns
        )
        rows = self.con.execute(
            f"SELECT count(*), sum(hash({values})::HUGEINT) FROM {schema}.{quote(name)}"  # noqa: S608 - our own names
        ).fetchall()
        return int(rows[0][0]), int(rows[0][1] or 0)

    def _fetch(self, schema: str, columns: Iterable[str]) -> pa.Table:
        key = self.target.key
        wanted = ", ".join(quote(c) for c in dict.fromkeys((*key, *columns)))
        keys = ", ".join(quote(c) for c in key)
        return self.con.sql(
            f"SELECT {wanted}, count(*) OVER (PARTITION BY {keys}) AS copies_ "  # noqa: S608 - our own names
            f"FROM {schema}.{quote(TARGET)} QUALIFY row_number() OVER (PARTITION BY {keys}) = 1"
        ).to_arrow_table()


def _redirected(sql: str, different: set[str]) -> str:
    """The SQL reading the trial's tables where these differ."""
    for name in different:
        sql = re.sub(rf"\b{DERIVED}\.{name}\b", f"{_TRIAL}.{name}", sql)
    return sql


@contextlib.contextmanager
def _deadline(con: duckdb.DuckDBPyConnection, seconds: float, job: Job | None) -> Iterator[None]:
    """Interrupt what takes too long or was cancelled; the caller sees DuckDB's error.

    Again and again: an interrupt between two statements does not stop the next one.
    """
    over, stop = threading.Event(), threading.Event()

    def watch() -> None:
        stop.wait(seconds)
        while not over.is_set():
            con.interrupt()
            over.wait(_AGAIN)

    watcher = threading.Thread(target=watch, name="deadline", daemon=True)
    forget = job.on_cancel(stop.set) if job is not None else None
    watcher.start()
    try:
        yield
    finally:
        if forget is not None:
            forget()
        over.set()
        stop.set()
        watcher.join()


__all__ = ["SOURCE", "TARGET", "Bench"]
