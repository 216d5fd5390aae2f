"""Starts one container, watches it, and returns only when it is stopped and removed.

One thread (the caller's) reads the output, another one watches the limits; who asks to stop (the
watch, the user) kills the container through a connection of its own. What happens when this
program is killed is said at `container.SHELL`; the container itself then stays, stopped, until
`remove_leftovers` of the next start.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.base.errors import HarnessFault, M4Error
from engine.base.jobs import Job
from engine.isolation.cgroup import ControlGroup
from engine.isolation.common import Outlet, machine_out_of_memory, out_of_memory_kills, raise_fault
from engine.isolation.container import OWN_PROCESSES
from engine.isolation.engine_api import Engine, telling
from engine.isolation.interface import MIB, Ended, Limits, OnOutput, Reason, Stream
from engine.isolation.watch import FolderUsage, Inside, folder_usage, free_bytes

_LOOK_SECONDS = 0.05
_FOLDER_SECONDS = 0.25
_DEATH_SECONDS = 20.0
_BLOCK = 64 * 1024
_HEADER = 8
_STREAMS: dict[int, Stream] = {1: "stdout", 2: "stderr"}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that is needed to run one container."""

    engine: Engine
    """Where."""
    body: dict[str, Any]
    """What the engine is asked for (see `container.configuration`)."""
    name: str
    """The container's name."""
    job_folder: int
    """Descriptor of the host folder behind ``/job``."""
    limits: Limits
    """What the command may use."""
    measure: Measure | None = None
    """How the job folder is measured; None: by ourselves."""


class Measure:
    """Measures the job folder where we cannot look into all of it ourselves."""

    def started(self, pid: int) -> None:
        """The container's first process is `pid`."""

    def look(self) -> FolderUsage:
        """What is taken now, deleted but open files included."""
        raise NotImplementedError


def run_container(plan: Plan, *, job: Job | None, on_output: OnOutput | None) -> Ended:
    """Run it to its end; see `Sandbox.run` for what is promised.

    Raises:
        HarnessFault: the engine failed or is gone, or somebody else ended the container.
        StorageFull: no room on the engine's disk.
    """
    run = _Run(plan, on_output)
    forget = job.on_cancel(lambda: run.stop("cancelled")) if job is not None else None
    try:
        return run.to_its_end()
    finally:
        if forget is not None:
            forget()


class Frames:
    """Takes the engine's stream apart: frames of (stream, 0, 0, 0, length) and content."""

    def __init__(self) -> None:
        self._head = b""
        self._left = 0
        self._stream: Stream = "stdout"

    def feed(self, data: bytes) -> Iterator[tuple[Stream, bytes]]:
        """The pieces of content in `data`, as they come."""
        while data:
            if self._left == 0:
                wanted = _HEADER - len(self._head)
                self._head, data = self._head + data[:wanted], data[wanted:]
                if len(self._head) < _HEADER:
                    return
                self._stream = _STREAMS.get(self._head[0], "stderr")
                self._left = int.from_bytes(self._head[4:], "big")
                self._head = b""
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            if piece:
                yield self._stream, piece


class _Run:
    def __init__(self, plan: Plan, on_output: OnOutput | None) -> None:
        self.plan = plan
        self.reason: Reason | None = None
        self.fault: BaseException | None = None
        self.peak = 0
        self._lock = threading.Lock()
        self._container: str | None = None
        self._is_up = False
        self._pid = 0
        self._killed = False
        self._first: int | None = None  # pidfd of the container's first process, where we may
        self._over = threading.Event()
        self._outlet = Outlet(on_output)

    def stop(self, reason: Reason) -> None:
        """Kill everything for `reason` (the first one counts); from any thread."""
        with self._lock:
            if self.reason is None and not self._over.is_set():
                self.reason = reason
            self._kill()

    def _kill(self) -> None:
        if not self._is_up or self._container is None or self._killed:
            return
        self._killed = True
        if self._first is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
                return
        # An engine that is gone, or a container that has just ended, is seen by who reads.
        with (
            contextlib.suppress(M4Error),
            telling("stopping a container"),
            self.plan.engine.client(_DEATH_SECONDS) as api,
        ):
            api.kill(self._container)

    def to_its_end(self) -> Ended:
        engine = self.plan.engine
        with contextlib.ExitStack() as stack:
            with telling("making a container"):
                api = stack.enter_context(engine.client())
                # By name as well: an answer that is lost leaves a container whose id nobody knows.
                stack.callback(self._remove)
                self._container = self._create(api)
            attached, rest = engine.attach(self._container)
            stack.enter_context(attached)
            before = out_of_memory_kills()
            if not self._start(api, stack):
                return Ended(returncode=128 + signal.SIGKILL, reason="cancelled", seconds=0.0)
            started = time.monotonic()
            watcher = threading.Thread(target=self._watch, name="container-watch", daemon=True)
            watcher.start()
            try:
                self._read(attached, rest)
                seconds = time.monotonic() - started
                status, state = self._result(api)
            finally:
                self._over.set()
                with self._lock:
                    self._kill()
                watcher.join()
            return self._ended(api, status, state, seconds, before)

    def _create(self, api: Any) -> str:
        made = api.create_container_from_config(self.plan.body, self.plan.name)
        return str(made["Id"])

    def _start(self, api: Any, stack: contextlib.ExitStack) -> bool:
        """Start it, unless we were told to stop."""
        with self._lock:
            if self.reason is not None:
                return False
            with telling("starting a container"):
                api.start(self._container)
                self._is_up = True
                pid = int(api.inspect_container(self._container)["State"]["Pid"])
            if pid and os.geteuid() == 0:
                with contextlib.suppress(OSError):  # it has ended
                    self._first = os.pidfd_open(pid)
                    stack.callback(os.close, self._first)
            self._pid = pid
        return True

    def _read(self, attached: socket.socket, rest: bytes) -> None:
        """Hand the output on while it comes, until the engine closes the stream at the end."""
        frames = Frames()
        block = rest
        while True:
            for stream, piece in frames.feed(block):
                self._outlet.give(stream, piece)
            try:
                block = attached.recv(_BLOCK)
            except ConnectionResetError:
                return
            if not block:
                return

    def _result(self, api: Any) -> tuple[int, dict[str, Any]]:
        """Exit status and state, after the stream was closed."""
        library = "waiting for a container's end"
        with telling(library), self.plan.engine.client(_DEATH_SECONDS) as waiting:
            status = int(waiting.wait(self._container)["StatusCode"])
            state: dict[str, Any] = api.inspect_container(self._container)["State"]
        return status, state

    def _ended(
        self, api: Any, status: int, state: dict[str, Any], seconds: float, oom_before: int
    ) -> Ended:
        raise_fault(self.fault, "the container")
        if self.reason is None and state.get("OOMKilled"):
            self.reason = "memory"
        if self.reason is None and status == 128 + signal.SIGKILL:
            if out_of_memory_kills() > oom_before:
                raise machine_out_of_memory("the container")
            if self._killed_by_others(api):
                raise HarnessFault("The container was ended from outside.")
        return Ended(
            returncode=status if self.reason is None else 128 + signal.SIGKILL,
            reason=self.reason or "exited",
            seconds=seconds,
            output_cut=self._outlet.is_cut,
            peak_memory_bytes=self.peak,
        )

    def _killed_by_others(self, api: Any) -> bool:
        """Did somebody tell the engine to kill it?"""
        with telling("asking why a container ended"):
            events = api.events(
                until=int(time.time()) + 1,
                since=int(time.time()) - 600,
                filters={"container": self._container, "event": ["kill", "stop"]},
            )
            return bool(list(events))  # to its end: it closes its connection then

    def _watch(self) -> None:
        """Look at time, processes, memory and disk until the end; kill at a limit."""
        try:
            self._look_until_over()
        except BaseException as error:
            if not self._over.wait(2.0):
                self.fault = error
                with self._lock:
                    self._kill()

    def _look_until_over(self) -> None:
        plan, limits, folder = self.plan, self.plan.limits, self.plan.job_folder
        started = time.monotonic()
        group: ControlGroup | None = None
        with contextlib.suppress(OSError):  # it has ended
            group = ControlGroup(self._pid)
        measure = plan.measure or _OwnMeasure(folder, self._pid, limits)
        measure.started(self._pid)
        least_free = min(256 * MIB, free_bytes(folder) // 20)
        next_folder_look = 0.0
        while not self._over.wait(_LOOK_SECONDS):
            now = time.monotonic()
            if now - started >= limits.wall_seconds:
                return self.stop("timeout")
            if group is not None:
                try:
                    usage = group.usage()
                except OSError:  # it has ended
                    group = None
                    continue
                self.peak = max(self.peak, usage.memory_bytes)
                if usage.killed:
                    return self.stop("memory")
                if usage.processes > limits.processes + OWN_PROCESSES:
                    return self.stop("processes")
            if now >= next_folder_look:
                used = measure.look()
                if used.files > limits.work_files or used.bytes > limits.work_bytes:
                    return self.stop("disk")
                if free_bytes(folder) < least_free:
                    return self.stop("disk")
                took = time.monotonic() - now
                next_folder_look = now + max(_FOLDER_SECONDS, 5 * took)
        return None

    def _remove(self) -> None:
        """Remove it, running or not; leave it to the next start if the engine is gone."""
        with contextlib.suppress(M4Error):
            remove_container(self.plan.engine, self._container or self.plan.name)


class _OwnMeasure(Measure):
    """By ourselves: as root everything can be seen, as its owner the folder."""

    def __init__(self, folder: int, pid: int, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._device = os.fstat(folder).st_dev
        self._inside = Inside(pid)

    def look(self) -> FolderUsage:
        used = folder_usage(self._folder, most_files=self._limits.work_files)
        hidden = 0
        with contextlib.suppress(OSError):  # it has ended
            hidden = self._inside.deleted_but_open(self._device)
        return FolderUsage(used.bytes + hidden, used.files)


def remove_container(engine: Engine, container: str) -> bool:
    """Kill and remove a container of ours; False if it is not there.

    Raises:
        HarnessFault: the engine failed, or is gone.
    """
    with telling("removing a container"), engine.client() as api:
        try:
            api.remove_container(container, force=True, v=True)
        except Exception as error:
            status = getattr(error, "status_code", None)
            if status == 404:  # noqa: PLR2004 - HTTP: not found
                return False
            if status != 409:  # noqa: PLR2004 - HTTP: it is being removed already
                raise
    return True
