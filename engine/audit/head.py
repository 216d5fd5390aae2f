"""Where the chain ends, kept in `state.db`: away from the log, so that a shorter log is noticed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.audit.chain import Problem
from engine.base.paths import Home
from engine.base.store import Step, in_words, open_store

if TYPE_CHECKING:
    from sqlite_utils import Database


def _first(database: Database) -> None:
    database.conn.execute(
        "CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), "
        "sequence INTEGER NOT NULL, hash TEXT NOT NULL, file TEXT NOT NULL, "
        "problems TEXT NOT NULL) STRICT"
    )


STEPS = (Step("audit/001-first", _first),)
"""This package's table in `state.db`."""


@dataclass(frozen=True)
class Head:
    """The end of the chain."""

    sequence: int
    """Of the last entry."""
    hash: str
    """Its hash."""
    file: str
    """What the file looked like after it (see `look`)."""
    problems: tuple[Problem, ...]
    """What had been found wrong with the log by then."""


def look(status: os.stat_result) -> str:
    """What tells that nobody else has touched a file: its change time cannot be set."""
    return json.dumps([status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns])


def load(home: Home) -> Head | None:
    """The end of the chain; None when nothing was ever written with this `state.db`.

    Raises:
        Busy, StorageFull, BadInput: in words.
    """
    database = open_store(home.state, STEPS)
    with closing(database.conn) as con:
        try:
            row = con.execute("SELECT sequence, hash, file, problems FROM audit_head").fetchone()
        except sqlite3.Error as error:
            raise in_words(error, "reading the end of the audit log") from error
    if row is None:
        return None
    problems = tuple(Problem(**known) for known in json.loads(row[3]))
    return Head(int(row[0]), str(row[1]), str(row[2]), problems)


def save(home: Home, sequence: int, digest: str, file: str, problems: Sequence[Problem]) -> None:
    """Remember the end of the chain.

    Raises:
        Busy, StorageFull, BadInput: in words.
    """
    database = open_store(home.state, STEPS)
    with closing(database.conn) as con:
        try:
            con.execute(
                "INSERT INTO audit_head VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET "
                "sequence = excluded.sequence, hash = excluded.hash, file = excluded.file, "
                "problems = excluded.problems",
                [sequence, digest, file, json.dumps([vars(problem) for problem in problems])],
            )
        except sqlite3.Error as error:
            raise in_words(error, "keeping the end of the audit log") from error
