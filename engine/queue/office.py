"""What only the process that works on the queue may do to it.

Every call checks the epoch: it is one more with each owner, so that one that was believed dead
and is not can change nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from engine.base.errors import HarnessFault
from engine.queue import tables
from engine.queue.records import ACTIVE, ENDED, Item, ItemState
from engine.queue.settle import Ending
from engine.queue.store import QueueFile
from engine.runs.store import Owner, now


class Office:
    """The queue in its owner's hands. Take the lease first."""

    def __init__(self, file: QueueFile) -> None:
        me = Owner.me()
        self._file = file
        with file.change("taking over the queue") as con:
            con.execute(
                "UPDATE queue_desk SET epoch = epoch + 1, owner_pid = ?, owner_started = ?, "
                "beat = ?",
                [me.pid, me.started, now()],
            )
            self._epoch: int = con.execute("SELECT epoch FROM queue_desk").fetchone()[0]

    @contextmanager
    def _mine(self, doing: str) -> Iterator[sqlite3.Connection]:
        with self._file.change(doing) as con:
            if con.execute("SELECT epoch FROM queue_desk").fetchone()[0] != self._epoch:
                raise HarnessFault("Another program has taken over the queue.")
            yield con

    def beat(self) -> None:
        """Tell that the owner lives."""
        with self._mine("working on the queue") as con:
            con.execute("UPDATE queue_desk SET beat = ?", [now()])

    def leave(self) -> None:
        """Nobody works on the queue any more."""
        with self._mine("leaving the queue") as con:
            con.execute("UPDATE queue_desk SET owner_pid = NULL, owner_started = NULL, beat = NULL")

    def active(self) -> tuple[Item, ...]:
        """The items that are being carried out, or were when a program died."""
        with self._file.read("reading the queue") as con:
            rows = con.execute(
                "SELECT * FROM queue_items WHERE state IN ('starting', 'running') ORDER BY item"
            ).fetchall()
        return tuple(tables.item_of(row) for row in rows)

    def take(self, number: int) -> Item | None:
        """Issue the ticket of an item's next attempt, before anything is begun.

        Returns None when it must not start any more: paused, held, cancelled meanwhile.
        """
        at = now()
        with self._mine("starting a run of the queue") as con:
            if con.execute("SELECT paused FROM queue_desk").fetchone()[0]:
                return None
            con.execute("UPDATE queue_desk SET served = served + 1")
            done = con.execute(
                "UPDATE queue_items SET state = 'starting', attempt = attempt + 1, run_id = NULL, "
                "why = '', not_before = NULL, served = (SELECT served FROM queue_desk) "
                "WHERE item = ? AND state = 'waiting' AND held = 0",
                [number],
            ).rowcount
            if not done:
                return None
            tables.event(con, number, at, ItemState.STARTING)
            row = _row(con, number)
            return None if row is None else tables.item_of(row)

    def begun(self, number: int, attempt: int, run_id: str) -> None:
        """An attempt has its run."""
        at = now()
        with self._mine("noting a run of the queue") as con:
            done = con.execute(
                "UPDATE queue_items SET state = 'running', run_id = ? "
                "WHERE item = ? AND attempt = ? AND state = 'starting'",
                [run_id, number, attempt],
            ).rowcount
            if done:
                tables.event(con, number, at, ItemState.RUNNING)

    def end(self, number: int, attempt: int, decide: Callable[[Item], Ending]) -> Item | None:
        """Settle an attempt that is over, once.

        Args:
            number: which item.
            attempt: which attempt.
            decide: says what becomes of the item as it stands in this transaction.

        Returns:
            The item as it stands afterwards; None when that attempt was settled before.
        """
        at = now()
        with self._mine("settling a run of the queue") as con:
            row = _row(con, number)
            if row is None:
                return None
            item = tables.item_of(row)
            if item.state not in ACTIVE or item.attempt != attempt:
                return None
            ending = decide(item)
            ended = ending.state in ENDED
            con.execute(
                """
                UPDATE queue_items SET state = ?, why = ?, run_id = ?, reward = ?,
                    strict_pass = ?, tries = ?, not_before = ?, ended_at = ?, cancelling = 0
                WHERE item = ?
                """,
                [
                    ending.state.value,
                    ending.why,
                    ending.run_id,
                    ending.reward,
                    ending.strict_pass,
                    item.tries + ending.counts,
                    _iso(ending.not_before),
                    at if ended else None,
                    number,
                ],
            )
            tables.event(con, number, at, ending.state, ending.why)
            if ending.lane_until is not None and item.lane:
                con.execute(
                    "INSERT INTO queue_lanes VALUES (?1, ?2, ?3) ON CONFLICT (lane) DO UPDATE "
                    "SET until = max(until, ?2), why = ?3",
                    [item.lane, _iso(ending.lane_until), ending.why],
                )
            if ending.pause:
                con.execute("UPDATE queue_desk SET paused = 1, why = ?", [ending.why])
            return replace(item, state=ending.state, why=ending.why, run_id=ending.run_id)


def _row(con: sqlite3.Connection, number: int) -> sqlite3.Row | None:
    row: sqlite3.Row | None = con.execute(
        "SELECT * FROM queue_items WHERE item = ?", [number]
    ).fetchone()
    return row


def _iso(at: datetime | None) -> str | None:
    """In the form in which times are compared in the file."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
