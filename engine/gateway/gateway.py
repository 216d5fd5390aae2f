"""Starts a run's gateway process, hears what it tells, and ends it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.base import errors
from engine.base.errors import Cancelled, HarnessFault, M4Error, MissingPrerequisite, UsageError
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.gateway.interface import SOCKET, Budget, Endpoint, Stopped, Usage
from engine.gateway.keys import Secret
from engine.gateway.local import is_local, split_url

FOLDER = "gateway"
"""Name of the socket's folder in a run's folder, while the run lives."""

_START_SECONDS = 120.0
"""A keyring may ask its user for a password."""
_END_SECONDS = 10.0
_PASSED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "KDE_FULL_SESSION",
    "PYTHON_KEYRING_BACKEND",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
"""What the process gets of the environment: how to reach the keyring and whom TLS trusts. No
proxies."""


class Gateway:
    """A running gateway; see `open_gateway`."""

    def __init__(self, folder: Path, on_stop: Callable[[Stopped], object]) -> None:
        self.folder = folder
        """Host folder with the socket: `Command.gateway`."""
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self._usage = Usage()
        self._stopped: Stopped | None = None
        self._closing = False
        self._ready = threading.Event()
        self._idle = threading.Event()
        self._error: M4Error | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    @property
    def stopped(self) -> Stopped | None:
        """Why it ended the run, if it did."""
        with self._lock:
            return self._stopped

    def usage(self) -> Usage:
        """What was used so far; after `close`, all of it."""
        with self._lock:
            return self._usage

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None  # noqa: S101
        return self._process.pid

    def start(self, order: dict[str, Any], job: Job | None) -> None:
        """Start the process and wait until it listens.

        Raises:
            M4Error: as `open_gateway`.
        """
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "engine.gateway.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _PASSED if name in os.environ},
                start_new_session=True,  # Ctrl-C in a terminal is for the program, not for it
            )
        except OSError as error:
            raise os_error(error, "starting the gateway") from error
        self._reader = threading.Thread(target=self._read, name="gateway", daemon=True)
        self._reader.start()
        forget = job.on_cancel(self._ready.set) if job is not None else None
        try:
            assert self._process.stdin is not None  # noqa: S101
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(order).encode() + b"\n")
                self._process.stdin.flush()
            answered = self._ready.wait(_START_SECONDS)
        finally:
            if forget is not None:
                forget()
        if job is not None:
            job.check()
        if self._error is not None:
            raise self._error
        if not answered:
            raise MissingPrerequisite(
                "The gateway did not start in two minutes: does the keyring ask for something?",
                todo="Unlock the keyring (log in to the desktop) and do it again.",
            )

    def _read(self) -> None:
        """Take in what the process tells, until it ends."""
        assert self._process is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        closed = False
        for line in self._process.stdout:
            try:
                values = json.loads(line)
                event = values.pop("event")
            except (ValueError, KeyError, AttributeError):
                break
            closed = closed or event == "closed"
            self._told(event, values)
        if not self._ready.is_set():
            self._error = HarnessFault(
                "The gateway's process ended at its start.",
                todo="Run m4bench doctor; if it finds nothing, this is a bug of ours.",
            )
            self._ready.set()
        elif not closed and self._error is None and not self._closing:
            self._stop(Stopped("fault", "The gateway's process ended."))

    def _told(self, event: str, values: dict[str, Any]) -> None:
        if event == "usage":
            with self._lock:
                self._usage = Usage(**{**values, "models": tuple(values["models"])})
        elif event == "stopped":
            self._stop(Stopped(**values))
        elif event == "ready":
            self._ready.set()
        elif event == "error":
            self._error = _error(values)
            self._ready.set()
        elif event == "idle":
            self._idle.set()

    def settle(self, seconds: float = _END_SECONDS) -> bool:
        """Wait until nobody is connected and all that was asked is in the log and in `usage`.

        To be asked when who used it has ended. False when that takes longer, or it has ended.
        """
        process = self._process
        if process is None or process.stdin is None:
            return False
        self._idle.clear()
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
        except (OSError, ValueError):  # it ended, or was closed
            return False
        return self._idle.wait(seconds)

    def _stop(self, stopped: Stopped) -> None:
        with self._lock:
            if self._stopped is not None:
                return
            self._stopped = stopped
        self._on_stop(stopped)

    def close(self) -> None:
        """End the process (never a `Stopped`) and remove the socket; may be called twice."""
        with self._lock:
            self._closing = True
        process = self._process
        if process is not None:
            assert process.stdin is not None  # noqa: S101
            with contextlib.suppress(OSError):
                process.stdin.close()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join()
        if process is not None and process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _error(values: dict[str, Any]) -> M4Error:
    """The process's error as the one it was."""
    kind = getattr(errors, str(values.get("error")), HarnessFault)
    if kind is Cancelled or not issubclass(kind, M4Error):
        kind = HarnessFault
    made: M4Error = kind(
        str(values.get("text")), todo=values.get("todo"), details=values.get("details")
    )
    return made


def check_permitted(endpoint: Endpoint, *, permit_remote: bool) -> None:
    """May a run talk to this endpoint?

    Raises:
        UsageError: another machine's over plain http, or one although nothing may leave this one.
    """
    scheme, host, _, _ = split_url(endpoint.url)
    if is_local(endpoint):
        return
    if not permit_remote:
        raise UsageError(
            f"The endpoint {endpoint.name!r} is not on this machine, and the source's policy "
            "allows models on this machine only.",
            todo="Choose a model server on this machine, or have the policy of the source changed.",
        )
    if scheme != "https":
        raise UsageError(
            f"The endpoint {endpoint.name!r} ({host}) is not on this machine and is not https.",
            todo="Use https for servers elsewhere; http is for servers on this machine.",
        )


@contextlib.contextmanager
def open_gateway(
    endpoint: Endpoint,
    *,
    budget: Budget,
    folder: Path,
    egress: Path,
    permit_remote: bool,
    on_stop: Callable[[Stopped], object],
    job: Job | None = None,
    idle_seconds: float = 300.0,
    body_seconds: float = 60.0,
    planted: Sequence[str] = (),
    secret: Secret | None = None,
) -> Iterator[Gateway]:
    """A gateway of a run, listening while the context lives.

    The thread that opens it must live as long: the kernel ends the process with that thread, so
    that a killed program leaves no gateway.

    Args:
        endpoint: the only one that it talks to.
        budget: what the run may use.
        folder: made here (its parent exists), holds the socket, removed at the end.
        egress: file that gets a line per request.
        permit_remote: the source's policy allows this endpoint though it is another machine's.
        on_stop: called at most once, from another thread, when the run has to end; before `close`
            returns at the latest, if that was so before.
        job: its cancel ends the wait for the start.
        idle_seconds: without a byte of an answer for so long, the agent gets an error.
        body_seconds: in which a request's body has to be there.
        planted: secrets that were put where the agent cannot reach; a request with one in its body
            is not passed on and ends the run.
        secret: the key, where it is not the keyring's (trials); by default the process reads
            `endpoint.key` from the keyring.

    Raises:
        UsageError: the endpoint is not permitted, or its URL is none.
        MissingPrerequisite: no such key, no keyring, or it is locked.
        StorageFull: no room for the folder.
        HarnessFault: the process could not be started.
    """
    check_permitted(endpoint, permit_remote=permit_remote)
    try:
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
    except OSError as error:
        raise os_error(error, "making the gateway's folder") from error
    gateway = Gateway(folder, on_stop)
    order = {
        "endpoint": vars(endpoint),
        "budget": vars(budget),
        "permit_remote": permit_remote,
        "folder": str(folder.absolute()),
        "egress": str(egress.absolute()),
        "idle_seconds": idle_seconds,
        "body_seconds": body_seconds,
        "planted": list(planted),
        "parent": os.getpid(),
        **({} if secret is None else {"secret": secret.reveal()}),
    }
    try:
        gateway.start(order, job)
        order.clear()
        yield gateway
    finally:
        gateway.close()


@contextlib.contextmanager
def connected(folder: Path) -> Iterator[socket.socket]:
    """A connection to the socket in `folder`, however long its path is.

    Raises:
        OSError: nobody listens there.
    """
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(f"/proc/self/fd/{handle}/{SOCKET}")
            yield connection
    finally:
        os.close(handle)


def remove_leftovers(runs: Path) -> int:
    """Remove the gateway folders of dead runs below a folder of runs; how many.

    A gateway's process cannot outlive its program; only its socket can.
    """
    removed = 0
    for folder in runs.glob(f"*/{FOLDER}"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        try:
            with connected(folder):
                continue
        except (ConnectionRefusedError, FileNotFoundError):
            if {each.name for each in folder.iterdir()} <= {SOCKET}:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        except OSError:
            continue
    return removed
