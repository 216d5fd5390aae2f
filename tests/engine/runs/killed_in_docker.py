"""Not a test: kills runs in Docker at one step after the other, and looks what is left each time.

``killed_in_docker.py ROOT SCRIPT POINTS``: each run is a forked process that kills itself (SIGKILL)
at its n-th step; steps are the requests to the engine, before and after each, and the states of the
run. Prints one JSON line for each point: the step, and what was there after the next start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
from run_bench import Bench

from engine.base.jobs import SimpleJob
from engine.isolation import container
from engine.isolation.backends import make_backend
from engine.isolation.docker import Docker
from engine.isolation.engine_api import find_engine
from engine.runs.machine import Assignment
from engine.runs.recovery import Means, recover
from engine.workbench.judges import judge_for

REQUESTS = ("create_container_from_config", "start", "inspect_container", "wait")
REQUESTS += ("remove_container",)


class Steps:
    """Counts steps; the process ends at the chosen one."""

    def __init__(self, last: int, tell: int) -> None:
        self.left, self.tell = last, tell

    def step(self, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.write(self.tell, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(self, name: str) -> None:
        real = getattr(docker.APIClient, name)

        def call(api: Any, *args: Any, **more: Any) -> Any:
            self.step(f"before {name}")
            result = real(api, *args, **more)
            self.step(f"after {name}")
            return result

        setattr(docker.APIClient, name, call)


def run_until(root: Path, assignment: Assignment, steps: Steps) -> None:
    for name in REQUESTS:
        steps.wrap(name)
    bench = Bench(root)
    bench.run(assignment, on_event=lambda event: steps.step(f"{event.kind} {event.text}"[:60]))


def left_over(bench: Bench) -> dict[str, Any]:
    """What there is of ours after the next start."""
    wanted = f"{container.LABEL_HOME}={container.home_digest(bench.home)}"
    with find_engine().client() as api:
        containers = [c["State"] for c in api.containers(all=True, filters={"label": wanted})]
    home = str(bench.home.root)
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").count(home)
    sockets = [str(p) for p in bench.home.runs.rglob("*") if p.is_socket()]
    processes = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            processes += b"the-sleeper-of-this-test" in entry.read_bytes().split(b"\0")
        except OSError:
            continue
    return {
        "containers": containers, "mounts": mounts, "sockets": sockets, "processes": processes,
        "live": [run.summary.run_id for run in bench.store.orphans()],
    }  # fmt: skip


def main() -> None:
    root, script, points = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(",")
    first = Bench(root)
    assignment = replace(first.assign(script), sandbox=Docker(first.home))
    for point in map(int, points):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            run_until(root, assignment, Steps(point, writing))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            step = file.read().decode()
        _, ended = os.waitpid(child, 0)
        bench = Bench(root)
        closed = recover(
            bench.store,
            bench.machine,
            [make_backend(bench.home, name) for name in ("docker", "bubblewrap")],
            lambda _run, b=bench: Means(b.task, b.reference, judge_for(b.task, b.home)),
            job=SimpleJob(),
        )
        told = {
            "point": point, "step": step, "killed": os.WIFSIGNALED(ended),
            "closed": [[run.state, run.failure_reason] for run in closed], **left_over(bench),
        }  # fmt: skip
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
