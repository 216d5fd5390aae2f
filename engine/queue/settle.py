"""What becomes of an item when its run has ended, or when there was none. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.base.errors import Busy, Cancelled, M4Error, StorageFull
from engine.queue.records import Item, ItemState
from engine.runs.records import RunSummary
from engine.runs.states import Reason, State


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How often and when again."""

    tries: int = 5
    """Runs of one item that may end through a rate limit, a crash or another program's lock."""
    first_wait: timedelta = timedelta(minutes=1)
    """After a rate limit that does not say until when; doubled each time."""
    longest_wait: timedelta = timedelta(hours=1)
    """The most of that."""
    busy_wait: timedelta = timedelta(seconds=30)
    """After another program held a file that was needed."""

    def wait(self, tries: int) -> timedelta:
        """How long to wait before the next of `tries` runs that ended so."""
        return min(self.longest_wait, self.first_wait * (1 << min(tries, 20)))


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What becomes of an item."""

    state: ItemState
    """`waiting` (it gets another run), or an end."""
    why: str = ""
    """In words; no data."""
    run_id: str | None = None
    """The run, if there was one."""
    reward: float | None = None
    """Of a judged run."""
    strict_pass: bool | None = None
    """Of a judged run."""
    counts: bool = False
    """Is it one of `Policy.tries`?"""
    not_before: datetime | None = None
    """It waits until then."""
    lane_until: datetime | None = None
    """And so does everything on its lane."""
    pause: bool = False
    """There is no room on the disk, which every run needs: start nothing more."""


_ENDPOINT = {
    "rate_limit": "The model's endpoint asked to wait.",
    "model_error": "The model's endpoint did not answer properly.",
}
"""Reasons (where they carry no reward) after which the endpoint is left alone for a while."""


def settle(
    item: Item,
    run: RunSummary | None,
    error: BaseException | None,
    *,
    now: datetime,
    policy: Policy,
    retry_at: datetime | None = None,
    pulled: bool = False,
) -> Ending:
    """Decide about an item whose attempt is over.

    Args:
        item: as it stands now (it may have been cancelled meanwhile).
        run: the attempt's run, ended; None when none was made.
        error: what was raised while it was carried out; None when nothing was, or when the
            program that carried it out is gone.
        now: the time, UTC.
        policy: how often and when again.
        retry_at: when its endpoint takes requests again, as far as it said.
        pulled: the program was asked to stop, and stopped the run.
    """
    if run is not None and run.live:
        raise ValueError("the run has not ended")
    if run is None:
        return _without_run(item, error, now, policy, pulled=pulled)
    if run.state == State.DONE or run.reward is not None:
        why = f"The run failed: {run.failure_reason}." if run.failure_reason else ""
        return Ending(
            state=ItemState.DONE,
            why=why,
            run_id=run.run_id,
            reward=run.reward,
            strict_pass=run.strict_pass,
        )
    if item.cancelling:
        return _cancelled(run.run_id)
    reason = run.failure_reason
    if reason == Reason.CANCELLED:
        # Nobody took this item out: the program was stopped, and goes on another time.
        return Ending(
            state=ItemState.WAITING, run_id=run.run_id, why="Its run was stopped; it starts anew."
        )
    if reason == Reason.INTERRUPTED:
        return _again(item, policy, run.run_id, "The program or the machine died during its run.")
    if reason in _ENDPOINT:
        until = max(retry_at or now + policy.wait(item.tries), now)
        return _again(item, policy, run.run_id, _ENDPOINT[reason], lane_until=until)
    if isinstance(error, Busy):
        until = now + policy.busy_wait
        return _again(item, policy, run.run_id, error.text, not_before=until)
    if isinstance(error, StorageFull):
        return Ending(state=ItemState.WAITING, run_id=run.run_id, why=error.text, pause=True)
    words = error.text if isinstance(error, M4Error) else f"The run ended as {reason}."
    return Ending(state=ItemState.FAILED, run_id=run.run_id, why=words)


def _without_run(
    item: Item, error: BaseException | None, now: datetime, policy: Policy, *, pulled: bool
) -> Ending:
    if item.cancelling:
        return _cancelled(None)
    if error is None or pulled or isinstance(error, Cancelled):
        return Ending(state=ItemState.WAITING)
    if isinstance(error, Busy):
        return _again(item, policy, None, error.text, not_before=now + policy.busy_wait)
    if isinstance(error, StorageFull):
        return Ending(state=ItemState.WAITING, why=error.text, pause=True)
    if isinstance(error, M4Error):
        todo = f" {error.todo}" if error.todo else ""
        return Ending(state=ItemState.FAILED, why=f"{error.text}{todo}")
    return Ending(state=ItemState.FAILED, why=f"A fault of ours ({type(error).__name__}).")


def _cancelled(run_id: str | None) -> Ending:
    return Ending(state=ItemState.CANCELLED, run_id=run_id, why="Taken out by the user.")


def _again(
    item: Item,
    policy: Policy,
    run_id: str | None,
    why: str,
    *,
    not_before: datetime | None = None,
    lane_until: datetime | None = None,
) -> Ending:
    """Another run, unless there were enough. The lane waits in any case."""
    last = item.tries + 1 >= policy.tries
    return Ending(
        state=ItemState.FAILED if last else ItemState.WAITING,
        why=f"{why} It was tried {item.tries + 1} times." if last else why,
        run_id=run_id,
        counts=True,
        not_before=None if last else not_before,
        lane_until=lane_until if item.lane else None,
    )
