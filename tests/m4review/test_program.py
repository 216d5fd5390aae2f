"""`m4review` as a program: pictures without a display, a polite end, words for wrong calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

pytestmark = [pytest.mark.gui, pytest.mark.slow]

PROGRAM = [sys.executable, "-m", "m4review.main"]
ROOT = Path(__file__).resolve().parent.parent.parent


def run(*arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run it to its end, without a display."""
    unset = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {k: v for k, v in os.environ.items() if k not in unset}
    return subprocess.run(
        [*PROGRAM, "--home", home, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=environment,
        check=False,
    )


def test_pictures_are_saved_without_a_display(tmp_path: Path) -> None:
    done = run("--screenshot", tmp_path / "pictures", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "pictures").glob("*.png"))
    screens = ("worklist", "data", "runs", "queue", "plan", "models", "reviews")
    assert names == [f"{number}-{screen}.png" for number, screen in enumerate(screens, 1)]
    for name in names:
        picture = QImage(str(tmp_path / "pictures" / name))
        assert picture.width() >= 1200
        shades = {picture.pixel(x, y) for x in range(0, 1200, 37) for y in range(0, 700, 23)}
        assert len(shades) > 5, f"{name} is empty"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["m4review://nowhere"], 2, "Addresses look like"),
        (["--screenshot", "/proc/nothing", "--", ""], 4, "cannot be made"),
        (["--no-such-option"], 2, "No such option"),
        ([], 4, "There is no display"),
    ],
)
def test_wrong_calls_are_told(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    done = run(*arguments, home=tmp_path / "home")
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    done = run(home=tmp_path / "home")
    assert done.returncode == 2
    assert "--home" in done.stderr


def test_it_ends_when_the_system_asks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with subprocess.Popen(
        [*PROGRAM, "--home", home],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            while not (home / "scratch").exists():  # the window's pictures are written there
                assert program.poll() is None
                try:
                    program.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
            program.send_signal(signal.SIGTERM)
            _, told = program.communicate(timeout=60)
        finally:
            program.kill()
    assert program.returncode in (0, -signal.SIGTERM), told
    assert "Traceback" not in told
