"""A full disk while a run is made, works or is written: said clearly, closed, never a score."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import absent
from run_bench import RIGHT, Bench
from sandbox_store import share_sandbox

from engine.base.errors import StorageFull
from engine.base.paths import Home
from engine.workbench import Workbench

pytestmark = pytest.mark.sandbox

SIZE = 24 << 20


@pytest.fixture
def bench(tmp_path: Path, sandbox_store: Path) -> Iterator[Bench]:
    """A home on a file system of 24 MiB of its own."""
    if os.geteuid() != 0:
        absent("root (to mount a small file system)")
    bench = Bench(tmp_path).build()
    place = bench.home.root
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(place)], check=True
    )
    try:
        share_sandbox(Home(place), sandbox_store)
        yield bench
    finally:
        subprocess.run(["umount", str(place)], check=True)


def closed_without_reward(bench: Bench) -> str:
    (run,) = bench.store.list()
    assert (run.summary.state, run.summary.failure_reason) == ("failed", "exception")
    assert run.summary.reward is None
    record = bench.record(run.summary.run_id)
    assert record["failure_reason"] == "exception"
    assert record["test_results"] is None
    # With the run's log gone there is room again, and the next run is none the worse.
    Workbench(bench.home).delete_run(run.summary.run_id)
    assert not (bench.home.runs / run.summary.run_id).exists()
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
    with pytest.raises(StorageFull, match="log"):
        bench.run(bench.assign(script))
    assert "no room left" in closed_without_reward(bench)


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
