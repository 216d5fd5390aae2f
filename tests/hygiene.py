"""After each test: nothing may be left running, open on the screen, or mounted.

A leftover fails the test that made it and is named, so that a later test does not pay for it.
What ends by itself within the grace time is no leftover.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

_own_folder: Path | None = None

GRACE = 3.0
"""Seconds in which threads and processes that were told to end may do so."""


def _threads() -> dict[Hashable, str]:
    # A dummy stands for a thread of Qt's that once called Python, and is never taken away.
    return {
        thread.ident: f"thread {thread.name!r}"
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread)
    }


def _processes() -> dict[Hashable, str]:
    found: dict[Hashable, str] = {}
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                found[child.pid, child.create_time()] = f"process {' '.join(child.cmdline())[:200]}"
        except psutil.NoSuchProcess:
            continue
    return found


def mounts_below(folder: Path) -> dict[Hashable, str]:
    """What is mounted somewhere in `folder`."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    places = {line.split()[0]: Path(line.split()[4]) for line in lines}
    return {number: f"mount {p}" for number, p in places.items() if p.is_relative_to(folder)}


def _mounts() -> dict[Hashable, str]:
    # Only in this worker's own folder: others mount and unmount at the same time.
    return mounts_below(_own_folder) if _own_folder else {}


def _qt() -> dict[Hashable, str]:
    if "PySide6.QtWidgets" not in sys.modules:
        return {}  # a test without a window is not to load Qt
    found: dict[Hashable, str] = importlib.import_module("hygiene_qt").present()
    return found


KINDS: tuple[Callable[[], dict[Hashable, str]], ...] = (_threads, _processes, _mounts, _qt)


def _left(before: list[dict[Hashable, str]]) -> list[str]:
    return [
        text
        for kind, was in zip(KINDS, before, strict=True)
        for key, text in kind().items()
        if key not in was
    ]


def leftovers(before: list[dict[Hashable, str]], grace: float = GRACE) -> list[str]:
    """What is there that was not `before`, and stays after `grace` seconds."""
    left = _left(before)
    if left:
        gc.collect()  # what only a cycle of references kept alive
    until = time.monotonic() + grace
    while (left := _left(before)) and time.monotonic() < until:
        time.sleep(0.02)  # none of these tells when it ends
    return left


def snapshot() -> list[dict[Hashable, str]]:
    """What is there now."""
    return [kind() for kind in KINDS]


@pytest.fixture(autouse=True)
def _nothing_left_over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail the test that leaves something behind."""
    global _own_folder  # noqa: PLW0603 (known only here, the same for the whole session)
    _own_folder = tmp_path_factory.getbasetemp()
    before: list[dict[Hashable, Any]] = snapshot()
    yield
    left = leftovers(before)
    if left:
        pytest.fail("The test left behind: " + "; ".join(left), pytrace=False)
