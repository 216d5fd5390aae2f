"""Two programs on one home: one works on the queue, the window watches and takes over."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from app_window import settle
from pytestqt.qtbot import QtBot

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.workbench import RunRequest, Workbench
from m4review.app.links import QUEUE
from m4review.app.window import MainWindow
from m4review.queue.view import QueueScreen


def test_another_program_owns_the_queue_until_it_dies(
    tmp_path: Path, open_window: Callable[..., MainWindow], qtbot: QtBot
):
    home = open_home(tmp_path / "queued")
    bench = Workbench(home)
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    script = tmp_path / "agent.sql"
    script.write_text("SELECT 1 AS stay_id")
    bench.enqueue([RunRequest(task="mimic-sofa-24h", source="small", script=script)], name="held")
    with closing(sqlite3.connect(home.state)) as con, con:  # it waits for long, whoever works
        con.execute("UPDATE queue_items SET not_before = '2999-01-01T00:00:00+00:00'")
    program = subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", "--home", str(home.root), "queue", "run",
         "--keep"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        qtbot.waitUntil(lambda: bench.queue().owner is not None, timeout=60_000)
        window = open_window(home.root)
        window.go(QUEUE)
        settle(window)
        screen = window.screens["queue"]
        assert isinstance(screen, QueueScreen)
        assert f"Another program (process {program.pid}) works on it" in screen.words.text()
        assert screen.work_button.text().strip() == "Stand by to take over"
        screen.work_button.click()
        assert window.desk.working
        assert bench.queue().owner.pid == program.pid  # type: ignore[union-attr]
        program.kill()
        program.wait()
        qtbot.waitUntil(
            lambda: (owner := bench.queue().owner) is not None and owner.pid == os.getpid(),
            timeout=60_000,
        )
        screen.model.reload()
        qtbot.waitUntil(lambda: "This window works on it" in screen.words.text(), timeout=60_000)
    finally:
        program.kill()
        program.wait()
        bench.queue_control("cancel", "held")
    qtbot.waitUntil(lambda: not window.desk.working, timeout=60_000)
