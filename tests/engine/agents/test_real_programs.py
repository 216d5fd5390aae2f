"""The agents' own programs in the sandbox: what they ask for, do and say, as the adapters set them.

They talk to a scripted model over a plain way, without a gateway, so that what they would ask for
by themselves is seen whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from agent_programs import plain_way
from model_server import ModelServer, Step
from sandbox_store import share_sandbox

from engine.agents import Agent, AgentRequest, find_agent
from engine.agents.interface import HOME, JOB
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.gateway.interface import PORT, SOCKET
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.interface import GATEWAY, GIB, Command, Ended, Limits
from engine.isolation.programs import pinned_version

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

PROGRAMS = ("codex", "claude", "gemini", "pi")
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-opus-5-5",
    "gemini": "gemini-2.5-pro",
    "pi": "scripted",
}
EFFORTS = {
    "codex": {"reasoning": {"effort": "high"}},
    "claude": {"output_config": {"effort": "high"}},
    "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 24576}}},
    "pi": {"reasoning_effort": "high"},
}
BODY = "Marker of the body: eight columns."
SKILL = f"---\nname: csv-writer\ndescription: How CSV files are written.\n---\n{BODY}\n"
QUERY = "import duckdb; print(duckdb.connect('database.duckdb', True).sql('FROM stays').fetchall())"
STEPS = (
    Step(say="I look around.", command=f'python3 -c "{QUERY}"'),
    Step(say="A failure.", command="echo out; echo err >&2; exit 3"),
    Step(say="I write.", command="printf 'stay_id,los\\n1,2.5\\n' > output.csv"),
    Step(say="Done: the table is written."),
)
START = Path(__file__).parents[3] / "engine" / "gateway" / "inside" / "start.py"


def skill_step(name: str) -> Step:
    """Open the skill as this program does it."""
    say = "I read the skill."
    if name == "claude":
        return Step(say=say, tool="Skill", arguments={"skill": "csv-writer"})
    if name == "gemini":
        return Step(say=say, tool="activate_skill", arguments={"name": "csv-writer"})
    if name == "pi":
        path = ".pi/skills/csv-writer/SKILL.md"
        return Step(say=say, tool="read", arguments={"path": path})
    return Step(say=say, command="cat .agents/skills/csv-writer/SKILL.md")


@dataclass(frozen=True)
class Done:
    """A run that has ended."""

    agent: Agent
    ended: Ended
    stdout: bytes
    stderr: str
    work: Path
    asked: list[Any]

    @property
    def bodies(self) -> list[Any]:
        """JSON bodies of the requests."""
        return [one.body for one in self.asked if isinstance(one.body, dict)]


@pytest.fixture
def run(tmp_path: Path, agent_programs: Path):
    """Run a program of that name against a model with these steps."""
    home = share_sandbox(open_home(tmp_path / "home"), agent_programs)

    def start(
        name: str, *steps: Step, skill: bool = False, job: SimpleJob | None = None, **fields: Any
    ) -> Done:
        agent = find_agent(name)
        asked = {"model": MODELS[name], "instruction": "Write output.csv."} | fields
        launch = agent.launch(AgentRequest(gateway=f"http://127.0.0.1:{PORT}", **asked))
        work = tmp_path / "work"
        files = {".m4/start.py": START.read_bytes()}
        files |= {f".m4/home/{path}": data for path, data in launch.home_files.items()}
        if skill:
            files[f"{agent.skills_folder}/csv-writer/SKILL.md"] = SKILL.encode()
        for path, content in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_bytes(content)
        database = tmp_path / "database.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.sql("CREATE TABLE stays AS SELECT 1 AS stay_id, 2.5 AS los")
        database.chmod(0o644)
        out, err = bytearray(), bytearray()
        inside = ("--socket", f"{GATEWAY}/{SOCKET}", "--port", str(PORT), "--home", HOME, "--")
        with ModelServer(steps) as model, plain_way(tmp_path / "way", model.port) as way:
            ended = Bubblewrap(home).run(
                Command(
                    argv=("python3", "-B", f"{JOB}/.m4/start.py", *inside, *launch.argv),
                    env=launch.env,
                    job_folder=work,
                    read_only={database: f"{JOB}/database.duckdb"},
                    gateway=way,
                    programs=(name,),
                    limits=Limits(wall_seconds=100, memory_bytes=3 * GIB),
                ),
                job=job,
                on_output=lambda stream, data: (out if stream == "stdout" else err).extend(data),
            )
            asked_for = list(model.asked)
        return Done(agent, ended, bytes(out), err.decode(errors="replace"), work, asked_for)

    return start


def offered(body: Any) -> set[str]:
    """Names of all tools in a request."""
    names: set[str] = set()
    for tool in body.get("tools", []):
        if "functionDeclarations" in tool:
            names |= {one["name"] for one in tool["functionDeclarations"]}
        else:
            names.add(tool.get("name") or tool.get("function", {}).get("name") or tool["type"])
    return names


SHELLS = {"exec_command", "Bash", "run_shell_command", "bash"}
ALLOWED = {
    "codex": {"exec_command", "write_stdin", "request_user_input", "apply_patch", "view_image"},
    "claude": {"Bash", "Read", "Edit", "Write", "Skill", "DeferredToolPlaceholder"},
    "gemini": {
        *("run_shell_command", "read_file", "write_file", "replace"),
        *("list_directory", "glob", "grep_search", "activate_skill"),
    },
    "pi": {"read", "bash", "edit", "write"},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_explores_reads_the_skill_and_writes_the_table(run, name):
    done = run(name, skill_step(name), *STEPS, skill=True, reasoning_effort="high")
    assert (done.ended.reason, done.ended.returncode) == ("exited", 0), done.stderr
    assert (done.work / "output.csv").read_text() == "stay_id,los\n1,2.5\n"
    # It asks for nothing but the model, by the name given, with the run's own token.
    assert {one.method for one in done.asked} == {"POST"}
    assert len(done.asked) == len(STEPS) + 1
    keys = ("authorization", "x-api-key", "x-goog-api-key")
    assert {one.header(key) for one in done.asked for key in keys} <= {None, "run", "Bearer run"}
    for one in done.asked:
        assert MODELS[name] in (one.body.get("model", ""), one.target.split("/")[-1].split(":")[0])
        # Only tools that work in the sandbox, the shell among them.
        assert offered(one.body) <= ALLOWED[name]
        assert offered(one.body) & SHELLS
    first, last = json.dumps(done.bodies[0]), json.dumps(done.bodies[-1])
    # The skill is on offer by name, its body only comes when it is opened.
    assert "csv-writer" in first
    assert BODY not in first
    assert BODY in last
    # What the commands gave went to the model, the exit status too.
    assert "2.5" in last
    assert "err" in last
    for key, value in EFFORTS[name].items():
        part = done.bodies[0][key]
        if isinstance(value, dict):
            for inner, wanted in value.items():
                assert wanted == part[inner] or wanted.items() <= part[inner].items()
        else:
            assert part == value


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_skills_none_is_on_offer(run, name):
    done = run(name, Step(say="Nothing to do."))
    assert done.ended.returncode == 0, done.stderr
    assert len(done.asked) == 1
    # Skills are listed with their files, by claude with a dash.
    listed = re.findall(r"/SKILL\.md|- [a-z-]+:[a-z-]+: ", json.dumps(done.bodies[0]))
    assert listed == []


def test_claude_offers_no_skill_of_its_own(run):
    done = run("claude", Step(say="Nothing to do."), skill=True)
    init = json.loads(done.stdout.splitlines()[0])
    assert init["skills"] == ["csv-writer"]
    assert init["claude_code_version"] == pinned_version("claude")


@pytest.mark.parametrize("api", ["responses", "messages", "generate"])
def test_pi_speaks_the_other_apis(run, api):
    models = {"responses": "gpt-5.5", "messages": "claude-opus-5-5", "generate": "gemini-2.5-pro"}
    done = run("pi", *STEPS[2:], api=api, model=models[api], reasoning_effort="medium")
    assert done.ended.returncode == 0, done.stderr
    assert (done.work / "output.csv").exists()
    assert len(done.asked) == 2
    effort = {
        "responses": ("reasoning", "effort", "medium"),
        "messages": ("output_config", "effort", "medium"),
        "generate": ("generationConfig", "thinkingConfig", 8192),
    }
    outer, inner, value = effort[api]
    assert str(value) in str(done.bodies[0][outer][inner])


def test_codex_in_code_mode_has_no_sub_agents(run):
    done = run("codex", *STEPS[2:], model="gpt-6.1-sol")
    assert done.ended.returncode == 0, done.stderr
    assert (done.work / "output.csv").exists()
    tools = json.dumps([item for item in done.bodies[0]["input"] if "tools" in item])
    assert "exec" in tools
    for word in ("spawn_agent", "web_search", "image_gen"):
        assert word not in tools


def test_claude_keeps_to_an_old_model(run):
    done = run("claude", Step(say="Done."), model="claude-opus-4-1")
    assert {body["model"] for body in done.bodies} == {"claude-opus-4-1"}
