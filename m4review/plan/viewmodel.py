"""Planning runs without a widget: what can be chosen, how many runs, whether they can be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from engine.agents import agent_names, find_agent
from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.gateway.endpoints import list_endpoints
from engine.gateway.interface import Endpoint
from engine.workbench import Check, Estimate, RunRequest
from m4review.app.jobs import JobRunner, duration
from m4review.app.settings import Settings
from m4review.plan.choice import PlanChoice, from_kept
from m4review.queue.viewmodel import QueueDesk

if TYPE_CHECKING:
    from engine.workbench import Workbench

_COUNT, _CHECK = 150, 900
"""Milliseconds of quiet after a change before runs are counted, and before they are checked."""


@dataclass(frozen=True)
class Offer:
    """What there is to choose from."""

    tasks: tuple[Task, ...]
    """The catalogue."""
    sources: Mapping[str, tuple[str, ...]]
    """Ready sources by kind."""
    endpoints: tuple[Endpoint, ...]
    """All endpoints."""
    agents: tuple[str, ...]
    """Names of all agents."""

    def endpoints_of(self, agent: str) -> tuple[str, ...]:
        """Endpoints that an agent can speak to; none for those that use no model."""
        apis = find_agent(agent).apis
        return tuple(each.name for each in self.endpoints if each.api in apis)


@dataclass(frozen=True)
class Count:
    """What is planned, worked out."""

    requests: tuple[RunRequest, ...]
    """The runs."""
    estimate: Estimate | None
    """What they will take."""
    error: M4Error | None
    """Why there are none."""


def load_offer(workbench: Workbench) -> Offer:
    """Ask the engine what there is."""
    kinds: dict[str, list[str]] = {}
    for source in workbench.sources():
        if source.state == "ready":
            kinds.setdefault(source.kind, []).append(source.name)
    return Offer(
        tuple(workbench.tasks()),
        {kind: tuple(names) for kind, names in kinds.items()},
        tuple(list_endpoints(workbench.home)),
        agent_names(),
    )


def count_runs(workbench: Workbench, choice: PlanChoice) -> Count:
    """The runs that a choice stands for, and what they will take."""
    try:
        requests = workbench.plan_requests(choice.as_plan())
    except M4Error as error:
        return Count((), None, error)
    return Count(requests, workbench.estimate(requests), None)


def estimate_words(estimate: Estimate | None, at_once: int = 1) -> str:
    """An estimate for people, with what it rests on."""
    if estimate is None or not estimate.runs:
        return ""
    if not estimate.known:
        return "No run of these agents was made here yet, so nothing is known of time and tokens."
    wall = estimate.wall_seconds(at_once)
    words = f"About {duration(max(1.0, wall or 0.0))} one after the other"
    words += f"; the longest run about {duration(max(1.0, estimate.longest_seconds))}."
    if estimate.with_tokens:
        of = f" (of {estimate.with_tokens} runs)" if estimate.with_tokens < estimate.runs else ""
        words += f" About {estimate.input_tokens:,} tokens in, {estimate.output_tokens:,} out{of}."
    if estimate.cost is not None:
        words += f" About {estimate.cost:,.2f} in your currency (of {estimate.priced} runs)."
    basis = f"{estimate.exact} of {estimate.runs} were run here before just so"
    if estimate.known < estimate.runs:
        basis += f"; nothing is known of {estimate.runs - estimate.known}"
    return f"{words} By the medians of past runs: {basis}."


class PlanViewModel(QObject):
    """A choice, its runs, its checks; adds them to the queue when all checks hold."""

    offered = Signal()
    counted = Signal()
    checks_changed = Signal()
    added = Signal(str, bool)
    """Name of the batch; and whether it is to run now."""
    failed = Signal(object)

    def __init__(
        self,
        workbench: Workbench,
        runner: JobRunner,
        settings: Settings,
        desk: QueueDesk,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self._settings, self._desk = settings, desk
        self.offer: Offer | None = None
        self.choice = from_kept(settings.get("plan.choice"))
        self.count: Count | None = None
        self.checks: tuple[Check, ...] | None = None
        self.checking = False
        self.adding = False
        self._generation = 0
        self._looking = False
        self._soon = QTimer(self)
        self._later = QTimer(self)
        for timer, quiet, call in (
            (self._soon, _COUNT, self._work_out),
            (self._later, _CHECK, self.check),
        ):
            timer.setSingleShot(True)
            timer.setInterval(quiet)
            timer.timeout.connect(call)

    def show(self, task: str = "") -> None:
        """Get ready; with a task, that one alone is chosen."""

        def done(offer: Offer) -> None:
            self.offer = offer
            known = {each.name for each in offer.tasks}
            tasks = (task,) if task in known else self.choice.tasks
            sources = []
            for names in offer.sources.values():
                chosen = next((name for name in self.choice.sources if name in names), names[0])
                sources.append(chosen)
            self.choice = replace(
                self.choice,
                tasks=tuple(name for name in tasks if name in known),
                sources=tuple(sources),
            )
            self.offered.emit()
            self._changed()

        self._runner.start(
            "Look what can be run",
            lambda _job: load_offer(self._workbench),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

    def choose(self, **parts: Any) -> None:
        """Change parts of the choice; it is remembered."""
        changed = replace(self.choice, **parts)
        if changed != self.choice:
            same_runs = replace(changed, name=self.choice.name) == self.choice
            self.choice = changed
            self._settings.set("plan.choice", changed.kept())
            if not same_runs:  # another name needs no other checks
                self._changed()

    def _changed(self) -> None:
        self._generation += 1
        self.count = self.checks = None
        self.checking = False
        self.counted.emit()
        self.checks_changed.emit()
        self._soon.start()
        self._later.start()

    def _work_out(self) -> None:
        generation, choice = self._generation, self.choice

        def done(count: Count) -> None:
            if generation == self._generation:
                self.count = count
                self.counted.emit()

        self._runner.start(
            "Count the runs",
            lambda _job: count_runs(self._workbench, choice),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

    def check(self) -> None:
        """Look at everything that must hold (takes seconds: sandboxes are really tried).

        One look at a time: of a choice that was changed meanwhile it is taken again.
        """
        self._later.stop()
        self.checking = True
        self.checks_changed.emit()
        if self._looking:
            return
        self._looking = True
        generation, choice = self._generation, self.choice

        def work(_job: Job) -> tuple[Check, ...]:
            try:
                requests = self._workbench.plan_requests(choice.as_plan())
            except M4Error as error:
                return (Check("Plan", ok=False, why=error.text, todo=error.todo),)
            return self._workbench.preflight(requests)

        def done(checks: tuple[Check, ...]) -> None:
            self._looking = False
            if generation == self._generation:
                self.checks, self.checking = checks, False
                self.checks_changed.emit()
            elif self.checking:
                self.check()

        def failed(error: M4Error) -> None:
            self._looking = self.checking = False
            self.checks_changed.emit()
            self.failed.emit(error)

        self._runner.start("Check the runs", work, on_done=done, on_failed=failed, quiet=True)

    @property
    def ready(self) -> bool:
        """Does every check hold?"""
        checks = self.checks
        return bool(checks) and all(c.ok for c in checks or ()) and not self.adding

    def add(self, *, now: bool) -> None:
        """Add the runs to the queue; with `now`, let the queue be worked on at once."""
        if not self.ready or self.count is None or self.count.error is not None:
            return
        requests, name = self.count.requests, self.choice.name.strip() or None
        self.adding = True
        self.checks_changed.emit()

        def done(batch: str) -> None:
            self.adding = False
            self.choice = replace(self.choice, name="")
            self.checks_changed.emit()
            if now:
                self._desk.start(resume=True)
            self.added.emit(batch, now)

        def failed(error: M4Error) -> None:
            self.adding = False
            self.checks_changed.emit()
            self.failed.emit(error)

        self._runner.start(
            "Add to the queue",
            lambda _job: self._workbench.enqueue(requests, name=name),
            on_done=done,
            on_failed=failed,
            quiet=True,
            lane="queue",
        )

    def close_down(self) -> None:
        """The window closes."""
        self._soon.stop()
        self._later.stop()
