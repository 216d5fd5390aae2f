"""A trivial run through the Docker backend against the bare container that docker itself starts.

``M4REVIEW_TEST_DOCKER=unix://… python benchmarks/sandbox_latency.py`` (or DOCKER_HOST); without an
engine or its image there is nothing to measure and it says so. Wanted: at most 1.5 times.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine.base.errors import MissingPrerequisite
from engine.base.paths import open_home
from engine.isolation.docker import Docker
from engine.isolation.interface import Command

ROUNDS = 15
WANTED = 1.5


def bare(image: str, folder: Path) -> None:
    """The nearest that one would type: the same walls, no watch, no output handed on."""
    words = ["docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL"]
    words += ["--security-opt", "no-new-privileges", "--user", "65534:65534", "--memory", "4g"]
    words += ["--pids-limit", "256", "--tmpfs", "/tmp", "--log-driver", "none"]  # noqa: S108
    words += ["--mount", f"type=bind,source={folder},target=/job", image, "true"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    address = os.environ.get("M4REVIEW_TEST_DOCKER")
    if address:
        os.environ["DOCKER_HOST"] = address
    with tempfile.TemporaryDirectory() as place:
        backend = Docker(open_home(Path(place) / "home"))
        try:
            backend.probe()
        except MissingPrerequisite as error:
            print(f"sandbox latency: not measured. {error}")
            return
        if shutil.which("docker") is None:
            print("sandbox latency: not measured. The program docker is missing.")
            return
        image = backend.image().digest
        folder = Path(place) / "job"
        folder.mkdir()
        times: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(ROUNDS):  # in turns, so that a busy moment hits both
            started = time.perf_counter()
            bare(image, folder)
            times["bare"].append(time.perf_counter() - started)
            started = time.perf_counter()
            ended = backend.run(Command(argv=("true",), job_folder=folder))
            times["ours"].append(time.perf_counter() - started)
            assert (ended.reason, ended.returncode) == ("exited", 0)
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratio = middle["ours"] / middle["bare"]
    print(
        f"trivial run: bare container {middle['bare']:.3f} s, ours {middle['ours']:.3f} s, "
        f"{ratio:.2f} times (wanted: at most {WANTED})"
    )
    sys.exit(0 if ratio <= WANTED else 1)


if __name__ == "__main__":
    main()
