"""The root file system that sandboxed programs see, made from this machine's own Python.

It holds an interpreter with its standard library, DuckDB, pandas and numpy, the shared
libraries that these need, a shell and small text tools, and no more: no home, no ``/etc`` of the
host, no package manager, nothing of this project. It is made once for each set of versions in
``home/sandbox/KEY/root``, in a folder beside it that is renamed when whole, and never changed
afterwards. It can be fed to ``docker import`` as well.

Everything is moved to ``/usr/local`` (the interpreter finds its library by where it stands), so
that it comes out alike from a system Python, pyenv, conda or a stand-alone build.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from engine.base.errors import MissingPrerequisite
from engine.base.files import os_error, sha256_of, write_json
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.isolation.elf import needed_libraries
from engine.isolation.interface import GATEWAY, PROGRAMS

FORMAT = 2
"""Raised whenever this module makes something else of the same ingredients."""

PACKAGES = ("duckdb", "pandas", "numpy")

TOOLS = (
    *("sh", "bash", "env", "id", "true", "false", "sleep", "timeout", "nproc", "uname", "date"),
    *("ls", "cat", "cp", "mv", "ln", "rm", "mkdir", "rmdir", "mkfifo", "touch", "chmod", "stat"),
    *("chown",),
    *("basename", "dirname", "du", "find", "xargs", "tee", "seq", "gzip", "diff"),
    *("head", "tail", "wc", "sort", "uniq", "cut", "tr", "grep", "sed", "awk"),
)
"""Copied when they are there; ``sh`` and ``cat`` must be."""

_STDLIB_LEFT_OUT = (
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo"),
    *("ensurepip", "lib2to3", "pydoc_data", "turtle.py", "sitecustomize.py", "__pycache__"),
    *("config-*", "_test*.so", "_tkinter*.so", "_ctypes_test*.so", "EXTERNALLY-MANAGED"),
)
_PACKAGE_LEFT_OUT = {"tests", "__pycache__", "direct_url.json", "INSTALLER", "REQUESTED"}
_KEY = re.compile(r"[0-9a-f]{16}")
_GLIBC_PARTS = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6")

_ETC = {
    "passwd": "root:x:0:0::/nonexistent:/bin/sh\nnobody:x:65534:65534::/job:/bin/sh\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True)
class SandboxRoot:
    """A finished root file system."""

    path: Path
    """Becomes ``/`` inside, read-only."""
    manifest: dict[str, Any]
    """`python`, `packages`, `machine`, `files`, `bytes`, `digest` (SHA-256 over all files)."""

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it from being tidied away while a sandbox stands on it."""
        lock = _use_lock(self.path.parent)
        with lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield


def sandbox_root(home: Home, job: Job | None = None) -> SandboxRoot:
    """The root for this machine's versions; made in some seconds when it is not there yet.

    Raises:
        MissingPrerequisite: a package, tool or glibc is missing here.
        StorageFull: no room (about 250 MB) in the home folder.
        Cancelled: the job was stopped; nothing is left half made.
    """
    job = job or SimpleJob()
    try:
        ingredients = _ingredients()
        text = json.dumps(ingredients, sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        folder = home.sandbox / key
        home.sandbox.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not (folder / "manifest.json").is_file():
            with FileLock(home.sandbox / "making.lock"):
                if not (folder / "manifest.json").is_file():
                    _make(folder, ingredients, job)
                    _tidy(home.sandbox, keep=key)
    except OSError as error:
        raise os_error(_first(error), "making the sandbox's root file system") from error
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return SandboxRoot(folder / "root", manifest)


def _first(error: OSError) -> OSError:
    """The first error of those that `shutil.copytree` collects as texts."""
    if isinstance(error, shutil.Error) and "No space left" in str(error):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return error


def digest_of(root: Path) -> tuple[str, int, int]:
    """SHA-256 over names, modes and contents below `root`; number of files; bytes."""
    digest = hashlib.sha256()
    files = size = 0
    for folder, names, leaves in os.walk(root):
        names.sort()
        for name in sorted(leaves + [n for n in names if (Path(folder) / n).is_symlink()]):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            content = str(path.readlink()) if stat.S_ISLNK(mode) else sha256_of(path)
            line = f"{path.relative_to(root)}\0{stat.S_IMODE(mode):o}\0{content}\n"
            digest.update(line.encode("utf-8", "surrogateescape"))
            files += 1
            size += path.lstat().st_size
    return digest.hexdigest(), files, size


def _ingredients() -> dict[str, Any]:
    """All that decides what the root looks like."""
    python = _interpreter()
    return {
        "format": FORMAT,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "packages": {d.metadata["Name"]: d.version for d in _distributions()},
        "interpreter": [python.stat().st_size, python.stat().st_mtime_ns],
        "tools": [tool for tool in TOOLS if shutil.which(tool)],
    }


def _interpreter() -> Path:
    """The real program behind this (perhaps virtual) environment's ``python``."""
    base = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    if base.is_file():
        return base
    return Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"


def _distributions() -> list[importlib.metadata.Distribution]:
    """`PACKAGES` and what they require, as installed here."""
    found: dict[str, importlib.metadata.Distribution] = {}
    todo = list(PACKAGES)
    while todo:
        name = todo.pop()
        canonical = re.sub(r"[-_.]+", "-", name).lower()
        if canonical in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in PACKAGES:
                raise MissingPrerequisite(
                    f"The Python package {name} is missing.",
                    todo=f"Install it beside this program: pip install {name}",
                ) from None
            continue  # a requirement for other systems
        found[canonical] = distribution
        todo += [
            word[0]
            for requirement in distribution.requires or ()
            if "extra ==" not in requirement and (word := re.match(r"[\w.-]+", requirement))
        ]
    return [found[name] for name in sorted(found)]


def _make(folder: Path, ingredients: dict[str, Any], job: Job) -> None:
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        part.chmod(0o755)
        _Builder(part / "root", job).build()
        job.progress("sandbox-root", 9, 10, "the sandbox's root: writing it down")
        digest, files, size = digest_of(part / "root")
        made = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(
            part / "manifest.json",
            {**ingredients, "files": files, "bytes": size, "digest": digest, "made": made},
        )
        if folder.exists():  # without a manifest: not ours to trust
            shutil.rmtree(folder)
        part.rename(folder)
        job.progress("sandbox-root", 10, 10, "the sandbox's root is ready")
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


class _Builder:
    """Fills one empty folder with a root file system."""

    def __init__(self, root: Path, job: Job) -> None:
        self.root = root
        self.job = job
        self.version = f"python{sysconfig.get_python_version()}"
        self.library = root / "usr/local" / sys.platlibdir / self.version
        self.binaries: list[Path] = []  # the host's files whose libraries are needed

    def build(self) -> None:
        empty = ("proc", "dev", "tmp", "job", GATEWAY.strip("/"), PROGRAMS.strip("/"))
        for name in ("usr/bin", "usr/lib", "usr/local/bin", "etc", *empty):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.root / name).symlink_to("usr/bin" if name == "sbin" else f"usr/{name}")
        steps = (
            (self._etc, "accounts"),
            (self._tools, "tools"),
            (self._python, "Python"),
            (self._packages, "DuckDB, pandas, numpy"),
            (self._libraries, "shared libraries"),
            (self._compile, "compiling"),
            (self._modes, "permissions"),
        )
        for number, (step, name) in enumerate(steps):
            self.job.check()
            self.job.progress("sandbox-root", number, 10, f"the sandbox's root: {name}")
            step()

    def _etc(self) -> None:
        for name, text in _ETC.items():
            (self.root / "etc" / name).write_text(text, encoding="ascii")
        zones = Path("/usr/share/zoneinfo")
        for name in ("UTC", "GMT", "Etc/UTC"):
            if (zones / name).is_file():
                self._copy((zones / name).resolve(), self.root / "usr/share/zoneinfo" / name)
        locale = Path("/usr/lib/locale/C.utf8")
        if locale.is_dir():
            shutil.copytree(locale, self.root / "usr/lib/locale/C.utf8")

    def _tools(self) -> None:
        copied: dict[Path, Path] = {}
        for tool in TOOLS:
            where = shutil.which(tool, path="/usr/bin:/bin")
            if where is None:
                if tool in ("sh", "cat"):
                    raise MissingPrerequisite(f"The program {tool} is missing on this machine.")
                continue
            real, target = Path(where).resolve(), self.root / "usr/bin" / tool
            if real in copied:  # one program under several names
                target.hardlink_to(copied[real])
            else:
                copied[real] = target
                self._copy(real, target)
                self.binaries.append(real)

    def _python(self) -> None:
        program = _interpreter()
        self._copy(program, self.root / "usr/local/bin" / self.version)
        self.binaries.append(program)
        for name in ("python3", "python"):
            (self.root / "usr/local/bin" / name).symlink_to(self.version)
        stdlib = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
        shutil.copytree(
            stdlib,
            self.library,
            ignore=shutil.ignore_patterns(*_STDLIB_LEFT_OUT),
            ignore_dangling_symlinks=True,
        )
        copied = (self.library / "lib-dynload").glob("*.so")
        self.binaries += [stdlib / "lib-dynload" / module.name for module in copied]
        # It quotes the folder in which this Python was built, perhaps a person's home.
        for file in self.library.glob("_sysconfigdata*.py"):
            text = file.read_text(encoding="utf-8").replace(sys.base_prefix, "/usr/local")
            file.write_text(text, encoding="utf-8")

    def _packages(self) -> None:
        site = self.library / "site-packages"
        site.mkdir()
        (self.library / "dist-packages").symlink_to("site-packages")  # Debian's Python looks there
        for distribution in _distributions():
            self.job.check()
            for file in distribution.files or ():
                parts = set(file.parts)
                if ".." in parts or parts & _PACKAGE_LEFT_OUT or file.is_absolute():
                    continue
                source = Path(str(distribution.locate_file(file)))
                if source.is_file():
                    self._copy(source, site.joinpath(*file.parts))
                    if ".so" in file.name:
                        self.binaries.append(source)

    def _libraries(self) -> None:
        libraries, loader = needed_libraries(self.binaries)
        libc = libraries["libc.so.6"]
        # The loader looks into libc's own folder by itself, so that no cache is needed.
        folder = self.root / "usr" / libc.parent.resolve().relative_to("/usr")
        for name in _GLIBC_PARTS:
            if (libc.parent / name).is_file():
                libraries.setdefault(name, libc.parent / name)
        site = {Path(str(d.locate_file(""))).resolve() for d in _distributions()}
        for name, path in libraries.items():
            real = path.resolve()
            if any(real.is_relative_to(s) for s in site):
                continue  # copied with its package, found relative to it
            self._copy(real, folder / name)
        self._copy(loader.resolve(), self.root / "usr" / loader.relative_to("/"))

    def _compile(self) -> None:
        command = [sys.executable, "-I", "-m", "compileall", "-q", "-j", "2"]
        command += ["-s", str(self.root), "-p", "/", str(self.library)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        forget = self.job.on_cancel(process.kill)
        try:
            process.wait()  # a module that does not compile is compiled never, and no trouble
        finally:
            forget()
            process.kill()
            process.wait()
        self.job.check()

    def _modes(self) -> None:
        """Readable by everyone and writable by its owner, whatever the umask was."""
        for folder, names, leaves in os.walk(self.root):
            for name in names + leaves:
                path = Path(folder) / name
                mode = path.lstat().st_mode
                if stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and mode & 0o100):
                    path.chmod(0o755)
                elif stat.S_ISREG(mode):
                    path.chmod(0o644)
        self.root.chmod(0o755)

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(source, target)


def _use_lock(folder: Path) -> Path:
    return folder.parent / f"{folder.name}.lock"


def _tidy(place: Path, keep: str | None) -> int:
    """Remove half-made roots and those of other versions that no sandbox stands on."""
    removed = 0
    for folder in place.iterdir():
        made_here = folder.suffix == ".part" or _KEY.fullmatch(folder.name)
        if not made_here or not folder.is_dir() or folder.name == keep:
            continue
        if folder.suffix == ".part":
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
            continue
        with _use_lock(folder).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        _use_lock(folder).unlink(missing_ok=True)
    return removed


def remove_half_made(home: Home) -> int:
    """Remove what a killed program left while it made a root; how many folders."""
    if not home.sandbox.is_dir():
        return 0
    with FileLock(home.sandbox / "making.lock"):
        removed = 0
        for folder in home.sandbox.glob("*.part"):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        return removed
