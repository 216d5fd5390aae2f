"""The process that takes the pictures of one setting; `process.py` starts it.

    python -m pictures.camera SETTING FOLDER HOME BLIND SCENE…

Each line on stdout is a JSON document: what happened (``begin``, ``shot``, ``end``, ``left``,
``failed``), the scene, and words.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QtMsgType, qInstallMessageHandler

from engine.base.paths import open_home
from m4review.app.application import make_application
from pictures.browser import NoBrowserError
from pictures.kept import Made, read
from pictures.scenes import SCENES
from pictures.settings import SETTINGS
from pictures.stage import Stage

_GRACE = 10
"""Seconds in which threads that were told to end may do so."""


def tell(what: str, scene: str, words: str = "") -> None:
    """One line for the process that started this one."""
    sys.stdout.write(json.dumps({"what": what, "scene": scene, "words": words}) + "\n")
    sys.stdout.flush()


def play(name: str, stage: Stage, made: Made) -> None:
    """Take one scene's pictures; what goes wrong is told, and the next one can follow."""
    scene = SCENES[name]
    lacking = [run for run in scene.runs if run not in made.runs]
    if lacking:
        reasons = (f"{run}: {made.lacking.get(run, 'it is not in the home')}" for run in lacking)
        tell("left", name, "; ".join(reasons))
        return
    tell("begin", name)
    if scene.alone:
        stage.close()
    stage.scene, done = name, False
    try:
        scene.play(stage)
        stage.clear()
        done = not scene.alone
    except NoBrowserError as error:
        tell("left", name, str(error))
    except Exception as error:
        traceback.print_exc()
        tell("failed", name, f"{type(error).__name__}: {error}")
    else:
        tell("end", name)
    if not done:  # the next one begins with another window
        stage.close()


def _threads() -> list[str]:
    """Names of the threads that have not ended."""
    others = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and not isinstance(thread, threading._DummyThread)
    ]
    for thread in others:
        thread.join(_GRACE)
    return [thread.name for thread in others if thread.is_alive()]


def _spoken(_kind: QtMsgType, _where: object, words: str) -> None:
    """What Qt says, but for what the platform without a screen says of itself."""
    if not words.startswith("This plugin does not support "):
        sys.stderr.write(f"Qt: {words}\n")


def main(arguments: Sequence[str]) -> int:
    """Take the pictures; 0 also where a scene failed (its line says so), 1 where threads go on."""
    setting, folder, root, blind, *names = arguments
    qInstallMessageHandler(_spoken)
    make_application([])
    home, made = open_home(Path(root)), read(Path(root))
    scene = ""
    stage = Stage(
        home, SETTINGS[setting], Path(folder), made.runs, blind=blind == "blind",
        tell=lambda picture: tell("shot", scene, picture),
    )  # fmt: skip
    try:
        for scene in names:
            play(scene, stage, made)
    finally:
        stage.close()
    if left := _threads():
        sys.stderr.write(f"Threads go on: {', '.join(left)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
