from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine.base.errors import Cancelled, MissingPrerequisite, StorageFull
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.isolation import rootfs
from engine.isolation.elf import needed_libraries
from engine.isolation.rootfs import digest_of, remove_half_made, sandbox_root

pytestmark = pytest.mark.sandbox


def test_it_is_made_once_and_whole(sandbox_home: Home):
    root = sandbox_root(sandbox_home)
    assert root.manifest["packages"]["duckdb"]
    assert digest_of(root.path) == tuple(root.manifest[k] for k in ("digest", "files", "bytes"))
    before = root.path.stat().st_mtime_ns
    assert sandbox_root(sandbox_home).path.stat().st_mtime_ns == before


def test_it_holds_nothing_of_the_host(sandbox_home: Home):
    root = sandbox_root(sandbox_home).path
    assert {entry.name for entry in root.iterdir()} == {
        *("bin", "dev", "etc", "job", "lib", "lib64", "opt", "proc", "run", "sbin", "tmp", "usr")
    }
    assert {entry.name for entry in (root / "etc").iterdir()} == set(rootfs._ETC)
    private = [str(Path.home()) + "/", str(sandbox_home.root), sys.base_prefix + "/"]
    private = [p.encode() for p in private if not p.startswith(("/usr/", "/bin", "//"))]
    private += [sys.prefix.encode()]
    texts = (".py", ".pyc", ".txt", ".cfg", ".toml", ".json", "METADATA", "RECORD", "WHEEL")
    for file in root.rglob("*"):
        if file.is_file() and file.name.endswith(texts):
            content = file.read_bytes()
            assert not any(p in content for p in private), file


def test_everyone_can_read_and_nobody_gets_rights(sandbox_home: Home):
    root = sandbox_root(sandbox_home).path
    for path in [root, *root.rglob("*")]:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            # Nothing leads out of it.
            target = Path(os.path.normpath(path.parent / path.readlink()))
            assert target.is_relative_to(root)
            continue
        assert mode & 0o7777 in (0o755, 0o644), path
        assert stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def test_every_module_is_compiled(sandbox_home: Home):
    library = next((sandbox_root(sandbox_home).path / "usr/local").glob("lib*/python3.*"))
    tag = sys.implementation.cache_tag
    sources = {f for f in library.rglob("*.py") if "lib2to3" not in f.parts}
    compiled = {
        f.parent.parent / f"{f.name.split('.')[0]}.py" for f in library.rglob(f"*.{tag}.pyc")
    }
    assert len(sources - compiled) <= len(sources) // 100  # some are not meant to compile


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots with next to nothing in them are made quickly."""
    monkeypatch.setattr(rootfs, "PACKAGES", ())
    monkeypatch.setattr(rootfs, "_STDLIB_LEFT_OUT", ("[a-z]*", "__pycache__"))


@pytest.mark.usefixtures("small")
def test_other_versions_make_another_and_tidy_up(tmp_path: Path, monkeypatch):
    home = open_home(tmp_path / "home")
    first = sandbox_root(home)
    monkeypatch.setattr(rootfs, "FORMAT", 1000)
    with first.in_use():
        second = sandbox_root(home)
        assert second.path != first.path
        assert first.path.is_dir()  # a sandbox stands on it
    monkeypatch.setattr(rootfs, "FORMAT", 1001)
    third = sandbox_root(home)
    assert not first.path.exists()
    assert not second.path.exists()
    assert third.path.is_dir()
    # One without a manifest is not trusted: made again.
    (third.path.parent / "manifest.json").unlink()
    (third.path / "usr/bin/cat").unlink()
    assert (sandbox_root(home).path / "usr/bin/cat").is_file()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("quarter", ["tools", "shared libraries", "compiling"])
def test_cancel_leaves_nothing(tmp_path: Path, quarter: str):
    home = open_home(tmp_path / "home")
    job = SimpleJob()
    job.on_progress = lambda stage, done, total, text: job.cancel() if quarter in text else None
    with pytest.raises(Cancelled):
        sandbox_root(home, job)
    assert [entry.name for entry in home.sandbox.iterdir() if entry.is_dir()] == []


def test_half_made_ones_are_removed(tmp_path: Path):
    home = open_home(tmp_path / "home")
    assert remove_half_made(home) == 0
    (home.sandbox / "abc.xyz.part" / "root").mkdir(parents=True)
    assert remove_half_made(home) == 1
    assert not list(home.sandbox.glob("*.part"))


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(rootfs, "PACKAGES", ("duckdb", "no-such-package"))
    with pytest.raises(MissingPrerequisite, match="no-such-package"):
        sandbox_root(open_home(tmp_path / "home"))


def test_libraries_of_what_is_no_program(tmp_path: Path):
    (tmp_path / "text").write_text("no program")
    with pytest.raises(MissingPrerequisite, match="glibc"):
        needed_libraries([tmp_path / "text"])
    libraries, loader = needed_libraries([Path(sys.executable).resolve(), tmp_path / "text"])
    assert libraries["libc.so.6"].is_file()
    assert loader.is_file()


def test_a_full_disk_is_said(small_disk: Path):
    with pytest.raises(StorageFull, match="no room left"):
        sandbox_root(open_home(small_disk / "home"))
    assert not [entry for entry in (small_disk / "home/sandbox").iterdir() if entry.is_dir()]


IMPORTS = (
    "import ssl, sqlite3, lzma, bz2, ctypes, zoneinfo as z, duckdb, pandas, numpy;"
    "print(z.ZoneInfo('UTC'))"
)


def test_it_is_complete_by_itself(sandbox_home: Home):
    """As a base for a container image it needs nothing of the machine."""
    root = str(sandbox_root(sandbox_home).path)
    place = ["--ro-bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--clearenv"]
    done = subprocess.run(
        ["bwrap", *place, "--", "/usr/local/bin/python3", "-c", IMPORTS],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "UTC"), done.stderr
