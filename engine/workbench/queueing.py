"""The workbench's side of the queue: adding, looking, directing, working, estimating."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import psutil

from engine.agents import find_agent
from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import list_tasks
from engine.isolation.backends import choose_backend
from engine.isolation.interface import Limits
from engine.queue import (
    Move,
    Needs,
    Policy,
    QueueState,
    QueueStore,
    QueueWatch,
    Room,
    Worker,
)
from engine.queue.checks import Check, Probe, once, preflight
from engine.queue.estimate import Estimate, Past, Price, estimate
from engine.queue.plan import Plan, requests_of
from engine.runs.records import RunEvent, RunRequest
from engine.runs.store import RunStore, StoredRun
from engine.runs.working import Way
from engine.sources import list_sources
from engine.workbench.ways import way_of

HEADROOM = 0.15
"""Share of the machine's memory that runs leave to everything else, at least 1 GiB."""

Control = Literal[
    "pause", "resume", "hold", "release", "cancel", "retry", "clear", "up", "down", "top", "bottom"
]

_MOVES: dict[str, Move] = {"up": "up", "down": "down", "top": "top", "bottom": "bottom"}


class Queueing:
    """Part of `Workbench`: the same home, the same runs."""

    home: Home
    _store: RunStore

    def run(
        self, request: RunRequest, *, job: Job, on_event: Callable[[RunEvent], None] | None = None
    ) -> object:
        """See `Workbench.run`."""
        raise NotImplementedError

    def recover(self) -> object:
        """See `Workbench.recover`."""
        raise NotImplementedError

    def _checked(self, request: RunRequest) -> object:
        raise NotImplementedError

    def limits_of(self, request: RunRequest) -> Limits:
        """See `Workbench.limits_of`."""
        raise NotImplementedError

    def _deliver(self, request: RunRequest, run_id: str) -> None:
        raise NotImplementedError

    @property
    def _queue(self) -> QueueStore:
        return QueueStore(self.home.state)

    def enqueue(
        self,
        requests: Sequence[RunRequest],
        *,
        name: str | None = None,
        campaign: str | None = None,
    ) -> str:
        """Add runs to the queue as one batch; returns its name. Nothing is started by this.

        Args:
            requests: in the order wanted.
            name: unique among the batches; made from the time when None.
            campaign: the text of the campaign's file, where it is one.

        Raises:
            UsageError, BadInput: a request cannot be carried out, or the name is taken.
            MissingPrerequisite: an endpoint's key or the permission to use it is missing.
                In every case nothing is added.
        """
        for request in once(requests):
            self._checked(request)
        lanes: dict[tuple[str, ...], str] = {}

        def lane(request: RunRequest) -> str:
            key = (request.agent, request.source, request.endpoint or "")
            if key not in lanes:
                way = self._way(request)
                lanes[key] = "" if way is None else way.endpoint.name
            return lanes[key]

        return self._queue.add(
            requests,
            self._needs,
            lane=lane,
            name=name,
            kind="runs" if campaign is None else "campaign",
            plan=campaign,
        )

    def queue(self) -> QueueState:
        """The whole queue now, waiting items in the order of their turns."""
        return self._queue.state()

    def queue_events(self, item: int) -> tuple[tuple[str, str, int, str | None, str], ...]:
        """An item's way: (time, state, attempt, run id, words), oldest first."""
        self._queue.item(item)
        return self._queue.events(item)

    def queue_watch(self) -> QueueWatch:
        """Tells cheaply whether anything was written since; for one thread, to be closed."""
        return QueueWatch(self.home.state)

    def queue_control(self, action: Control, target: str | None = None) -> int:
        """Steer the queue, whoever works on it; how many items (batches for `clear`) changed.

        Args:
            action: `pause` and `resume` concern the queue, or with a target are `hold` and
                `release`; `cancel`, `retry` (what ended without a reward), `hold` and `release`
                concern the target; `up`, `down`, `top`, `bottom` move it; `clear` forgets
                batches in which everything has ended (runs stay).
            target: an item's number or a batch's name; None for everything.

        Raises:
            UsageError: there is no such target, or one is needed.
        """
        store = self._queue
        if target is None and action in ("pause", "resume"):
            store.pause() if action == "pause" else store.resume()
            return len(store.state().items)
        if action in ("pause", "hold"):
            return store.hold(target)
        if action in ("resume", "release"):
            return store.hold(target, held=False)
        if action == "cancel":
            return store.cancel(target)
        if action == "retry":
            return store.retry(target)
        if action == "clear":
            return store.clear(target)
        if target is None:
            raise UsageError("What is to be moved?", todo="Name an item or a batch.")
        return store.move(target, _MOVES[action])

    def queue_limit(self, at_once: int | None) -> None:
        """Let at most so many runs live at the same time; None leaves it to the machine."""
        self._queue.limit(at_once)

    def work_queue(
        self,
        job: Job,
        *,
        batch: str | None = None,
        keep: bool = False,
        attempts: int | None = None,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> QueueState:
        """Carry out the queue; returns when nothing (of `batch`) is left to do.

        While another program works on it this watches, and takes over if that one dies. Cancel of
        the job stops the runs at work; their items stay in the queue.

        Args:
            job: progress in ended items, stage ``queue``.
            batch: wait for this one alone; others have their turns too.
            keep: never return by itself.
            attempts: runs of one item that may end through no doing of the agent's.
            on_event: what the runs tell; called from their threads.

        Raises:
            UsageError: it is paused (unless `keep`).
            StorageFull: no room for a run; the queue is paused.
            Cancelled: the job was.
        """
        worker = Worker(
            self.home,
            runs=self._store,
            carry_out=self.run,
            recover=self.recover,
            room=machine_room,
            deliver=self._deliver,
            policy=Policy() if attempts is None else Policy(tries=attempts),
        )
        return worker.work(job, batch=batch, keep=keep, on_event=on_event)

    # --- before anything is started

    def plan_requests(self, plan: Plan) -> tuple[RunRequest, ...]:
        """The runs that a campaign's plan stands for on this home's sources."""
        kinds: dict[str, str] = {info.name: info.kind for info in list_sources(self.home)}
        return requests_of(plan, list_tasks(), kinds)

    def preflight(
        self, requests: Sequence[RunRequest], *, strict: bool = False
    ) -> tuple[Check, ...]:
        """What must hold before these runs are started; takes seconds, builds nothing.

        Args:
            requests: what is to be run.
            strict: a campaign's: the references must be there and hold.
        """
        probes: dict[str, Probe] = {"Requests": self._checked}
        if any(_needs_model(request) for request in requests):
            probes = {"Endpoints": self._way, **probes}
        return preflight(
            self.home,
            requests,
            probes,
            sandbox=lambda name: choose_backend(self.home, name),
            strict=strict,
        )

    def estimate(
        self, requests: Sequence[RunRequest], *, prices: Mapping[str, Price] | None = None
    ) -> Estimate:
        """What these runs will take, by the medians of runs like them on this home."""
        return estimate(requests, map(_past, self._store.judged()), prices=prices)

    def _way(self, request: RunRequest) -> Way | None:
        """The way to its model, permitted by the source's policy; None where there is none."""
        if not _needs_model(request):
            return None
        return way_of(self.home, request, find_agent(request.agent))

    def _needs(self, request: RunRequest) -> Needs:
        limits = self.limits_of(request)
        return Needs(memory_bytes=limits.memory_bytes, cpus=limits.cpus)


def _needs_model(request: RunRequest) -> bool:
    try:
        return bool(find_agent(request.agent).apis)
    except UsageError:
        return False  # told of with the request


def machine_room() -> Room:
    """What runs may use of this machine together."""
    total = psutil.virtual_memory().total
    return Room(
        memory_bytes=total - max(1 << 30, int(total * HEADROOM)),
        cpus=psutil.cpu_count() or 1,
    )


def _past(run: StoredRun) -> Past:
    summary = run.summary
    usage: Mapping[str, Any] = run.facts.get("token_usage") or {}
    begin, end = (datetime.fromisoformat(str(at)) for at in (summary.started_at, summary.ended_at))
    return Past(
        task=summary.task,
        agent=summary.agent,
        model=summary.model,
        condition=summary.condition,
        seconds=max(0.0, (end - begin).total_seconds()),
        input_tokens=usage.get("input_tokens"),
        cached_input_tokens=usage.get("cached_input_tokens"),
        output_tokens=usage.get("output_tokens"),
    )
