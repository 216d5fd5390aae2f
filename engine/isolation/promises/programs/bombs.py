"""Attempts to take more than the limits, to outlive the run, and to hide from the watch."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import sys
import time
from pathlib import Path

from .attempt import Broken, call, ground, refused

MIB = 1 << 20


def _stay() -> None:
    while True:
        signal.pause()


def fork_bomb() -> str:
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def threads() -> str:
    import threading  # noqa: PLC0415 - only this attempt needs it

    while True:
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=_sleep, daemon=True).start()


def _sleep() -> None:
    time.sleep(1000)


def memory_in_one() -> str:
    kept = []
    with contextlib.suppress(MemoryError):
        while True:
            kept.append(b"x" * (8 * MIB))
    _stay()
    raise Broken("never reached")


def memory_in_many() -> str:
    for _ in range(8):
        if os.fork() == 0:
            kept = [b"x" * (24 * MIB)]
            _stay()
            del kept
    _stay()
    raise Broken("never reached")


def memory_shared() -> str:
    kept = []
    for _ in range(64):
        area = mmap.mmap(-1, 16 * MIB)
        area.write(b"x" * (16 * MIB))
        kept.append(area)
    _stay()
    raise Broken("never reached")


def memory_of_nobody() -> str:
    said = [
        refused("memfd_create", call(319, 279, b"x", 0)),
        refused("memfd_secret", call(447, 447, 0)),
        refused("shmget", call(29, 194, 0, 64 * MIB, 0o1600)),
        refused("msgget", call(68, 186, 0, 0o1600)),
        refused("mq_open", call(240, 180, b"x", 0o102, 0o600, 0)),
    ]
    return ", ".join(said)


def shared_memory_counts_once() -> str:
    area = mmap.mmap(-1, 64 * MIB)
    area.write(b"x" * (64 * MIB))
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            area[0:1] = b"y"
            sum(area[i] for i in range(0, len(area), 4096))
            time.sleep(0.4)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return "four processes sharing 64 MiB are not taken for 320 MiB"


def ignore_every_signal() -> str:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_IGN)
    Path("/job/partial").write_text("kept", encoding="ascii")
    print("partial output", flush=True)  # noqa: T201
    while True:
        with contextlib.suppress(InterruptedError):
            time.sleep(1000)


def _survivor(token: str) -> None:
    """Detach as daemons do and go on under a name that the host looks for."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)", token])  # noqa: S606
        os._exit(0)


def survivors() -> str:
    for _ in range(3):
        _survivor(ground()["survivor"])
    while True:  # until one of them is what it will be
        for pid in os.listdir("/proc"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if pid.isdigit() and ground()["survivor"].encode() in words:
                    return "left three processes that hold the outputs open"


def survivors_at_timeout() -> str:
    survivors()
    return ignore_every_signal()


def survivors_without_a_group() -> str:
    """Detached twice, in a session and a group of their own, without outputs, told to stay."""
    for number in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.setpgid(0, 0)
                for handle in range(3):
                    os.close(handle)
                libc = ctypes.CDLL(None)
                libc.prctl(1, 0)  # no signal at the parent's death
                libc.prctl(36, 1)  # and a parent to whoever loses his
                for signal_ in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                    with contextlib.suppress(OSError):
                        signal.signal(signal_, signal.SIG_IGN)
                words = ["-c", "import time; time.sleep(1000)", ground()["survivor"]]
                os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
            os._exit(0)
        if number == 0:
            with contextlib.suppress(OSError):
                os.setsid()
    survivors()
    return "left processes in sessions of their own"


def flood() -> str:
    block = b"x" * MIB
    for _ in range(80):
        os.write(1, block)
    return "80 MiB written"


def escapes() -> str:
    os.write(1, b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[6n\x9b\xff\x00\r\n")
    return "escapes written"


def stop_myself() -> str:
    os.kill(os.getpid(), signal.SIGSTOP)
    _stay()
    raise Broken("never reached")


def core_dump() -> str:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
        raise Broken("memory images of ended programs would be written")
    child = os.fork()
    if child == 0:
        ctypes.string_at(0)
    _, ended = os.waitpid(child, 0)
    if os.WCOREDUMP(ended):
        raise Broken("a memory image was written")
    return "none is written"


def raise_limits() -> str:
    for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_CPU"):
        kind = getattr(resource, name)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            raise Broken(f"{name} could be raised")
    return "no limit could be raised"
