"""Closes the process that holds a key: no core dump, no debugger, no life without its parent."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def close_memory() -> None:
    """No core dump of this process, and no other process of this user may look into it.

    Raises:
        OSError: the operating system does not do it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def die_with(parent: int) -> None:
    """Be killed when the thread of `parent` that started this process ends; now if it has.

    Raises:
        OSError: the operating system does not do it.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
