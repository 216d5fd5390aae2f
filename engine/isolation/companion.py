"""For users who are not root: a second container that hands the job folder over and measures it.

What a container's user writes belongs to user 65534, and an ordinary user may neither give files
to it, nor look into its closed folders, nor remove them. The engine may. So a small program of
ours runs in a container of the same image, as user 0 there, with no network, a read-only root, the
few capabilities that it needs and the job folder: it gives the folder to the sandbox's user, tells
what is taken whenever it is asked, and gives all of it back at the end; also when this program is
killed, because then its standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from pathlib import Path
from typing import Any

from engine.base.errors import HarnessFault, M4Error
from engine.isolation import watch
from engine.isolation.checks import USER
from engine.isolation.container import walls
from engine.isolation.container_run import Frames, Measure, remove_container
from engine.isolation.engine_api import Engine, telling
from engine.isolation.interface import MIB, Limits
from engine.isolation.watch import FolderUsage

_PROGRAM = """
import subprocess, sys

def give(folder, user, group):
    os.fchown(folder, user, group)
    os.fchmod(folder, 0o777)  # the user, too, may go in while it runs; above it nobody else may
    for _, folders, files, handle in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
        for name in folders + files:
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                os.chown(name, user, group, dir_fd=handle, follow_symlinks=False)

def main():
    user, group, most = map(int, sys.argv[1:])
    folder = os.open("/job", os.O_RDONLY | os.O_DIRECTORY)
    give(folder, USER, USER)
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, pid = line.strip().partition(" ")
        if word != "look":
            break
        used = folder_usage(folder, most_files=most)
        hidden = 0
        with contextlib.suppress(OSError):
            hidden = Inside(int(pid)).deleted_but_open(os.fstat(folder).st_dev)
        print(used.bytes + hidden, used.files, flush=True)
    # Trees of other people, however deep: no recursion of ours.
    owner = f"{user}:{group}"
    subprocess.run(["chown", "-R", "-h", owner, "/job"], stderr=subprocess.DEVNULL)
    subprocess.run(["chmod", "-R", "u+rwX", "/job"], stderr=subprocess.DEVNULL)
    print("done", flush=True)

main()
"""
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SYS_PTRACE")
_SECONDS = 60.0


class Companion(Measure):
    """To be used in a ``with`` around the run.

    Args:
        engine: where.
        image: identity of the image.
        folder: the job folder.
        limits: the run's.
        name: the container's name.
        labels: its labels.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        image: str,
        folder: Path,
        limits: Limits,
        name: str,
        labels: dict[str, str],
    ) -> None:
        self._engine = engine
        self._name = name
        self._body = _body(engine, image, folder, limits, labels)
        self._pid = 0
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._frames = Frames()
        self._said = b""

    def __enter__(self) -> Companion:
        with contextlib.ExitStack() as stack:
            stack.callback(self._remove)
            with telling("preparing the job folder"), self._engine.client() as api:
                api.create_container_from_config(self._body, self._name)
                self._wire, rest = self._engine.attach(self._name)
                stack.enter_context(self._wire)
                self._wire.settimeout(_SECONDS)
                api.start(self._name)
            self._take(rest)
            if self._line() != "ready":
                raise HarnessFault("The job folder could not be given to the sandbox's user.")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack, self._lock, contextlib.suppress(OSError, M4Error):
            self._wire.sendall(b"back\n")
            self._wire.shutdown(socket.SHUT_WR)
            while self._line() != "done":  # an answer to a look may still stand before it
                pass

    def started(self, pid: int) -> None:
        """See `Measure.started`."""
        self._pid = pid

    def look(self) -> FolderUsage:
        """See `Measure.look`.

        Raises:
            HarnessFault: the companion does not answer.
        """
        with self._lock:
            try:
                self._wire.sendall(f"look {self._pid}\n".encode("ascii"))
            except OSError as error:
                raise _silent() from error
            used, files = self._line().split()
        return FolderUsage(int(used), int(files))

    def _line(self) -> str:
        while b"\n" not in self._said:
            try:
                block = self._wire.recv(65536)
            except OSError as error:
                raise _silent() from error
            if not block:
                raise _silent()
            self._take(block)
        line, _, self._said = self._said.partition(b"\n")
        return line.decode("ascii", "replace")

    def _take(self, block: bytes) -> None:
        for stream, piece in self._frames.feed(block):
            if stream == "stdout":
                self._said += piece

    def _remove(self) -> None:
        with contextlib.suppress(M4Error):
            remove_container(self._engine, self._name)


def _silent() -> HarnessFault:
    return HarnessFault("What watches over the job folder does not answer.")


def _body(
    engine: Engine, image: str, folder: Path, limits: Limits, labels: dict[str, str]
) -> dict[str, Any]:
    source = Path(watch.__file__).read_text(encoding="utf-8")
    # In a rootless engine the container's user 0 is this user itself.
    owner = (0, 0) if engine.is_rootless else (os.getuid(), os.getgid())
    mount = {
        "Type": "bind",
        "Source": str(folder),
        "Target": "/job",
        "BindOptions": {"Propagation": "rprivate"},
    }
    return {
        "Image": image,
        "Entrypoint": ["python3", "-I", "-c", f"{source}\nUSER = {USER}\n{_PROGRAM}"],
        "Cmd": [*map(str, owner), str(limits.work_files)],
        "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
        "User": "0:0",
        "WorkingDir": "/",
        "Labels": labels,
        "NetworkDisabled": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "HostConfig": {
            **walls(engine.info),
            "CapAdd": list(_CAPABILITIES),
            "PidMode": "host",
            "Memory": 256 * MIB,
            "PidsLimit": 32,
            "Mounts": [mount],
        },
    }
