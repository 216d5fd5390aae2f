"""Questions to the source: each keeps its SQL, can be cancelled, and is asked once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb

from engine.base.duck import in_words, interruptible
from engine.base.jobs import Job
from engine.sources import SourceInfo, open_source


@dataclass
class Asker:
    """A read-only connection with the answers so far."""

    con: duckdb.DuckDBPyConnection
    """Where the questions go."""
    job: Job
    """Can be cancelled between and within questions."""
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    """Table (``schema.table``) to its columns, each with its type."""
    _answers: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of the answer; identical questions are asked once."""
        if sql not in self._answers:
            self.job.check()
            self._answers[sql] = self.con.execute(sql).fetchall()
        return self._answers[sql]

    def has(self, table: str, *columns: str) -> bool:
        """Is there such a table, with these columns?"""
        return set(columns) <= self.columns.get(table, {}).keys() and table in self.columns


@contextmanager
def asking(info: SourceInfo, job: Job, memory_limit: str | None) -> Iterator[Asker]:
    """Open the source for reading.

    Raises:
        Busy, BadInput, StorageFull, Cancelled.
    """
    con = open_source(info, memory_limit=memory_limit)
    try:
        with interruptible(con, job):
            asker = Asker(con, job)
            rows = con.execute(
                "SELECT table_schema || '.' || table_name, column_name, data_type "
                "FROM information_schema.columns ORDER BY ALL"
            ).fetchall()
            for table, column, kind in rows:
                asker.columns.setdefault(str(table), {})[str(column)] = str(kind)
            yield asker
    except duckdb.Error as error:
        raise in_words(error, "asking the source about the claims") from error
    finally:
        con.close()
