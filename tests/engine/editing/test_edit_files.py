"""Bytes stay what they were; saving is whole, careful and in words; a folder of one's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.content import content_folder, use_content
from engine.base.errors import BadInput, MissingPrerequisite, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.catalogue.task import list_tasks
from engine.editing import place
from engine.editing.outline import outline, section
from engine.editing.place import choose_content, content_place, use_shipped
from engine.editing.saving import save, write_anew
from engine.editing.textfile import changed_span, decode, encode, read_text

X = Path("x.md")
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
PIECES = st.text(alphabet="ab |é😀\0\u2028\u2029\ufdd0\x0b\x85", max_size=5)


@given(st.lists(st.tuples(PIECES, ENDS), max_size=8), PIECES, st.booleans())
def test_an_unchanged_text_has_its_bytes(
    lines: list[tuple[str, str]], last: str, mark: bool
) -> None:
    whole = "".join(text + end for text, end in lines) + last
    data = (b"\xef\xbb\xbf" if mark else b"") + whole.encode()
    file = decode(data, X)
    assert encode(file.text, file, X) == data
    assert not set(file.text) & set("\r\0\u2028\u2029\ufdd0")


@given(st.lists(st.tuples(PIECES, ENDS), min_size=1, max_size=8), st.data())
def test_a_new_line_leaves_the_others(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    raw = "".join(text + end for text, end in lines)
    file = decode(raw.encode(), X)
    rows = file.text.split("\n")
    at = data.draw(st.integers(0, len(rows) - 1))
    rows.insert(at, "a line that is new")
    again = encode("\n".join(rows), file, X).decode()
    before, _, after = again.partition("a line that is new")
    assert raw.startswith(before)
    assert after[1:].removeprefix("\n") in raw


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_changed_span_is_what_changed(before: str, after: str) -> None:
    at, removed, added = changed_span(before, after)
    assert before[at : at + len(removed)] == removed
    assert before[:at] + added + before[at + len(removed) :] == after
    if removed and added:
        assert removed[0] != added[0]
        assert removed[-1] != added[-1]


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"fine\n\xff\xfe")
    with pytest.raises(BadInput, match="UTF-8") as caught:
        read_text(path)
    assert caught.value.place is not None
    assert caught.value.place.line == 2
    with pytest.raises(BadInput, match="not there"):
        read_text(tmp_path / "none.md")
    with pytest.raises(BadInput, match="two"):
        encode("half \ud83d", decode(b"", X), X)


def test_saving_keeps_mode_link_and_ends(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_bytes(b"a\r\nb\r\n")
    real.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(real)
    file = read_text(link)
    saved = save(link, "a\nnew\nb\n", file)
    assert saved.file is not None
    assert real.read_bytes() == b"a\r\nnew\r\nb\r\n" == saved.file.data
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.md", "real.md"]


def test_a_change_from_outside_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("a\n")
    file = read_text(path)
    path.write_text("theirs\n")
    saved = save(path, "mine\n", file)
    assert saved.outside
    assert saved.file is not None
    assert saved.file.text == "theirs\n"
    assert path.read_text() == "theirs\n"
    path.unlink()
    gone = save(path, "mine\n", file)
    assert gone.outside
    assert gone.file is None
    assert not path.exists()
    assert write_anew(path, "mine\n", file).text == "mine\n"
    with pytest.raises(BadInput, match="again"):
        write_anew(path, "mine\n", file)


def test_a_change_in_the_last_moment_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.md"
    path.write_text("a\n")
    file = read_text(path)
    fchmod = os.fchmod

    def meanwhile(handle: int, mode: int) -> None:
        fchmod(handle, mode)
        path.write_text("theirs\n")

    monkeypatch.setattr(os, "fchmod", meanwhile)
    assert save(path, "mine\n", file).outside
    assert path.read_text() == "theirs\n"
    assert [p.name for p in tmp_path.iterdir()] == ["x.md"]


def test_a_read_only_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("a\n")
    path.chmod(0o444)
    with pytest.raises(MissingPrerequisite, match="write-protected") as caught:
        save(path, "b\n", read_text(path))
    assert caught.value.todo
    assert path.read_text() == "a\n"


def test_a_full_disk_is_said_and_the_file_stays(small_disk: Path) -> None:
    path = small_disk / "x.md"
    path.write_text("a\n")
    file = read_text(path)
    with pytest.raises(StorageFull):
        save(path, "b" * 400_000, file)
    assert path.read_text() == "a\n"
    assert [p.name for p in small_disk.iterdir()] == ["x.md"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    yield open_home(tmp_path / "home")
    use_content(None)


def test_a_copy_of_ones_own_is_used_from_then_on(home: Home, tmp_path: Path) -> None:
    assert not content_place(home).own
    names = [task.name for task in list_tasks()]
    mine = tmp_path / "mine"
    found = choose_content(home, mine, SimpleJob())
    assert found.own
    assert found.editable
    assert content_folder("tasks") == mine / "tasks"
    assert [task.name for task in list_tasks()] == names
    assert all(f.is_relative_to(mine) for task in list_tasks() for f in task.skill_folders)
    use_content(None)
    open_home(home.root)  # the next start
    assert content_folder("skills") == mine / "skills"
    use_shipped(home)
    assert content_folder("tasks") != mine / "tasks"
    assert (mine / "tasks").is_dir()


def test_a_folder_with_other_things_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_text("x")
    with pytest.raises(UsageError, match="other things"):
        choose_content(home, tmp_path / "other", SimpleJob())
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["thesis.doc"]


def test_a_full_disk_leaves_no_half_copy(home: Home, small_disk: Path) -> None:
    with pytest.raises(StorageFull):
        choose_content(home, small_disk / "mine", SimpleJob())
    assert list(small_disk.iterdir()) == []
    assert not content_place(home).own


def test_a_chosen_folder_that_is_gone_is_said(home: Home, tmp_path: Path) -> None:
    choose_content(home, tmp_path / "mine", SimpleJob())
    subprocess.run(["mv", str(tmp_path / "mine"), str(tmp_path / "away")], check=True)
    found = content_place(open_home(home.root))
    assert not found.own
    assert "not there" in found.problem


def test_installed_texts_are_only_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "is_installed", lambda: True)
    assert not content_place(home).editable


def test_the_outline_knows_headings_only() -> None:
    text = (
        "---\n# no\n---\n# One #\ntext\n```\n# no\n```\n## Two\n#no\n~~~~\n~~~\n# no\n~~~~\n### 3"
    )
    assert [(h.line, h.level, h.text) for h in outline(text)] == [
        (4, 1, "One"), (9, 2, "Two"), (15, 3, "3"),
    ]  # fmt: skip
    assert section(text, 6)[0] == 4
    assert section(text, 15) == (9, "\n".join(text.split("\n")[8:]))
