"""Runs of a real agent's program, led step by step by a scripted model."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demo_data import ROOT
from model_server import ModelServer, Step

from engine.base.content import use_content
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.gateway.endpoints import add_endpoint, make_endpoint
from engine.isolation.programs import install_program
from engine.workbench import RunRequest, Workbench

TASK, SKILL, AGENT = "mimic-ventilation-raw", "ventilation", "pi"
_SAMPLES = ROOT / "resources" / "samples"
_LOOK = "import duckdb; print(duckdb.connect('database.duckdb', True).sql('SHOW ALL TABLES'))"
_DEVICES = (
    "import duckdb; print(duckdb.connect('database.duckdb', True).sql("
    '\\"SELECT value, count(*) FROM mimiciv_icu.chartevents WHERE itemid = 226732 '
    'GROUP BY value ORDER BY 2 DESC\\"))'
)
_CHECK = (
    "import duckdb; print(duckdb.sql("
    "\\\"SELECT ventilation_status, count(*) FROM 'output.csv' GROUP BY 1 ORDER BY 2 DESC\\\"))"
)


@dataclass(frozen=True)
class AgentRun:
    """One run of the program."""

    script: Path
    """The SQL that it comes to write."""
    condition: str
    """With the skill or without."""
    edited: bool = False
    """Is the skill before it another than the shipped one?"""


AGENT_RUNS: Mapping[str, AgentRun] = {
    "agent": AgentRun(_SAMPLES / "ventilation-raw-flawed.sql", "no-skill"),
    "agent-skill": AgentRun(_SAMPLES / "ventilation-raw.sql", "with-skill"),
    "agent-edited": AgentRun(
        ROOT / "tests" / "material" / "ventilation" / "trailing_space_lost.sql",
        "with-skill",
        edited=True,
    ),
}
"""By short name."""


def run_agent(bench: Workbench, run: AgentRun, source: str) -> str:
    """Run the program on the task; its run id.

    ``M4REVIEW_TEST_AGENTS`` may name a home in which the programs are installed already.

    Raises:
        MissingPrerequisite: the program cannot be had, or there is no bubblewrap.
        M4Error: something else is missing.
    """
    _have_program(bench)
    with contextlib.ExitStack() as stack:
        if run.edited:
            stack.callback(use_content, None)
            use_content(_edited(bench.home.root / "edited-content"))
        task = next(each for each in bench.tasks() if each.name == TASK)
        model = stack.enter_context(ModelServer(_steps(run)))
        add_endpoint(bench.home, make_endpoint("scripted", api="chat", url=model.url))
        request = RunRequest(
            task=task, source=source, agent=AGENT, endpoint="scripted", model="scripted",
            condition=run.condition, backend="bubblewrap",
        )  # fmt: skip
        return bench.run(request, job=SimpleJob()).summary.run_id


def _have_program(bench: Workbench) -> None:
    kept = os.environ.get("M4REVIEW_TEST_AGENTS")
    place = bench.home.sandbox / "agents" / AGENT
    if kept and not place.exists():
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copytree(open_home(Path(kept)).sandbox / "agents" / AGENT, place, symlinks=True)
    install_program(bench.home, AGENT)


def _edited(folder: Path) -> Path:
    """Tasks and skills with one rule of the skill changed."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("tasks", "skills"):
        shutil.copytree(ROOT / part, folder / part)
    path = folder / "skills" / SKILL / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert "14 hours" in text
    path.write_text(text.replace("14 hours", "12 hours"), encoding="utf-8")
    return folder


def _steps(run: AgentRun) -> tuple[Step, ...]:
    solve = "\n".join(
        (
            "cat > solve.sql <<'END'",
            run.script.read_text(encoding="utf-8"),
            "END",
            "cat > solve.py <<'END'",
            "import duckdb",
            "query = open('solve.sql').read().rstrip().rstrip(';')",
            "duckdb.connect('database.duckdb', read_only=True).execute(",
            '    "COPY (" + query + ") TO \'output.csv\' (HEADER)")',
            "END",
            "python3 solve.py && wc -l output.csv",
        )
    )
    skill = Step(
        say="I read the skill.", tool="read",
        arguments={"path": f".pi/skills/{SKILL}/SKILL.md"},
    )  # fmt: skip
    steps = [
        Step(say="I look at what the database holds.", command=f'python3 -c "{_LOOK}"'),
        Step(say="Is there a derived table?", command="python3 -c 'import sqlalchemy'"),
        Step(
            think="The devices are texts; I need their spelling.",
            say="Which devices are charted?",
            command=f'python3 -c "{_DEVICES}"',
        ),
        Step(say="I write the query and run it.", command=solve),
        Step(say="Does the table look right?", command=f'python3 -c "{_CHECK}"'),
        Step(say="Done: output.csv holds one row per episode of respiratory support."),
    ]
    return tuple([skill, *steps] if run.condition == "with-skill" else steps)
