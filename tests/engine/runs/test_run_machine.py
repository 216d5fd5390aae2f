"""Whole runs of the tiny task in the real sandbox: every way in which one can end."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from run_bench import RIGHT, ROWS, Bench
from sandbox_store import share_sandbox

from engine.base.errors import Cancelled, M4Error, UsageError
from engine.base.files import sha256_of
from engine.base.jobs import SimpleJob
from engine.isolation.interface import Limits
from engine.runs.folder import GIVEN
from engine.runs.output import shown_log

pytestmark = pytest.mark.sandbox

WRITE = f"""
import csv, os
with open(os.environ["M4_OUTPUT_PATH"], "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["stay_id", "value"])
    writer.writerows([i, 2 * i] for i in range({ROWS}))
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Bench:
    """One home for all."""
    bench = Bench(tmp_path_factory.mktemp("bench")).build()
    share_sandbox(bench.home, sandbox_store)
    return bench


def outcome(bench: Bench, run_id: str):
    run = bench.store.find(run_id)
    record = bench.record(run_id)
    assert record["state"] == run.summary.state
    assert record["reward"] == run.summary.reward
    assert record["failure_reason"] == run.summary.failure_reason
    assert not (bench.home.runs / run_id / "work").exists()
    return run.summary.state, run.summary.failure_reason, run.summary.reward


def test_an_agent_that_looks_at_its_mounts_is_not_contaminated(bench: Bench):
    """The list of mounts names the work folder on the host; nothing else of it is secret."""
    look = "print(open('/proc/self/mountinfo').read())\n" + WRITE
    run_id = bench.run(bench.assign(bench.script(look, ".py")))
    assert outcome(bench, run_id) == ("done", None, 1.0)
    assert run_id in (bench.home.runs / run_id / "stdout.log").read_text()


def test_a_right_sql_script_scores_one(bench: Bench):
    events = []
    run_id = bench.run(bench.assign(bench.script(RIGHT, ".sql")), on_event=events.append)
    assert outcome(bench, run_id) == ("done", None, 1.0)
    states = [e.text for e in events if e.kind == "state"]
    assert states == [
        "prepared", "canary", "running", "collecting", "linting", "scoring", "done",
    ]  # fmt: skip
    assert [state for _, state, _ in bench.store.events(run_id)] == states
    place = bench.home.runs / run_id
    assert {p.name for p in place.iterdir()} == {
        "agent", "diff.duckdb", "egress.jsonl", "instruction.md", "output.csv", "result.json",
        "score.json", "stderr.log", "stdout.log", "trace.jsonl",
    }  # fmt: skip
    assert (place / "agent" / "script.sql").read_text() == RIGHT
    assert (place / "egress.jsonl").read_bytes() == b""
    record = bench.record(run_id)
    assert record["run_id"] == run_id
    assert record["isolated"] is True
    assert record["publishable"] is False
    assert record["agent_db"]["sha256"] == bench.assign(bench.script(RIGHT, ".sql")).agent_db.sha256
    assert record["filesystem_canary"]["passed"] is True
    assert record["filesystem_canary"]["required"] is True
    assert record["contamination_lint"]["passed"] is True
    found = record["test_results"]
    assert (found["passed"], found["failed"], found["errors"], found["total"]) == (5, 0, 0, 5)
    assert found["match_rates"] == {"value": 1.0}
    assert (found["extra_keys"], found["agent_unique_keys"]) == (0, ROWS)
    assert (found["strict_pass"], found["diagnostics_failed"]) == (True, False)
    assert str(bench.home.root) not in json.dumps(
        {k: record[k] for k in ("agent_db", "agent_result", "sandbox", "failure_detail")}
    )


def test_a_python_script_is_told_where_things_are(bench: Bench):
    script = bench.script(f"print('h\\x1b[31mi')\n{WRITE}")
    run_id = bench.run(bench.assign(script))
    assert outcome(bench, run_id) == ("done", None, 1.0)
    assert shown_log(bench.home.runs / run_id) == "h␛[31mi\n"
    assert bench.record(run_id)["agent_result"]["stdout"] == "h␛[31mi\n"
    assert (bench.home.runs / run_id / "stdout.log").read_bytes() == b"h\x1b[31mi\n"


def test_errors_of_the_table_lower_the_reward_and_stand_in_the_diff(bench: Bench):
    wrong = "SELECT stay_id, if(stay_id % 10 = 0, -1, value) AS value FROM t WHERE stay_id > 9"
    run_id = bench.run(bench.assign(bench.script(wrong, ".sql")))
    expected = sum(1 for i in range(10, ROWS) if i % 10) / ROWS
    assert outcome(bench, run_id) == ("done", None, expected)
    with duckdb.connect(str(bench.home.runs / run_id / "diff.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT k0, key_status FROM diff WHERE mismatches <> 0").fetchall()
    assert sorted(rows) == [(i, 1) for i in range(10)] + [
        (i, 0) for i in range(10, ROWS) if i % 10 == 0
    ]


FAULTS = {
    "exits with 3": ("raise SystemExit(3)", "agent_nonzero_exit", "exit status 3"),
    "writes, then fails": (f"{WRITE}\nraise SystemExit(1)", "agent_nonzero_exit", "status 1"),
    "writes nothing": ("", "no_output", "left no output.csv"),
    "leaves a link": (
        "import os; os.symlink('database.duckdb', 'output.csv')", "no_output", "symbolic link",
    ),
    "leaves a pipe": ("import os; os.mkfifo('output.csv')", "no_output", "named pipe"),
    "leaves a folder": ("import os; os.mkdir('output.csv')", "no_output", "a folder"),
    "leaves a hard link": (
        f"{WRITE}\nimport os; os.link('output.csv', 'b')", "no_output", "hard link",
    ),
    "names the answers": (
        f"{WRITE}\nopen('x.txt', 'w').write('a\\nPROVENANCE.yaml')",
        "contamination_lint", "holds answers",
    ),
    "copies the database": (
        f"{WRITE}\nopen('c', 'wb').write(open('database.duckdb', 'rb').read() + b'x')",
        "contamination_lint", "database file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_what_an_agent_does_wrong_scores_zero_with_a_reason(bench: Bench, what: str):
    content, reason, words = FAULTS[what]
    run_id = bench.run(bench.assign(bench.script(content)))
    assert outcome(bench, run_id) == ("failed", reason, 0.0)
    record = bench.record(run_id)
    assert words in record["failure_detail"]
    assert record["test_results"]["errors"] == 1
    kept = (bench.home.runs / run_id / "output.csv").exists()
    assert kept == (what == "writes, then fails")
    if reason == "contamination_lint":
        assert record["contamination_lint"]["passed"] is False
        assert record["contamination_lint"]["violations"]
        assert record["artefacts"] == []
        assert not (bench.home.runs / run_id / "agent").exists()


def test_limits_end_the_agent(bench: Bench):
    limits = Limits(wall_seconds=1)
    run_id = bench.run(bench.assign(bench.script("while True: pass"), limits=limits))
    assert outcome(bench, run_id) == ("failed", "timeout", 0.0)
    limits = Limits(wall_seconds=60, memory_bytes=300 << 20)
    greedy = bench.script("x = []\nwhile True: x.append(bytearray(1 << 20))")
    run_id = bench.run(bench.assign(greedy, limits=limits))
    assert outcome(bench, run_id) == ("failed", "agent_nonzero_exit", 0.0)


def test_a_sandbox_that_leaks_starts_no_agent(bench: Bench):
    # What is mounted for the agent is declared private as well.
    shown = bench.root / "shown"
    shown.mkdir()
    leaky = replace(bench.assign(bench.script(WRITE)), database=shown, private=(shown,))
    run_id = bench.run(leaky)
    assert outcome(bench, run_id) == ("failed", "filesystem_canary", 0.0)
    assert bench.record(run_id)["agent_result"] is None
    assert bench.record(run_id)["filesystem_canary"]["failures"]
    assert not (bench.home.runs / run_id / "stdout.log").exists()


def test_cancel_closes_the_run_without_a_reward(bench: Bench):
    job = SimpleJob()
    seen = threading.Event()

    def tell(event) -> None:
        if event.kind == "log" and "ready" in event.text:
            seen.set()

    assignment = bench.assign(bench.script("print('ready'); import time; time.sleep(600)"))
    canceller = threading.Thread(target=lambda: (seen.wait(60), job.cancel()))
    canceller.start()
    with pytest.raises(Cancelled):
        bench.run(assignment, job=job, on_event=tell)
    canceller.join()
    run_id = bench.store.list()[0].run_id
    assert outcome(bench, run_id) == ("failed", "cancelled", None)
    assert bench.record(run_id)["test_results"] is None


def test_a_fault_of_ours_is_never_a_score(bench: Bench):
    damaged = bench.root / "damaged.parquet"
    damaged.write_bytes(b"damaged")
    assignment = replace(bench.assign(bench.script(RIGHT, ".sql")), reference=damaged)
    with pytest.raises(M4Error) as caught:
        bench.run(assignment)
    run_id = bench.store.list()[0].run_id
    assert outcome(bench, run_id) == ("failed", "exception", None)
    assert bench.record(run_id)["failure_detail"] == caught.value.text


def test_skills_are_on_offer_only_where_the_condition_says_so(bench: Bench):
    look = bench.script(
        "import os\nprint(sorted(os.path.join(d, f) for d, _, fs in os.walk('.') for f in fs "
        f"if f == 'SKILL.md'))\n{WRITE}"
    )
    for condition, shown in (
        ("no-skill", "[]\n"),
        ("with-skill", "['./.skills/adding/SKILL.md']\n"),
    ):
        run_id = bench.run(bench.assign(look, condition=condition))
        assert outcome(bench, run_id) == ("done", None, 1.0)
        assert shown_log(bench.home.runs / run_id) == shown
        assert bench.record(run_id)["skills"] == ([] if condition == "no-skill" else ["adding"])
        kept = list((bench.home.runs / run_id / GIVEN).rglob("*.md"))
        assert [str(one.relative_to(bench.home.runs / run_id)) for one in kept] == (
            [] if condition == "no-skill" else ["given/adding/SKILL.md"]
        )
        recorded = set(bench.record(run_id)["given_files"].values())
        assert all(sha256_of(one) in recorded for one in kept)


def test_two_runs_in_one_second_have_two_names(bench: Bench):
    assignment = bench.assign(bench.script(RIGHT, ".sql"))
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(bench.run(assignment))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 2
    assert all(outcome(bench, run_id) == ("done", None, 1.0) for run_id in ids)


def test_a_wrong_request_makes_no_run(bench: Bench):
    before = bench.store.list()
    with pytest.raises(UsageError, match="with-skill-decoy"):
        bench.run(bench.assign(bench.script(RIGHT, ".sql"), condition="with-skill-decoy"))
    assert bench.store.list() == before
