"""Starting one process per setting, and reading what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from demo_data import ROOT

from pictures.settings import Setting


@dataclass
class Outcome:
    """What became of one or more settings."""

    pictures: list[str] = field(default_factory=list)
    """Names of the pictures, in order, each once."""
    failed: dict[str, str] = field(default_factory=dict)
    """Why a scene failed, by ``SETTING SCENE``."""
    left: dict[str, str] = field(default_factory=dict)
    """Why a scene was left out, by its name."""

    def add(self, other: Outcome) -> None:
        """Take over what became of another setting."""
        self.pictures += [name for name in other.pictures if name not in self.pictures]
        self.failed |= other.failed
        self.left |= other.left


def photograph(
    setting: Setting,
    scenes: Sequence[str],
    *,
    folder: Path,
    home: Path,
    blind: bool,
    say: Callable[[str], None],
) -> Outcome:
    """Take pictures in one setting, in processes of its own.

    A process that dies takes one scene with it: the next one goes on after that.

    Args:
        setting: the look.
        scenes: their names.
        folder: gets the pictures.
        home: of the runs.
        blind: also what the colour-blind see.
        say: told each scene as it ends.
    """
    outcome, waiting = Outcome(), list(scenes)
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        while waiting:
            command = [sys.executable, "-X", "faulthandler", "-m", "pictures.camera", setting.name]
            command += [str(folder), str(home), "blind" if blind else "plain", *waiting]
            environment = {**setting.environment(Path(place)), "PYTHONPATH": str(ROOT / "tests")}
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
            ) as process:
                try:
                    here = _follow(process, setting, waiting, outcome, say)
                except BaseException:
                    process.terminate()
                    raise
            if process.returncode == 0 and not waiting:
                break
            lost = here or (waiting.pop(0) if waiting else "at its end")
            if here:
                waiting.remove(here)
            outcome.failed[f"{setting.name} {lost}"] = f"its process ended ({process.returncode})"
            say(f"{setting.name} {lost}: FAILED, its process ended ({process.returncode})")
    return outcome


def _follow(
    process: subprocess.Popen[str],
    setting: Setting,
    waiting: list[str],
    outcome: Outcome,
    say: Callable[[str], None],
) -> str:
    """Read what a process tells until it ends; the scene that it was in then, if any."""
    here, number, began = "", 0, time.monotonic()
    assert process.stdout is not None
    for line in process.stdout:
        try:
            told = json.loads(line)
            what, scene, words = told["what"], told["scene"], told["words"]
        except (ValueError, KeyError, TypeError):  # a library speaks
            say(line.rstrip())
            continue
        if what == "begin":
            here, number, began = scene, 0, time.monotonic()
        elif what == "shot":
            number += 1
            if words not in outcome.pictures:
                outcome.pictures.append(words)
        else:
            waiting.remove(scene)
            here = ""
            if what == "failed":
                outcome.failed[f"{setting.name} {scene}"] = words
                say(f"{setting.name} {scene}: FAILED, {words}")
            elif what == "left":
                outcome.left[scene] = words
                say(f"{setting.name} {scene}: left out. {words}")
            else:
                took = time.monotonic() - began
                pictures = f"{number} picture{'s' if number != 1 else ''}"
                say(f"{setting.name} {scene}: {pictures} in {took:.1f} s")
    return here
