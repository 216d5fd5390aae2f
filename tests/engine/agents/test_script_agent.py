"""The script agent: what it would start, and its SQL runner run for real."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from engine.agents import AgentRequest, find_agent
from engine.base.errors import BadInput, UsageError

RUNNER = Path(__file__).parents[3] / "engine" / "agents" / "resources" / "run_sql.py"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    with duckdb.connect(str(folder / "database.duckdb")) as con:
        con.execute(
            """
            CREATE TABLE t AS FROM (VALUES
                (1, 'plain', TIMESTAMP '2150-01-02 03:04:05'),
                (2, NULL, NULL),
                (3, 'a "b", c', TIMESTAMP '2150-01-02 00:00:00')
            ) AS v (id, text, seen)
            """
        )
    return folder


def run_sql(job: Path, script: str) -> subprocess.CompletedProcess[str]:
    (job / "script.sql").write_text(script, encoding="utf-8")
    env = {
        "PATH": os.environ["PATH"],
        "M4_DB_PATH": str(job / "database.duckdb"),
        "M4_OUTPUT_PATH": str(job / "output.csv"),
        "M4_MEMORY_BYTES": str(1 << 30),
    }
    return subprocess.run(
        [sys.executable, RUNNER, "script.sql"],
        cwd=job,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def launch(path: Path, model: str | None = None):
    return find_agent("script").launch(AgentRequest(instruction="do", script=path, model=model))


def test_python_script_is_started_with_the_paths_in_its_environment(tmp_path: Path):
    path = tmp_path / "My Script.py"
    path.write_text("print('ä')\n", encoding="utf-8")
    started = launch(path)
    assert started.argv == ("python3", "-u", "-B", "script.py")
    assert started.files == {"script.py": path.read_bytes()}
    assert started.env["M4_DB_PATH"] == "/job/database.duckdb"
    assert started.env["M4_OUTPUT_PATH"] == "/job/output.csv"
    assert started.model == "my-script"
    assert launch(path, model="baseline").model == "baseline"


def test_sql_script_brings_the_runner_along(tmp_path: Path):
    path = tmp_path / "right.SQL"
    path.write_text("SELECT 1", encoding="utf-8")
    started = launch(path)
    assert started.files[".m4/run_sql.py"] == RUNNER.read_bytes()
    assert started.files["script.sql"] == b"SELECT 1"


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [("a.txt", b"x", None), ("a.sql", b"SELECT 1;\n\xff", 2), ("gone.py", None, None)],
)
def test_files_that_cannot_be_a_script_are_named(tmp_path: Path, name, content, line):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        launch(path)
    assert caught.value.place is not None
    assert caught.value.place.file == str(path)
    assert caught.value.place.line == line


def test_without_a_script_there_is_nothing_to_run():
    with pytest.raises(UsageError, match="--script"):
        find_agent("script").launch(AgentRequest(instruction="do"))


@pytest.mark.parametrize("name", ["nonsense", "Codex", ""])
def test_unknown_agents_are_refused_by_name(name):
    with pytest.raises(UsageError, match=rf"no agent called {name}\."):
        find_agent(name)


def test_last_select_becomes_the_output(job: Path):
    done = run_sql(
        job,
        """
        CREATE TEMP TABLE mine AS FROM t; -- a table of the script's own; kept in memory
        SELECT count(*) FROM mine;
        /* the result; */
        SELECT * FROM mine ORDER BY id; -- the end;
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    content = (job / "output.csv").read_text(encoding="utf-8")
    assert content == (
        'id,text,seen\n1,plain,2150-01-02 03:04:05\n2,,\n3,"a ""b"", c",2150-01-02 00:00:00\n'
    )
    assert [row["text"] for row in csv.DictReader(content.splitlines())][2] == 'a "b", c'
    assert {path.name for path in job.iterdir()} == {"database.duckdb", "output.csv", "script.sql"}


@pytest.mark.parametrize("after", ["", "SELECT 2 AS two;"])
def test_a_copy_of_the_scripts_own_is_left_alone(job: Path, after):
    done = run_sql(job, f"COPY (SELECT id FROM t ORDER BY id) TO 'output.csv';{after}")
    assert done.returncode == 0
    assert (job / "output.csv").read_text(encoding="utf-8") == "id\n1\n2\n3\n"


def test_a_later_copy_wins_over_the_last_select(job: Path):
    done = run_sql(job, "SELECT 2 AS two; COPY (SELECT 1 AS one) TO 'output.csv'")
    assert done.returncode == 0
    assert (job / "output.csv").read_text(encoding="utf-8") == "one\n1\n"


@pytest.mark.parametrize(
    ("script", "line", "words"),
    [
        ("SELECT 1;\n\n-- why\nSELECT id,\n  nothing\nFROM t;", "line [45]", "nothing"),
        ("SELECT 1;\n\nSELEC 2;", "line 3", "syntax error"),
        ("\n\n  DROP TABLE t;", "line 3", "read-only"),
        ("SELECT 1;\n/* a\n   b */\nSELECT * FROM absent", "line 4", "absent"),
    ],
)
def test_errors_name_the_line_and_leave_no_output(job: Path, script, line, words):
    done = run_sql(job, script)
    assert done.returncode == 1
    first = done.stderr.splitlines()[0]
    assert first.startswith("script.sql, line ")
    assert re.search(line, first)
    assert words in done.stderr
    assert not (job / "output.csv").exists()
    assert not list(job.glob(".*"))


def test_a_script_without_rows_says_so(job: Path):
    done = run_sql(job, "CREATE TEMP TABLE x AS SELECT 1")
    assert done.returncode == 0
    assert "no statement gave rows" in done.stderr
    assert not (job / "output.csv").exists()
