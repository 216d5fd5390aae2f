"""`m4bench run` with an agent's own program, from the endpoint's name to the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_programs import agent_programs  # noqa: F401 (fixture)
from model_server import ModelServer, Step
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.cli.main import run as m4bench
from engine.workbench import RunRequest, Workbench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
TASK = "mimic-charlson-raw"
SAMPLE = ROOT / "resources" / "samples" / "charlson.sql"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, agent_programs: Path) -> Workbench:  # noqa: F811
    home = open_home(tmp_path_factory.mktemp("agents") / "home")
    bench = Workbench(share_sandbox(home, agent_programs))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    return bench


def test_an_agent_solves_a_task_at_an_endpoint_of_the_users_own(
    bench: Workbench, capsys: pytest.CaptureFixture[str]
):
    program = f"""cat > solve.py <<'END'
import duckdb
con = duckdb.connect('database.duckdb', read_only=True)
sql = '''{SAMPLE.read_text(encoding="utf-8").rstrip().rstrip(";")}'''
con.sql(f"COPY ({{sql}}) TO 'output.csv' (HEADER)")
END
python3 solve.py"""
    steps = (Step(say="I look.", command="cat .pi/skills/*/SKILL.md | head -5"),
             Step(say="I solve it.", command=program), Step(say="Done."))  # fmt: skip
    home = ["--home", str(bench.home.root)]
    with ModelServer(steps) as model:
        add = ["endpoint", "add", "mine", "--api", "chat", "--url", model.url]
        assert m4bench([*home, *add]) == 0
        capsys.readouterr()
        words = ["run", TASK, "small", "--agent", "pi", "--model", "scripted", "--effort", "low",
                 "--condition", "with-skill", "--max-tokens-out", "100000"]  # fmt: skip
        assert m4bench([*home, "--json", "--events", "ndjson", *words]) == 0
        said = capsys.readouterr()
        record = json.loads(said.out)
        events = [json.loads(line) for line in said.err.splitlines()]
        assert (record["reward"], record["strict_pass"]) == (1.0, True)
        assert record["endpoint"]["name"] == "mine"
        assert record["endpoint"]["local"] is True
        assert record["budget"]["output_tokens"] == 100_000
        assert record["skill_read"] is True
        steps_told = [event for event in events if event["event"] == "step"]
        assert {"command", "message"} <= {event["step"] for event in steps_told}
        assert any(event["text"].startswith("cat > solve.py") for event in steps_told)

        trace = bench.run_trace(record["run_id"])
        command = next(step for step in trace.steps if step.command and "SKILL.md" in step.command)
        assert "name:" in bench.step_output(record["run_id"], command)
        assert "$ cat > solve.py" in bench.run_log(record["run_id"])
        assert "agent/solve.py" in {
            str(path.relative_to(bench.home.runs / record["run_id"]))
            for path in (bench.home.runs / record["run_id"]).rglob("*.py")
        }

        # Reaching a budget is the agent's affair, and said in words.
        assert m4bench([*home, *words, "--max-requests", "1"]) == 0
        assert "budget" in capsys.readouterr().out
    # What was recorded is repeated without the model, which is gone.
    again = bench.run(
        RunRequest(task=TASK, source="small", agent="replay", record=record["run_id"]),
        job=SimpleJob(),
    )
    assert again.summary.condition == "with-skill"
    assert again.raw["replay"]["same_output"] is True
    assert again.raw["replay"]["ended_differently"] == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--agent", "codex"], 2, "--model"),
        (["--agent", "pi", "--model", "m", "--endpoint", "nobody"], 2, "no endpoint"),
        (["--agent", "codex", "--model", "m", "--endpoint", "ollama"], 2, "speaks"),
        (["--agent", "codex", "--model", "m", "--effort", "boundless"], 2, "--effort"),
        (["--agent", "codex", "--model", "m"], 4, "key"),
    ],
)
def test_what_is_missing_is_told_before_a_run_is_made(
    bench: Workbench, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
):
    before = bench.runs()
    assert m4bench(["--home", str(bench.home.root), "run", TASK, "small", *words]) == code
    assert said in capsys.readouterr().err
    assert bench.runs() == before
