"""A run that this process works on: entering states, telling them, and closing it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.base.errors import Cancelled, M4Error
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.runs import folder, result
from engine.runs.judge import Verdict
from engine.runs.records import RunEvent
from engine.runs.states import WITHOUT_REWARD, Reason, State
from engine.runs.store import RunStore, now

OnEvent = Callable[[RunEvent], None]

WAY = (
    State.PREPARED,
    State.CANARY,
    State.RUNNING,
    State.COLLECTING,
    State.LINTING,
    State.SCORING,
    State.DONE,
)
"""The states of a run that nothing stops."""
_WORDS = {
    State.PREPARED: "Laying out the folder",
    State.CANARY: "Probing the sandbox",
    State.RUNNING: "The agent is at work",
    State.COLLECTING: "Collecting what it left",
    State.LINTING: "Looking for contamination",
    State.SCORING: "Scoring",
    State.DONE: "Done",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LiveRun:
    """One run, owned by this process."""

    store: RunStore
    """Where its states are kept."""
    run_id: str
    """Its name."""
    place: Path
    """Its folder."""
    job: Job
    """The job that it is part of."""
    on_event: OnEvent | None
    """Who is told."""

    def facts(self) -> Mapping[str, Any]:
        """What is known so far."""
        return self.store.find(self.run_id).facts

    def note(self, facts: Mapping[str, Any]) -> None:
        """Keep something that became known within a state."""
        self.store.note(self.run_id, facts)

    def enter(self, state: State, facts: Mapping[str, Any] | None = None) -> None:
        """Enter a live state, then tell it.

        Raises:
            Cancelled: the user asked to stop before.
        """
        self.job.check()
        self.store.enter(self.run_id, state, facts=facts)
        self.tell(state)

    def tell(self, state: State) -> None:
        """Tell the job and whoever listens."""
        if state in WAY:
            self.job.progress("run", WAY.index(state), len(WAY) - 1, _WORDS[state])
        if self.on_event is not None:
            self.on_event(RunEvent(self.run_id, now(), "state", state.value))

    def done(self, verdict: Verdict) -> None:
        """Write the record of a judged run, then enter `done`."""
        facts = {"test_results": result.test_results(verdict)}
        at = now()
        run = self.store.find(self.run_id)
        summary = replace(
            run.summary,
            state=State.DONE.value,
            reward=verdict.reward,
            strict_pass=verdict.strict_pass,
            ended_at=at,
            live=False,
        )
        result.write(self.place, result.compose(summary, {**run.facts, **facts}))
        folder.release(self.place)
        self.store.enter(
            self.run_id,
            State.DONE,
            facts=facts,
            reward=verdict.reward,
            strict_pass=verdict.strict_pass,
            at=at,
        )
        self.tell(State.DONE)

    def close(self, reason: Reason, detail: str) -> None:
        """End as failed: with reward 0 if it was the agent's doing, else with none.

        Gives up the work folder first, so that there is room for the record on a full disk.
        """
        folder.release(self.place)
        scored = reason not in WITHOUT_REWARD
        facts: dict[str, Any] = {"failure_detail": detail}
        if scored:
            facts["test_results"] = result.no_results(reason.value, detail)
        at = now()
        run = self.store.find(self.run_id)
        summary = replace(
            run.summary,
            state=State.FAILED.value,
            failure_reason=reason.value,
            reward=0.0 if scored else None,
            strict_pass=False if scored else None,
            ended_at=at,
            live=False,
        )
        trouble: M4Error | None = None
        try:
            if self.place.is_dir():
                result.write(self.place, result.compose(summary, {**run.facts, **facts}))
        except M4Error as error:  # the row below matters more than the file
            trouble = error
        self.store.enter(
            self.run_id,
            State.FAILED,
            facts=facts,
            reason=reason,
            reward=summary.reward,
            strict_pass=summary.strict_pass,
            text=detail,
            at=at,
        )
        self.tell(State.FAILED)
        if trouble is not None:
            raise trouble

    @contextlib.contextmanager
    def closing(self) -> Iterator[None]:
        """Close the run whatever is raised inside, and raise it on."""
        try:
            yield
        except Cancelled:
            self._close_quietly(Reason.CANCELLED, "Stopped by the user.")
            raise
        except M4Error as error:
            self._close_quietly(Reason.EXCEPTION, error.text)
            raise
        except OSError as error:
            known = os_error(error, "carrying out the run")
            self._close_quietly(Reason.EXCEPTION, known.text)
            raise known from error
        except BaseException as error:
            self._close_quietly(Reason.EXCEPTION, f"A fault of ours ({type(error).__name__}).")
            raise

    def _close_quietly(self, reason: Reason, detail: str) -> None:
        try:
            self.close(reason, detail)
        except M4Error as second:
            # The next start finds and closes it; what went wrong first is what counts.
            _log.warning("a run could not be closed: %s", type(second).__name__)
