"""Queue, plan and models: what the view-models say and do, without a window."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.queue import Item, ItemState, Lane, Needs, QueueState
from engine.queue.estimate import Estimate
from engine.runs.store import Owner
from engine.workbench import RunRequest, Workbench
from m4review.app.jobs import JobRunner
from m4review.app.links import MODELS, PLAN, QUEUE, Place, parse
from m4review.app.records import Column, RecordModel
from m4review.app.settings import Settings
from m4review.app.theme import LIGHT
from m4review.models.viewmodel import ModelsViewModel
from m4review.plan.choice import AgentChoice, PlanChoice, from_kept
from m4review.plan.viewmodel import PlanViewModel, estimate_words
from m4review.queue.viewmodel import QueueDesk, QueueViewModel
from m4review.queue.words import owner_words, waiting_for

TASKS = ("mimic-charlson-raw", "mimic-ventilation-raw")
LATER = "2999-01-01T00:00:00.000Z"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    bench = Workbench(open_home(tmp_path_factory.mktemp("planned") / "home"))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    return bench


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "agent.sql"
    path.write_text("SELECT 1 AS stay_id")
    return path


def item(number: int, **values: object) -> Item:
    usual: dict[str, object] = {
        "batch": "b", "task": "t", "source": "s", "agent": "codex", "model": "m",
        "condition": "no-skill", "schema": "native", "trial": 1, "lane": "openai",
        "needs": Needs(memory_bytes=1), "priority": 0, "place": number,
        "state": ItemState.WAITING, "held": False, "cancelling": False, "attempt": 0, "tries": 0,
        "served": 0, "run_id": None, "not_before": None, "why": "", "reward": None,
        "strict_pass": None, "added_at": "2026-01-01T00:00:00Z", "ended_at": None, "stored": "",
    }  # fmt: skip
    return Item(item=number, **(usual | values))  # type: ignore[arg-type]


def queue(*items: Item, **values: object) -> QueueState:
    usual: dict[str, object] = {
        "paused": False, "why": "", "at_once": None, "owner": Owner.me(), "beat": None,
        "batches": (), "lanes": (),
    }  # fmt: skip
    return QueueState(items=items, **(usual | values))  # type: ignore[arg-type]


def test_what_an_item_waits_for():
    waits = item(1)
    running = item(2, state=ItemState.RUNNING, run_id="r")
    cases = (
        (waits, queue(waits), "its turn"),
        (waits, queue(waits, running), "its turn, or room on the machine"),
        (waits, queue(waits, running, at_once=1), "its turn: 1 at once are allowed"),
        (waits, queue(waits, paused=True), "the queue, which is paused"),
        (waits, queue(waits, owner=None), "somebody to work on the queue"),
        (replace(waits, held=True), queue(waits), "you: it is on hold"),
        (running, queue(running), "is being prepared"),
        (item(3, state=ItemState.FAILED, why="Key refused."), queue(), "Key refused."),
        (item(3, state=ItemState.DONE, reward=1.0), queue(), "reward 1"),
    )
    for one, state, words in cases:
        assert waiting_for(one, state) == words
    lane = queue(waits, lanes=(Lane(lane="openai", until=LATER, why="429"),))
    assert waiting_for(waits, lane).startswith("the rate limit of openai until 2999-01-01")
    again = replace(waits, not_before=LATER, why="The server was busy.")
    assert "2999-01-01" in waiting_for(again, queue(again))
    assert waiting_for(running, queue(running), "agent at work") == "agent at work"


def test_who_works_on_the_queue():
    one = item(1)
    assert owner_words(queue()) == "The queue is empty."
    assert owner_words(queue(one)).startswith("This window works on it: 0 running, 1 waiting")
    other = Owner(pid=os.getpid() + 1, started=1.0)
    assert f"process {other.pid}" in owner_words(queue(one, owner=other))
    assert "nothing starts" in owner_words(queue(one, owner=None))
    assert "No room" in owner_words(queue(one, paused=True, why="No room."))


def test_records_stay_where_they_are():
    model: RecordModel[tuple[int, str]] = RecordModel(
        [Column("x", lambda record: record[1])], lambda: LIGHT
    )
    key = lambda record: record[0]  # noqa: E731
    assert model.update_records([(1, "a"), (2, "b")], key)
    assert not model.update_records([(1, "c"), (2, "b"), (3, "d")], key)
    assert [model.index(row, 0).data() for row in range(3)] == ["c", "b", "d"]
    assert model.update_records([(2, "b"), (1, "c")], key)
    assert model.rowCount() == 2


def test_the_queue_is_steered(bench: Workbench, script: Path, runner: JobRunner, qtbot: QtBot):
    requests = [
        RunRequest(task=TASKS[1], source="small", script=script, trial=trial) for trial in (1, 2)
    ]
    bench.enqueue(requests, name="steered")
    model = QueueViewModel(bench, runner)

    def states() -> list[tuple[int, bool, str]]:
        with qtbot.waitSignal(model.changed):
            model.reload()
        assert model.page is not None
        return [(i.trial, i.held, i.state.value) for i in model.page.items("steered")]

    assert states() == [(1, False, "waiting"), (2, False, "waiting")]
    assert model.page is not None
    first, second = (str(i.item) for i in model.page.items("steered"))
    for action, target in (("hold", first), ("top", second), ("cancel", first)):
        with qtbot.waitSignal(model.changed):
            model.control(action, [target])  # type: ignore[arg-type]
    assert states() == [(2, False, "waiting"), (1, True, "cancelled")]
    with qtbot.waitSignal(model.changed):
        model.limit(3)
    assert bench.queue().at_once == 3
    with qtbot.waitSignal(model.failed) as caught:
        model.control("cancel", ["no-such-batch"])
    assert caught.args[0].todo
    bench.queue_limit(None)
    bench.queue_control("cancel", "steered")
    bench.queue_control("clear")


def test_a_plan_is_kept_and_read_again(script: Path):
    choice = PlanChoice(
        name="pilot", tasks=TASKS, sources=("small",), trials=3, minutes=7, input_tokens=5,
        agents=(AgentChoice("codex", models="a, b,,a", endpoint="openai", effort="high"),
                AgentChoice(script=str(script))),
    )  # fmt: skip
    kept = choice.kept()
    assert from_kept(kept) == replace(choice, name="")
    assert from_kept({"trials": "many", "agents": [5], "tasks": "x"}) == PlanChoice()
    assert choice.words == "2 tasks × 1 condition × 1 schema × 3 agents and models × 3 trials"
    plan = choice.as_plan()
    assert [agent.models for agent in plan.agents] == [("a", "b"), ()]
    assert plan.budget.input_tokens == 5
    assert plan.budget.output_tokens is None
    for lacking in ({"tasks": ()}, {"sources": ()}, {"conditions": ()}, {"schemas": ()}):
        with pytest.raises(UsageError):
            replace(choice, **lacking).as_plan()  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="file"):
        replace(choice, agents=(AgentChoice(),)).as_plan()


def test_an_estimate_says_what_it_rests_on():
    known = Estimate(
        runs=4, known=2, exact=1, seconds=100, longest_seconds=80, with_tokens=1,
        input_tokens=1000, output_tokens=50, priced=0, cost=None,
    )  # fmt: skip
    words = estimate_words(known)
    for part in ("3 min 20 s", "1 min 20 s", "1,000", "1 of 4", "nothing is known of 2"):
        assert part in words
    assert "nothing is known" in estimate_words(replace(known, known=0))
    assert estimate_words(None) == ""


def planner(bench: Workbench, runner: JobRunner, folder: Path) -> PlanViewModel:
    desk = QueueDesk(bench, runner)
    return PlanViewModel(bench, runner, Settings(folder / "settings.toml"), desk)


def test_runs_are_counted_and_refused_in_words(
    bench: Workbench, script: Path, runner: JobRunner, tmp_path: Path, qtbot: QtBot
):
    model = planner(bench, runner, tmp_path)
    with qtbot.waitSignal(model.offered):
        model.show(TASKS[1])
    assert model.choice.tasks == (TASKS[1],)
    assert model.choice.sources == ("small",)
    assert model.offer is not None
    assert "openai" in model.offer.endpoints_of("codex")
    assert model.offer.endpoints_of("script") == ()
    model.choose(agents=(AgentChoice(script=str(script)),), trials=3)
    qtbot.waitUntil(lambda: model.count is not None)
    assert model.count is not None
    assert len(model.count.requests) == 3
    model.choose(agents=(AgentChoice(script=str(script.with_name("gone.sql"))),))
    assert not model.ready
    model.add(now=True)  # nothing is added before every check holds
    qtbot.waitUntil(lambda: model.checks is not None, timeout=120_000)
    bad = [check for check in model.checks or () if not check.ok]
    assert bad
    assert not model.ready
    assert not bench.queue().items
    again = planner(bench, runner, tmp_path)
    again._settings = model._settings
    assert from_kept(model._settings.get("plan.choice")).trials == 3
    model.close_down()


def test_endpoints_and_policies(
    bench: Workbench, runner: JobRunner, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    model = ModelsViewModel(bench, runner)
    with qtbot.waitSignal(model.changed):
        model.add("mine", "chat", "http://127.0.0.1:9999/v1", "")
    page = model.page
    assert page is not None
    mine = next(line for line in page.endpoints if line.own)
    assert (mine.endpoint.name, mine.local, mine.key) == ("mine", True, "–")
    assert page.verdict.ok
    assert any(entry.source == "small" for entry in page.entries)
    assert [policy.free for policy in page.policies] == [True]
    with qtbot.waitSignal(model.failed):
        model.allow("small", "openai", by="me", why="because")  # it is free anyway
    with qtbot.waitSignal(model.failed):
        model.add("Bad Name", "chat", "http://127.0.0.1:9999", "")
    with pytest.raises(UsageError):
        model.store_key("openai", "short")
    model.remove("mine")
    qtbot.waitUntil(lambda: not any(line.own for line in model.page.endpoints))  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: not runner.live)


@pytest.mark.parametrize("place", [QUEUE, PLAN, MODELS, Place("plan", "a b"),
                                   Place("run", "r", step=12)])  # fmt: skip
def test_addresses(place: Place):
    assert parse(place.link) == place
