"""Runs and their events in the state file.

Every change of state is one transaction that also writes its event row, checked against
`states.NEXT` and against the owner: two programs can never work on one run.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from sqlite_utils import Database

from engine.base.errors import Busy, HarnessFault, UsageError
from engine.base.store import Step, in_words, open_store
from engine.runs.records import RunSummary
from engine.runs.states import LIVE, NEXT, Reason, State

_START_TIME_TOLERANCE = 2.0
"""Seconds by which a process's start time may seem to move when the clock is set."""


def now() -> str:
    """The time as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _first(database: Database) -> None:
    database.conn.execute(
        """
        CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            task TEXT NOT NULL,
            source TEXT NOT NULL,
            agent TEXT NOT NULL,
            model TEXT NOT NULL,
            condition TEXT NOT NULL,
            schema TEXT NOT NULL,
            trial INTEGER NOT NULL,
            state TEXT NOT NULL,
            failure_reason TEXT,
            reward REAL,
            strict_pass INTEGER,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            owner_pid INTEGER NOT NULL,
            owner_started REAL NOT NULL,
            facts TEXT NOT NULL
        )
        """
    )
    database.conn.execute(
        """
        CREATE TABLE run_events (
            id INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
            at TEXT NOT NULL,
            state TEXT NOT NULL,
            text TEXT NOT NULL
        )
        """
    )
    database.conn.execute("CREATE INDEX run_events_by_run ON run_events (run_id, id)")
    database.conn.execute("CREATE INDEX runs_by_task ON runs (task, started_at)")


def _ticket(database: Database) -> None:
    database.conn.execute("ALTER TABLE runs ADD COLUMN ticket TEXT")
    database.conn.execute("CREATE UNIQUE INDEX runs_by_ticket ON runs (ticket)")


def _origin(database: Database) -> None:
    database.conn.execute("ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'own'")
    database.conn.execute("ALTER TABLE runs ADD COLUMN folder TEXT")


STEPS = (
    Step("runs/001-first", _first),
    Step("runs/002-ticket", _ticket),
    Step("runs/003-origin", _origin),
)


@dataclass(frozen=True)
class Owner:
    """A process that works on a run."""

    pid: int
    """Its process id."""
    started: float
    """When it was started, in seconds since 1970 (tells apart processes of one id)."""

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        return cls(os.getpid(), psutil.Process().create_time())

    @property
    def alive(self) -> bool:
        """Does that very process still run?"""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _START_TIME_TOLERANCE
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True)
class StoredRun:
    """A run's row."""

    summary: RunSummary
    """What lists show."""
    owner: Owner
    """Who works (or worked) on it."""
    facts: Mapping[str, Any]
    """What is known so far, under the names of `result.json`, and what recovery needs."""
    folder: Path | None = None
    """Where an imported run's folder is; None for our own, which are in the home."""

    @property
    def state(self) -> State:
        """Its state."""
        return State(self.summary.state)


class RunStore:
    """The runs of one home. Holds no connection: any thread may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def _open(self, doing: str) -> Iterator[sqlite3.Connection]:
        database = open_store(self._path, STEPS)
        with closing(database.conn) as connection:
            connection.row_factory = sqlite3.Row
            try:
                yield connection
            except sqlite3.Error as error:
                raise in_words(error, doing) from error

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sqlite3.Connection]:
        with self._open(doing) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def add(
        self, summary: RunSummary, facts: Mapping[str, Any], *, ticket: str | None = None
    ) -> bool:
        """Enter a new run in state `prepared`, owned by this process.

        Returns False when the id is taken.

        Raises:
            HarnessFault: a run was already made with that ticket.
        """
        owner = Owner.me()
        values: dict[str, Any] = {
            "run_id": summary.run_id,
            "task": summary.task,
            "source": summary.source,
            "agent": summary.agent,
            "model": summary.model,
            "condition": summary.condition,
            "schema": summary.schema,
            "trial": summary.trial,
            "state": State.PREPARED.value,
            "started_at": summary.started_at,
            "owner_pid": owner.pid,
            "owner_started": owner.started,
            "facts": json.dumps(dict(facts)),
            "ticket": ticket,
        }
        with self._transaction("entering the run") as con:
            used = "SELECT 1 FROM runs WHERE ticket = ?"
            if ticket is not None and con.execute(used, [ticket]).fetchone():
                raise HarnessFault("This run was begun already.")
            taken = con.execute("SELECT 1 FROM runs WHERE run_id = ?", [summary.run_id]).fetchone()
            if taken:
                return False
            # The names are those above, not anybody's input.
            con.execute(
                f"INSERT INTO runs ({', '.join(values)}) "  # noqa: S608
                f"VALUES ({', '.join('?' * len(values))})",
                list(values.values()),
            )
            _event(con, summary.run_id, summary.started_at, State.PREPARED, "")
        return True

    def enter(
        self,
        run_id: str,
        state: State,
        *,
        facts: Mapping[str, Any] | None = None,
        reason: Reason | None = None,
        reward: float | None = None,
        strict_pass: bool | None = None,
        text: str = "",
        at: str | None = None,
    ) -> str:
        """Bring a run of ours into `state`; returns the time, ISO 8601.

        Args:
            run_id: which run.
            state: the new state.
            facts: what has become known; merged into what was.
            reason: of a failure.
            reward: 0 to 1 at the end, None where no reward is due.
            strict_pass: at the end.
            text: words for the event row; no data.
            at: the time; now when None.

        Raises:
            HarnessFault: the state may not follow the present one, or the run is not ours.
        """
        at = at or now()
        with self._transaction("entering a run's state") as con:
            row = _own(con, run_id)
            if state not in NEXT[State(row["state"])]:
                raise HarnessFault(f"A run cannot go from {row['state']} to {state}.")
            known = json.loads(row["facts"]) | dict(facts or {})
            con.execute(
                """
                UPDATE runs SET state = ?, facts = ?, failure_reason = ?, reward = ?,
                    strict_pass = ?, ended_at = ?
                WHERE run_id = ?
                """,
                [
                    state.value,
                    json.dumps(known),
                    reason.value if reason else None,
                    reward,
                    strict_pass,
                    None if state in LIVE else at,
                    run_id,
                ],
            )
            _event(con, run_id, at, state, text)
        return at

    def note(self, run_id: str, facts: Mapping[str, Any]) -> None:
        """Add to what is known of a run of ours, within its state.

        Raises:
            HarnessFault: the run is not ours.
        """
        with self._transaction("noting a run's facts") as con:
            known = json.loads(_own(con, run_id)["facts"]) | dict(facts)
            con.execute("UPDATE runs SET facts = ? WHERE run_id = ?", [json.dumps(known), run_id])

    def add_published(self, summary: RunSummary, folder: Path, facts: Mapping[str, Any]) -> bool:
        """Enter a run that was made elsewhere and has ended; False when the id is taken."""
        owner = Owner.me()
        row = {name: getattr(summary, name) for name in _SUMMARY.split(", ")} | {
            "owner_pid": owner.pid,
            "owner_started": owner.started,
            "facts": json.dumps(dict(facts)),
            "folder": os.fspath(folder),
        }
        with self._transaction("entering an imported run") as con:
            done = con.execute(
                f"INSERT OR IGNORE INTO runs ({', '.join(row)}) "  # noqa: S608 - our own names
                f"VALUES ({', '.join('?' * len(row))})",
                list(row.values()),
            )
            return done.rowcount == 1

    def note_published(self, run_id: str, source: str, facts: Mapping[str, Any]) -> None:
        """Keep what was found when an imported run was scored with the data of `source`."""
        with self._transaction("noting an imported run's figures") as con:
            row = con.execute(
                "SELECT facts FROM runs WHERE run_id = ? AND origin = 'published'", [run_id]
            ).fetchone()
            if row is None:
                raise HarnessFault("The imported run is not in the state file any more.")
            known = json.loads(row["facts"]) | dict(facts)
            con.execute(
                "UPDATE runs SET source = ?, facts = ? WHERE run_id = ?",
                [source, json.dumps(known), run_id],
            )

    def claim(self, run: StoredRun) -> bool:
        """Take over a run whose owner is gone; False when somebody else was quicker."""
        me = Owner.me()
        with self._transaction("taking over a run") as con:
            done = con.execute(
                """
                UPDATE runs SET owner_pid = ?, owner_started = ?
                WHERE run_id = ? AND owner_pid = ? AND owner_started = ? AND ended_at IS NULL
                """,
                [me.pid, me.started, run.summary.run_id, run.owner.pid, run.owner.started],
            )
            return done.rowcount == 1

    def find(self, run_id: str) -> StoredRun:
        """One run.

        Raises:
            UsageError: there is none of that id.
        """
        with self._open("reading a run") as con:
            row = con.execute("SELECT * FROM runs WHERE run_id = ?", [run_id]).fetchone()
        if row is None:
            raise UsageError(
                "There is no run of that name.", todo="See `m4bench runs list`.", details=run_id
            )
        return _stored(row)

    def by_ticket(self, ticket: str) -> StoredRun | None:
        """The run that was made with a ticket; None when there is none (any more)."""
        with self._open("reading a run") as con:
            row = con.execute("SELECT * FROM runs WHERE ticket = ?", [ticket]).fetchone()
        return None if row is None else _stored(row)

    def list(self, task: str | None = None) -> tuple[RunSummary, ...]:
        """All runs (of a task), newest first."""
        with self._open("reading the runs") as con:
            rows = con.execute(
                f"""
                SELECT {_SUMMARY} FROM runs WHERE ?1 IS NULL OR task = ?1
                ORDER BY started_at DESC, rowid DESC
                """,  # noqa: S608 - our own column names
                [task],
            ).fetchall()
        return tuple(_summary(row) for row in rows)

    def judged(self, most: int = 2000) -> tuple[StoredRun, ...]:
        """The newest runs that ended with a reward, newest first."""
        with self._open("reading the runs") as con:
            rows = con.execute(
                "SELECT * FROM runs WHERE reward IS NOT NULL AND ended_at IS NOT NULL "
                "AND origin = 'own' "
                "ORDER BY started_at DESC, rowid DESC LIMIT ?",
                [most],
            ).fetchall()
        return tuple(map(_stored, rows))

    def orphans(self) -> tuple[StoredRun, ...]:
        """Runs in a live state whose process is gone, oldest first."""
        with self._open("looking for interrupted runs") as con:
            rows = con.execute(
                "SELECT * FROM runs WHERE ended_at IS NULL ORDER BY started_at, rowid"
            ).fetchall()
        return tuple(run for run in map(_stored, rows) if not run.owner.alive)

    def events(self, run_id: str) -> tuple[tuple[str, str, str], ...]:
        """The run's way: (time, state, text), oldest first."""
        with self._open("reading a run's events") as con:
            rows = con.execute(
                "SELECT at, state, text FROM run_events WHERE run_id = ? ORDER BY id", [run_id]
            ).fetchall()
        return tuple((row["at"], row["state"], row["text"]) for row in rows)

    def delete(self, run_id: str) -> None:
        """Forget a run that has ended, and its events.

        Raises:
            UsageError: there is none of that id.
            Busy: it is still at work.
        """
        run = self.find(run_id)
        if run.state in LIVE:
            raise Busy("The run is still at work.", todo="Cancel it first, or wait for its end.")
        with self._transaction("deleting a run") as con:
            con.execute("DELETE FROM runs WHERE run_id = ?", [run_id])


def _own(con: sqlite3.Connection, run_id: str) -> sqlite3.Row:
    """The row of a run that this process works on."""
    row: sqlite3.Row | None = con.execute(
        "SELECT * FROM runs WHERE run_id = ?", [run_id]
    ).fetchone()
    if row is None:
        raise HarnessFault("The run is not in the state file any more.")
    me = Owner.me()
    if row["owner_pid"] != me.pid or not Owner(me.pid, row["owner_started"]).alive:
        raise HarnessFault("Another program works on this run.")
    return row


def _event(con: sqlite3.Connection, run_id: str, at: str, state: State, text: str) -> None:
    con.execute(
        "INSERT INTO run_events (run_id, at, state, text) VALUES (?, ?, ?, ?)",
        [run_id, at, state.value, text],
    )


_SUMMARY = (
    "run_id, task, source, agent, model, condition, schema, trial, state, failure_reason, "
    "reward, strict_pass, started_at, ended_at, origin"
)


def _summary(row: sqlite3.Row) -> RunSummary:
    state = State(row["state"])
    return RunSummary(
        run_id=row["run_id"],
        task=row["task"],
        source=row["source"],
        agent=row["agent"],
        model=row["model"],
        condition=row["condition"],
        schema=row["schema"],
        trial=row["trial"],
        state=state.value,
        failure_reason=row["failure_reason"],
        reward=row["reward"],
        strict_pass=None if row["strict_pass"] is None else bool(row["strict_pass"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        live=state in LIVE,
        origin=row["origin"],
    )


def _stored(row: sqlite3.Row) -> StoredRun:
    return StoredRun(
        summary=_summary(row),
        owner=Owner(row["owner_pid"], row["owner_started"]),
        facts=json.loads(row["facts"]),
        folder=Path(row["folder"]) if row["folder"] else None,
    )
