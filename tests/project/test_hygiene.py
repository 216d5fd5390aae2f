"""The check for leftovers sees what it is there to see."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import hygiene
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget


def test_a_thread_is_seen_until_it_ends() -> None:
    before = hygiene.snapshot()
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait, name="forgotten")
    thread.start()
    assert hygiene.leftovers(before, grace=0) == ["thread 'forgotten'"]
    go_on.set()
    assert hygiene.leftovers(before) == []


def test_a_process_is_seen_until_it_ends() -> None:
    before = hygiene.snapshot()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True
    ) as child:
        (left,) = hygiene.leftovers(before, grace=0)
        child.communicate("\n")
    assert left.startswith("process ")
    assert hygiene.leftovers(before) == []


def test_mounts_are_seen_where_one_looks(tmp_path: Path) -> None:
    assert "mount /proc" in hygiene.mounts_below(Path("/")).values()
    assert hygiene.mounts_below(tmp_path) == {}


@pytest.mark.gui
def test_a_window_and_its_timer_are_seen_until_they_go(qapp: object) -> None:
    before = hygiene.snapshot()
    window = QWidget()
    window.setObjectName("forgotten")
    timer = QTimer(window)
    timer.start(10_000)
    assert hygiene.leftovers(before, grace=0) == ["widget QWidget 'forgotten'", "timer QTimer"]
    window.deleteLater()
    assert hygiene.leftovers(before) == []
