"""The queue in the state file: adding, ordering, pausing, cancelling, reading.

Any process may do all of this at any time; who carries the items out sees it within a second.
Every change is one transaction, on the disk before the call returns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from engine.base.errors import UsageError
from engine.base.store import in_words, open_store
from engine.queue import tables
from engine.queue.order import in_order
from engine.queue.records import (
    ACTIVE,
    ENDED,
    Batch,
    Item,
    ItemState,
    Kind,
    Needs,
    QueueState,
    lane_of,
    stored,
)
from engine.runs.records import RunRequest
from engine.runs.store import Owner, now

Move = Literal["up", "down", "top", "bottom"]
_ENDED = "('done', 'failed', 'cancelled')"


class QueueFile:
    """Connections to the queue's tables, one for each use: any thread may have one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def read(self, doing: str) -> Iterator[sqlite3.Connection]:
        """A connection whose reads all see the same moment."""
        with self._open(doing) as con:
            con.execute("BEGIN")
            yield con
            con.execute("COMMIT")

    @contextmanager
    def change(self, doing: str) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction: all of it, or nothing."""
        with self._open(doing) as con:
            con.execute("BEGIN IMMEDIATE")
            try:
                yield con
            except BaseException:
                if con.in_transaction:
                    con.execute("ROLLBACK")
                raise
            con.execute("COMMIT")

    @contextmanager
    def _open(self, doing: str) -> Iterator[sqlite3.Connection]:
        with closing(open_store(self.path, tables.STEPS).conn) as con:
            con.row_factory = sqlite3.Row
            try:
                yield con
            except sqlite3.Error as error:
                raise in_words(error, doing) from error


class QueueStore:
    """The queue of one home as everybody may use it."""

    def __init__(self, path: Path) -> None:
        self.file = QueueFile(path)

    # --- reading

    def state(self) -> QueueState:
        """The whole queue now."""
        with self.file.read("reading the queue") as con:
            desk = con.execute("SELECT * FROM queue_desk").fetchone()
            batches = con.execute("SELECT * FROM queue_batches ORDER BY rowid").fetchall()
            rows = con.execute("SELECT * FROM queue_items ORDER BY item").fetchall()
            lanes = con.execute(
                "SELECT * FROM queue_lanes WHERE until > ? ORDER BY lane", [now()]
            ).fetchall()
        items = [tables.item_of(row) for row in rows]
        waiting = [item for item in items if item.state == ItemState.WAITING]
        others = [item for item in items if item.state != ItemState.WAITING]
        owner = None
        if desk["owner_pid"] is not None:
            holder = Owner(desk["owner_pid"], desk["owner_started"])
            owner = holder if holder.alive else None
        return QueueState(
            paused=bool(desk["paused"]),
            why=desk["why"],
            at_once=desk["at_once"],
            owner=owner,
            beat=desk["beat"] if owner else None,
            batches=tuple(tables.batch_of(row) for row in batches),
            items=(*others, *in_order(waiting, items)),
            lanes=tuple(tables.lane_row(row) for row in lanes),
        )

    def item(self, number: int) -> Item:
        """One item.

        Raises:
            UsageError: there is none of that number.
        """
        with self.file.read("reading the queue") as con:
            row = con.execute("SELECT * FROM queue_items WHERE item = ?", [number]).fetchone()
        if row is None:
            raise _unknown(str(number))
        return tables.item_of(row)

    def events(self, number: int) -> tuple[tuple[str, str, int, str | None, str], ...]:
        """An item's way: (time, state, attempt, run id, text), oldest first."""
        with self.file.read("reading the queue") as con:
            rows = con.execute(
                "SELECT at, state, attempt, run_id, text FROM queue_events "
                "WHERE item = ? ORDER BY id",
                [number],
            ).fetchall()
        return tuple(
            (row["at"], row["state"], row["attempt"], row["run_id"], row["text"]) for row in rows
        )

    # --- adding

    def add(
        self,
        requests: Sequence[RunRequest],
        needs: Callable[[RunRequest], Needs],
        *,
        lane: Callable[[RunRequest], str] = lane_of,
        name: str | None = None,
        kind: Kind = "runs",
        plan: str | None = None,
    ) -> str:
        """Enter a batch; all of it or nothing. Returns its name.

        Args:
            requests: what is to be run, in the order wanted.
            needs: what a request takes of the machine.
            lane: what a rate limit holds back together with it; empty for nothing.
            name: unique; made from the time when None.
            kind: what it is.
            plan: a campaign's file, to be kept with it.

        Raises:
            UsageError: no requests, or the name is taken.
        """
        if not requests:
            raise UsageError("There is nothing to be run.", todo="Choose at least one task.")
        lines = [(one, needs(one), lane(one), stored(one)) for one in requests]
        at = now()
        with self.file.change("adding to the queue") as con:
            name = _free_name(con, name)
            con.execute("INSERT INTO queue_batches VALUES (?, ?, ?, ?)", [name, kind, at, plan])
            for request, need, held_by, text in lines:
                task = request.task if isinstance(request.task, str) else request.task.name
                number = con.execute(
                    """
                    INSERT INTO queue_items (batch, task, source, agent, model, condition, schema,
                        trial, lane, memory_bytes, cpus, added_at, stored)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        name,
                        task,
                        request.source,
                        request.agent,
                        request.model,
                        request.condition,
                        request.schema,
                        request.trial,
                        held_by,
                        need.memory_bytes,
                        need.cpus,
                        at,
                        text,
                    ],
                ).lastrowid
                assert number is not None  # noqa: S101 - for the type checker
                con.execute("UPDATE queue_items SET place = item WHERE item = ?", [number])
                tables.event(con, number, at, ItemState.WAITING)
        return name

    # --- what the user may want of items

    def pause(self, *, why: str = "") -> None:
        """Start nothing new; what runs goes on."""
        with self.file.change("pausing the queue") as con:
            con.execute("UPDATE queue_desk SET paused = 1, why = ?", [why])

    def resume(self) -> None:
        """Start again, also on endpoints that were to be left alone for a while."""
        with self.file.change("resuming the queue") as con:
            con.execute("UPDATE queue_desk SET paused = 0, why = ''")
            con.execute("DELETE FROM queue_lanes")
            con.execute("UPDATE queue_items SET not_before = NULL WHERE state = 'waiting'")

    def limit(self, at_once: int | None) -> None:
        """Let at most so many run at the same time; None leaves it to the machine."""
        if at_once is not None and at_once < 1:
            raise UsageError("At least one run must be allowed at a time.")
        with self.file.change("changing the queue") as con:
            con.execute("UPDATE queue_desk SET at_once = ?", [at_once])

    def hold(self, target: str | None, held: bool = True) -> int:
        """Put what waits (or take it off) hold; how many items that changed."""
        with self.file.change("changing the queue") as con:
            return sum(
                con.execute(
                    "UPDATE queue_items SET held = ? WHERE item = ? AND held <> ? "
                    "AND state NOT IN ('done', 'failed', 'cancelled')",
                    [held, item, held],
                ).rowcount
                for item in _targets(con, target)
            )

    def cancel(self, target: str | None) -> int:
        """Take out what waits, have stopped what runs; how many items that concerns."""
        at, concerned = now(), 0
        with self.file.change("cancelling") as con:
            for item in _targets(con, target):
                done = con.execute(
                    "UPDATE queue_items SET state = 'cancelled', ended_at = ?, "
                    "why = 'Taken out by the user.' WHERE item = ? AND state = 'waiting'",
                    [at, item],
                ).rowcount
                if done:
                    tables.event(con, item, at, ItemState.CANCELLED)
                else:
                    done = con.execute(
                        "UPDATE queue_items SET cancelling = 1 WHERE item = ? "
                        "AND state IN ('starting', 'running') AND cancelling = 0",
                        [item],
                    ).rowcount
                concerned += done
        return concerned

    def retry(self, target: str | None) -> int:
        """Let what ended without a reward wait again; how many items that changed."""
        at, changed = now(), 0
        with self.file.change("changing the queue") as con:
            for item in _targets(con, target):
                done = con.execute(
                    "UPDATE queue_items SET state = 'waiting', tries = 0, cancelling = 0, "
                    "held = 0, ended_at = NULL, not_before = NULL, run_id = NULL, why = '' "
                    "WHERE item = ? AND state IN ('failed', 'cancelled')",
                    [item],
                ).rowcount
                if done:
                    tables.event(con, item, at, ItemState.WAITING, "Asked for again.")
                changed += done
        return changed

    def move(self, target: str, where: Move) -> int:
        """Change the order of what waits; how many items that moved.

        `top` and `bottom`: before or after everything that waits. `up` and `down`: an item past
        its neighbour of the same batch and agent; all of a batch by one step of priority.
        """
        with self.file.change("changing the queue's order") as con:
            items = _waiting(con, _targets(con, target))
            if where in ("top", "bottom"):
                end = "max(priority) + 1" if where == "top" else "min(priority) - 1"
                sql = f"SELECT {end} FROM queue_items WHERE state = 'waiting'"  # noqa: S608 - ours
                new = con.execute(sql).fetchone()[0]
                for item in items:
                    _set_priority(con, item.item, new)
                return len(items)
            if target.isdigit():
                return sum(_past_neighbour(con, item, where) for item in items)
            for item in items:
                _set_priority(con, item.item, item.priority + (1 if where == "up" else -1))
            return len(items)

    def clear(self, target: str | None = None) -> int:
        """Forget batches (one, or all) in which everything has ended; how many. Runs stay."""
        with self.file.change("clearing the queue") as con:
            return con.execute(
                f"""
                DELETE FROM queue_batches WHERE ?1 IN ('', name) AND NOT EXISTS (
                    SELECT 1 FROM queue_items WHERE batch = name AND state NOT IN {_ENDED}
                )
                """,  # noqa: S608 - our own words
                [target or ""],
            ).rowcount

    def batch(self, name: str) -> Batch:
        """A batch by its name.

        Raises:
            UsageError: there is none.
        """
        with self.file.read("reading the queue") as con:
            row = con.execute("SELECT * FROM queue_batches WHERE name = ?", [name]).fetchone()
        if row is None:
            raise _unknown(name)
        return tables.batch_of(row)


class QueueWatch:
    """Tells cheaply whether the state file was changed by anybody else. For one thread."""

    def __init__(self, path: Path) -> None:
        self._con = open_store(path, tables.STEPS).conn
        self._seen = -1

    def changed(self) -> bool:
        """Was something written since the last call? The first call says yes."""
        try:
            version = self._con.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error as error:
            raise in_words(error, "watching the queue") from error
        before, self._seen = self._seen, version
        return bool(version != before)

    def close(self) -> None:
        """The last call."""
        self._con.close()


def _free_name(con: sqlite3.Connection, name: str | None) -> str:
    taken = "SELECT 1 FROM queue_batches WHERE name = ?"
    if name is None:
        base = f"runs-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        names: Iterable[str] = (base, *(f"{base}-{count}" for count in range(2, 1000)))
        return next(name for name in names if not con.execute(taken, [name]).fetchone())
    if not name.strip() or name.isdigit() or not name.isprintable():
        raise UsageError("A batch needs a name that is not a number.", todo="Choose another name.")
    if con.execute(taken, [name]).fetchone():
        raise UsageError(
            f"There is a batch called {name} already.",
            todo="Choose another name; `m4bench queue list` shows them.",
        )
    return name


def _targets(con: sqlite3.Connection, target: str | None) -> list[int]:
    """The numbers of the items meant: of one item, of a batch, of all."""
    if target is None:
        rows = con.execute("SELECT item FROM queue_items ORDER BY item").fetchall()
    elif target.isdigit():
        rows = con.execute("SELECT item FROM queue_items WHERE item = ?", [int(target)]).fetchall()
    else:
        rows = con.execute(
            "SELECT item FROM queue_items WHERE batch = ? ORDER BY item", [target]
        ).fetchall()
    if not rows and target is not None:
        raise _unknown(target)
    return [row["item"] for row in rows]


def _waiting(con: sqlite3.Connection, numbers: list[int]) -> list[Item]:
    wanted = set(numbers)
    rows = con.execute("SELECT * FROM queue_items WHERE state = 'waiting' ORDER BY item")
    return [tables.item_of(row) for row in rows if row["item"] in wanted]


def _set_priority(con: sqlite3.Connection, item: int, priority: int) -> None:
    con.execute("UPDATE queue_items SET priority = ? WHERE item = ?", [priority, item])


def _past_neighbour(con: sqlite3.Connection, item: Item, where: Move) -> int:
    rows = con.execute(
        "SELECT item, place FROM queue_items WHERE state = 'waiting' AND batch = ? AND agent = ? "
        "AND priority = ? ORDER BY place, item",
        [item.batch, item.agent, item.priority],
    ).fetchall()
    numbers = [row["item"] for row in rows]
    at = numbers.index(item.item)
    other = at + (-1 if where == "up" else 1)
    if not 0 <= other < len(rows):
        return 0
    for number, place in ((item.item, rows[other]["place"]), (numbers[other], rows[at]["place"])):
        con.execute("UPDATE queue_items SET place = ? WHERE item = ?", [place, number])
    return 1


def _unknown(target: str) -> UsageError:
    return UsageError(
        "There is no such item or batch in the queue.",
        todo="`m4bench queue list` shows them.",
        details=target,
    )


__all__ = ["ACTIVE", "ENDED", "Move", "QueueFile", "QueueStore", "QueueWatch"]
