"""Carrying the queue out: as many runs at once as fit, until nothing is left or the user stops.

One thread per run, and one that decides; only the latter changes the queue. Each run gets a
ticket on the disk before it begins, and the run's row bears it from its first moment: after a
crash each ticket has either its run, whose end says what becomes of the item, or none, and then
nothing was begun.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from engine.base.errors import Cancelled, M4Error, StorageFull, UsageError
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.queue.lease import Lease
from engine.queue.office import Office
from engine.queue.order import next_turn
from engine.queue.records import ACTIVE, ENDED, Item, ItemState, QueueState, Room, ticket_of
from engine.queue.settle import Policy, settle
from engine.queue.store import QueueStore, QueueWatch
from engine.runs.records import RunEvent, RunRequest
from engine.runs.store import Owner, RunStore, StoredRun, now

TICK = 0.5
"""Seconds between two looks at whether another program changed the queue."""
BEAT = 5.0
"""Seconds between two signs of life in the file."""
_log = logging.getLogger(__name__)

OnEvent = Callable[[RunEvent], None]


class CarryOut(Protocol):
    """Makes one run and brings it to its end, in the calling thread."""

    def __call__(self, request: RunRequest, *, job: Job, on_event: OnEvent) -> object:
        """Raise what `Workbench.run` raises; what became of the run stands in the run store."""


@dataclass(frozen=True)
class _Live:
    item: Item
    job: SimpleJob
    thread: threading.Thread


@dataclass(frozen=True)
class _Over:
    """A thread has brought its run to an end."""

    item: Item
    error: BaseException | None


@dataclass(frozen=True)
class _Begun:
    """A thread's run has its id."""

    item: Item
    run_id: str


class Worker:
    """Works on one home's queue; one call of `work` at a time."""

    def __init__(
        self,
        home: Home,
        *,
        runs: RunStore,
        carry_out: CarryOut,
        recover: Callable[[], object],
        room: Callable[[], Room],
        deliver: Callable[[RunRequest, str], object] | None = None,
        policy: Policy | None = None,
    ) -> None:
        """See the fields of `Workbench` for what is usually given.

        Args:
            home: whose queue.
            runs: where it is looked up what became of a ticket.
            carry_out: makes one run.
            recover: finishes or closes the runs of dead programs.
            room: what all runs together may use now.
            deliver: gives a run that a crash cut short to whoever wanted a copy.
            policy: how often and when again.
        """
        self._home = home
        self._runs = runs
        self._carry_out = carry_out
        self._recover = recover
        self._room = room
        self._deliver = deliver
        self._policy = policy or Policy()
        self._store = QueueStore(home.state)
        self._inbox: queue.SimpleQueue[_Over | _Begun | None] = queue.SimpleQueue()
        self._live: dict[int, _Live] = {}
        self._stop = threading.Event()
        self._on_event: OnEvent | None = None
        self._trouble: M4Error | None = None

    def work(
        self,
        job: Job,
        *,
        batch: str | None = None,
        keep: bool = False,
        on_event: OnEvent | None = None,
    ) -> QueueState:
        """Carry out what waits; return when nothing is left to do.

        Where another program works on the queue already, watches it, and takes over if it dies.
        Other batches have their turns as well, also when only one is waited for. What is on hold
        is not waited for; a rate limit is.

        Args:
            job: progress in ended items; its cancel stops the runs, whose items then wait for
                another time.
            batch: return when this one has nothing left.
            keep: never return by itself: whatever is added later is carried out as well.
            on_event: what the runs tell; called from their threads.

        Raises:
            UsageError: the queue is paused (unless `keep`).
            StorageFull: there was no room for a run; the queue is paused (unless `keep`).
            Cancelled: the job was.
        """
        self._on_event, self._trouble = on_event, None
        self._stop.clear()
        lease = Lease(self._home)
        forget = job.on_cancel(self._stop_soon)
        watch = QueueWatch(self._home.state)
        told = False
        try:
            if batch is not None:
                self._store.batch(batch)
            if not keep:
                self._refuse_paused()
            while True:
                job.check()
                if lease.take():
                    try:
                        self._own(job, watch, batch, keep=keep)
                    finally:
                        lease.give_up()
                    return self._store.state()
                if watch.changed():
                    state = self._store.state()
                    self._tell(job, state, batch)
                    if not keep and not _left(state, batch):
                        return state
                    if not told and state.owner is not None:
                        job.message(f"Process {state.owner.pid} works on the queue; watching it.")
                        told = True
                self._stop.wait(TICK)
        finally:
            forget()
            watch.close()

    # --- the owner's loop

    def _own(self, job: Job, watch: QueueWatch, batch: str | None, *, keep: bool) -> None:
        office = Office(self._store.file)
        try:
            self._recover()
            self._look_after(office)
            self._loop(office, job, watch, batch, keep=keep)
        finally:
            self._end_all(office)
            with contextlib.suppress(M4Error):  # the lock is what counts
                office.leave()

    def _loop(
        self, office: Office, job: Job, watch: QueueWatch, batch: str | None, *, keep: bool
    ) -> None:
        beaten = time.monotonic()
        look = True
        while True:
            if self._stop.is_set():
                raise Cancelled
            if time.monotonic() - beaten > BEAT:
                office.beat()
                beaten = time.monotonic()
            # What others wrote, and what became due, is looked at; else there is nothing new.
            if watch.changed() or look:
                self._look_after(office)
                state = self._store.state()
                self._tell(job, state, batch)
                self._cancel_as_asked(state)
                if not state.paused and (keep or _left(state, batch)):
                    while self._start_next(office, state, job):
                        state = self._store.state()
                if not self._live and not keep:
                    if self._trouble is not None and state.paused:
                        raise self._trouble
                    if not _left(state, batch) and not state.count(*ACTIVE, batch=batch):
                        return
                look = _due_soon(state)
            look = self._wait(office) or look

    def _wait(self, office: Office) -> bool:
        """Until a run tells something or a tick has passed; did one?"""
        try:
            message = self._inbox.get(timeout=TICK)
        except queue.Empty:
            return False
        self._hear(office, message)
        return True

    def _hear(self, office: Office, message: _Over | _Begun | None) -> None:
        if isinstance(message, _Begun):
            office.begun(message.item.item, message.item.attempt, message.run_id)
        elif isinstance(message, _Over):
            live = self._live.pop(message.item.item)
            live.thread.join()
            if isinstance(message.error, StorageFull):
                self._trouble = message.error
            self._settle(office, message.item, message.error)

    def _start_next(self, office: Office, state: QueueState, job: Job) -> bool:
        """Start the run whose turn it is, if it fits beside the others."""
        turn = next_turn(state, now())
        if turn is None:
            return False
        running = tuple(item.needs for item in state.items if item.state in ACTIVE)
        if not self._room().fits(turn.needs, running, state.at_once):
            return False  # nor may anything smaller overtake it: it would wait for ever
        item = office.take(turn.item)
        if item is None:
            return True  # changed meanwhile: look again
        own = SimpleJob(on_message=job.message)
        thread = threading.Thread(
            target=self._carry, args=(item, own), name=f"queue item {item.item}"
        )
        self._live[item.item] = _Live(item, own, thread)
        thread.start()
        return True

    def _carry(self, item: Item, job: SimpleJob) -> None:
        """The thread of one run."""
        known = threading.Event()

        def tell(event: RunEvent) -> None:
            if not known.is_set():
                known.set()
                self._inbox.put(_Begun(item, event.run_id))
            if self._on_event is not None:
                self._on_event(event)

        error: BaseException | None = None
        try:
            request = replace(item.request, ticket=ticket_of(item.item, item.attempt))
            self._carry_out(request, job=job, on_event=tell)
        except BaseException as raised:  # every end must be heard of
            error = raised
        self._inbox.put(_Over(item, error))

    def _settle(self, office: Office, item: Item, error: BaseException | None) -> None:
        run = self._runs.by_ticket(ticket_of(item.item, item.attempt))
        if run is not None and run.summary.live:
            # Its end could not be written. The next start closes it; this attempt is over.
            run, error = None, error or RuntimeError("the run could not be closed")
        if error is not None and not isinstance(error, M4Error):
            _log.error("a run of the queue failed", exc_info=error)
        until = None if run is None else _retry_at(run)
        office.end(
            item.item,
            item.attempt,
            lambda fresh: settle(
                fresh,
                None if run is None else run.summary,
                error,
                now=datetime.now(UTC),
                policy=self._policy,
                retry_at=until,
                pulled=self._stop.is_set(),
            ),
        )

    def _look_after(self, office: Office) -> None:
        """Settle what no thread of ours carries out: what dead programs left."""
        recovered = False
        for item in office.active():
            if item.item in self._live:
                continue
            ticket = ticket_of(item.item, item.attempt)
            run = self._runs.by_ticket(ticket)
            if run is not None and run.summary.live and not run.owner.alive and not recovered:
                self._recover()
                recovered, run = True, self._runs.by_ticket(ticket)
            if run is not None and run.summary.live and run.owner != Owner.me():
                continue  # a living program finishes it
            self._settle(office, item, None)
            if run is not None and self._deliver is not None and item.request.results is not None:
                try:
                    self._deliver(item.request, run.summary.run_id)
                except M4Error as error:
                    _log.warning("a run's copy could not be made: %s", error.text)

    def _refuse_paused(self) -> None:
        state = self._store.state()
        if state.paused:
            why = f" {state.why}" if state.why else ""
            raise UsageError(f"The queue is paused.{why}", todo="Say `m4bench queue resume` first.")

    # --- stopping

    def _stop_soon(self) -> None:
        self._stop.set()
        self._inbox.put(None)

    def _cancel_as_asked(self, state: QueueState) -> None:
        for item in state.items:
            if item.cancelling and item.item in self._live:
                self._live[item.item].job.cancel()

    def _end_all(self, office: Office) -> None:
        """Stop what runs, wait for its end and settle it."""
        if self._live:
            self._stop.set()
        for live in tuple(self._live.values()):
            live.job.cancel()
        while self._live:
            message = self._inbox.get()
            try:
                self._hear(office, message)
            except M4Error as error:  # settled at the next start
                _log.warning("a run of the queue could not be settled: %s", error.text)
        with contextlib.suppress(queue.Empty):
            while True:
                self._inbox.get_nowait()

    def _tell(self, job: Job, state: QueueState, batch: str | None) -> None:
        total, ended = len(state.of(batch)), state.count(*ENDED, batch=batch)
        at_work = state.count(*ACTIVE, batch=batch)
        job.progress("queue", ended, total, f"{ended} of {total} runs ended, {at_work} at work")


def _left(state: QueueState, batch: str | None) -> bool:
    """Is there anything that will happen without the user?"""
    return any(
        item.state in ACTIVE or (item.state == ItemState.WAITING and not item.held)
        for item in state.of(batch)
    )


def _due_soon(state: QueueState) -> bool:
    """Does time alone change what may be started?"""
    return bool(state.lanes) or any(item.not_before for item in state.items)


def _retry_at(run: StoredRun) -> datetime | None:
    """When the endpoint takes requests again, as far as the run's record knows."""
    found: Any = (run.facts.get("agent_result") or {}).get("retry_at")
    if not isinstance(found, str):
        return None
    try:
        at = datetime.fromisoformat(found)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
