"""Taking over what a hostile program left in its folder."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest
from absence import absent
from hypothesis import given
from hypothesis import strategies as st

from engine.runs import hostile
from engine.runs.collect import MAX_NAME, Bounds, collect, free_name

SECRET = "not for you"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "work"
    folder.mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(SECRET)
    return folder


def take(work: Path, *leave: str, bounds: Bounds | None = None):
    return collect(
        work, work.parent, artefacts=("output.csv",), leave=frozenset(leave), bounds=bounds
    )


def test_an_ordinary_output_and_the_agents_files_are_kept(work: Path):
    (work / "output.csv").write_text("a\n1\n")
    (work / "notes").mkdir()
    (work / "notes" / "plan.md").write_text("first")
    (work / "database.duckdb").write_text("given")
    (work / ".skills").mkdir()
    (work / ".skills" / "x").write_text("given")
    got = take(work, "database.duckdb", ".skills/")
    assert got.artefacts == {"output.csv": work.parent / "output.csv"}
    assert (work.parent / "output.csv").read_text() == "a\n1\n"
    assert [p.name for p in (work.parent / "agent").iterdir()] == ["notes__plan.md"]
    assert (got.files, got.left_out, got.refused) == (1, 0, {})


def _symlink(path: Path) -> None:
    path.symlink_to(path.parents[2] / "secret.txt")


def _dangling(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def _hard_link(path: Path) -> None:
    path.hardlink_to(path.parents[2] / "secret.txt")


def _socket(path: Path) -> None:
    # A socket's path may be short only; the folder of a test is not.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


REPLACEMENTS = {
    "a symbolic link": _symlink,
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a file with more than one name (hard link)": _hard_link,
    "a socket": _socket,
}


@pytest.mark.parametrize("what", [*REPLACEMENTS, "a dangling link"])
def test_anything_in_place_of_the_output_is_refused(work: Path, what: str):
    make = _dangling if what == "a dangling link" else REPLACEMENTS[what]
    make(work / "output.csv")
    got = take(work)
    words = "a symbolic link" if what == "a dangling link" else what
    assert got.artefacts == {}
    assert got.refused == {"output.csv": f"output.csv is {words}; only an ordinary file is taken."}
    assert not (work.parent / "output.csv").exists()
    assert SECRET not in "".join(
        p.read_text() for p in (work.parent / "agent").rglob("*") if p.is_file()
    )


@pytest.mark.parametrize("make", [_symlink, os.mkfifo, _hard_link], ids=["link", "fifo", "hard"])
def test_such_things_beside_the_output_are_left_out(work: Path, make):
    make(work / "more")
    got = take(work)
    assert (got.files, got.left_out) == (0, 1)


def test_a_link_to_a_folder_is_not_entered(work: Path):
    outside = work.parents[1] / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text(SECRET)
    (work / "inside").symlink_to(outside)
    got = take(work)
    assert (got.files, got.left_out) == (0, 1)


def test_no_output_is_no_refusal(work: Path):
    got = take(work)
    assert (got.artefacts, got.refused) == ({}, {})


def test_an_old_copy_does_not_stand_in_for_a_missing_output(work: Path):
    (work.parent / "output.csv").write_text("from before")
    assert take(work).artefacts == {}
    assert not (work.parent / "output.csv").exists()


def test_sizes_are_bounded(work: Path):
    (work / "output.csv").write_bytes(bytes(3 << 20))
    for number in range(5):
        (work / f"f{number}").write_bytes(bytes(100))
    (work / "large").write_bytes(bytes(1001))
    bounds = Bounds(artefact_bytes=2 << 20, files=4, file_bytes=1000, total_bytes=350)
    got = take(work, bounds=bounds)
    assert got.refused == {
        "output.csv": "output.csv is larger than 2 MiB; only an ordinary file is taken."
    }
    assert not (work.parent / "output.csv").exists()
    assert (got.files, got.left_out) == (3, 3)


def unread(open_file):
    """`hostile.open_file`, giving a file whose content must not be read."""

    class Unread:
        def __init__(self, file) -> None:
            self.fileno = file.fileno

    @contextlib.contextmanager
    def opened(top: int, name: str):
        with open_file(top, name) as file:
            yield Unread(file)

    return opened


def test_a_terabyte_of_holes_is_refused_unread(work: Path, monkeypatch: pytest.MonkeyPatch):
    with (work / "output.csv").open("wb") as file:
        try:
            file.truncate(1 << 40)
        except OSError:  # a file system with a lower limit for one file
            file.truncate(8 << 30)
    monkeypatch.setattr(hostile, "open_file", unread(hostile.open_file))
    got = take(work)
    assert "larger than 2048 MiB" in got.refused["output.csv"]
    assert [p.name for p in work.parent.iterdir() if "output" in p.name] == []


def test_a_device_in_place_of_the_output_is_not_opened(work: Path):
    if os.geteuid() != 0:
        absent("root (to make a device)")
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        os.mknod(work / "output.csv", kind | 0o666, os.makedev(1, 5))  # /dev/zero has no end
        assert "a device" in take(work).refused["output.csv"]
        (work / "output.csv").unlink()


def test_ten_thousand_tiny_files_are_bounded(work: Path):
    for number in range(10_000):
        (work / f"{number}").touch()
    (work / "output.csv").write_text("a\n1\n")
    got = take(work)
    assert "output.csv" in got.artefacts
    assert got.files <= Bounds().files


def test_files_without_permissions_are_read_all_the_same(work: Path):
    folder = work / "shut"
    folder.mkdir()
    (folder / "a").write_text("x")
    (folder / "a").chmod(0)
    folder.chmod(0)
    (work / "output.csv").write_text("y")
    (work / "output.csv").chmod(0)
    got = take(work)
    assert (got.files, list(got.artefacts)) == (1, ["output.csv"])


def test_a_maze_of_folders_ends(work: Path):
    deep = work
    for _ in range(hostile.MAX_DEPTH + 5):
        deep = deep / "d"
        deep.mkdir()
    (work / "a").write_text("x")
    got = take(work)
    assert got.files == 1
    assert got.left_out == 1
    with pytest.raises(hostile.TooMany):
        list(hostile.walk(work))


def test_too_many_files_are_said(work: Path):
    for number in range(12):
        (work / str(number)).touch()
    with pytest.raises(hostile.TooMany):
        list(hostile.walk(work, max_entries=10))


def test_the_walk_gives_every_file_once(work: Path):
    (work / "b").mkdir()
    for name in ("c", "b/x", "a"):
        (work / name).write_text(name)
    found = {}
    for entry in hostile.walk(work):
        with entry.open() as file:
            found[entry.name] = file.read().decode()
    assert found == {"a": "a", "b/x": "b/x", "c": "c"}


def test_remove_deletes_what_a_program_shut_and_follows_no_link(work: Path):
    outside = work.parents[1] / "outside"
    outside.mkdir()
    (outside / "keep").write_text("kept")
    outside.chmod(0o755)
    shut = work / "shut"
    shut.mkdir()
    (shut / "a").write_text("x")
    (shut / "link").symlink_to(outside)
    (work / "link").symlink_to(outside / "keep")
    shut.chmod(0)
    hostile.remove(work)
    assert not work.exists()
    assert (outside / "keep").read_text() == "kept"


def test_remove_deletes_a_folder_of_any_depth(work: Path):
    """Deeper than any path may be long, and than a recursion may go."""
    name = "d" * 50
    handle = os.open(work, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    (work / ".removing-0").mkdir()
    hostile.remove(work)
    assert not work.exists()


@given(st.lists(st.text(min_size=1, max_size=300), max_size=20))
def test_kept_names_are_harmless_and_distinct(names: list[str]):
    used: set[str] = set()
    results = [free_name(name, used) for name in names]
    assert len({name.casefold() for name in results}) == len(names)
    for name in results:
        assert name == Path(name).name
        assert not name.startswith(".")
        assert name.isascii()
        assert name.isprintable()
        assert len(name) <= MAX_NAME + 10
