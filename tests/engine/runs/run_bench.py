"""A tiny task with its database, reference and judge, for tests of the run machine.

Importable by a driver process of its own, so that it can be killed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from engine.agents import find_agent
from engine.base.files import sha256_of
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home, open_home
from engine.catalogue.task import Task, load_task
from engine.gateway.interface import Endpoint
from engine.isolation.backends import choose_backend, make_backend
from engine.isolation.interface import Limits
from engine.runs.machine import Assignment, RunMachine
from engine.runs.records import AgentDb, RunRequest, RunSummary
from engine.runs.recovery import Means, recover
from engine.runs.store import RunStore
from engine.runs.working import Way
from engine.workbench.judges import judge_for

TOML = """
[metadata]
name = "mimic-tiny"
difficulty = "medium"
[database]
source = "mimic-iv"
[evaluation]
key_columns = ["stay_id"]
value_columns = ["value"]
"""
RIGHT = "SELECT stay_id, value FROM t ORDER BY stay_id;"
ROWS = 1000


class Bench:
    """A home with all that a run of the tiny task needs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home: Home = open_home(root / "home")
        self.store = RunStore(self.home.state)
        self.machine = RunMachine(self.home, self.store)
        self.database = root / "given" / "tiny.duckdb"
        self.reference = root / "given" / "tiny.parquet"

    def build(self) -> Bench:
        """Make task, database and reference."""
        place = self.root / "tasks" / "tiny" / "mimic-tiny"
        (place / "skills" / "adding").mkdir(parents=True)
        (place / "skills" / "adding" / "SKILL.md").write_text("---\nname: adding\n---\n")
        (place / "task.toml").write_text(TOML)
        (place / "instruction.md").write_text("Write {output_path} from {db_path}.\n")
        self.database.parent.mkdir()
        with duckdb.connect(str(self.database)) as con:
            con.execute(
                f"CREATE TABLE t AS SELECT range AS stay_id, range * 2 AS value FROM range({ROWS})"
            )
            con.execute(f"COPY t TO '{self.reference}'")
        return self

    @property
    def task(self) -> Task:
        """The tiny task."""
        return load_task(self.root / "tasks" / "tiny" / "mimic-tiny")

    def script(self, content: str, suffix: str = ".py") -> Path:
        """A script file."""
        path = self.root / f"agent{suffix}"
        path.write_text(content, encoding="utf-8")
        return path

    def assign(
        self, script: Path, *, condition: str = "no-skill", limits: Limits | None = None
    ) -> Assignment:
        """The run of a script."""
        return Assignment(
            request=RunRequest(task=self.task, source="tiny", script=script, condition=condition),
            task=self.task,
            agent=find_agent("script"),
            sandbox=choose_backend(self.home, "bubblewrap"),
            database=self.database,
            agent_db=AgentDb(
                "database.duckdb", sha256_of(self.database), self.database.stat().st_size
            ),
            reference=self.reference,
            reference_facts={"key": "tiny", "rows": ROWS, "csv_sha256": ""},
            private=(self.home.root, self.reference.parent),
            answers=(),
            limits=limits or Limits(wall_seconds=60),
        )

    def ask(
        self, agent: str, endpoint: Endpoint, *, condition: str = "no-skill", **fields: Any
    ) -> Assignment:
        """The run of an agent with a model."""
        request = RunRequest(
            task=self.task, source="tiny", agent=agent, condition=condition, **fields
        )
        return replace(
            self.assign(self.script("")),
            request=request,
            agent=find_agent(agent),
            way=Way(endpoint),
            limits=Limits(wall_seconds=request.time_limit_seconds),
        )

    def repeat(self, record: Path) -> Assignment:
        """The replay of a recorded run."""
        return replace(
            self.assign(self.script("")),
            request=RunRequest(task=self.task, source="tiny", agent="replay"),
            agent=find_agent("replay"),
            record=record,
        )

    def run(self, assignment: Assignment, *, job: Job | None = None, on_event=None) -> str:
        """Carry it out."""
        judge = judge_for(self.task, self.home)
        return self.machine.run(assignment, judge, job=job or SimpleJob(), on_event=on_event)

    def recover(self, on_event=None) -> tuple[RunSummary, ...]:
        """What a front end does at its start."""
        return recover(
            self.store,
            self.machine,
            [make_backend(self.home, "bubblewrap")],
            lambda _run: Means(self.task, self.reference, judge_for(self.task, self.home)),
            job=SimpleJob(),
            on_event=on_event,
        )

    def record(self, run_id: str) -> dict:
        """`result.json`."""
        return json.loads((self.home.runs / run_id / "result.json").read_text(encoding="utf-8"))


def drive(root: Path, script: Path, stop_at: str, url: str | None = None) -> None:
    """Run (or recover); at the state `stop_at` say so on stdout and wait there to be killed.

    With `url` it is a run of pi with the model there.
    """

    def tell(event) -> None:
        if event.kind == "state":
            sys.stdout.write(f"{event.text} {event.run_id}\n")
            sys.stdout.flush()
            if event.text == stop_at:
                sys.stdin.read()
        else:
            sys.stdout.write(f"{event.kind} {event.run_id}\n")
            sys.stdout.flush()

    bench = Bench(root)
    if script.name == "recover":
        bench.recover(tell)
    elif url is not None:
        endpoint = Endpoint(name="scripted", api="chat", url=url)
        bench.run(bench.ask("pi", endpoint, model="scripted"), on_event=tell)
    else:
        bench.run(bench.assign(script), on_event=tell)


if __name__ == "__main__":
    drive(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
