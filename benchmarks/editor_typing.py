"""Typing into a skill of 200 kB in the real window: from the key to the painted letter.

    python benchmarks/editor_typing.py [--keys 300] [--kilobytes 200]

Makes a long skill out of the shipped ones in a folder of its own, opens it in the program's own
editor with outline, preview and lint on, and types into the middle of it, 12 keys a second, while
autosave, journal, lint and preview go on in their jobs. Times are wall times in milliseconds: of
each key until its letter is painted, and of each time that the window was away from its events.
The plain way beside it is Qt's own text field with the same text and nothing around it. Each
figure stands beside what is aimed at; nothing fails when it is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from engine.base.content import shipped_folder
from engine.base.files import write_json
from engine.base.paths import open_home
from m4review.app.application import make_application
from m4review.app.interaction import Interaction
from m4review.app.links import Place
from m4review.app.start import make_window, settle, spare_what_stays, wait
from m4review.editor.loading import State
from m4review.editor.view import EditorScreen

AIM = 50
SKILL, TASK = "meld", "mimic-meld-24h"


def long_skill(size: int) -> str:
    """One skill with the bodies of all others below it, until it is long enough."""
    texts = [path.read_text() for path in sorted(shipped_folder("skills").glob("*/SKILL.md"))]
    whole = (shipped_folder("skills") / SKILL / "SKILL.md").read_text()
    while len(whole) < size:
        for text in texts:
            whole += text.split("\n---\n", 1)[1]
    return whole[:size]


def typed(widget: QPlainTextEdit, keys: int, pause: float) -> list[float]:
    """Milliseconds from each key to its painted letter."""
    took = []
    for number in range(keys):
        begin = time.perf_counter()
        QTest.keyClick(widget, "abcdefg h"[number % 9])
        widget.viewport().repaint()
        took.append((time.perf_counter() - begin) * 1000)
        end = time.monotonic() + pause
        wait(lambda end=end: time.monotonic() > end, 10)
    return took


def told(what: str, took: list[float]) -> None:
    """One line."""
    took = sorted(took)
    high = took[int(len(took) * 0.95)]
    print(
        f"{what}: median {statistics.median(took):.1f}, 95 % {high:.1f}, worst {took[-1]:.1f} ms"
        f" (aim {AIM})"
    )


class Away:
    """How long the window was away from its events, again and again."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps.append((now - self._last) * 1000)
        self._last = now

    def stop(self) -> None:
        """Measure no more."""
        self._timer.stop()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--kilobytes", type=int, default=200)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="m4-typing-"))
    application = make_application([])
    try:
        for part in ("tasks", "skills"):
            name = SKILL
            shutil.copytree(shipped_folder(part) / name, folder / "texts" / part / name)
        text = long_skill(given.kilobytes * 1000)
        (folder / "texts/skills" / SKILL / "SKILL.md").write_text(text)
        home = open_home(folder / "home")
        write_json(home.content, {"root": str(folder / "texts")})
        window = make_window(open_home(home.root), interaction=Interaction())
        window.resize(1440, 900)
        window.show()
        spare_what_stays()
        begin = time.perf_counter()
        window.go(Place("edit", TASK, text=f"skill:{SKILL}"))
        screen = window.screens["edit"]
        assert isinstance(screen, EditorScreen)
        wait(lambda: screen.model.state is State.SAVED, 120)
        opened = (time.perf_counter() - begin) * 1000
        settle(window, 300)
        screen.model.agree()
        screen.pane.go_to(len(text.split("\n")) // 2)
        away = Away()
        ours = typed(screen.pane, given.keys, 1 / 12)
        away.stop()
        saved = screen.model.path is not None and screen.model.path.stat().st_size > len(text)
        print(f"{len(text):,} characters; {len(screen.model.findings)} findings of the lint")
        print(f"opened in {opened:.0f} ms; saved while typing: {saved}")
        told("key to letter, editor", ours)
        told("away from events, editor", away.gaps)
        settle(window, 300)
        window.close()
        window.deleteLater()
        plain = QPlainTextEdit()
        plain.resize(800, 800)
        plain.setPlainText(text)
        plain.show()
        QApplication.processEvents()
        told("key to letter, plain text field", typed(plain, min(given.keys, 100), 1 / 12))
        print(f"ratio of the medians is what the rest costs; load {os.getloadavg()[0]:.1f}")
        plain.close()
    finally:
        application.processEvents()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
