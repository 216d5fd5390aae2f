"""What runs will take: medians of what is most alike, and no figure where nothing is known."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.queue.estimate import Past, Price, estimate
from engine.runs.records import RunRequest


def past(task: str = "a", seconds: float = 10, **more: object) -> Past:
    values = {"agent": "codex", "model": "m", "condition": "no-skill"} | more
    return Past(task=task, seconds=seconds, **values)  # type: ignore[arg-type]


def ask(task: str = "a", model: str | None = "m", **more: object) -> RunRequest:
    return RunRequest(task=task, source="s", agent="codex", model=model, **more)  # type: ignore[arg-type]


def test_the_nearest_past_counts():
    history = [
        past("a", 10), past("a", 30), past("a", 20),
        past("a", 100, condition="with-skill"),
        past("b", 1000, model="other"),
    ]  # fmt: skip
    assert estimate([ask()], history).seconds == 20
    assert estimate([ask(condition="with-skill")], history).seconds == 100
    like_task = estimate([ask(condition="operational-spec")], history)
    assert (like_task.seconds, like_task.known, like_task.exact) == (25, 1, 0)
    assert estimate([ask("never")], history).seconds == 25  # the model
    assert estimate([ask("never", model="new")], history).seconds == 30  # the agent
    assert estimate([ask(), ask("b", model="other")], history).seconds == 1020


def test_nothing_known_is_no_figure():
    found = estimate([ask()] * 3, [past(agent="claude")])
    assert (found.runs, found.known, found.cost) == (3, 0, None)
    assert found.wall_seconds(4) is None


def test_tokens_and_money_where_they_are_known():
    history = [
        past(input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000),
        past("b"),
    ]
    found = estimate([ask(), ask("b")], history, prices={"m": Price(2.0, 10.0, 0.5)})
    assert (found.with_tokens, found.input_tokens, found.output_tokens) == (1, 1_000_000, 100_000)
    assert found.priced == 1
    assert found.cost == 0.6 * 2 + 0.4 * 0.5 + 1.0
    assert estimate([ask()], history).cost is None
    assert estimate([ask()], history, prices={"other": Price(1, 1)}).cost is None


def test_a_script_is_known_by_its_name():
    request = RunRequest(task="a", source="s", script=Path("/x/mine.sql"))
    found = estimate([request], [past(agent="script", model="mine", seconds=3)])
    assert (found.exact, found.seconds) == (1, 3)


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=20), st.integers(1, 8))
def test_more_at_once_is_never_slower_nor_quicker_than_the_longest(times, at_once):
    history = [past(str(number), seconds) for number, seconds in enumerate(times)]
    found = estimate([ask(str(number)) for number in range(len(times))], history)
    alone, together = found.wall_seconds(1), found.wall_seconds(at_once)
    assert alone is not None
    assert together is not None
    assert found.exact == len(times)
    assert max(times) <= together <= alone + 1e-6
    assert abs(alone - max(sum(times), *times)) < 1e-6
