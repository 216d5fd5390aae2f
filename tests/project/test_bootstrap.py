"""What setup says when the machine lacks something."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import PySide6
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bootstrap() -> ModuleType:
    """The setup program as a module of this test's own."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "packaging" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_machine_has_what_the_program_needs(bootstrap: ModuleType) -> None:
    assert bootstrap.missing_packages({"run", "test"}, sys.executable) == {}


@pytest.mark.parametrize("proof", ["lib:libnosuch.so.9", "bin:no-such", "py:no_such", "file:/no"])
def test_what_is_not_there_is_seen(bootstrap: ModuleType, proof: str) -> None:
    assert not bootstrap.is_there(proof, sys.executable)


def test_an_ordinary_user_gets_one_line_to_copy(
    bootstrap: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bootstrap.NEEDS = tmp_path / "needs.txt"
    bootstrap.NEEDS.write_text("# needs\nrun bin:no-such libb\nrun lib:libno.so liba\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name, path=None: f"/bin/{name}"[:12])
    monkeypatch.setattr(bootstrap, "is_there", lambda proof, python: False)
    with pytest.raises(SystemExit) as stop:
        bootstrap.system_packages("run", sys.executable)
    assert stop.value.code == 4
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends liba libb"
    )


@pytest.mark.parametrize(
    ("display", "platform", "counts"),
    [(":0", None, True), (":0", "xcb", True), (":0", "offscreen", False), (None, None, False)],
)
def test_an_x_display_needs_what_qt_asks_of_it(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    display: str | None,
    platform: str | None,
    counts: bool,
) -> None:
    for name, value in (("DISPLAY", display), ("QT_QPA_PLATFORM", platform)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name, path=None: "/bin/apt-get")
    monkeypatch.setattr(bootstrap, "is_there", lambda proof, python: "xcb-cursor" not in proof)
    if counts:
        with pytest.raises(SystemExit):
            bootstrap.system_packages("run", sys.executable)
        assert capsys.readouterr().err.rstrip().endswith("--no-install-recommends libxcb-cursor0")
    else:
        bootstrap.system_packages("run", sys.executable)


def test_every_library_of_qts_x_plugin_is_named() -> None:
    """What the plugin is linked with, beside Qt's own and the system's, stands in the list."""
    qt = Path(PySide6.__file__).parent / "Qt"
    linked = set()
    for built in (qt / "plugins" / "platforms" / "libqxcb.so", qt / "lib" / "libQt6XcbQpa.so.6"):
        assert built.is_file()
        linked |= set(re.findall(rb"libx[\w-]+\.so\.\d+", built.read_bytes(), re.IGNORECASE))
    needs = (ROOT / "packaging" / "system-packages.txt").read_text(encoding="utf-8")
    assert b"libxcb-cursor.so.0" in linked
    named = set(re.findall(r"lib:(\S+)", needs))
    assert {name.decode() for name in linked} <= named


def test_an_old_python_is_refused_with_a_way_out(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 3 9\n")
    old.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "bootstrap.py"), "run"],
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "PYTHON=" in done.stderr


def test_a_wrong_call_is_usage() -> None:
    script = str(ROOT / "packaging" / "bootstrap.py")
    assert (
        subprocess.run([sys.executable, script, "x"], capture_output=True, check=False).returncode
        == 2
    )
