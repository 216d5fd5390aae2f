"""What screens say, without a window."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.runs.states import Reason, State
from engine.workbench import BackendInfo, ReferenceState, RunSummary, Workbench
from m4review.app.jobs import JobRunner
from m4review.app.settings import Settings
from m4review.data.viewmodel import DataViewModel, name_for, size_words
from m4review.diff.words import difference_words, plain_sign, signed_duration
from m4review.launcher.viewmodel import Facts, LauncherViewModel, load_facts
from m4review.run.words import (
    REASONS,
    STATES,
    reward_words,
    state_words,
    strict_words,
    took,
    when,
)
from m4review.task.viewmodel import TEXT_LIMIT, TaskViewModel, cut
from m4review.worklist.viewmodel import WorkItem, WorklistViewModel, best_reference


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    return Workbench(open_home(tmp_path / "home"))


def summary(**changes: Any) -> RunSummary:
    values: dict[str, Any] = {
        "run_id": "r",
        "task": "t",
        "source": "s",
        "agent": "script",
        "model": "m",
        "condition": "no-skill",
        "schema": "native",
        "trial": 1,
        "state": "done",
        "failure_reason": None,
        "reward": 0.5,
        "strict_pass": False,
        "started_at": "2026-01-01T10:00:00Z",
        "ended_at": "2026-01-01T10:03:20Z",
        "live": False,
    }
    return RunSummary(**(values | changes))


def test_every_state_and_reason_of_the_engine_has_words() -> None:
    assert set(STATES) == {str(state) for state in State}
    assert set(REASONS) == {str(reason) for reason in Reason}


@pytest.mark.parametrize(
    ("reward", "words"),
    [(None, "–"), (0, "0"), (1, "1"), (0.99999999, "0.9999"), (0.5, "0.5000")],
)
def test_a_reward_is_never_rounded_up_to_one(reward: float | None, words: str) -> None:
    assert reward_words(reward) == words


def test_runs_in_words() -> None:
    assert state_words(summary(state="failed", failure_reason="timeout")) == "failed: time limit"
    assert state_words(summary(state="running", live=True)) == "agent at work"
    assert strict_words(None) == "–"
    assert took(summary()) == "3 min 20 s"
    assert took(summary(ended_at=None)) == "–"
    assert when("not a date") == "not a date"
    now = dt.datetime.now(dt.UTC).isoformat()
    assert when(now).startswith("today ")


def test_worklist_reads_the_catalogue(
    workbench: Workbench, runner: JobRunner, qtbot: QtBot
) -> None:
    model = WorklistViewModel(workbench, runner)
    with qtbot.waitSignal(model.changed):
        model.reload()
    tasks = {item.task.name for items in model.families().values() for item in items}
    assert tasks == {task.name for task in workbench.tasks()}
    assert model.without_source
    model.set_text("eicu raw")
    for items in model.families().values():
        assert all("eicu" in item.task.name for item in items)
    model.set_text("no such task at all")
    assert model.families() == {}


def test_worklist_says_what_a_task_needs(workbench: Workbench) -> None:
    task = workbench.tasks()[0]
    item = WorkItem(task, (), None, None, 0)
    assert item.reference_words == "needs a source"
    assert item.source_words.startswith("none (")
    ready = ReferenceState("ready", 12_345, None, "")
    assert WorkItem(task, ("a",), ready, None, 0).reference_words == "✓ ready, 12,345 rows"


def test_of_several_sources_the_best_reference_is_told() -> None:
    absent = ReferenceState("absent", None, None, "It has not been built.")
    stale = ReferenceState("stale", 7, None, "The source has changed since.")
    ready = ReferenceState("ready", 293, None, "")
    assert best_reference({"a": absent, "b": ready, "c": stale}) == ("b", ready)
    assert best_reference({"a": absent, "c": stale}) == ("c", stale)
    assert best_reference({"a": absent, "b": absent}) == ("a", absent)
    assert best_reference({}) == ("", None)


def test_the_worklist_says_which_source_has_the_reference(workbench: Workbench) -> None:
    ready = ReferenceState("ready", 293, None, "")
    item = WorkItem(workbench.tasks()[0], ("a", "b"), ready, None, 0, "b")
    assert item.reference_words == "✓ ready in b, 293 rows"


def test_task_page_reads_every_text(workbench: Workbench, runner: JobRunner, qtbot: QtBot) -> None:
    task = workbench.tasks()[0]
    model = TaskViewModel(workbench, runner)
    with qtbot.waitSignal(model.changed):
        model.show(task.name)
    page = model.page
    assert page is not None
    titles = [text.title for text in (*page.asked, *page.rules)]
    assert titles[0] == "Instruction"
    assert "Scoring" in titles
    assert "Reference rules" in titles
    assert page.sql_parts
    scoring = next(text.markdown for text in page.asked if text.title == "Scoring")
    assert all(f"`{name}`" in scoring for name in task.evaluation.scored_columns)


def test_an_unknown_task_is_told(workbench: Workbench, runner: JobRunner, qtbot: QtBot) -> None:
    model = TaskViewModel(workbench, runner)
    with qtbot.waitSignal(model.failed) as caught:
        model.show("nothing")
    assert caught.args[0].todo


def test_long_texts_are_cut_and_it_is_said() -> None:
    text = cut("x" * (TEXT_LIMIT + 7))
    assert "7 further characters" in text


def launcher(workbench: Workbench, runner: JobRunner, tmp_path: Path) -> LauncherViewModel:
    model = LauncherViewModel(workbench, runner, Settings(tmp_path / "settings.toml"))
    task = workbench.tasks()[0]
    model.name = task.name
    works = BackendInfo("bubblewrap", True, False, "0.8", None)
    ready = ReferenceState("ready", 10, None, "")
    model.facts = Facts(task, ("a", "b"), {"a": ready})
    model.backends = (works,)
    return model


def states(model: LauncherViewModel) -> dict[str, str]:
    return {check.name: check.state for check in model.checks}


def test_preflight_names_what_is_missing(
    workbench: Workbench, runner: JobRunner, tmp_path: Path
) -> None:
    model = launcher(workbench, runner, tmp_path)
    assert states(model)["Agent script"] == "bad"
    assert not model.ready
    script = tmp_path / "agent.sql"
    for content, name, expected in ((None, "agent.sql", "bad"), ("", "agent.sql", "bad"),
                                    ("SELECT 1", "agent.txt", "bad"),
                                    ("SELECT 1", "agent.sql", "good")):  # fmt: skip
        path = script.with_name(name)
        if content is not None:
            path.write_text(content)
        model.choose(script=path)
        assert states(model)["Agent script"] == expected
    model.choose(source="a")
    assert set(states(model).values()) == {"good"}
    assert model.ready


def test_a_source_whose_reference_stands_is_proposed(workbench: Workbench) -> None:
    task = workbench.tasks()[0]
    absent = ReferenceState("absent", None, None, "It has not been built.")
    ready = ReferenceState("ready", 10, None, "")
    assert Facts(task, ("a", "b"), {"a": absent, "b": ready}).proposed_source == "b"
    assert Facts(task, ("a", "b"), {"a": absent, "b": absent}).proposed_source == "a"
    assert Facts(task, (), {}).proposed_source == ""


def test_a_source_that_lacks_tables_is_told_before_the_run(
    workbench: Workbench, runner: JobRunner, tmp_path: Path
) -> None:
    folder = tmp_path / "part" / "icu"
    folder.mkdir(parents=True)
    (folder / "icustays.csv").write_text(
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los\n"
        "1,2,3,MICU,MICU,2150-01-01 00:00:00,2150-01-02 00:00:00,1.0\n"
    )
    workbench.add_source("part", folder.parent, job=SimpleJob())
    model = launcher(workbench, runner, tmp_path)
    model.facts = load_facts(workbench, "mimic-ventilation-raw")
    lost = model.facts.lacking["part"]
    assert any("chartevents" in table for table in lost)
    assert not any("icustays" in table for table in lost)
    model.choose(source="part")
    check = next(check for check in model.checks if check.name == "Reference")
    assert check.state == "bad"
    assert lost[0] in check.words
    assert check.todo
    assert not model.ready


def test_without_a_sandbox_nothing_can_be_started(
    workbench: Workbench, runner: JobRunner, tmp_path: Path
) -> None:
    model = launcher(workbench, runner, tmp_path)
    script = tmp_path / "agent.sql"
    script.write_text("SELECT 1")
    model.choose(script=script, source="a")
    broken = BackendInfo("bubblewrap", False, False, "not found", "apt install bubblewrap")
    model.backends = (broken,)
    sandbox = next(check for check in model.checks if check.name == "Sandbox")
    assert (sandbox.state, sandbox.todo) == ("bad", "apt install bubblewrap")
    assert not model.ready
    model.start()
    assert not model.running


def test_choices_are_remembered_by_task(
    workbench: Workbench, runner: JobRunner, tmp_path: Path, qtbot: QtBot
) -> None:
    model = launcher(workbench, runner, tmp_path)
    script = tmp_path / "agent.sql"
    script.write_text("SELECT 1")
    model.choose(script=script, minutes=7, condition="with-skill")
    again = LauncherViewModel(workbench, runner, model._settings)
    again.backends = model.backends
    with qtbot.waitSignal(again.facts_changed):
        again.show(model.name)
    assert again.choice.script == script
    assert again.choice.minutes == 7
    assert again.choice.condition == "with-skill"


def test_source_names(workbench: Workbench, runner: JobRunner) -> None:
    assert name_for(Path("/data/MIMIC IV (Demo) 2.2")) == "mimic-iv-demo-2"
    assert name_for(Path("/")) == "source"
    model = DataViewModel(workbench, runner)
    assert model.free_name("a") == "a"


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (5_300_000, "5.3 MB"), (42_000_000_000, "42 GB")],
)
def test_sizes(size: int, words: str) -> None:
    assert size_words(size) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3600, "+1 h"), (-90061, "−1 d 1 h 1 min"), (0, "+0 s"), (0.5, "+0.5 s"), (-12, "−12 s")],
)
def test_differences_of_times(seconds: float, words: str) -> None:
    assert signed_duration(seconds) == words


@pytest.mark.parametrize(
    ("reference", "agent", "words"),
    [(12, 10, "−2"), (10, 12.5, "+2.5"), (1, 0.99999, "−1e−05"), (0.0, -0.0, "+0"), (1, "0", "")],
)
def test_differences_of_numbers(reference: object, agent: object, words: str) -> None:
    assert difference_words(reference, agent) == words


def test_a_difference_is_copied_with_the_sign_that_other_programs_read() -> None:
    assert plain_sign("−1e−05") == "-1e-05"
    assert plain_sign("−1 d 1 h") == "-1 d 1 h"
