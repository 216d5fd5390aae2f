"""After a crash: runs in a live state whose process is gone are finished or closed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import Cancelled, M4Error
from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.gateway.gateway import remove_leftovers
from engine.isolation.interface import Sandbox
from engine.runs.judge import Judge
from engine.runs.live import LiveRun, OnEvent
from engine.runs.machine import RunMachine
from engine.runs.records import RunSummary
from engine.runs.states import COLLECTED, Reason
from engine.runs.store import RunStore, StoredRun

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Means:
    """What is needed to judge a run again."""

    task: Task
    """The task as it is now."""
    reference: Path
    """The reference that the run was to be judged against."""
    judge: Judge
    """The judge of the task's kind."""


def recover(
    store: RunStore,
    machine: RunMachine,
    sandboxes: Iterable[Sandbox],
    means: Callable[[StoredRun], Means],
    *,
    job: Job,
    on_event: OnEvent | None = None,
) -> tuple[RunSummary, ...]:
    """Take over what dead programs left.

    Args:
        store: the runs.
        machine: carries out what is left to do.
        sandboxes: theirs are the leftovers that are removed first.
        means: finds what a run is judged with; an `M4Error` of it closes the run.
        job: progress and cancel.
        on_event: as in `RunMachine.run`.

    Returns:
        Every run that was finished or closed here, oldest first.
    """
    orphans = store.orphans()
    remove_leftovers(machine.runs)
    for sandbox in sandboxes:
        try:
            sandbox.remove_leftovers()
        except M4Error as error:
            _log.warning("leftovers of a sandbox stay: %s", error.text)
    done: list[RunSummary] = []
    for run in orphans:
        job.check()
        if not store.claim(run):
            continue
        live = machine.live(run.summary.run_id, job, on_event)
        try:
            if run.state in COLLECTED:
                _finish(run, live, machine, means)
            else:
                live.close(
                    Reason.INTERRUPTED,
                    f"The program or the machine died in the state {run.state}.",
                )
        except Cancelled:
            raise
        except M4Error as error:
            _log.warning("a run could not be finished: %s", error.text)
        done.append(store.find(live.run_id).summary)
    return tuple(done)


def _finish(
    run: StoredRun, live: LiveRun, machine: RunMachine, means: Callable[[StoredRun], Means]
) -> None:
    try:
        found = means(run)
    except M4Error as error:
        live.close(Reason.EXCEPTION, error.text)
        return
    machine.finish(live, found.task, found.reference, found.judge)
