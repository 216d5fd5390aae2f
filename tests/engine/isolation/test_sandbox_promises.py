"""Every promise, against every backend. A new backend is added to `BACKENDS`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.isolation.backends import backend_names, make_backend
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.isolation.interface import Command, Ended, Sandbox
from engine.isolation.promises.catalogue import PROMISES, Promise
from engine.isolation.promises.conformance import PROGRAMS, Ground, check_promises

pytestmark = pytest.mark.sandbox

BACKENDS = ["docker", "bubblewrap"]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest, sandbox_home: Home) -> Sandbox:
    if request.param == "docker":
        return Docker(sandbox_home, engine=request.getfixturevalue("docker_engine"))
    return make_backend(sandbox_home, request.param)


@pytest.fixture(scope="module")
def ground(sandbox_home: Home, backend: Sandbox) -> Iterator[Ground]:
    with Ground(sandbox_home) as prepared:
        prepared.shared_gateway()  # here, as it outlives the first test that needs it
        yield prepared


def test_all_backends_are_tested():
    assert tuple(BACKENDS) == backend_names()


def test_every_attempt_is_promised():
    written = {
        f"{file.stem}.{name}"
        for file in PROGRAMS.glob("*.py")
        if file.stem not in ("__init__", "attempt")
        for name in re.findall(r"^def ([a-z]\w*)\(\) -> str:", file.read_text(), re.MULTILINE)
    }
    assert written == {promise.name for promise in PROMISES}


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_promise(backend: Sandbox, ground: Ground, promise: Promise):
    outcome = ground.attempt(backend, promise, SimpleJob())
    assert outcome.kept, outcome.detail


class Leaky(Bubblewrap):
    """Shows the private folder to whoever runs in it, and lets it be written."""

    def __init__(self, home: Home, private: Path) -> None:
        super().__init__(home)
        self.private = private

    def run(self, command: Command, **more) -> Ended:
        (command.job_folder / "shown").mkdir(exist_ok=True)
        shown = Command(**{**vars(command), "read_only": {self.private: "/job/given.txt"}})
        return super().run(shown, **more)


def test_a_broken_promise_is_seen(sandbox_home: Home, tmp_path: Path):
    other = tmp_path / "other.txt"
    other.write_text("not what was given")
    other.chmod(0o644)
    leaky = Leaky(sandbox_home, other)
    before = set(sandbox_home.scratch.glob("promises-*"))
    outcomes = check_promises(leaky, sandbox_home, only=["works.places", "network.names"])
    assert [outcome.kept for outcome in outcomes] == [False, True]
    assert "given file" in outcomes[0].detail
    assert set(sandbox_home.scratch.glob("promises-*")) == before


def test_an_unknown_promise_is_refused(sandbox_home: Home, backend: Sandbox):
    with pytest.raises(UsageError, match=r"no promise called works\.nothing"):
        check_promises(backend, sandbox_home, only=["works.nothing"])
