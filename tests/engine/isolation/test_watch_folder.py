from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.isolation.folders import remove_tree
from engine.isolation.watch import DEEPEST, FolderUsage, folder_usage


def look(folder: Path, most_files: int = 10_000) -> FolderUsage:
    handle = os.open(folder, os.O_RDONLY)
    try:
        return folder_usage(handle, most_files=most_files)
    finally:
        os.close(handle)


def naive(folder: Path) -> FolderUsage:
    entries = list(folder.rglob("*"))
    inodes = {p.lstat().st_ino: p.lstat().st_blocks * 512 for p in entries}
    return FolderUsage(sum(inodes.values()), len(entries))


names = st.text("abcde", min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(files=st.dictionaries(st.tuples(names, names, names), st.integers(0, 200_000), max_size=12))
def test_usage_is_the_sum_of_what_is_there(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("usage")
    for (*parents, name), size in files.items():
        place = folder.joinpath(*(f"d{p}" for p in parents))
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(os.urandom(size))
    assert look(folder) == naive(folder)


def test_links_count_once_and_symlinks_are_not_followed(tmp_path: Path):
    folder = tmp_path / "job"
    folder.mkdir()
    big = tmp_path / "big"
    big.mkdir()
    (big / "data").write_bytes(bytes(1 << 20))
    (folder / "link").symlink_to(big)
    (folder / "own").write_bytes(os.urandom(100_000))
    os.link(folder / "own", folder / "again")
    usage = look(folder)
    assert usage == naive(folder)
    assert usage.bytes < 1 << 20


def test_counting_stops_at_the_bound(tmp_path: Path):
    for number in range(50):
        (tmp_path / str(number)).touch()
    assert look(tmp_path, most_files=20).files == 21


def test_folders_that_are_too_deep_count_as_too_many(tmp_path: Path):
    folder = tmp_path / "job"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(3000):  # deeper than a path can be, and than Python can recurse
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert DEEPEST < 3000
    assert look(folder).files == 10_001
    remove_tree(folder)
    assert not folder.exists()


def test_remove_tree_removes_what_has_no_permissions(tmp_path: Path):
    folder = tmp_path / "job"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed").chmod(0)
    remove_tree(folder)
    assert not folder.exists()
    remove_tree(folder)  # nothing there: nothing to do
