"""A campaign's file: what it stands for, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.base.errors import BadInput, UsageError
from engine.catalogue.task import list_tasks
from engine.queue.plan import parse_plan, read_plan, requests_of

KINDS = {"mimic": "mimic-iv", "eicu": "eicu", "other": "mimic-iv"}
GOOD = """
name = "pilot"
sources = ["mimic", "eicu"]
backend = "bubblewrap"
results = "out"
[[agents]]
agent = "codex"
models = ["big", "small"]
endpoint = "openai"
reasoning_effort = "medium"
[[agents]]
agent = "script"
script = "mine.sql"
[[tiers]]
name = "replication"
tasks = ["mimic-sofa-24h", "mimic-sofa-24h-raw", "eicu-gcs"]
conditions = ["no-skill", "with-skill"]
trials = 2
[[tiers]]
tasks = ["mimic-sofa-*"]
schemas = ["obfuscated", "restructured"]
models = ["small"]
[limits]
time_seconds = 600
[budget]
requests = 50
[prices.big]
input = 1.0
output = 8.0
"""


def test_every_combination_once_and_first_trials_first(tmp_path: Path):
    plan = parse_plan(GOOD, tmp_path / "plan.toml")
    found = requests_of(plan, list_tasks(), KINDS)
    first_tier = [r for r in found if r.schema == "native"]
    second_tier = [r for r in found if r.schema != "native"]
    assert len(first_tier) == 3 * 2 * 3 * 2  # tasks, conditions, models and the script, trials
    assert len(second_tier) == 2 * 2  # tasks, schemas; one model, one trial
    assert len(set(found)) == len(found)
    assert [r.trial for r in found] == sorted(r.trial for r in found)
    assert {(r.task, r.source) for r in found} == {
        ("mimic-sofa-24h", "mimic"), ("mimic-sofa-24h-raw", "mimic"), ("eicu-gcs", "eicu"),
    }  # fmt: skip
    assert {(r.agent, r.model, r.endpoint, r.reasoning_effort) for r in first_tier} == {
        ("codex", "big", "openai", "medium"),
        ("codex", "small", "openai", "medium"),
        ("script", None, None, None),
    }
    assert {r.model for r in second_tier} == {"small"}
    (script,) = {r.script for r in found if r.agent == "script"}
    assert script == tmp_path / "mine.sql"
    for request in found:
        assert request.results == tmp_path / "out"
        assert (request.time_limit_seconds, request.budget.requests) == (600, 50)
        assert request.backend == "bubblewrap"
    assert plan.price_list["big"].of(1e6, 0, 1e6) == 9.0


def test_what_two_tiers_name_is_run_once(tmp_path: Path):
    text = """
name = "x"
sources = ["mimic"]
agents = [{agent = "script", script = "a.sql"}]
[[tiers]]
families = ["sofa"]
[[tiers]]
tasks = ["mimic-sofa-24h"]
trials = 2
"""
    found = requests_of(parse_plan(text, tmp_path / "p.toml"), list_tasks(), KINDS)
    family = [task.name for task in list_tasks() if task.family == "sofa"]
    assert [r.task for r in found] == [*family, "mimic-sofa-24h"]


SMALL = (
    'name = "x"\nsources = ["mimic"]\ntasks = ["mimic-sofa-24h"]\n[[agents]]\nagent = "script"\n'
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "valid TOML"),
        (SMALL.replace('"x"', '""'), "name:"),
        (SMALL + "modles = []\n", r"agents\.0\.modles"),
        (SMALL.replace("tasks", "trials = 0\ntasks"), "trials"),
        (SMALL.replace('tasks = ["mimic-sofa-24h"]\n', ""), "no tasks and no families"),
        (SMALL.replace("tasks", 'conditions = ["none"]\ntasks'), "no condition called none"),
        (SMALL.replace("tasks", 'schemas = ["odd"]\ntasks'), "no schema called odd"),
        (SMALL + 'reasoning_effort = "huge"\n', "no reasoning effort called huge"),
        (SMALL + '[[tiers]]\nfamilies = ["sofa"]\n', "not in both"),
        (SMALL.replace("tasks", 'models = ["m"]\ntasks'), "called m"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str):
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=said) as raised:
        read_plan(path)
    assert raised.value.place is not None
    assert raised.value.place.file == str(path)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (SMALL.replace("mimic-sofa-24h", "mimic-sofa-99h"), UsageError, "mimic-sofa-99h"),
        (SMALL.replace('tasks = ["mimic-sofa-24h"]', 'families = ["f"]'), UsageError, "family"),
        (SMALL.replace('["mimic"]', '["mimik"]'), UsageError, "source called mimik"),
        (SMALL.replace('["mimic"]', '["eicu"]'), BadInput, "needs mimic-iv data"),
        (SMALL.replace('["mimic"]', '["mimic", "other"]'), BadInput, "Two of"),
        (SMALL.replace("tasks", "trials = 200000\ntasks"), BadInput, "more than"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, text: str, kind: type, said: str):
    plan = parse_plan(text, tmp_path / "plan.toml")
    with pytest.raises(kind, match=said):
        requests_of(plan, list_tasks(), KINDS)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_plan(tmp_path / "none.toml")
