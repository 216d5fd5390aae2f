"""What is the Docker backend's own: leftovers, engines in trouble, what containers are asked."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.base.errors import HarnessFault, MissingPrerequisite
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.isolation import container, engine_api, owner, seccomp
from engine.isolation.container_run import Frames
from engine.isolation.docker import Docker
from engine.isolation.engine_api import ENV_HOST, Engine, find_engine
from engine.isolation.interface import MIB, Command, Limits
from engine.isolation.seccomp_profile import ALLOWED, all_but, profile

pytestmark = pytest.mark.sandbox

FOREVER = ("sh", "-c", "echo running; exec sleep 1000")


@pytest.fixture
def own_home(tmp_path: Path) -> Home:
    """A home whose containers nobody else's are."""
    return open_home(tmp_path / "home")


def containers(engine: Engine, home: Home) -> list[dict]:
    wanted = f"{container.LABEL_HOME}={container.home_digest(home)}"
    with engine.client() as api:
        return list(api.containers(all=True, filters={"label": wanted}))


# --- What is left -----------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from engine.base.paths import open_home
from engine.isolation.docker import Docker
from engine.isolation.interface import Command
Docker(open_home(sys.argv[1])).run(
    Command(argv=("sh", "-c", "echo running; exec sleep 1000"), job_folder=Path(sys.argv[2])),
    on_output=lambda stream, data: print("running", flush=True),
)
"""


def test_a_killed_program_leaves_a_container_that_the_next_start_removes(
    docker_found: Engine, own_home: Home, job_folder: Path
):
    with docker_found.client() as api:
        other = api.create_container_from_config(
            {
                "Image": Docker(own_home).image().digest,
                "Cmd": ["sleep", "1"],
                "Labels": {container.LABEL: "run", container.LABEL_HOME: "somebody else's"},
            }
        )["Id"]
        try:
            victim = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(own_home.root), str(job_folder)],
                stdout=subprocess.PIPE,
            )
            assert victim.stdout is not None
            with victim.stdout:
                assert victim.stdout.readline() == b"running\n"
                assert Docker(own_home).remove_leftovers() == 0  # its owner lives
                victim.kill()
                victim.wait()
            (left,) = containers(docker_found, own_home)
            # Nobody holds its standard input any more: it ends by itself.
            assert api.wait(left["Id"], timeout=30)["StatusCode"] == 137
            assert Docker(own_home).remove_leftovers() == 1
            assert containers(docker_found, own_home) == []
            assert api.inspect_container(other)["Id"] == other
        finally:
            api.remove_container(other, force=True)


def test_a_run_that_goes_on_is_no_leftover(docker_found: Engine, own_home: Home, job_folder: Path):
    job = SimpleJob()
    seen: list[int] = []

    def look(stream: str, data: bytes) -> None:
        seen.append(Docker(own_home).remove_leftovers())
        seen.append(len(containers(docker_found, own_home)))
        job.cancel()

    ended = Docker(own_home).run(
        Command(argv=FOREVER, job_folder=job_folder), job=job, on_output=look
    )
    assert (ended.reason, seen) == ("cancelled", [0, 1])
    assert containers(docker_found, own_home) == []


def test_owners_are_told_by_number_and_start():
    assert owner.owner_lives(owner.owner_label())
    dead = subprocess.Popen(["true"])
    dead.wait()
    assert not owner.owner_lives(f"{dead.pid}:1:x")
    assert not owner.owner_lives(f"{os.getpid()}:1:x")
    assert not owner.owner_lives("")


# --- Engines in trouble -----------------------------------------------------------------------


class Wire:
    """A socket that leads to an engine and can be cut."""

    def __init__(self, place: Path, to: Path) -> None:
        self.place, self._to = place, to
        self._end, self._cut = os.pipe()  # readable once it is cut
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with self._listener:
            while self._end not in select.select([self._listener, self._end], [], [])[0]:
                thread = threading.Thread(target=self._pump, args=(self._listener.accept()[0],))
                self._threads.append(thread)
                thread.start()

    def _pump(self, here: socket.socket) -> None:
        with here, socket.socket(socket.AF_UNIX) as there, contextlib.suppress(OSError):
            there.connect(str(self._to))
            other = {here: there, there: here}
            while True:
                ready = select.select([*other, self._end], [], [])[0]
                if self._end in ready:
                    return
                for one in ready:
                    block = one.recv(65536)
                    if not block:
                        return
                    other[one].sendall(block)

    def cut(self) -> None:
        self.place.unlink(missing_ok=True)
        if self._cut >= 0:
            os.close(self._cut)
            self._cut = -1
        for thread in list(self._threads):
            thread.join(10)


@pytest.fixture
def wire(docker_engine: Engine, tmp_path: Path) -> Iterator[Wire]:
    one = Wire(tmp_path / "s", docker_engine.place)
    yield one
    one.cut()
    os.close(one._end)


def test_an_engine_that_goes_away_is_a_fault_of_ours(
    docker_engine: Engine, wire: Wire, own_home: Home, job_folder: Path
):
    backend = Docker(own_home, engine=Engine(wire.place))
    with pytest.raises(HarnessFault, match="stopped or does not answer"):
        backend.run(
            Command(argv=FOREVER, job_folder=job_folder),
            on_output=lambda stream, data: threading.Thread(target=wire.cut).start(),
        )
    again = Docker(own_home, engine=docker_engine)
    # The container is stopped all the same, and the next start of the same program removes it.
    with docker_engine.client() as api:
        for left in containers(docker_engine, own_home):
            api.wait(left["Id"], timeout=30)
    assert again.remove_leftovers() == 1
    assert containers(docker_engine, own_home) == []


def test_a_container_ended_from_outside_is_a_fault_of_ours(
    docker_engine: Engine, own_home: Home, job_folder: Path
):
    def end(stream: str, data: bytes) -> None:
        with docker_engine.client() as api:
            api.kill(containers(docker_engine, own_home)[0]["Id"])

    with pytest.raises(HarnessFault, match="ended from outside"):
        Docker(own_home, engine=docker_engine).run(
            Command(argv=FOREVER, job_folder=job_folder), on_output=end
        )
    assert containers(docker_engine, own_home) == []


def test_killing_itself_is_the_programs_own_doing(run, sandbox):
    done = run("sh", "-c", "kill -KILL $$")
    assert (done.ended.reason, done.ended.returncode) == ("exited", 128 + signal.SIGKILL)


def test_a_part_that_runs_out_of_memory_ends_the_run(run, sandbox):
    script = (
        "import os\nif os.fork() == 0:\n    x = b'x' * (300 << 20)\nos.wait()\n"
        "import time; time.sleep(1000)\n"
    )
    limits = Limits(memory_bytes=96 * MIB, wall_seconds=60)
    assert run("python3", "-c", script, limits=limits).ended.reason == "memory"


@pytest.mark.parametrize(
    ("address", "words", "todo"),
    [
        ("tcp://192.0.2.1:2375", "not reached by a socket", "Unset DOCKER_HOST"),
        ("ssh://somewhere", "not reached by a socket", "Unset DOCKER_HOST"),
        ("unix:///nonexistent/docker.sock", "No Docker engine answers", "Start it"),
    ],
)
def test_engines_that_cannot_be_used(monkeypatch, own_home, address: str, words: str, todo: str):
    monkeypatch.setenv(ENV_HOST, address)
    with pytest.raises(MissingPrerequisite, match=words) as caught:
        Docker(own_home).probe()
    assert todo in caught.value.todo
    assert Docker(own_home).programs() == {}
    assert Docker(own_home).remove_leftovers() == 0


def test_a_machine_without_docker(monkeypatch, tmp_path: Path):
    monkeypatch.delenv(ENV_HOST)
    monkeypatch.setattr(engine_api, "PLACES", (str(tmp_path / "docker.sock"),))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(engine_api.shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingPrerequisite, match="not installed") as caught:
        find_engine()
    assert "apt-get install docker.io" in caught.value.todo
    monkeypatch.setattr(engine_api.shutil, "which", lambda *_, **__: "/usr/sbin/dockerd")
    with pytest.raises(MissingPrerequisite, match="does not run"):
        find_engine()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"OperatingSystem": "Docker Desktop"}, "virtual machine"),
        ({"PidsLimit": False, "MemoryLimit": False}, "cannot limit: memory, processes"),
        ({"SecurityOptions": ["name=apparmor"]}, "seccomp"),
    ],
)
def test_engines_that_cannot_keep_the_promises(docker_engine: Engine, change: dict, words: str):
    other = Engine(docker_engine.place)
    other.__dict__["info"] = {**docker_engine.info, **change}
    with pytest.raises(MissingPrerequisite, match=words):
        other.check()


def test_an_old_engine_is_refused(docker_engine: Engine, monkeypatch):
    monkeypatch.setattr(engine_api, "OLDEST", (9, 0))
    with pytest.raises(MissingPrerequisite, match="too old"):
        Engine(docker_engine.place).check()


def test_without_an_image_it_is_said_how_to_get_one(docker_engine: Engine, own_home: Home):
    with pytest.raises(MissingPrerequisite, match="not built yet") as caught:
        Docker(own_home, image="m4review-sandbox:none", engine=docker_engine).probe()
    assert "m4bench sandbox image build" in caught.value.todo


def test_a_program_that_is_not_in_the_image(
    docker_engine: Engine, own_home: Home, job_folder: Path, monkeypatch
):
    backend = Docker(own_home, engine=docker_engine)
    bare = dataclasses.replace(backend.image(), programs={})
    monkeypatch.setattr(backend, "image", lambda: bare)
    assert backend.programs() == {}
    with pytest.raises(MissingPrerequisite, match="pi is not in the image") as caught:
        backend.run(Command(argv=("true",), job_folder=job_folder, programs=("pi",)))
    assert "--agents pi" in caught.value.todo


# --- What a container is asked for --------------------------------------------------------------


def test_what_is_recorded(docker_engine: Engine, own_home: Home):
    backend = Docker(own_home, engine=docker_engine)
    told = json.loads(json.dumps(backend.describe()))
    assert told["image_digest"].startswith("sha256:")
    assert (told["backend"], told["publishable"], told["network"]) == ("docker", True, "none")
    assert told["packages"]["duckdb"]


def test_the_two_filters_are_the_same():
    special = {"socket", "socketpair", "clone", "ioctl", "personality"}
    assert not set(ALLOWED) & (set(seccomp.REFUSED) | set(seccomp.ABSENT) | special)
    rules = json.loads(profile())["syscalls"]
    named = {name for rule in rules for name in rule["names"]}
    assert named == set(ALLOWED) | set(seccomp.ABSENT) | special
    families = [r["args"][0]["value"] for r in rules if r["names"] == ["socket"]]
    assert tuple(families) == seccomp.ADDRESS_FAMILIES


def test_two_words_are_left_out_and_no_other():
    masks = list(all_but(*seccomp.TERMINAL_REQUESTS))

    def let_through(word: int) -> bool:
        return any(word & mask == value for mask, value in masks)

    for request in seccomp.TERMINAL_REQUESTS:
        assert not let_through(request)
        assert not let_through(request | 1 << 40)  # the kernel takes 32 bits of it
        for bit in range(32):
            other = request ^ 1 << bit
            assert let_through(other) or other in seccomp.TERMINAL_REQUESTS
    assert all(let_through(word) for word in range(0x5400, 0x5412))


def test_frames_come_apart_wherever_they_are_cut():
    sent = [(1, b"out"), (2, b""), (2, b"err" * 10), (1, b"x")]
    raw = b"".join(bytes([n, 0, 0, 0]) + len(d).to_bytes(4, "big") + d for n, d in sent)
    for size in range(1, len(raw) + 1):
        frames, got = Frames(), {"stdout": b"", "stderr": b""}
        for start in range(0, len(raw), size):
            for stream, piece in frames.feed(raw[start : start + size]):
                got[stream] += piece
        assert got == {"stdout": b"outx", "stderr": b"err" * 10}
