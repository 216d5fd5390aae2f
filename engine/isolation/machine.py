"""What works on this machine and what is missing, looked at one by one."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from engine.base.errors import M4Error
from engine.base.paths import Home
from engine.isolation.backends import available_backends
from engine.isolation.elf import missing_libraries
from engine.isolation.rootfs import PACKAGES, sandbox_root

GIB = 1 << 30
NEEDED_BYTES = 2 * GIB
WANTED_BYTES = 20 * GIB
_SECONDS = 60.0

# Run by a Python of its own, so that the engine never imports Qt and survives when it crashes.
_QT = """
import pathlib, PySide6.QtCore as core, PySide6.QtGui, PySide6.QtWidgets, PySide6.QtSvg
plugins = core.QLibraryInfo.path(core.QLibraryInfo.LibraryPath.PluginsPath)
print(core.qVersion())
print(pathlib.Path(plugins, "platforms", "libqxcb.so"))
"""
_QT_PACKAGES = (
    "libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libxcb-cursor0 "
    "libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 "
    "libxcb-shape0 libxcb-xinerama0"
)
# As the gateway's process will ask it; a keyring may ask its user for a password, and for long.
_KEYRING = """
import json
from engine.base.errors import M4Error
from engine.gateway.keys import has_key, keyring_name
try:
    said = {"name": keyring_name()}
    has_key("doctor")
except M4Error as error:
    said = {"why": error.text, "todo": error.todo}
print(json.dumps(said))
"""
_DUCKDB = (
    "import duckdb; "
    "print(duckdb.connect().execute('SELECT 6 * 7').fetchone()[0], duckdb.__version__)"
)

State = Literal["works", "missing", "limited"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """What, e.g. ``bubblewrap``."""
    state: State
    """`works`; `missing`: something cannot be done without it; `limited`: it goes without."""
    detail: str
    """What was found, in words."""
    todo: str | None = None
    """What to do about it."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def look_around(home: Home) -> tuple[Finding, ...]:
    """Look at everything; takes some seconds (the sandbox's root is made if it is not there)."""
    looks: tuple[tuple[str, Callable[[Home], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("duckdb", _duckdb),
        ("sandbox root", _root),
        ("sandbox", _sandboxes),
        ("disk", _disk),
        ("window", _window),
        ("keyring", _keyring),
    )
    findings: list[Finding] = []
    for name, look in looks:
        try:
            findings += look(home)
        except M4Error as error:
            findings.append(Finding(name, "missing", error.text, error.todo))
    return tuple(findings)


def _python(_: Home) -> Iterator[Finding]:
    yield Finding("python", "works", f"Python {platform.python_version()}")


def _duckdb(_: Home) -> Iterator[Finding]:
    done = _in_python(_DUCKDB)
    if done is not None and done.startswith("42 "):
        yield Finding("duckdb", "works", f"DuckDB {done.split()[1]} computes")
    else:
        yield Finding("duckdb", "missing", "DuckDB does not start.", "Install this program again.")


def _root(home: Home) -> Iterator[Finding]:
    manifest = sandbox_root(home).manifest
    packages = ", ".join(f"{name} {manifest['packages'][name]}" for name in PACKAGES)
    size = manifest["bytes"] / 1e6
    detail = f"Python {manifest['python']}, {packages}; {size:.0f} MB"
    yield Finding("sandbox root", "works", detail)


def _sandboxes(home: Home) -> Iterator[Finding]:
    infos = available_backends(home)
    for info in infos:
        if info.works:
            note = "" if info.publishable else "; its runs are marked not publishable"
            yield Finding(info.name, "works", f"A program was run in it just now{note}")
        else:
            yield Finding(info.name, "limited", info.why_not or "It does not work.", info.todo)
    if not any(info.works for info in infos):
        todos = [f"{info.name}: {info.todo}" for info in infos if info.todo]
        yield Finding(
            "a sandbox",
            "missing",
            f"Neither {' nor '.join(info.name for info in infos)} works here. One is enough; "
            "without one no agent is run.",
            " Or ".join(todos) or None,
        )


def _disk(home: Home) -> Iterator[Finding]:
    free = shutil.disk_usage(home.root).free
    detail = f"{free / GIB:.1f} GiB free in the home folder"
    move = "Free some space, or move the home folder with --home."
    if free < NEEDED_BYTES:
        yield Finding("disk", "missing", f"{detail}; at least 2 GiB are needed.", move)
    elif free < WANTED_BYTES:
        yield Finding("disk", "limited", f"{detail}; a full MIMIC-IV wants about 20 GiB.", move)
    else:
        yield Finding("disk", "works", detail)


def _window(_: Home) -> Iterator[Finding]:
    if importlib.util.find_spec("PySide6") is None:
        todo = "Only for the window: pip install PySide6-Essentials"
        yield Finding("window", "limited", "PySide6 is not installed.", todo)
        return
    done = _python_says(_QT)
    if done.returncode == 0:
        version, plugin = done.stdout.splitlines()
        missing = missing_libraries(Path(plugin)) if Path(plugin).is_file() else ()
        if not missing:
            yield Finding("window", "works", f"Qt {version} loads")
            return
        detail = f"Qt loads, but the window on X11 needs: {', '.join(missing)}"
        yield Finding("window", "limited", detail, f"apt-get install {_QT_PACKAGES}")
        return
    said = done.stderr.strip().splitlines()
    library = next((w for line in said for w in line.split() if ".so" in w), "").strip(":,")
    detail = f"Qt does not load: {library} is missing." if library else "Qt does not load."
    yield Finding("window", "limited", detail, f"apt-get install {_QT_PACKAGES}")


def _keyring(_: Home) -> Iterator[Finding]:
    try:
        said = json.loads(_in_python(_KEYRING) or "{}")
    except subprocess.TimeoutExpired:
        said = {"why": "The keyring does not answer; perhaps it asks for its password."}
    if "name" in said and "why" not in said:
        yield Finding("keyring", "works", f"Keys for model providers go to {said['name']}")
        return
    why = said.get("why") or "The keyring cannot be asked."
    yield Finding(
        "keyring",
        "limited",
        f"{why} Keys for model providers cannot be kept or read.",
        "Only for agents with a remote model. "
        + (said.get("todo") or "Log in to a desktop session, which unlocks its keyring."),
    )


def _python_says(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )


def _in_python(program: str) -> str | None:
    """What `program` prints; None if it fails."""
    done = _python_says(program)
    return done.stdout.strip() if done.returncode == 0 else None
