"""A queue whose runs are rows of the real run store, ended as the test says, without a sandbox."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.queue import Needs, Policy, QueueStore, Room, Worker
from engine.runs.records import RunEvent, RunRequest, RunSummary
from engine.runs.states import Reason, State
from engine.runs.store import RunStore, now

WAY = (State.CANARY, State.RUNNING, State.COLLECTING, State.LINTING, State.SCORING)
NEEDS = Needs(memory_bytes=1 << 30, cpus=1)
ROOM = Room(memory_bytes=64 << 30, cpus=64)
_ids = itertools.count()


def summary_of(request: RunRequest) -> RunSummary:
    """A new run's line."""
    return RunSummary(
        run_id=f"{request.task}_t{request.trial}_{next(_ids)}",
        task=str(request.task),
        source=request.source,
        agent=request.agent,
        model=request.model or "m",
        condition=request.condition,
        schema=request.schema,
        trial=request.trial,
        state="prepared",
        failure_reason=None,
        reward=None,
        strict_pass=None,
        started_at=now(),
        ended_at=None,
        live=True,
    )


def asked(count: int, *, task: str = "mimic-x", **more: object) -> list[RunRequest]:
    """Requests that differ in their trial."""
    return [
        RunRequest(task=task, source="demo", trial=trial, **more)  # type: ignore[arg-type]
        for trial in range(1, count + 1)
    ]


def end(runs: RunStore, run_id: str, reward: float = 1.0) -> None:
    """Bring a run to its end."""
    for state in WAY:
        runs.enter(run_id, state)
    runs.enter(run_id, State.DONE, reward=reward, strict_pass=reward == 1)


class Bench:
    """A home, its stores, and a worker."""

    def __init__(self, root: Path) -> None:
        self.home: Home = open_home(root / "home")
        self.runs = RunStore(self.home.state)
        self.queue = QueueStore(self.home.state)
        self.most = 0
        self.order: list[RunRequest] = []
        self._now = 0
        self._lock = threading.Lock()
        self.during: Callable[[RunRequest, str, SimpleJob], object] = lambda *_: None
        """Called while a run is at work."""

    def carry_out(self, request: RunRequest, *, job, on_event) -> None:
        """Make a run and end it with reward 1."""
        summary = summary_of(request)
        assert self.runs.add(summary, {}, ticket=request.ticket)
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.order.append(request)
        try:
            on_event(RunEvent(summary.run_id, now(), "state", "prepared"))
            self.during(request, summary.run_id, job)
            if self.runs.find(summary.run_id).summary.live:
                end(self.runs, summary.run_id)
        finally:
            with self._lock:
                self._now -= 1

    def fail(self, run_id: str, reason: Reason, **facts: object) -> None:
        """End a run as failed, without a reward."""
        self.runs.enter(run_id, State.FAILED, reason=reason, facts=facts)

    def worker(self, *, room: Room = ROOM, policy: Policy | None = None, **more) -> Worker:
        """A worker on this home."""
        parts = {"carry_out": self.carry_out, "recover": lambda: None} | more
        return Worker(self.home, runs=self.runs, room=lambda: room, policy=policy, **parts)

    def add(self, requests: list[RunRequest], name: str | None = None) -> str:
        """Enter a batch."""
        return self.queue.add(requests, lambda _: NEEDS, name=name)

    def ends(self) -> dict[int, list[str]]:
        """Per item the ends that its events tell."""
        return {
            item.item: [
                state
                for _, state, *_ in self.queue.events(item.item)
                if state in ("done", "failed", "cancelled")
            ]
            for item in self.queue.state().items
        }
