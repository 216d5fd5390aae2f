"""The filesystem canary: proof, in the sandbox itself, that nothing private can be reached.

Before each run a small program (`inside/canary_check.py`) is run in the same sandbox, with the
same user, mounts and limits, in a folder of its own. Canary files with a fresh secret are planted
in the private places, listeners are really opened on the host, and the program tries to get at
them in every way it knows. It passes only if every place was really tried and none was reached;
a canary that cannot run, or does not answer, has not passed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.gateway.interface import SOCKET
from engine.isolation.folders import remove_tree
from engine.isolation.interface import GATEWAY, PROGRAMS, Command, Limits, Sandbox
from engine.isolation.planted import planted_name, remove_planted_in

PROGRAM = Path(__file__).with_name("inside") / "canary_check.py"
CHECKS = (
    "control",
    "nothing private anywhere",
    "mounts",
    "read-only",
    "user",
    "privileges",
    "processes",
    "open files",
    "host's listeners",
    "other machines",
    "names",
    "interfaces",
    "socket families",
)
"""Made beside those of the private places, which are called ``unreadable: PATH``."""

GATEWAY_CHECK = "gateway's folder"
"""Made too where the run has a way to a model."""

_WALL_SECONDS = 120.0


class Check(TypedDict):
    """One thing that was tried; JSON-ready."""

    name: str
    """What, e.g. ``unreadable: /home/ann/.ssh``."""
    passed: bool
    """It was out of reach."""
    detail: str
    """How it was tried, or what was reached."""


@dataclass(frozen=True)
class CanaryReport:
    """What the canary found."""

    passed: bool
    """Everything was tried and nothing was reached."""
    checks: tuple[Check, ...]
    """All that was tried."""
    failures: tuple[str, ...]
    """What was reached or could not be tried, in words."""

    def as_dict(self) -> dict[str, Any]:
        """The published record's field ``filesystem_canary``."""
        return {
            "passed": self.passed,
            "required": True,
            "checks": list(self.checks),
            "failures": list(self.failures),
        }


def private_places() -> tuple[Path, ...]:
    """Places of this machine and of this program that nobody inside has to see.

    The home of the program, its runs, sources and references, the tasks, come with each run.
    """
    package = Path(__file__).resolve().parents[2]
    places = [
        Path("~").expanduser(),
        Path("/root"),
        Path("/home"),
        Path("/etc/shadow"),
        Path("/etc/ssh"),
    ]
    places += [Path("/etc/machine-id"), Path("/var/lib"), Path("/var/log"), Path("/run")]
    places += [Path("/boot"), package, Path.cwd()]
    known = (place for place in places if place.is_absolute() and place.exists())
    return tuple(dict.fromkeys(known))


def run_canary(
    sandbox: Sandbox,
    *,
    job_folder: Path,
    private: Sequence[Path],
    read_only: Mapping[Path, str] | None = None,
    env: Mapping[str, str] | None = None,
    gateway: bool = False,
    programs: Sequence[str] = (),
    limits: Limits | None = None,
    job: Job | None = None,
) -> CanaryReport:
    """Run the canary as the run that follows will be run.

    Args:
        sandbox: the run's sandbox.
        job_folder: the run's job folder. It is not touched: the canary works in a folder called
            ``NAME.canary`` beside it, which is gone afterwards.
        private: absolute host paths that must be out of reach; `private_places` are added. A
            canary file is planted for the while in those folders that belong to us.
        read_only: the run's own mounts.
        env: the run's own environment.
        gateway: the run has a way to a model; the canary gets a folder with a socket of the same
            name, behind which nobody answers.
        programs: the agent programs that the run is shown.
        limits: the run's own limits; the time is at most two minutes.
        job: its cancel stops the canary.

    Raises:
        Cancelled: the user stopped it.
        M4Error: whatever `Sandbox.run` raises.
    """
    token, nonce = secrets.token_hex(16), secrets.token_hex(16)
    folder = job_folder.with_name(job_folder.name + ".canary")
    places = tuple(dict.fromkeys([*private, *private_places()]))
    for place in places:
        if not place.is_absolute():
            raise UsageError("A private path for the canary must be absolute.")
    with contextlib.ExitStack() as stack:
        remove_tree(folder)
        folder.mkdir(parents=True)
        stack.callback(remove_tree, folder)
        targets = [_target(place, place in private, token, stack) for place in places]
        listeners = stack.enter_context(Listeners())
        way = stack.enter_context(_dead_gateway(folder)) if gateway else None
        folders = [GATEWAY] if gateway else []
        folders += [f"{PROGRAMS}/{name}" for name in programs]
        spec = {
            "nonce": nonce,
            "token": token,
            "private": targets,
            "read_only": list((read_only or {}).values()),
            "folders": folders,
            "gateway": f"{GATEWAY}/{SOCKET}" if gateway else None,
            "addresses": listeners.addresses,
            "port": listeners.port,
            "abstract": listeners.abstract,
        }
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        (folder / "control").write_text(token, encoding="ascii")
        shutil.copyfile(PROGRAM, folder / PROGRAM.name)
        output = bytearray()
        ended = sandbox.run(
            Command(
                argv=("python3", "-I", f"/job/{PROGRAM.name}", "/job/spec.json"),
                job_folder=folder,
                env=env or {},
                read_only=read_only or {},
                gateway=way,
                programs=tuple(programs),
                limits=_at_most(limits or Limits()),
            ),
            job=job,
            on_output=lambda stream, data: output.extend(data if stream == "stdout" else b""),
        )
        if job is not None:
            job.check()
        reached = listeners.reached
    wanted = [f"unreadable: {place}" for place in places] + list(CHECKS)
    wanted += [GATEWAY_CHECK] if gateway else []
    if ended.reason != "exited" or ended.returncode != 0:
        return _judged(wanted, [], [f"The canary did not finish. {ended.in_words}"])
    failures = ["The host was reached by a connection."] if reached else []
    return _judged(wanted, _answers(bytes(output), nonce), failures)


def _judged(wanted: list[str], answers: list[Check], failures: list[str]) -> CanaryReport:
    checks = {check["name"]: check for check in answers}
    for name in wanted:
        checks.setdefault(name, Check(name=name, passed=False, detail="it was not tried"))
    failures = failures + [
        f"{c['name']}: {c['detail']}" for c in checks.values() if not c["passed"]
    ]
    return CanaryReport(not failures, tuple(checks.values()), tuple(failures))


def _answers(output: bytes, nonce: str) -> list[Check]:
    try:
        report = json.loads(output)
        if report["nonce"] != nonce:
            return []
        return [
            Check(name=str(name), passed=passed is True, detail=str(detail)[:500])
            for name, passed, detail in report["checks"]
        ]
    except (ValueError, KeyError, TypeError):
        return []


def _at_most(limits: Limits) -> Limits:
    values = dict(vars(limits))
    values["wall_seconds"] = min(limits.wall_seconds, _WALL_SECONDS)
    return Limits(**values)


def _target(place: Path, ours: bool, token: str, stack: contextlib.ExitStack) -> dict[str, Any]:
    """What the program inside has to look for; plants the canary file."""
    try:
        found = place.stat()
        inode = [found.st_dev, found.st_ino]
    except OSError:
        inode = [-1, -1]  # not there (yet): still tried by its path
    marker = None
    if ours and place.is_dir():
        remove_planted_in([place])
        file = place / planted_name()
        with contextlib.suppress(OSError):  # a folder that we cannot write; tried all the same
            file.write_text(token, encoding="ascii")
            stack.callback(file.unlink, missing_ok=True)
            file.chmod(0o644)  # its permissions shall not be what protects it
            marker = file.name
    return {"path": str(place), "inode": inode, "marker": marker}


@contextlib.contextmanager
def _dead_gateway(canary: Path) -> Iterator[Path]:
    """A folder like a run's gateway, beside the canary's, with a socket that nobody answers."""
    folder = canary.with_name(canary.name + ".gateway")
    remove_tree(folder)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    try:
        with contextlib.ExitStack() as stack:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(f"/proc/self/fd/{handle}/{SOCKET}")  # the path itself may be too long for it
            (folder / SOCKET).chmod(0o666)
            one.listen()
            yield folder
    finally:
        remove_tree(folder)


class Listeners:
    """Really listens on this machine's addresses and notes whether anybody came."""

    def __init__(self) -> None:
        self.abstract = f"m4review-canary-{secrets.token_hex(8)}"
        self.addresses: list[str] = []
        self.port = 0
        self._open: list[socket.socket] = []
        self._came = threading.Event()

    @property
    def reached(self) -> bool:
        """Somebody connected."""
        for listener in self._open:
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                self._came.set()
        return self._came.is_set()

    def __enter__(self) -> Listeners:
        for address in _own_addresses():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.socket(family)
            try:
                listener.bind((address, self.port))
            except OSError:  # no such address here (IPv6 may be off), or the port is taken there
                listener.close()
                continue
            self.port = listener.getsockname()[1]
            self.addresses.append(address)
            self._listen(listener)
        unix = socket.socket(socket.AF_UNIX)
        unix.bind("\0" + self.abstract)
        self._listen(unix)
        return self

    def _listen(self, listener: socket.socket) -> None:
        listener.listen()
        listener.setblocking(False)
        self._open.append(listener)

    def __exit__(self, *_: object) -> None:
        for listener in self._open:
            listener.close()


def _own_addresses() -> Iterator[str]:
    """Loopback, and the address by which this machine speaks to others (nothing is sent)."""
    yield "127.0.0.1"
    yield "::1"
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        yield str(one.getsockname()[0])
