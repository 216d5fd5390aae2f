"""A Docker engine for tests, its image, and the agents' programs: made once, shared by all.

``packaging/sandbox/engine-for-tests.sh COMMAND`` starts an engine of its own for the tests. Tests
see an engine only through these fixtures: without them the machine's own stays hidden, so that a
test means the same wherever it runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from absence import absent
from agent_programs import agent_programs
from filelock import FileLock

from engine.base.errors import MissingPrerequisite
from engine.base.paths import Home, open_home
from engine.isolation.engine_api import ENV_HOST, Engine
from engine.isolation.image import MACHINE, build_image, find_image
from engine.isolation.programs import KNOWN

__all__ = ["agent_programs", "docker_agents", "docker_engine", "docker_found", "hide_engine"]

FOR_TESTS = "M4REVIEW_TEST_DOCKER"
"""Address of the engine that the tests may use."""
NOWHERE = "unix:///nonexistent/docker.sock"


def hide_engine() -> None:
    """Let nobody find an engine by chance."""
    os.environ[ENV_HOST] = NOWHERE


def _home(store: Path) -> Home:
    return open_home(store.parent)


@pytest.fixture(scope="session")
def docker_engine(sandbox_store: Path) -> Engine:
    """An engine with the sandbox's image, to be given to `Docker`."""
    address = os.environ.get(FOR_TESTS)
    if not address:
        absent("a Docker engine for tests (packaging/sandbox/engine-for-tests.sh)")
    engine = Engine(Path(address.removeprefix("unix://")))
    engine.check()
    with FileLock(sandbox_store / "image-for-tests.lock"):
        try:
            find_image(engine)
        except MissingPrerequisite:
            build_image(_home(sandbox_store), engine, base=MACHINE)
    return engine


@pytest.fixture
def docker_found(docker_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """For one test: whatever looks for an engine, in other processes too, finds the tests'."""
    monkeypatch.setenv(ENV_HOST, f"unix://{docker_engine.place}")
    return docker_engine


@pytest.fixture(scope="session")
def docker_agents(docker_engine: Engine, agent_programs: Path) -> Engine:
    """The engine, with an image that holds all agents' programs."""
    with FileLock(agent_programs / "image-for-tests.lock"):
        if set(find_image(docker_engine).programs) != set(KNOWN):
            build_image(_home(agent_programs), docker_engine, base=MACHINE, agents=KNOWN)
    return docker_engine
