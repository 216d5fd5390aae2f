"""A home with a working sandbox, and a way to run one command in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.isolation.interface import Command, Ended, Limits, Sandbox


class Run:
    """What one command did."""

    def __init__(self, ended: Ended, stdout: bytes, stderr: bytes) -> None:
        self.ended = ended
        self.stdout = stdout
        self.stderr = stderr


@pytest.fixture(scope="module")
def sandbox_home(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Home:
    return share_sandbox(open_home(tmp_path_factory.mktemp("sandboxed") / "home"), sandbox_store)


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


@pytest.fixture(params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest, sandbox_home: Home) -> Sandbox:
    """Each backend in turn."""
    if request.param == "docker":
        return Docker(sandbox_home, engine=request.getfixturevalue("docker_engine"))
    return Bubblewrap(sandbox_home)


@pytest.fixture
def run(sandbox: Sandbox, job_folder: Path) -> Callable[..., Run]:
    def run_one(*argv: str, job: SimpleJob | None = None, limits: Limits | None = None, **more):
        streams: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        command = Command(
            argv=argv,
            job_folder=job_folder,
            limits=limits or Limits(wall_seconds=60),
            **more,
        )
        ended = sandbox.run(
            command, job=job, on_output=lambda stream, data: streams[stream].extend(data)
        )
        return Run(ended, bytes(streams["stdout"]), bytes(streams["stderr"]))

    return run_one
