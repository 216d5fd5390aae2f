"""What becomes of an item, for every end that its attempt can have. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from queue_bench import NEEDS, asked, summary_of

from engine.base.errors import BadInput, Busy, Cancelled, StorageFull
from engine.queue import Item, ItemState, Policy
from engine.queue.records import stored
from engine.queue.settle import settle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
(REQUEST,) = asked(1, endpoint="a")
ITEM = Item(
    item=1, batch="b", task="t", source="s", agent="codex", model="m", condition="no-skill",
    schema="native", trial=1, lane="a", needs=NEEDS, priority=0, place=1,
    state=ItemState.RUNNING, held=False, cancelling=False, attempt=1, tries=0, served=1,
    run_id=None, not_before=None, why="", reward=None, strict_pass=None, added_at="x",
    ended_at=None, stored=stored(REQUEST),
)  # fmt: skip
RUN = replace(summary_of(REQUEST), live=False, ended_at="x")
SCORED = replace(RUN, state="done", reward=1.0, strict_pass=True)


def failed(reason: str, reward: float | None = None):
    return replace(RUN, state="failed", failure_reason=reason, reward=reward)


def after(item: Item, run, error: BaseException | None = None, **more: Any):
    return settle(item, run, error, now=NOW, policy=Policy(), **more)


CANCELLING = replace(ITEM, cancelling=True)
LAST = replace(ITEM, tries=4)


@pytest.mark.parametrize(
    ("item", "run", "error", "state"),
    [
        (ITEM, SCORED, None, "done"),
        (CANCELLING, SCORED, None, "done"),  # the score was quicker than the wish
        (ITEM, failed("timeout", 0.0), None, "done"),
        (CANCELLING, failed("contamination_lint", 0.0), None, "done"),
        (ITEM, failed("interrupted"), None, "waiting"),
        (LAST, failed("interrupted"), None, "failed"),
        (CANCELLING, failed("interrupted"), None, "cancelled"),
        (ITEM, failed("rate_limit"), None, "waiting"),
        (LAST, failed("rate_limit"), None, "failed"),
        (ITEM, failed("model_error"), None, "waiting"),
        (ITEM, failed("auth"), None, "failed"),
        (ITEM, failed("cancelled"), Cancelled(), "waiting"),
        (LAST, failed("cancelled"), None, "waiting"),
        (CANCELLING, failed("cancelled"), Cancelled(), "cancelled"),
        (ITEM, failed("exception"), BadInput("x"), "failed"),
        (ITEM, failed("exception"), StorageFull("x"), "waiting"),
        (ITEM, failed("exception"), Busy("x"), "waiting"),
        (ITEM, failed("exception"), None, "failed"),
        (ITEM, None, None, "waiting"),
        (LAST, None, None, "waiting"),
        (CANCELLING, None, None, "cancelled"),
        (ITEM, None, BadInput("x"), "failed"),
        (ITEM, None, Busy("x"), "waiting"),
        (LAST, None, Busy("x"), "failed"),
        (ITEM, None, StorageFull("x"), "waiting"),
        (ITEM, None, Cancelled(), "waiting"),
        (ITEM, None, ZeroDivisionError(), "failed"),
    ],
)
def test_every_end(item: Item, run, error, state: str):
    found = after(item, run, error)
    assert found.state == state
    assert (found.reward is not None) == (state == "done")
    assert found.pause == isinstance(error, StorageFull)
    assert found.run_id == (run.run_id if run else None)


def test_a_program_that_stops_fails_nothing():
    assert after(ITEM, None, BadInput("x"), pulled=True).state == "waiting"


def test_the_endpoint_is_left_alone_until_the_time_it_named_or_longer_each_time():
    named = NOW + timedelta(hours=5)
    assert after(ITEM, failed("rate_limit"), retry_at=named).lane_until == named
    past = NOW - timedelta(hours=5)
    assert after(ITEM, failed("rate_limit"), retry_at=past).lane_until == NOW
    waits = [
        after(replace(ITEM, tries=tries), failed("rate_limit")).lane_until - NOW
        for tries in range(4)
    ]
    assert waits == [timedelta(minutes=minutes) for minutes in (1, 2, 4, 8)]
    assert Policy().wait(99) == Policy().longest_wait
    assert after(LAST, failed("rate_limit")).lane_until is not None, "for the others"
    assert after(replace(ITEM, lane=""), failed("rate_limit")).lane_until is None


def test_a_run_that_lives_is_not_settled():
    with pytest.raises(ValueError, match="not ended"):
        after(ITEM, replace(RUN, live=True))
