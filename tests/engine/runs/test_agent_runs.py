"""The agents' own programs in whole runs: sandbox, gateway, scripted model, record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from agent_programs import agent_programs  # noqa: F401 (fixture)
from model_server import ModelServer, Step, Trouble, tokens_of
from run_bench import Bench
from sandbox_store import share_sandbox

from engine.agents.traces import TraceStep
from engine.base.errors import Cancelled, HarnessFault
from engine.base.jobs import SimpleJob
from engine.gateway.interface import Budget, Endpoint
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.isolation.interface import Sandbox
from engine.isolation.programs import pinned_version
from engine.runs.records import RunEvent
from engine.runs.tracing import log_of, trace_of

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

APIS = {"codex": "responses", "claude": "messages", "gemini": "generate", "pi": "chat"}
ONE = ("pi",)
"""Failures of every program are tried in Docker (`tests/journeys/test_real_agents.py`)."""
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-opus-5-5",
    "gemini": "gemini-2.5-pro",
    "pi": "scripted",
}
SQL = "COPY (SELECT stay_id, value FROM t ORDER BY stay_id) TO 'output.csv' (HEADER)"
QUERY = f"import duckdb; duckdb.connect('database.duckdb', read_only=True).sql(\\\"{SQL}\\\")"
WRITE = Step(say="I write.", command=f'python3 -c "{QUERY}"')
DONE = Step(say="Done.")
FOLDERS = {"codex": ".agents", "claude": ".claude", "gemini": ".gemini", "pi": ".pi"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, agent_programs: Path) -> Bench:  # noqa: F811
    bench = Bench(tmp_path_factory.mktemp("bench")).build()
    share_sandbox(bench.home, agent_programs)
    return bench


def read_skill(name: str) -> Step:
    path = f"{FOLDERS[name]}/skills/adding/SKILL.md"
    tools: dict[str, tuple[str, dict[str, Any]]] = {
        "claude": ("Skill", {"skill": "adding"}),
        "gemini": ("activate_skill", {"name": "adding"}),
        "pi": ("read", {"path": path}),
    }
    if name not in tools:
        return Step(say="I read the skill.", command=f"cat {path}")
    tool, arguments = tools[name]
    return Step(say="I read the skill.", tool=tool, arguments=arguments)


def go(
    bench: Bench,
    name: str,
    *steps: Step,
    on_event: Callable[[RunEvent], None] | None = None,
    job: SimpleJob | None = None,
    condition: str = "no-skill",
    sandbox: Sandbox | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A run of the program against a model with these steps; its record."""
    with ModelServer(steps) as model:
        endpoint = Endpoint(name="scripted", api=APIS[name], url=model.url)
        assignment = bench.ask(
            name, endpoint, condition=condition,
            **({"model": MODELS[name], "time_limit_seconds": 300} | fields),
        )  # fmt: skip
        assignment = replace(assignment, sandbox=sandbox or assignment.sandbox)
        run_id = bench.run(assignment, on_event=on_event, job=job)
    assert not (bench.home.runs / run_id / "gateway").exists()
    assert not (bench.home.runs / run_id / "work").exists()
    return bench.record(run_id)


def egress(bench: Bench, record: dict[str, Any]) -> list[dict[str, Any]]:
    text = (bench.home.runs / record["run_id"] / "egress.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def assert_counted(record: dict[str, Any], steps: int, model: str) -> None:
    """Trace and gateway have counted the same, and what the model said."""
    used = [tokens_of(number) for number in range(steps)]
    usage = record["token_usage"]
    assert usage["input_tokens"] == sum(tokens.input for tokens in used)
    assert usage["cached_input_tokens"] == sum(tokens.cached for tokens in used)
    assert usage["output_tokens"] == sum(tokens.output for tokens in used)
    assert usage["turns"] == steps
    assert usage["counted_by"] == "trace"
    assert usage["disagreement"] is None
    assert usage["model_strings"] == [model]
    assert record["gateway"]["usage"]["requests"] == steps
    assert record["gateway"]["stopped"] is None


def assert_repeats(bench: Bench, record: dict[str, Any], commands: int) -> None:
    """The same again without a model gives the same."""
    again = bench.record(bench.run(bench.repeat(bench.home.runs / record["run_id"])))
    found = again["replay"]
    assert (found["agent"], found["of"]) == (record["agent"], record["run_id"])
    assert (found["commands"], found["skipped"]) == (commands, [])
    assert found["same_output"] is True
    assert (found["reward_recorded"], found["reward_now"]) == (1.0, 1.0)


@pytest.fixture(params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest, bench: Bench) -> Sandbox:
    """Each backend in turn."""
    if request.param == "docker":
        return Docker(bench.home, engine=request.getfixturevalue("docker_agents"))
    return Bubblewrap(bench.home)


@pytest.mark.parametrize("name", APIS)
def test_a_whole_run_with_its_record(bench: Bench, sandbox: Sandbox, name: str):
    events: list[RunEvent] = []
    look = Step(say="I look.", command="ls; exit 3")
    steps = (read_skill(name), look, WRITE, DONE)
    record = go(
        bench, name, *steps, condition="with-skill", on_event=events.append,
        reasoning_effort="high", sandbox=sandbox,
    )  # fmt: skip
    place = bench.home.runs / record["run_id"]

    assert (record["state"], record["reward"], record["strict_pass"]) == ("done", 1.0, True)
    assert record["failure_reason"] is None
    assert (record["backend"], record["publishable"]) == (sandbox.name, sandbox.publishable)
    assert "digest" in json.dumps(record["sandbox"])
    assert record["agent_version"] == pinned_version(name)
    assert record["trace"]["version"] == pinned_version(name)
    assert (record["model"], record["model_requested"]) == (MODELS[name], MODELS[name])
    assert (record["reasoning_effort"], record["reasoning_effort_requested"]) == ("high", "high")
    assert record["endpoint"]["name"] == "scripted"
    assert "127.0.0.1" not in json.dumps(record["endpoint"])
    assert record["agent_result"]["returncode"] == 0
    assert record["trace"]["closing"] == "success"
    assert record["trace"]["commands"] >= 2

    assert_counted(record, len(steps), MODELS[name])
    assert record["skills"] == ["adding"]
    assert record["skill_files"] == [f"{FOLDERS[name]}/skills/adding/SKILL.md"]
    assert "adding" in record["skills_read"]
    assert record["skill_read"] is True
    assert record["external_tools"]["passed"]
    assert record["contamination_lint"]["passed"]
    lines = egress(bench, record)
    asked = [line for line in lines if line["why"] != "local"]
    assert [line["allowed"] for line in asked] == [True] * len(steps)
    assert {line["status"] for line in asked} == {200}

    # The trace is the program's own stream; its steps were told while it lived.
    told = {event.step.number: event.step for event in events if event.kind == "step"}
    run = bench.store.find(record["run_id"])
    kept = trace_of(place, run)
    assert told == {step.number: step for step in kept.steps}
    assert len((place / "trace.times").read_text().splitlines()) == kept.summary.lines
    assert not (place / "stdout.log").exists()
    commands = [step for step in kept.steps if step.command is not None]
    assert any("ls; exit 3" in str(step.command) for step in commands)
    assert "$ ls; exit 3" in log_of(place, run)
    assert [event.text for event in events if event.kind == "state"][-1] == "done"

    assert_repeats(bench, record, len(commands))


def test_no_skill_is_there_without_one(bench: Bench):
    record = go(bench, "claude", Step(say="Look.", command="find / -name SKILL.md"), DONE)
    assert record["skills"] == []
    assert record["skill_files"] == []
    assert record["skills_listed"] == []
    assert record["skills_read"] == []
    assert record["skill_read"] is False


FAILURES = {
    "auth": (Trouble(status=401), "auth", None),
    "limit": (Trouble(status=429, retry_after=600), "rate_limit", None),
    "broken": (Trouble(status=500), "model_error", None),
}


@pytest.mark.parametrize("what", FAILURES)
@pytest.mark.parametrize("name", ONE)
def test_what_the_endpoint_does_is_no_score(bench: Bench, name: str, what: str):
    trouble, reason, reward = FAILURES[what]
    record = go(bench, name, Step(say="Never.", trouble=trouble))
    assert (record["state"], record["failure_reason"]) == ("failed", reason)
    assert record["reward"] is reward
    assert record["failure_detail"]
    if what == "limit":
        assert record["agent_result"]["retry_at"] is not None


HANG = Step(say="Never.", trouble=Trouble(trick="hang"))


@pytest.mark.parametrize("name", ONE)
def test_an_endpoint_that_hangs_ends_with_the_budget_of_time(bench: Bench, name: str):
    record = go(bench, name, HANG, budget=Budget(seconds=2))
    # It never had an answer: the endpoint's doing, not the agent's.
    assert (record["failure_reason"], record["reward"]) == ("model_error", None)
    assert record["gateway"]["stopped"]["budget"] == "seconds"


def test_an_endpoint_that_hangs_ends_at_the_time_limit(bench: Bench):
    record = go(bench, "pi", WRITE, HANG, time_limit_seconds=20)
    # It had been answered: the time is what was used up, and what it wrote is kept.
    assert (record["failure_reason"], record["reward"]) == ("timeout", 0.0)
    assert record["agent_result"]["ended_by"] == "timeout"
    assert (bench.home.runs / record["run_id"] / "output.csv").exists()
    # Without any answer it is the endpoint's doing.
    record = go(bench, "pi", HANG, time_limit_seconds=10)
    assert (record["failure_reason"], record["reward"]) == ("model_error", None)


@pytest.mark.parametrize("name", ONE)
def test_a_budget_ends_the_run(bench: Bench, name: str):
    more = [Step(say="More.", command=f"echo {number}") for number in range(9)]
    record = go(bench, name, WRITE, *more, DONE, budget=Budget(requests=3))
    assert (record["failure_reason"], record["reward"]) == ("budget", 0.0)
    assert record["agent_result"]["ended_by"] == "gateway"
    assert record["gateway"]["stopped"]["budget"] == "requests"
    assert record["gateway"]["usage"]["requests"] == 3
    # The trace mostly ends in the middle: what was used is known all the same.
    used = record["token_usage"]
    assert used["counted_by"] == "gateway" or used["disagreement"] is None
    assert used["output_tokens"] == sum(tokens_of(n).output for n in range(3))
    assert (bench.home.runs / record["run_id"] / "output.csv").exists()


@pytest.mark.parametrize("name", ONE)
def test_a_way_to_the_web_zeroes_the_run(bench: Bench, name: str):
    web = Step(say="I search.", command="curl -s https://example.org/answer.csv")
    record = go(bench, name, web, WRITE, DONE)
    assert (record["failure_reason"], record["reward"]) == ("external_tool_use", 0.0)
    (found,) = record["external_tools"]["violations"]
    assert (found["rule"], found["file"]) == ("http_client", "trace.jsonl")
    place = bench.home.runs / record["run_id"]
    steps = {step.number: step for step in trace_of(place, bench.store.find(place.name)).steps}
    assert "curl" in str(steps[found["step"]].command)
    assert record["artefacts"] == []
    assert not (place / "output.csv").exists()
    assert (place / "trace.jsonl").stat().st_size > 0
    # Nothing but the model was ever asked.
    assert {line["host"] for line in egress(bench, record)} == {"127.0.0.1"}


def test_another_host_through_the_gateway_ends_the_run(bench: Bench):
    words = (
        "import http.client; c = http.client.HTTPConnection('127.0.0.1', 18080); "
        "c.request('GET', 'http://example.org/v1/models'); print(c.getresponse().status)"
    )
    record = go(bench, "pi", Step(say="Out.", command=f'python3 -c "{words}"'), WRITE, DONE)
    assert (record["failure_reason"], record["reward"]) == ("disallowed_egress", 0.0)
    assert record["agent_result"]["ended_by"] == "gateway"
    refused = [line for line in egress(bench, record) if not line["allowed"]]
    assert refused[0]["why"] == "other_host"


@pytest.mark.parametrize("name", ONE)
def test_a_refusal_of_the_model_scores_zero(bench: Bench, name: str):
    record = go(bench, name, Step(say="I will not.", refusal=True))
    # Some programs call it an error, others are simply done.
    assert record["failure_reason"] in ("no_output", "agent_nonzero_exit")
    assert record["reward"] == 0.0


def test_cancel_ends_agent_and_gateway(bench: Bench):
    gate = threading.Semaphore(0)
    job = SimpleJob()

    def tell(event: RunEvent) -> None:
        if event.kind == "step" and isinstance(event.step, TraceStep):
            job.cancel()

    with pytest.raises(Cancelled):
        go(bench, "pi", Step(say="Wait.", gate=gate), on_event=tell, job=job)
    record = bench.record(bench.store.list()[0].run_id)
    assert (record["failure_reason"], record["reward"]) == ("cancelled", None)
    assert record["trace"]["closing"] == "missing"
    assert record["gateway"]["stopped"] is None
    assert not (bench.home.runs / record["run_id"] / "gateway").exists()


def test_a_gateway_that_breaks_is_our_fault(bench: Bench):
    gate = threading.Semaphore(0)

    def tell(event: RunEvent) -> None:
        if event.step is not None and event.step.command is not None:
            for process in psutil.Process().children():
                if "engine.gateway.process" in process.cmdline():
                    process.kill()

    with pytest.raises(HarnessFault, match="way to its model broke"):
        go(bench, "pi", WRITE, replace(DONE, gate=gate), on_event=tell)
    record = bench.record(bench.store.list()[0].run_id)
    assert (record["failure_reason"], record["reward"]) == ("exception", None)
    assert record["gateway"]["stopped"]["kind"] == "fault"
    assert record["gateway"]["usage"]["requests"] >= 1


@pytest.mark.parametrize("state", ["running", "step", "collecting", "linting"])
def test_killed_with_a_gateway_open_nothing_is_left(bench: Bench, state: str):
    driver = Path(__file__).with_name("run_bench.py")
    gate = threading.Semaphore(1000 if state in ("collecting", "linting") else 1)
    with ModelServer([WRITE, replace(DONE, gate=gate)]) as model:
        words = [sys.executable, str(driver), str(bench.root), "pi", state, model.url]
        paths = os.pathsep.join(str(path) for path in (driver.parents[3], driver.parents[2]))
        program = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": paths, "PATH": os.defpath + ":/usr/sbin:/sbin"},
        )
        assert program.stdout is not None
        assert program.stdin is not None
        told, run_id = next(line.split() for line in program.stdout if line.startswith(f"{state} "))
        below = psutil.Process(program.pid).children(recursive=True)
        gateways = [process for process in below if "engine.gateway.process" in process.cmdline()]
        assert bool(gateways) == (state == "step")
        program.kill()
        program.wait()
        program.stdout.close()
        program.stdin.close()
        _, alive = psutil.wait_procs(below, timeout=30)
        assert not alive, "something outlived its program"
    place = bench.home.runs / run_id
    assert (place / "gateway").exists() == (told == "step")
    summaries = {summary.run_id: summary for summary in bench.recover()}
    ended = summaries[run_id]
    if state == "linting":
        assert (ended.state, ended.reward) == ("done", 1.0)
        assert bench.record(run_id)["token_usage"]["turns"] == 2
    else:
        assert (ended.state, ended.failure_reason) == ("failed", "interrupted")
        assert ended.reward is None
    assert not (place / "gateway").exists()
    assert not (place / "work").exists()
    assert (place / "result.json").exists()
