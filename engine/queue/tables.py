"""The queue's tables in the state file, and what a row means."""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database

from engine.base.store import Step
from engine.queue.records import Batch, Item, ItemState, Lane, Needs

_TABLES = (
    """
    CREATE TABLE queue_batches (
        name TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        added_at TEXT NOT NULL,
        plan TEXT
    )
    """,
    """
    CREATE TABLE queue_items (
        item INTEGER PRIMARY KEY AUTOINCREMENT,
        batch TEXT NOT NULL REFERENCES queue_batches (name) ON DELETE CASCADE,
        task TEXT NOT NULL,
        source TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT,
        condition TEXT NOT NULL,
        schema TEXT NOT NULL,
        trial INTEGER NOT NULL,
        lane TEXT NOT NULL,
        memory_bytes INTEGER NOT NULL,
        cpus INTEGER NOT NULL,
        priority INTEGER NOT NULL DEFAULT 0,
        place INTEGER NOT NULL DEFAULT 0,
        state TEXT NOT NULL DEFAULT 'waiting',
        held INTEGER NOT NULL DEFAULT 0,
        cancelling INTEGER NOT NULL DEFAULT 0,
        attempt INTEGER NOT NULL DEFAULT 0,
        tries INTEGER NOT NULL DEFAULT 0,
        served INTEGER NOT NULL DEFAULT 0,
        run_id TEXT,
        not_before TEXT,
        why TEXT NOT NULL DEFAULT '',
        reward REAL,
        strict_pass INTEGER,
        added_at TEXT NOT NULL,
        ended_at TEXT,
        stored TEXT NOT NULL
    )
    """,
    "CREATE INDEX queue_items_by_state ON queue_items (state)",
    "CREATE INDEX queue_items_by_batch ON queue_items (batch)",
    """
    CREATE TABLE queue_events (
        id INTEGER PRIMARY KEY,
        item INTEGER NOT NULL REFERENCES queue_items (item) ON DELETE CASCADE,
        at TEXT NOT NULL,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        run_id TEXT,
        text TEXT NOT NULL
    )
    """,
    "CREATE INDEX queue_events_by_item ON queue_events (item, id)",
    "CREATE TABLE queue_lanes (lane TEXT PRIMARY KEY, until TEXT NOT NULL, why TEXT NOT NULL)",
    """
    CREATE TABLE queue_desk (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        paused INTEGER NOT NULL DEFAULT 0,
        why TEXT NOT NULL DEFAULT '',
        at_once INTEGER,
        served INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0,
        owner_pid INTEGER,
        owner_started REAL,
        beat TEXT
    )
    """,
    "INSERT INTO queue_desk (id) VALUES (1)",
)


def _first(database: Database) -> None:
    for statement in _TABLES:
        database.conn.execute(statement)


STEPS = (Step("queue/001-first", _first),)


def item_of(row: sqlite3.Row) -> Item:
    """An item from its row."""
    return Item(
        item=row["item"],
        batch=row["batch"],
        task=row["task"],
        source=row["source"],
        agent=row["agent"],
        model=row["model"],
        condition=row["condition"],
        schema=row["schema"],
        trial=row["trial"],
        lane=row["lane"],
        needs=Needs(memory_bytes=row["memory_bytes"], cpus=row["cpus"]),
        priority=row["priority"],
        place=row["place"],
        state=ItemState(row["state"]),
        held=bool(row["held"]),
        cancelling=bool(row["cancelling"]),
        attempt=row["attempt"],
        tries=row["tries"],
        served=row["served"],
        run_id=row["run_id"],
        not_before=row["not_before"],
        why=row["why"],
        reward=row["reward"],
        strict_pass=None if row["strict_pass"] is None else bool(row["strict_pass"]),
        added_at=row["added_at"],
        ended_at=row["ended_at"],
        stored=row["stored"],
    )


def batch_of(row: sqlite3.Row) -> Batch:
    """A batch from its row."""
    return Batch(name=row["name"], kind=row["kind"], added_at=row["added_at"], plan=row["plan"])


def lane_row(row: sqlite3.Row) -> Lane:
    """A lane from its row."""
    return Lane(lane=row["lane"], until=row["until"], why=row["why"])


def event(con: sqlite3.Connection, item: int, at: str, state: ItemState, text: str = "") -> None:
    """Note what has just happened to an item, in the same transaction."""
    con.execute(
        "INSERT INTO queue_events (item, at, state, attempt, run_id, text) "
        "SELECT item, ?, ?, attempt, run_id, ? FROM queue_items WHERE item = ?",
        [at, state.value, text, item],
    )
