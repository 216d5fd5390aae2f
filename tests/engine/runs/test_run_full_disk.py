"""A full disk while a run is made, works or is written: said clearly, closed, never a score."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from run_bench import RIGHT, Bench
from sandbox_store import share_sandbox

from engine.base.errors import StorageFull
from engine.workbench import Workbench

pytestmark = pytest.mark.sandbox

SIZE = 24 << 20


@pytest.fixture
def bench(small_disk: Path, sandbox_store: Path) -> Bench:
    """A home on a file system of 24 MiB of its own."""
    subprocess.run(["mount", "-o", f"remount,size={SIZE}", str(small_disk)], check=True)
    bench = Bench(small_disk).build()
    share_sandbox(bench.home, sandbox_store)
    return bench


def closed_without_reward(bench: Bench) -> str:
    (run,) = bench.store.list()
    assert (run.state, run.failure_reason) == ("failed", "exception")
    assert run.reward is None
    record = bench.record(run.run_id)
    assert record["failure_reason"] == "exception"
    assert record["test_results"] is None
    # With the run's log gone there is room again, and the next run is none the worse.
    Workbench(bench.home).delete_run(run.run_id)
    assert not (bench.home.runs / run.run_id).exists()
    run_id = bench.run(bench.assign(bench.script(RIGHT, ".sql")))
    assert bench.store.find(run_id).summary.reward == 1.0
    return str(record["failure_detail"])


@pytest.mark.parametrize("ending", ["", "raise SystemExit(1)"])
def test_an_agent_that_fills_the_disk_gets_no_score(bench: Bench, ending: str):
    script = bench.script(
        "open('output.csv', 'w').write('stay_id,value\\n1,2\\n')\n"
        "try:\n"
        "    with open('junk', 'wb', buffering=0) as file:\n"
        "        while True: file.write(bytes(4096))\n"
        "except OSError: pass\n"
        f"{ending}"
    )
    with pytest.raises(StorageFull, match="Free some space"):
        bench.run(bench.assign(script))
    assert "disk became full" in closed_without_reward(bench)


def test_a_log_that_fills_the_disk_stops_the_run(bench: Bench):
    script = bench.script("while True: print('x' * 10_000)")
    # Either the log's writer or the watch on the folder meets the end of the disk first.
    with pytest.raises(StorageFull, match=r"log|disk became full"):
        bench.run(bench.assign(script))
    assert re.search(r"no room left|disk became full", closed_without_reward(bench))


def test_a_disk_that_is_full_before_makes_a_closed_run(bench: Bench):
    bench.store.list()  # the state file is there
    ballast = bench.home.root / "ballast"
    assignment = bench.assign(bench.script(RIGHT, ".sql"))
    free = os.statvfs(bench.home.root)
    with ballast.open("wb") as file:
        file.write(bytes(free.f_bavail * free.f_frsize - (400 << 10)))
    with pytest.raises(StorageFull, match="Free some space"):
        bench.run(assignment)
    ballast.unlink()
    bench.recover()
    assert "no room left" in closed_without_reward(bench)
