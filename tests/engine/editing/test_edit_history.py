"""Undo across sessions: the journal gives back what was typed, also after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import Busy, StorageFull
from engine.base.paths import Home
from engine.editing import journal as journal_module
from engine.editing.history import History, whole_change
from engine.editing.journal import _line, replay
from engine.editing.opening import Opened, open_text, take_in

ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("type"), st.integers(0, 40), st.integers(0, 4), st.text(max_size=4)),
        st.tuples(st.just("undo")),
        st.tuples(st.just("redo")),
        st.tuples(st.just("save")),
        st.tuples(st.just("try")),
        st.tuples(st.just("keep")),
        st.tuples(st.just("outside"), st.text(max_size=8)),
    ),
    max_size=25,
)


def act(history: History, what: tuple[object, ...]) -> list[list[object]]:
    """One thing that a person does; the records of it."""
    match what:
        case ("type", int(at), int(count), str(added)):
            at = min(at, len(history.text))
            removed = history.text[at : at + count]
            if removed or added:
                return [history.record(at, removed, added, history.next_step() - at % 2)]
        case ("undo",):
            history.undo()
            return [history.moved()]
        case ("redo",):
            history.redo()
            return [history.moved()]
        case ("save",):
            return [history.mark_saved()]
        case ("try",):
            return [history.mark_tried()]
        case ("keep",):
            return [history.mark_kept()]
        case ("outside", str(text)):
            return [history.rebase(text, "outside")]
    return []


@given(st.text(max_size=20), ACTS)
def test_replay_gives_what_was_there(text: str, acts: list[tuple[object, ...]]) -> None:
    history = History.begin(text)
    data = b"".join(_line(record) for record in history.records())
    for each in acts:
        data += b"".join(_line(record) for record in act(history, each))
    again, good = replay(data)
    assert good == len(data)
    assert again == history


@given(st.text(max_size=20), ACTS, st.data())
def test_a_cut_tail_gives_an_earlier_state(
    text: str, acts: list[tuple[object, ...]], data: st.DataObject
) -> None:
    history = History.begin(text)
    kept = b"".join(_line(record) for record in history.records())
    states = [(len(kept), history.text, history.saved)]
    for each in acts:
        for record in act(history, each):
            kept += _line(record)
        states.append((len(kept), history.text, history.saved))
    cut = data.draw(st.integers(states[0][0], len(kept)))
    broken = kept[:cut] + data.draw(st.binary(max_size=8)).replace(b"\n", b"")
    again, good = replay(broken)
    assert again is not None
    assert good <= cut
    expected = [state for state in states if state[0] <= good][-1]
    assert (again.text, again.saved) == expected[1:]


@given(st.text(max_size=20), ACTS)
def test_undo_leads_back_and_redo_forth(text: str, acts: list[tuple[object, ...]]) -> None:
    history = History.begin(text)
    for each in acts:
        act(history, each)
    while history.can_redo:
        history.redo()
    end = history.text
    while history.can_undo:
        history.undo()
    assert history.text == history.base
    while history.can_redo:
        history.redo()
    assert history.text == end


@given(st.text(max_size=20), ACTS, st.integers(0, 30))
def test_shortening_keeps_text_and_disk(
    text: str, acts: list[tuple[object, ...]], most: int
) -> None:
    history = History.begin(text)
    for each in acts:
        act(history, each)
    now, saved = history.text, history.saved
    history.shorten(most)
    assert (history.text, history.saved) == (now, saved)
    assert sum(edit.size for edit in history.edits) <= most
    while history.can_undo:
        history.undo()
    assert history.text == history.base


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "SKILL.md"
    path.write_text("one\ntwo\nthree\n")
    return path


def typed(opened: Opened, added: str, at: int = 0) -> None:
    opened.journal.append([opened.history.record(at, "", added, opened.history.next_step())])


def test_what_was_typed_is_brought_back(home: Home, path: Path) -> None:
    first = open_text(home, path)
    typed(first, "new ")
    first.close()  # as after a kill: nothing was saved
    again = open_text(home, path)
    assert again.history.text == "new one\ntwo\nthree\n"
    assert again.history.dirty
    assert "brought back" in again.note
    again.history.undo()
    assert again.history.text == path.read_text()
    again.close()


def test_a_torn_line_does_not_hide_what_comes_after(home: Home, path: Path) -> None:
    first = open_text(home, path)
    typed(first, "a")
    first.close()
    with first.journal.path.open("ab") as file:
        file.write(b'00000000 ["edit",0,"')
    second = open_text(home, path)
    typed(second, "b")
    second.close()
    third = open_text(home, path)
    assert third.history.text.startswith("baone")
    third.close()


def test_a_damaged_journal_leaves_the_text(home: Home, path: Path) -> None:
    first = open_text(home, path)
    first.close()
    first.journal.path.write_bytes(b"\0\xffnonsense\n" * 3)
    again = open_text(home, path)
    assert again.history.text == path.read_text()
    assert not again.history.can_undo
    again.close()


def test_outside_changes_end_the_old_history_and_say_so(home: Home, path: Path) -> None:
    first = open_text(home, path)
    typed(first, "x")
    path.write_text(first.history.text)
    first.journal.append([first.history.mark_saved()])
    first.close()
    path.write_text("somebody else's\n")
    again = open_text(home, path)
    assert again.history.text == "somebody else's\n"
    assert not again.history.can_undo
    assert "outside" in again.history.why
    assert "outside" in again.note
    again.close()


def test_outside_changes_are_merged_with_what_was_typed(home: Home, path: Path) -> None:
    first = open_text(home, path)
    typed(first, "my ")
    first.close()
    path.write_text("one\ntwo\nTHREE\n")
    again = open_text(home, path)
    assert again.history.text == "my one\ntwo\nTHREE\n"
    assert again.pending is None
    again.history.undo()
    assert again.history.text == path.read_text()  # undoing never takes theirs away
    again.close()


def test_a_conflict_waits_and_loses_nothing(home: Home, path: Path) -> None:
    first = open_text(home, path)
    typed(first, "my ")
    first.close()
    path.write_text("their one\ntwo\nthree\n")
    for _ in range(2):  # also when it is closed undecided
        again = open_text(home, path)
        assert again.pending is not None
        assert again.history.text == "my one\ntwo\nthree\n"
        again.close()


def test_one_program_at_a_time(home: Home, path: Path) -> None:
    first = open_text(home, path)
    with pytest.raises(Busy, match="another window"):
        open_text(home, path)
    first.close()
    open_text(home, path).close()


def test_the_journal_is_bounded(home: Home, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "LARGE", 4_000)
    monkeypatch.setattr(journal_module, "KEPT", 500)
    opened = open_text(home, path)
    for number in range(200):
        typed(opened, f"{number:010}")
        if opened.journal.large:
            opened.journal.rewrite(opened.history)
    opened.close()
    assert opened.journal.path.stat().st_size < 4_000 + 2_500
    again = open_text(home, path)
    assert again.history.text == opened.history.text
    assert "bound" in again.history.why
    again.close()


def test_a_full_disk_keeps_the_journal_readable(small_disk: Path, path: Path) -> None:
    home = Home(small_disk)
    opened = open_text(home, path)
    typed(opened, "kept ")
    with pytest.raises(StorageFull):
        typed(opened, "x" * 400_000)
    opened.history.undo()
    opened.journal.append([["edit", 0, "", "after ", 99]])
    opened.close()
    again = open_text(home, path)
    assert again.history.text.startswith("after kept one")
    again.close()


def test_the_same_text_on_disk_is_no_change() -> None:
    history = History.begin("a")
    whole_change(history, "b")
    assert take_in(history, "b") == ("", None)
    assert not history.dirty
    assert history.can_undo
