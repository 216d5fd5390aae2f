"""The way to a Docker engine on this machine, and its troubles in words.

Only an engine of this machine's own kernel is used: what is measured and watched from outside (the
job folder, the control group) is not there on another machine or behind a virtual machine's wall.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from engine.base.errors import HarnessFault, M4Error, MissingPrerequisite, StorageFull

OLDEST = (1, 41)
"""The first version of the engine's API that is enough (Docker 20.10)."""

ENV_HOST = "DOCKER_HOST"
PLACES = ("/var/run/docker.sock",)
"""Where an engine of the system listens."""

_SECONDS = 60.0
_HEAD = 64 * 1024


def _library() -> Any:
    """The docker package; loading it takes so long that only who needs it does."""
    return importlib.import_module("docker")


@dataclass(frozen=True)
class Engine:
    """One engine, found but not yet asked anything."""

    place: Path
    """Its Unix socket."""

    @cached_property
    def info(self) -> dict[str, Any]:
        """What the engine says of itself (``docker info``), asked once."""
        with self.client() as api:
            found: dict[str, Any] = api.info()
        return found

    @cached_property
    def version(self) -> dict[str, Any]:
        """``Version`` and ``ApiVersion`` of the engine, asked once.

        Raises:
            MissingPrerequisite: it does not run, may not be used, or is too old.
        """
        with telling("asking for its version"), self._client("auto") as api:
            found: dict[str, Any] = api.version(api_version=False)
        if _numbers(found["ApiVersion"]) < OLDEST:
            raise MissingPrerequisite(
                f"The Docker engine is too old: {found.get('Version', 'unknown version')}; "
                "20.10 or newer is needed.",
                todo="Use Debian 12, Ubuntu 22.04 or newer, or install a newer engine.",
            )
        return found

    def check(self) -> None:
        """See that it can be used.

        Raises:
            MissingPrerequisite: it does not run, may not be used, is too old, is not of this
                machine's kernel, or cannot keep limits.
        """
        _knock(self.place)
        self.version  # noqa: B018 - asks and judges
        with telling("asking what it can do"):
            info = self.info
        if "Docker Desktop" in str(info.get("OperatingSystem")) or info.get("OSType") != "linux":
            raise MissingPrerequisite(
                "Docker Desktop runs containers in a virtual machine, through whose wall neither "
                "the job folder can be watched nor the model gateway be reached.",
                todo="Use a Docker engine of this Linux itself (apt-get install docker.io).",
            )
        lacking = [
            words
            for key, words in (
                ("MemoryLimit", "memory"),
                ("PidsLimit", "processes"),
                ("CpuCfsQuota", "processor time"),
                ("CPUSet", "processors"),
            )
            if not info.get(key)
        ]
        if lacking:
            raise MissingPrerequisite(
                f"This Docker engine cannot limit: {', '.join(lacking)}.",
                todo="A rootless engine needs control groups version 2 delegated to your account; "
                "the engine of the system needs none of that.",
            )
        if not any("name=seccomp" in option for option in info.get("SecurityOptions") or ()):
            raise MissingPrerequisite(
                "This Docker engine has no system call filter (seccomp).",
                todo="Use an engine and kernel with seccomp, as all distributions have.",
            )

    @property
    def is_rootless(self) -> bool:
        """Does it run as an ordinary user?"""
        return any("name=rootless" in o for o in self.info.get("SecurityOptions") or ())

    @property
    def remaps_users(self) -> bool:
        """Does it give containers other user numbers (userns-remap)?"""
        return any("name=userns" in o for o in self.info.get("SecurityOptions") or ())

    @contextlib.contextmanager
    def client(self, timeout: float = _SECONDS) -> Iterator[Any]:
        """A `docker.APIClient` of one's own; to be used in one thread.

        Raises:
            HarnessFault: the engine is gone.
        """
        version = str(self.version["ApiVersion"])
        try:  # the docker package does not close a socket that finds nobody
            _knock(self.place)
        except MissingPrerequisite as error:
            raise _gone("looking for it") from error
        with self._client(version, timeout) as api:
            yield api

    @contextlib.contextmanager
    def _client(self, version: str, timeout: float = _SECONDS) -> Iterator[Any]:
        api = _library().APIClient(
            base_url=f"unix://{self.place}", version=version, timeout=timeout
        )
        try:
            yield api
        finally:
            api.close()

    def attach(self, container: str) -> tuple[socket.socket, bytes]:
        """Standard input and outputs of a container that is not yet started.

        Returns:
            A socket of frames (see `Frames`; to write is to write to standard input), and the
            first bytes of it that came together with the answer. The docker package loses those.

        Raises:
            HarnessFault: the engine did not agree.
            OSError: the engine is gone.
        """
        query = urlencode({"stream": 1, "stdin": 1, "stdout": 1, "stderr": 1})
        path = f"/v{self.version['ApiVersion']}/containers/{quote(container)}/attach?{query}"
        head = (
            f"POST {path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            "Content-Length: 0\r\n\r\n"
        )
        attached = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            attached.settimeout(_SECONDS)
            attached.connect(str(self.place))
            attached.sendall(head.encode("ascii"))
            rest = _agreed(attached)
            attached.settimeout(None)
        except BaseException:
            attached.close()
            raise
        return attached, rest


def _agreed(attached: socket.socket) -> bytes:
    """Read the answer to attaching; what came behind it."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        block = attached.recv(_HEAD)
        if not block or len(answer) > _HEAD:
            raise _gone("attaching to a container")
        answer += block
    status, _, rest = answer.partition(b"\r\n\r\n")
    if status.split(b" ")[1:2] not in ([b"101"], [b"200"]):
        raise HarnessFault(
            "The Docker engine did not let us attach to a container of ours.",
            details=status.splitlines()[0].decode("ascii", "replace"),
        )
    return rest


def find_engine() -> Engine:
    """The engine of this machine: where ``DOCKER_HOST`` says, or at the usual places.

    Raises:
        MissingPrerequisite: there is none, or it is one of another machine.
    """
    named = os.environ.get(ENV_HOST)
    if named:
        if not named.startswith("unix://"):
            raise MissingPrerequisite(
                f"{ENV_HOST} names a Docker engine that is not reached by a socket of this "
                "machine; runs stay on the machine that holds the data.",
                todo=f"Unset {ENV_HOST}, or let it name unix:///var/run/docker.sock.",
            )
        return Engine(Path(named.removeprefix("unix://")))
    places = [Path(place) for place in PLACES]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places.append(Path(runtime, "docker.sock"))
    for place in places:
        if place.exists():
            return Engine(place)
    if shutil.which("dockerd", path=f"/usr/bin:/usr/sbin:{os.environ.get('PATH', '')}"):
        raise _not_running()
    raise MissingPrerequisite(
        "Docker is not installed on this machine.",
        todo="Install it: apt-get install docker.io (Fedora: dnf install moby-engine), then "
        "start it: systemctl enable --now docker",
    )


def _not_running() -> MissingPrerequisite:
    if os.environ.get(ENV_HOST):
        return MissingPrerequisite(
            f"No Docker engine answers where {ENV_HOST} says.",
            todo=f"Start it, or unset {ENV_HOST}.",
        )
    return MissingPrerequisite(
        "Docker is installed, but its engine does not run.",
        todo="Start it: sudo systemctl enable --now docker",
    )


def _knock(place: Path) -> None:
    """See whether anybody answers and lets us in."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.settimeout(_SECONDS)
        try:
            one.connect(str(place))
        except PermissionError as error:
            raise MissingPrerequisite(
                "Your account may not use the Docker engine of this machine.",
                todo="Add it to the group docker and log in again: sudo usermod -aG docker $USER "
                "(whoever is in that group can become root here).",
            ) from error
        except OSError as error:
            raise _not_running() from error


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@contextlib.contextmanager
def telling(doing: str) -> Iterator[None]:
    """Turn the docker package's exceptions into ours.

    `doing` completes the sentence "... while <doing>".

    Raises:
        HarnessFault: the engine failed, or is gone.
        StorageFull: its disk is full.
    """
    library = _library()
    requests = importlib.import_module("requests")
    try:
        yield
    except M4Error:
        raise
    except library.errors.APIError as error:
        raise _api_error(error, doing) from error
    except (library.errors.DockerException, requests.exceptions.RequestException) as error:
        raise _gone(doing) from error
    except OSError as error:
        if error.errno not in (errno.ECONNREFUSED, errno.ENOENT, errno.ECONNRESET, errno.EPIPE):
            raise
        raise _gone(doing) from error


def _api_error(error: Any, doing: str) -> M4Error:
    words = str(error.explanation or error)
    if "no space left on device" in words:
        return StorageFull(
            f"There is no room left on the Docker engine's disk while {doing}.",
            todo="Free some space (docker system prune shows what could go) and do it again.",
        )
    return HarnessFault(f"The Docker engine failed while {doing}.", details=words[:2000])


def _gone(doing: str) -> HarnessFault:
    return HarnessFault(
        f"The Docker engine stopped or does not answer while {doing}.",
        todo="See why (journalctl -u docker), start it again, and repeat what was asked.",
    )
