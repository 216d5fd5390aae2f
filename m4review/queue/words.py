"""The queue in words. No widget, no Qt."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from engine.workbench import Item, ItemState, QueueState
from m4review.run.words import reward_words

STATES = {
    ItemState.WAITING: "waiting",
    ItemState.STARTING: "starting",
    ItemState.RUNNING: "running",
    ItemState.DONE: "✓ done",
    ItemState.FAILED: "✗ failed",
    ItemState.CANCELLED: "cancelled",
}
TONES = {
    ItemState.STARTING: "accent",
    ItemState.RUNNING: "accent",
    ItemState.DONE: "good",
    ItemState.FAILED: "bad",
    ItemState.CANCELLED: "muted",
    ItemState.WAITING: "",
}
ACTIVE = (ItemState.STARTING, ItemState.RUNNING)
ENDED = (ItemState.DONE, ItemState.FAILED, ItemState.CANCELLED)


def clock(text: str) -> str:
    """A moment as local time of day, with the date where it is not today."""
    try:
        at = datetime.fromisoformat(text).astimezone()
    except ValueError:
        return text
    today = datetime.now().astimezone().date()
    return f"{at:%H:%M}" if at.date() == today else f"{at:%Y-%m-%d %H:%M}"


def _future(text: str | None) -> bool:
    try:
        return text is not None and datetime.fromisoformat(text) > datetime.now(UTC)
    except ValueError:
        return False


def state_words(item: Item) -> str:
    """Where an item stands, in a word or two."""
    if item.cancelling:
        return "stopping…"
    if item.held and item.state == ItemState.WAITING:
        return "on hold"
    return STATES[item.state]


def waiting_for(item: Item, state: QueueState, stage: str = "") -> str:
    """What an item waits for, does, or came to.

    Args:
        item: the item.
        state: the whole queue.
        stage: of a running one: where its run stands.
    """
    if item.state == ItemState.DONE:
        return f"reward {reward_words(item.reward)}"
    if item.state in ENDED:
        return item.why
    if item.state in ACTIVE:
        return stage or "is being prepared"
    if item.held:
        return "you: it is on hold"
    lane = next((lane for lane in state.lanes if lane.lane == item.lane and item.lane), None)
    if lane is not None and _future(lane.until):
        return f"the rate limit of {lane.lane} until {clock(lane.until)}"
    if item.not_before is not None and _future(item.not_before):
        why = f" ({item.why})" if item.why else ""
        return f"its next attempt at {clock(item.not_before)}{why}"
    if state.paused:
        return "the queue, which is paused"
    if state.owner is None:
        return "somebody to work on the queue"
    running = state.count(*ACTIVE)
    if state.at_once is not None and running >= state.at_once:
        return f"its turn: {running} at once are allowed"
    return "its turn, or room on the machine" if running else "its turn"


def owner_words(state: QueueState) -> str:
    """Who works on the queue, and what is left."""
    running, waiting = state.count(*ACTIVE), state.count(ItemState.WAITING)
    if not state.items:
        return "The queue is empty."
    left = f"{running} running, {waiting} waiting, {state.count(*ENDED)} ended."
    if state.paused:
        why = f" {state.why}" if state.why else ""
        return f"Paused: nothing new is started.{why} {left}"
    if state.owner is None:
        idle = " Nobody works on it, so nothing starts." if waiting else ""
        return left + idle
    if state.owner.pid == os.getpid():
        return f"This window works on it: {left}"
    return (
        f"Another program (process {state.owner.pid}) works on it: {left} What you change here is "
        "done there."
    )


def other_owner(state: QueueState) -> bool:
    """Does another program work on it?"""
    return state.owner is not None and state.owner.pid != os.getpid()
