"""Starts one bubblewrap, watches it, and returns only when nothing of it lives any more.

Who lives because of whom: the first process inside (1 in its own process namespace) is killed by
the kernel when bubblewrap dies, bubblewrap when the thread that runs `supervise` dies; and when the
first process dies, the kernel kills all others in the namespace, however they hid (double fork,
setsid, ignored signals). The command itself waits for a word on a pipe before it starts, so that
it never starts for a parent that is gone. So even ``kill -9`` of this program leaves nothing.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import HarnessFault
from engine.base.jobs import Job
from engine.isolation.common import Outlet, machine_out_of_memory, out_of_memory_kills, raise_fault
from engine.isolation.interface import MIB, Ended, Limits, OnOutput, Reason, Stream
from engine.isolation.watch import Inside, folder_usage, free_bytes

LAUNCHER = Path(__file__).with_name("launch.py")

DESCRIPTORS = {"go": 3, "ready": 4, "reader": 5}
DESCRIPTORS |= {"args": 20, "seccomp": 21, "status": 22, "block": 23}
"""Numbers under which bubblewrap and the first shell find their files.

`reader` is the other end of `status`, so that bubblewrap can write to it even if this program was
killed: otherwise it would give up half-way and leave its child waiting for ever.
"""

SHELL = (
    "printf . >&4; read -r word most <&3; "
    'if [ "$word" != go ]; then exit 125; fi; '
    'if [ -n "$most" ]; then ulimit -u "$most" 2>/dev/null || ulimit -p "$most" || exit 125; fi; '
    'unset word most; exec 3<&- 4>&- 5<&-; exec "$@"'
)
"""Says that all is set up, waits for the word, limits processes, becomes the command.

(``ulimit -u`` in bash is ``ulimit -p`` in dash.)
"""

_NPROC_IN_NAMESPACE = (5, 14)
_SETUP_SECONDS = 60.0
_DEATH_SECONDS = 20.0
_ENDING_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_FOLDER_SECONDS = 0.25
_SPARE_PROCESSES = 16
"""Above the limit, so that the watch sees that it was passed; the kernel stops there."""
_BLOCK = 64 * 1024


class SetupFailed(Exception):
    """Bubblewrap could not make the sandbox; `words` is what it said (may hold host paths)."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that is needed to start one bubblewrap."""

    program: str
    """Path of bubblewrap."""
    options: tuple[str, ...]
    """Its options; the descriptors of `DESCRIPTORS` are added here."""
    argv: tuple[str, ...]
    """The command inside."""
    seccomp: bytes
    """The system call filter."""
    job_folder: int
    """Descriptor of the host folder behind ``/job``."""
    user: int | None
    """Become this user first (as root), or stay."""
    stage: str | None
    """As root: where `binds` are shown in a mount namespace of its own."""
    binds: tuple[tuple[str, str], ...]
    """Host path, name below `stage`."""
    limits: Limits
    """What the command may use."""
    address_space: int
    """RLIMIT_AS in bytes."""


def supervise(plan: Plan, *, job: Job | None, on_output: OnOutput | None) -> Ended:
    """Run it to its end; see `Sandbox.run` for what is promised.

    Raises:
        SetupFailed: the sandbox could not be made; the command was not started.
        HarnessFault: it was ended from outside, or cannot be ended.
    """
    run = _Run(plan, on_output)
    forget = job.on_cancel(lambda: run.stop("cancelled")) if job is not None else None
    try:
        return run.to_its_end()
    finally:
        if forget is not None:
            forget()


class _Run:
    """One run: the thread that calls `to_its_end` reads the output, another one watches."""

    def __init__(self, plan: Plan, on_output: OnOutput | None) -> None:
        self.plan = plan
        self.reason: Reason | None = None
        self.fault: BaseException | None = None
        self.peak = 0
        self._lock = threading.Lock()
        self._first: int | None = None  # pidfd of the first process inside
        self._over = threading.Event()
        self._outlet = Outlet(on_output)
        self._said = bytearray()  # on stderr before the command started
        self._started: float | None = None

    def stop(self, reason: Reason) -> None:
        """Kill everything for `reason` (the first one counts); from any thread."""
        with self._lock:
            if self.reason is None and not self._over.is_set():
                self.reason = reason
            self._kill()

    def _kill(self) -> None:
        """Kill the first process, and so all; as soon as it is known, some milliseconds at most.

        Never bubblewrap before that: its child would wait for it for ever.
        """
        if self._first is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def to_its_end(self) -> Ended:
        with contextlib.ExitStack() as stack:
            pipes = _Pipes(stack)
            before = out_of_memory_kills()
            process = self._start(pipes, stack)
            try:
                seconds = self._converse(process, pipes)
            finally:
                self._end(process, pipes)
            raise_fault(self.fault, "the sandbox")
            return self._ended(process.returncode, seconds, before)

    def _ended(self, status: int, seconds: float, oom_before: int) -> Ended:
        if self.reason is None:
            if status < 0:
                raise HarnessFault("The sandbox was ended from outside.")
            if status == 128 + signal.SIGKILL and out_of_memory_kills() > oom_before:
                raise machine_out_of_memory("the sandbox")
        return Ended(
            returncode=status if self.reason is None else 128 + signal.SIGKILL,
            reason=self.reason or "exited",
            seconds=seconds,
            output_cut=self._outlet.is_cut,
            peak_memory_bytes=self.peak,
        )

    def _start(self, pipes: _Pipes, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
        plan = self.plan
        options = list(plan.options)
        for option, name in (
            ("--seccomp", "seccomp"),
            ("--json-status-fd", "status"),
            ("--block-fd", "block"),
        ):
            options += [option, str(DESCRIPTORS[name])]
        inherited = {
            "args": _memory_file(b"".join(os.fsencode(word) + b"\0" for word in options), stack),
            "seccomp": _memory_file(plan.seccomp, stack),
            "go": pipes.go[0],
            "ready": pipes.ready[1],
            "reader": pipes.status[0],
            "status": pipes.status[1],
            "block": pipes.block[0],
        }
        spec = {
            "parent": os.getpid(),
            "stage": plan.stage,
            "binds": plan.binds,
            "user": plan.user,
            "cpus": _some_processors(plan.limits.cpus),
            "rlimits": _rlimits(plan.limits, plan.address_space),
            "descriptors": [[inherited[name], number] for name, number in DESCRIPTORS.items()],
            "program": plan.program,
            # Readable inside as /proc/1/cmdline: it names no path of the host.
            "argv": [
                *("bwrap", "--args", str(DESCRIPTORS["args"]), "--"),
                *("/bin/sh", "-c", SHELL, "sh", *map(str, plan.argv)),
            ],
        }
        spec_file = _memory_file(marshal.dumps(spec), stack)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(spec_file)],
            stdin=subprocess.DEVNULL,
            stdout=pipes.stdout[1],
            stderr=pipes.stderr[1],
            pass_fds=(*inherited.values(), spec_file),
            env={},
            cwd="/",
            start_new_session=True,  # Ctrl-C in a terminal is ours to handle
        )
        pipes.close_childs_ends()
        return process

    def _converse(self, process: subprocess.Popen[bytes], pipes: _Pipes) -> float:
        """From the first sign of life to the end; the command's seconds."""
        own = os.pidfd_open(process.pid)
        watcher: threading.Thread | None = None
        started = time.monotonic()
        try:
            pid = self._first_process(own, pipes)
            if pid is None:
                return 0.0
            _tell(pipes.block[1], b".")
            if not self._wait_for(pipes.ready[0], own, pipes):
                self._not_set_up()
                return 0.0
            started = self._started = time.monotonic()
            watcher = threading.Thread(target=self._watch, args=(pid,), name="sandbox-watch")
            watcher.start()
            _tell(pipes.go[1], f"go {self._most_processes()}\n".encode())
            pipes.close("go")
            self._read_output(own, pipes)
            return time.monotonic() - started
        finally:
            self._over.set()
            if watcher is not None:
                watcher.join()
            os.close(own)

    def _most_processes(self) -> str:
        """RLIMIT_NPROC for the command; empty where it is not to be set.

        It is set inside, because there it counts the processes in the sandbox's own user
        namespace. Before Linux 5.14 it counted all processes of the user on the host, so that
        a limit could hit the user's desktop, or never; there only the watch counts.
        """
        major, minor = (int(part) for part in os.uname().release.split(".")[:2])
        if (major, minor) < _NPROC_IN_NAMESPACE:
            return ""
        return str(self.plan.limits.processes + _SPARE_PROCESSES)

    def _first_process(self, own: int, pipes: _Pipes) -> int | None:
        """The first process inside, as bubblewrap names it; None if we were told to stop."""
        line = b""
        while not line.endswith(b"\n"):  # it writes a line in pieces
            more = self._wait_for(pipes.status[0], own, pipes)
            block = os.read(pipes.status[0], 1) if more else b""
            if not block:
                self._not_set_up()
                return None
            line += block
        pid = int(json.loads(line)["child-pid"])
        with self._lock:
            try:
                self._first = os.pidfd_open(pid)
            except ProcessLookupError:  # killed with bubblewrap just now
                pid = 0
            if self.reason is not None:
                self._kill()
        if pid == 0:
            self._not_set_up()
        return pid or None

    def _not_set_up(self) -> None:
        if self.reason is None:
            raise SetupFailed(self._said.decode("utf-8", "replace").strip())

    def _wait_for(self, wanted: int, own: int, pipes: _Pipes) -> bool:
        """Until `wanted` can be read (True) or bubblewrap has ended (False)."""
        deadline = time.monotonic() + _SETUP_SECONDS
        poll = select.poll()
        for handle in (wanted, own, pipes.stderr[0]):
            poll.register(handle, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise HarnessFault("The sandbox did not start within a minute.")
            ready = {handle for handle, _ in poll.poll(left * 1000)}
            if pipes.stderr[0] in ready:
                block = os.read(pipes.stderr[0], _BLOCK)
                self._said += block
                if not block:
                    poll.unregister(pipes.stderr[0])
            elif wanted in ready:
                return True
            elif own in ready:
                return False

    def _read_output(self, own: int, pipes: _Pipes) -> None:
        """Hand the output on while it comes, until bubblewrap has ended."""
        streams: dict[int, Stream] = {pipes.stdout[0]: "stdout", pipes.stderr[0]: "stderr"}
        poll = select.poll()
        for handle in (*streams, own):
            poll.register(handle, select.POLLIN)
        ended = False
        while not ended:
            for handle, _ in poll.poll():
                if handle == own:
                    ended = True
                elif not self._hand_on(handle, streams[handle]):
                    poll.unregister(handle)
        # What is still in the pipes; never wait for a process that holds them open.
        for handle, stream in streams.items():
            os.set_blocking(handle, False)
            with contextlib.suppress(BlockingIOError):
                while self._hand_on(handle, stream):
                    pass

    def _hand_on(self, handle: int, stream: Stream) -> bool:
        block = os.read(handle, _BLOCK)
        if not block:
            return False
        self._outlet.give(stream, block)
        return True

    def _watch(self, pid: int) -> None:
        """Look at time, processes, memory and disk until the end; kill at a limit."""
        try:
            self._look_until_over(Inside(pid))
        except BaseException as error:
            # While it ends there is nothing to look at any more; otherwise it must not go on.
            if not _is_over(self._first, _ENDING_SECONDS):
                self.fault = error
                with self._lock:
                    self._kill()

    def _look_until_over(self, inside: Inside) -> None:
        limits, folder = self.plan.limits, self.plan.job_folder
        started = self._started or time.monotonic()
        device = os.fstat(folder).st_dev
        least_free = min(256 * MIB, free_bytes(folder) // 20)
        next_folder_look = 0.0
        while not self._over.wait(_LOOK_SECONDS):
            now = time.monotonic()
            if now - started >= limits.wall_seconds:
                return self.stop("timeout")
            usage = inside.usage(limits.memory_bytes)
            self.peak = max(self.peak, usage.memory_bytes)
            if usage.memory_bytes > limits.memory_bytes:
                return self.stop("memory")
            if usage.processes > limits.processes:
                return self.stop("processes")
            if now >= next_folder_look:
                used = folder_usage(folder, most_files=limits.work_files)
                total = used.bytes + inside.deleted_but_open(device)
                if used.files > limits.work_files or total > limits.work_bytes:
                    return self.stop("disk")
                if free_bytes(folder) < least_free:
                    return self.stop("disk")
                took = time.monotonic() - now
                next_folder_look = now + max(_FOLDER_SECONDS, 5 * took)
        return None

    def _end(self, process: subprocess.Popen[bytes], pipes: _Pipes) -> None:
        """Make sure that nothing lives any more."""
        with self._lock:
            self._kill()
        pipes.close("go")
        pipes.close("block")
        if self._first is None and process.poll() is None:
            _kill_with_children(process)
        try:
            process.wait(_DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        first = self._first
        if first is None:
            # It never got so far that its first process was known. If there is one, it holds
            # stderr open until it sees that nobody is there to say the word, and ends.
            if not _drained(pipes.stderr[0], _DEATH_SECONDS):
                raise _cannot_end()
            return
        try:
            if not _is_over(first, _DEATH_SECONDS):
                raise _cannot_end()
        finally:
            with self._lock:
                self._first = None
                os.close(first)


class _Pipes:
    """The pipes of one run; all are closed at the end, whatever happens."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._open: set[int] = set()
        stack.callback(self._close_all)
        self.stdout, self.stderr = self._pipe(), self._pipe()
        self.status, self.ready = self._pipe(), self._pipe()
        self.block, self.go = self._pipe(), self._pipe()

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        return ends

    def _close(self, handle: int) -> None:
        if handle in self._open:
            self._open.remove(handle)
            os.close(handle)

    def close_childs_ends(self) -> None:
        for pipe in (self.stdout, self.stderr, self.status, self.ready):
            self._close(pipe[1])
        for pipe in (self.block, self.go):
            self._close(pipe[0])

    def close(self, name: str) -> None:
        """Close our end of `block` or `go`: whoever waits there sees the end."""
        self._close({"block": self.block, "go": self.go}[name][1])

    def _close_all(self) -> None:
        for handle in list(self._open):
            self._close(handle)


def _memory_file(content: bytes, stack: contextlib.ExitStack) -> int:
    handle = os.memfd_create("sandbox")
    stack.callback(os.close, handle)
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap in the middle of its start together with what it has started."""
    process.send_signal(signal.SIGSTOP)  # so that no further child comes
    children = _lines(Path(f"/proc/{process.pid}/task/{process.pid}/children"))
    for child in " ".join(children).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)
    process.kill()


def _tell(handle: int, word: bytes) -> None:
    """Write to a process that may have been killed just now."""
    with contextlib.suppress(BrokenPipeError):
        os.write(handle, word)


def _drained(handle: int, seconds: float) -> bool:
    """Read (and drop) until nobody holds the other end; False if somebody still does."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0:
        if poll.poll(left * 1000) and not os.read(handle, _BLOCK):
            return True
    return False


def _cannot_end() -> HarnessFault:
    return HarnessFault(
        "The processes in the sandbox cannot be ended.",
        todo="They wait for a disk or a device; restart the machine if they stay.",
    )


def _is_over(pidfd: int | None, seconds: float = 0.0) -> bool:
    if pidfd is None:
        return True
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _some_processors(count: int) -> list[int]:
    """`count` of the processors that we may use, others for each run."""
    allowed = sorted(os.sched_getaffinity(0))
    return secrets.SystemRandom().sample(allowed, min(count, len(allowed)))


def _rlimits(limits: Limits, address_space: int) -> dict[str, int]:
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": max(limits.open_files, 64),
        "RLIMIT_AS": address_space,
        "RLIMIT_CPU": int(limits.wall_seconds * limits.cpus) + 5,
        "RLIMIT_MSGQUEUE": 0,
    }


def _lines(path: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from path.read_text(encoding="ascii").splitlines()
