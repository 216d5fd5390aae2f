"""Killed with SIGKILL at twenty points of a run in Docker: the next start finds and ends it all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_bench import Bench
from sandbox_store import share_sandbox

from engine.isolation.engine_api import Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
POINTS = (1, 3, 4, 5, 6, 8, 10, 13, 14, 15, 16, 17, 18, 19, 21, 22, 24, 26, 27, 28)
SCRIPT = """
import duckdb, subprocess
subprocess.Popen(["sleep", "1000"])
subprocess.Popen(["sh", "-c", "while :; do sleep 1000; done", "the-sleeper-of-this-test"])
duckdb.connect("/job/database.duckdb", read_only=True).sql(
    "COPY (SELECT stay_id, value FROM t ORDER BY stay_id) TO '/job/output.csv'"
)
"""


def test_killed_at_twenty_points_nothing_is_left(
    docker_found: Engine, tmp_path: Path, sandbox_store: Path
):
    bench = Bench(tmp_path / "bench").build()
    share_sandbox(bench.home, sandbox_store)
    done = subprocess.run(
        [sys.executable, str(HERE / "killed_in_docker.py"), str(bench.root),
         str(bench.script(SCRIPT)), ",".join(map(str, POINTS))],
        capture_output=True, text=True, check=False, timeout=250,
        env={**os.environ, "PYTHONPATH": f"{ROOT}"},
    )  # fmt: skip
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(POINTS) == 20, done.stderr
    for one in told:
        assert one["killed"], one
        nothing = {"containers": [], "mounts": 0, "sockets": [], "processes": 0, "live": []}
        assert {key: one[key] for key in nothing} == nothing, one
        assert one["closed"] in ([["failed", "interrupted"]], [["done", None]]), one
    steps = {one["step"] for one in told}
    for request in ("create_container_from_config", "start", "wait", "remove_container"):
        assert {f"before {request}", f"after {request}"} & steps, steps
