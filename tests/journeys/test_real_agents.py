"""The whole way of every agent: its own program in Docker, the gateway, a scripted model, m4bench.

Each run is asked for on the command line and read from the record that it leaves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Step, Trouble, tokens_of
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.cli.main import run as m4bench
from engine.isolation.engine_api import Engine
from engine.isolation.programs import pinned_version
from engine.workbench import Workbench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.usefixtures("docker_found")]

ROOT = Path(__file__).parents[2]
TASK = "mimic-charlson-raw"
SKILL = "charlson"
APIS = {"codex": "responses", "claude": "messages", "gemini": "generate", "pi": "chat"}
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-opus-5-5",
    "gemini": "gemini-2.5-pro",
    "pi": "scripted",
}
SQL = (ROOT / "resources" / "samples" / "charlson.sql").read_text(encoding="utf-8")
SOLVE = f"""cat > solve.sql <<'END'
{SQL}
END
cat > solve.py <<'END'
import duckdb
query = open('solve.sql').read().rstrip().rstrip(';')
duckdb.connect('database.duckdb', read_only=True).execute(
    "COPY (" + query + ") TO 'output.csv' (HEADER)")
END
python3 solve.py && wc -l output.csv"""
LOOK = "import duckdb; print(duckdb.connect('database.duckdb', True).sql('SHOW ALL TABLES'))"
EXPLORE = Step(say="I look at the database.", command=f'python3 -c "{LOOK}"')
WRITE = Step(say="I write the table.", command=SOLVE)
DONE = Step(say="Done.")

Go = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def bench(
    tmp_path_factory: pytest.TempPathFactory, docker_agents: Engine, agent_programs: Path
) -> Workbench:
    home = open_home(tmp_path_factory.mktemp("agents") / "home")
    bench = Workbench(share_sandbox(home, agent_programs))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    return bench


@pytest.fixture
def go(bench: Workbench, capsys: pytest.CaptureFixture[str]) -> Go:
    """Run an agent against a model with these steps; the record."""

    def call(*words: str) -> Any:
        code = m4bench(["--home", str(bench.home.root), "--json", *words])
        said = capsys.readouterr()
        assert code == 0, said.err
        return json.loads(said.out)

    def start(name: str, *steps: Step, options: tuple[str, ...] = ()) -> dict[str, Any]:
        with ModelServer(steps) as model:
            call("endpoint", "add", name, "--api", APIS[name], "--url", model.url)
            words = ("--agent", name, "--endpoint", name, "--model", MODELS[name])
            record = call("run", TASK, "small", *words, "--backend", "docker", *options)
        folder = bench.home.runs / record["run_id"]
        return json.loads((folder / "result.json").read_text(encoding="utf-8"))

    return start


def egress(bench: Workbench, record: dict[str, Any]) -> list[dict[str, Any]]:
    text = (bench.home.runs / record["run_id"] / "egress.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_skill(name: str) -> Step:
    """Open the skill in the way of that program."""
    folder = {"codex": ".agents", "pi": ".pi"}.get(name)
    if folder is None:
        tool = "Skill" if name == "claude" else "activate_skill"
        key = "skill" if name == "claude" else "name"
        return Step(say="I read the skill.", tool=tool, arguments={key: SKILL})
    path = f"{folder}/skills/{SKILL}/SKILL.md"
    if name == "pi":
        return Step(say="I read the skill.", tool="read", arguments={"path": path})
    return Step(say="I read the skill.", command=f"cat {path}")


@pytest.mark.parametrize("name", APIS)
def test_a_run_is_scored_and_recorded(bench: Workbench, go: Go, name: str):
    fails = Step(say="A failure.", command="ls nowhere; exit 3")
    steps = (read_skill(name), EXPLORE, fails, WRITE, DONE)
    record = go(name, *steps, options=("--condition", "with-skill", "--effort", "high"))
    # The record.
    assert (record["state"], record["failure_reason"]) == ("done", None), record["failure_detail"]
    assert (record["reward"], record["strict_pass"]) == (1.0, True)
    assert record["backend"] == "docker"
    assert record["publishable"] is True
    assert record["agent_version"] == pinned_version(name)
    assert record["model"] == MODELS[name]
    assert (record["reasoning_effort"], record["reasoning_effort_requested"]) == ("high", "high")
    assert record["agent_result"]["returncode"] == 0
    assert record["filesystem_canary"]["passed"]
    assert record["contamination_lint"]["passed"]
    assert record["artefacts"] == ["output.csv"]
    # The trace.
    trace = record["trace"]
    assert (trace["closing"], trace["unknown_events"]) == ("success", {})
    assert trace["commands"] >= 3
    folder = bench.home.runs / record["run_id"]
    told = (folder / "trace.jsonl").read_text(encoding="utf-8")
    assert all(json.loads(line) for line in told.splitlines())
    assert "SHOW ALL TABLES" in told
    kept = bench.run_trace(record["run_id"])
    commands = [step for step in kept.steps if step.command is not None]
    assert any("SHOW ALL TABLES" in sql for step in commands for sql in step.sql)
    assert "output.csv" in kept.summary.files_written
    if name in ("codex", "claude", "pi"):  # gemini's stream does not tell exit statuses
        assert 3 in [step.exit_code for step in commands]
    # Tokens.
    used = [tokens_of(number) for number in range(len(steps))]
    tokens = record["token_usage"]
    assert tokens["input_tokens"] == sum(one.input for one in used)
    assert tokens["cached_input_tokens"] == sum(one.cached for one in used)
    assert tokens["output_tokens"] == sum(one.output for one in used)
    assert tokens["turns"] == len(steps)
    assert tokens["model_strings"] == [MODELS[name]]
    assert tokens["disagreement"] is None
    # What went out.
    lines = egress(bench, record)
    assert all(line["allowed"] for line in lines)
    assert [line["status"] for line in lines if line["why"] != "local"] == [200] * len(steps)
    # The skill: on offer, and read.
    assert record["skills"] == [SKILL]
    assert SKILL in record["skills_read"]
    assert record["skill_read"] is True
    if record["skills_listed"] is not None:
        assert record["skills_listed"] == [SKILL]


@dataclass(frozen=True)
class Case:
    """What goes wrong, and what the record says of it."""

    steps: tuple[Step, ...]
    reason: str
    reward: float | None
    options: tuple[str, ...] = ()
    requests: int | None = None
    """How often the model may be asked at most."""


NEVER = "Never said."
CASES = {
    "401": Case((Step(say=NEVER, trouble=Trouble(status=401)),), "auth", None, requests=12),
    "429": Case(
        (EXPLORE, Step(say=NEVER, trouble=Trouble(status=429, retry_after=600))),
        "rate_limit",
        None,
        requests=5,
    ),
    "500": Case(
        (EXPLORE, Step(say=NEVER, trouble=Trouble(status=500))), "model_error", None, requests=12
    ),
    "hang": Case(
        (Step(say=NEVER, trouble=Trouble(trick="hang")),),
        "model_error",
        None,
        options=("--time-limit", "15"),
        requests=1,
    ),
    "refusal": Case((Step(say="I will not.", refusal=True),), "no_output", 0.0),
    "web": Case(
        (Step(say="Web.", command="curl -sS https://example.org/answer.csv"), WRITE, DONE),
        "external_tool_use",
        0.0,
    ),
    "budget": Case(
        (WRITE, EXPLORE, EXPLORE, DONE),
        "budget",
        0.0,
        options=("--max-requests", "2"),
        requests=2,
    ),
}


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("what", CASES)
def test_failures_are_told_for_what_they_are(bench: Workbench, go: Go, name: str, what: str):
    case = CASES[what]
    begun = datetime.now(UTC)
    record = go(name, *case.steps, options=case.options)
    ended = datetime.now(UTC)
    lines = egress(bench, record)
    reason = case.reason
    if what == "hang" and not lines:  # on a slow machine it may not have come to ask
        reason = "timeout"
    if what == "refusal" and name in ("claude", "pi"):  # they call it an error
        reason = "agent_nonzero_exit"
    assert (record["state"], record["failure_reason"]) == ("failed", reason), record
    assert record["reward"] == (0.0 if reason == "timeout" else case.reward)
    assert record["strict_pass"] is not True
    assert record["failure_detail"]
    assert record["token_usage"] is not None
    if case.requests is not None:
        assert len([line for line in lines if line["allowed"]]) <= case.requests + 1
    folder = bench.home.runs / record["run_id"]
    assert (folder / "trace.jsonl").is_file()
    if what == "429":
        retry_at = datetime.fromisoformat(record["agent_result"]["retry_at"])
        assert begun < retry_at - timedelta(seconds=600) < ended
    if what == "budget":  # what it had written is kept, and so is what it used
        assert (folder / "output.csv").is_file()
        assert record["token_usage"]["output_tokens"] >= tokens_of(0).output
    if what == "web":
        assert {line["host"] for line in lines} == {"127.0.0.1"}
        assert not (folder / "output.csv").exists()
        assert record["external_tools"]["violations"][0]["file"] == "trace.jsonl"
