"""The editor in the real window: typing, saving, finding, tables, merging, trouble."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from app_window import settle, until, wait
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest

from engine.base.content import shipped_folder, use_content
from engine.base.errors import StorageFull
from engine.base.files import write_json
from engine.base.paths import open_home
from engine.workbench import TextFinding
from m4review.app.links import Place, parse
from m4review.app.window import MainWindow
from m4review.editor import viewmodel
from m4review.editor.find import Wanted, places, replaced
from m4review.editor.loading import State
from m4review.editor.view import EditorScreen

pytestmark = pytest.mark.gui
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALONE = "mimic-meld-24h-raw"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One path for all tests: the lint remembers what it read of a task by its path."""
    return tmp_path_factory.mktemp("own") / "texts"


@pytest.fixture
def texts(place: Path) -> Iterator[Path]:
    """A folder of one's own with two families of tasks, fresh."""
    folder = place
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("sofa", "meld"):
        shutil.copytree(shipped_folder("tasks") / name, folder / "tasks" / name)
        shutil.copytree(shipped_folder("skills") / name, folder / "skills" / name)
    yield folder
    use_content(None)


@pytest.fixture
def home(tmp_path: Path, texts: Path) -> Path:
    """A home that reads them."""
    home = open_home(tmp_path / "home")
    write_json(home.content, {"root": str(texts)})
    return home.root


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save at once: what is waited for is the save, not the two seconds before it."""
    monkeypatch.setattr(viewmodel, "SAVE", 60)
    monkeypatch.setattr(viewmodel, "KEEP", 5)
    monkeypatch.setattr(viewmodel, "LINT", 5)


def editor(
    window: MainWindow, text: str = "instruction", task: str = "mimic-sofa-24h"
) -> EditorScreen:
    window.go(Place("edit", task, text=text))
    screen = cast("EditorScreen", window.screens["edit"])
    until(window, lambda: screen.model.state not in (State.OPENING, State.CLOSED), 60)
    return screen


def saved(window: MainWindow, screen: EditorScreen) -> None:
    until(window, lambda: screen.model.state is State.SAVED and screen.model.kept, 60)


def path_of(screen: EditorScreen) -> Path:
    assert screen.model.path is not None
    return screen.model.path


def test_a_text_is_opened_by_key_and_by_name(
    open_window: Callable[..., MainWindow], home: Path
) -> None:
    window = open_window(home)
    window.go(Place("task", "mimic-sofa-24h"))
    settle(window)
    QTest.keyClick(window, Qt.Key.Key_F2)
    screen = cast("EditorScreen", window.screen_shown)
    until(window, lambda: screen.model.state is State.SAVED)
    assert screen.pane.toPlainText().startswith(path_of(screen).read_text()[:40])
    for name, title in (
        ("text.skill", "Skill: sofa"), ("text.task", "task.toml"),
        ("text.operational-spec", "Operational spec"), ("text.reference-notes", "Reference notes"),
        ("text.provenance", "Provenance"), ("text.instruction", "Instruction"),
    ):  # fmt: skip
        if name == "text.instruction":
            QTest.keyClick(window, Qt.Key.Key_F2)  # also from another text of the task
        else:
            window.actions_of.trigger(name)
        until(window, lambda title=title: screen.title == title)
        assert screen.pane.toPlainText() == path_of(screen).read_text(encoding="utf-8")
    assert screen.chooser.count() == 6
    window.go_back()
    until(window, lambda: screen.title == "Provenance")


def test_an_address_leads_to_a_line() -> None:
    place = Place("edit", "mimic-sofa-24h", text="skill:sofa", line=12)
    assert place.link == "m4review://task/mimic-sofa-24h/edit/skill:sofa/line/12"
    assert parse(place.link) == place
    assert parse("m4review://task/x/edit/task.toml") == Place("edit", "x", text="task.toml")


def test_typing_is_saved_and_undone_in_the_next_session(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    before = path_of(screen).read_bytes()
    QTest.keyClicks(screen.pane, "Some words ")
    assert screen.model.state is State.CHANGED
    saved(window, screen)
    path = path_of(screen)
    assert path.read_bytes() == b"Some words " + before
    assert screen.state.text() == "Saved"
    window.close()
    window = open_window(home)
    screen = editor(window)
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    assert screen.pane.toPlainText().startswith("Some ")
    assert not screen.pane.toPlainText().startswith("Some words ")
    while screen.model.typing.history.can_undo:
        QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    saved(window, screen)
    assert path.read_bytes() == before
    QTest.keyClick(screen.pane, Qt.Key.Key_Y, CTRL)
    saved(window, screen)
    assert path.read_bytes() != before


def test_line_ends_and_odd_letters_are_kept(
    open_window: Callable[..., MainWindow], home: Path, texts: Path, quick: None
) -> None:
    path = texts / "tasks/sofa/reference-notes.md"
    path.write_bytes("\ufeffa\u00a0b\r\nc \U0001f600 d\ne\u2028f".encode())
    window = open_window(home)
    screen = editor(window, "reference-notes")
    screen.pane.go_to(2, 5)
    QTest.keyClicks(screen.pane, "X")
    saved(window, screen)
    assert path.read_bytes() == "\ufeffa\u00a0b\r\nc \U0001f600 Xd\ne\u2028f".encode()
    QTest.keyClick(screen.pane, Qt.Key.Key_Return, SHIFT)
    saved(window, screen)
    assert path.read_bytes() == "\ufeffa\u00a0b\r\nc \U0001f600 X\nd\r\ne\u2028f".encode()


def test_lint_marks_and_jumps(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window, task=ALONE)
    screen.pane.go_to(3)
    with screen.model.typing.one_step():
        screen.pane.insertPlainText("SELECT x FROM mimiciv_icu.icustays\n")
    # What the list needs not, the text has: there is no hole below "nothing found".
    splitter = screen.findings.parentWidget()
    assert splitter is not None
    room = splitter.height() - screen.findings.height()
    assert screen.pane.height() > room - window.context.px(16)
    until(window, lambda: bool(screen.model.findings), 60)
    assert screen.findings.table.isVisible()
    assert screen.findings.height() >= window.context.px(100)
    screen.pane.go_to(1)
    QTest.keyClick(screen.pane, Qt.Key.Key_F8)
    assert screen.pane.line == 3
    assert screen.pane.textCursor().hasSelection()
    QTest.keyClick(screen.pane, Qt.Key.Key_F8, SHIFT)
    assert screen.pane.extraSelections()[1:]
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    until(window, lambda: not screen.model.findings, 60)
    assert "nothing found" in screen.findings.summary.text()
    assert screen.findings.height() <= window.context.px(24)
    assert screen.pane.height() > room - window.context.px(16)


def test_find_and_replace_are_one_step(open_window: Callable[..., MainWindow], home: Path) -> None:
    window = open_window(home)
    screen = editor(window)
    before = screen.pane.toPlainText()
    QTest.keyClick(screen.pane, Qt.Key.Key_H, CTRL)
    bar = screen.find_bar
    QTest.keyClicks(bar.wanted, "ICU")
    QTest.keyClick(bar.wanted, Qt.Key.Key_Tab)
    assert bar.by.hasFocus()
    bar.case.setFocus()
    QTest.keyClick(bar.case, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    assert screen.pane.hasFocus()
    QTest.keyClick(screen.pane, Qt.Key.Key_H, CTRL)
    count = before.lower().count("icu")
    assert bar.count.text() == f"{count} found"
    QTest.keyClick(bar.wanted, Qt.Key.Key_Return)
    assert bar.count.text() == f"1 of {count}"
    bar.pattern.setChecked(True)
    bar.wanted.setText("(I)(CU")
    assert "no pattern" in bar.count.text()
    bar.wanted.setText("(I)(CU)")
    bar.by.setText(r"\2-\1")
    bar.replace_all()
    assert "CU-I" in screen.pane.toPlainText()
    QTest.keyClick(bar.by, Qt.Key.Key_Escape)
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    assert screen.pane.toPlainText() == before


def test_what_is_found() -> None:
    text = "Mean meaning \U0001f600 MEAN\nmean."
    found = places(Wanted("mean", whole=True), text)
    assert [text.encode("utf-16-le")[b * 2 : e * 2].decode("utf-16-le") for b, e in found] == [
        "Mean", "MEAN", "mean",
    ]  # fmt: skip
    assert len(places(Wanted("mean", case=True), text)) == 2
    assert replaced(Wanted("^mean", pattern=True, case=True), text, "x\\n")[0].endswith("\nx\n.")
    assert replaced(Wanted("mean", whole=True), text, "\\1") == (
        "\\1 meaning \U0001f600 \\1\n\\1.", 3,
    )  # fmt: skip
    assert places(Wanted("(a+)+$", pattern=True), "a" * 40 + "!") == []


def test_tables_by_keys(open_window: Callable[..., MainWindow], home: Path) -> None:
    window = open_window(home)
    screen = editor(window, "reference-notes")
    pane = screen.pane
    pane.replace_text("x\n\n| a | b |\n|---|---|\n| 1 | 22 |\n")
    pane.go_to(3, 3)
    QTest.keyClick(pane, Qt.Key.Key_Tab)
    assert pane.textCursor().selectedText() == "b"
    QTest.keyClick(pane, Qt.Key.Key_Tab)
    assert pane.textCursor().selectedText() == "1"
    QTest.keyClick(pane, Qt.Key.Key_Tab, SHIFT)
    assert pane.textCursor().selectedText() == "b"
    QTest.keyClick(pane, Qt.Key.Key_Return)
    assert pane.textCursor().selectedText() == "22"
    QTest.keyClick(pane, Qt.Key.Key_Tab)
    QTest.keyClicks(pane, "3")
    assert pane.lines()[5] == "| 3 |  |"
    window.actions_of.trigger("table.align")
    assert pane.lines()[2:6] == [
        "| a   | b   |", "| --- | --- |", "| 1   | 22  |", "| 3   |     |",
    ]  # fmt: skip
    window.actions_of.trigger("table.row_up")
    assert pane.lines()[4].startswith("| 3")
    window.actions_of.trigger("table.column_on")
    assert pane.lines()[2].startswith("| b")
    window.actions_of.trigger("table.column_right")
    window.actions_of.trigger("table.column_delete")
    window.actions_of.trigger("table.row_delete")
    assert len(pane.lines()) == 6
    data = QMimeData()
    data.setText("7\t8\n9\t10\n")
    QGuiApplication.clipboard().setMimeData(data)
    pane.go_to(5, 3)
    pane.paste()
    assert [" ".join(line.split()) for line in pane.lines()[4:6]] == ["| 7 | 8 |", "| 9 | 10 |"]
    QTest.keyClick(pane, Qt.Key.Key_Z, CTRL)
    assert len(pane.lines()) == 6


def test_a_shared_skill_shows_whom_it_concerns_first(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window, "skill")
    path = path_of(screen)
    before = path.read_bytes()
    screen.pane.go_to(11)
    screen.pane.insertPlainText("Wait for 999 hours. ")
    until(window, lambda: screen.model.effects is not None, 120)
    assert screen.concern.isVisible()
    assert [user.task for user in screen.model.users] == ["mimic-sofa-24h", "mimic-sofa-24h-raw"]
    assert all(effect.appear for effect in screen.model.effects or ())
    assert path.read_bytes() == before
    assert screen.model.kept
    screen.concern.agree.click()
    saved(window, screen)
    assert b"999" in path.read_bytes()
    assert not screen.concern.isVisible()
    QTest.keyClicks(screen.pane, "more ")
    saved(window, screen)  # asked once


def test_where_the_effect_cannot_be_known_one_may_still_decide(
    open_window: Callable[..., MainWindow], home: Path, texts: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window, "skill")
    (home / "reviews").write_text("no folder")
    screen.pane.insertPlainText("x")
    until(window, lambda: screen.errors.error is not None, 120)
    assert screen.concern.agree.isEnabled()
    assert "not known" in screen.concern.title.text()
    screen.concern.agree.click()
    saved(window, screen)


def test_changes_outside_are_merged(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    path = path_of(screen)
    text = path.read_text()
    path.write_text(text + "theirs\n")
    until(window, lambda: screen.pane.toPlainText().endswith("theirs\n"))
    assert "outside" in screen.note.text.text()
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    assert screen.pane.toPlainText().endswith("theirs\n")
    # both at once
    screen.pane.go_to(1)
    QTest.keyClicks(screen.pane, "mine ")
    path.write_text(text + "other\n")
    until(window, lambda: path.read_text() == "mine " + text + "other\n")
    saved(window, screen)
    assert screen.pane.toPlainText() == path.read_text()


def test_a_conflict_is_decided_side_by_side(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    path = path_of(screen)
    text = path.read_text()
    QTest.keyClicks(screen.pane, "mine ")
    path.write_text("theirs " + text)
    until(window, lambda: screen.model.state is State.CONFLICT)
    assert screen.conflicts.isVisible()
    assert screen.pane.isReadOnly()
    assert not screen.conflicts.ready.isEnabled()
    assert path.read_text() == "theirs " + text
    screen.conflicts.choose_all(2)
    screen.conflicts.ready.click()
    saved(window, screen)
    first = text.split("\n")[0]
    assert path.read_text().startswith(f"mine {first}\ntheirs {first}\n")
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    assert screen.pane.toPlainText() == "theirs " + text


def test_a_deleted_file_is_written_again_when_wanted(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    path = path_of(screen)
    path.unlink()
    until(window, lambda: screen.model.state is State.GONE)
    assert not path.exists()
    screen.model.write_anew()
    saved(window, screen)
    assert path.read_text() == screen.pane.toPlainText()


def test_a_read_only_file_is_told_and_the_draft_kept(
    open_window: Callable[..., MainWindow], home: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    path = path_of(screen)
    before = path.read_text()
    path.chmod(0o444)
    QTest.keyClicks(screen.pane, "draft ")
    until(window, lambda: screen.model.state is State.FAILED)
    assert "write-protected" in screen.state.text()
    assert path.read_text() == before
    window.close()
    window = open_window(home)
    screen = editor(window)
    assert screen.pane.toPlainText() == "draft " + before
    assert "brought back" in screen.note.text.text()
    path.chmod(0o644)
    QTest.keyClick(screen.pane, Qt.Key.Key_S, CTRL)
    saved(window, screen)
    assert path.read_text() == "draft " + before


def test_a_full_disk_is_told_and_nothing_is_lost(
    open_window: Callable[..., MainWindow],
    home: Path,
    texts: Path,
    small_disk: Path,
    quick: None,
) -> None:
    notes = texts / "tasks/sofa/reference-notes.md"
    target = small_disk / "notes.md"
    shutil.copy(notes, target)
    notes.unlink()
    notes.symlink_to(target)
    window = open_window(home)
    screen = editor(window, "reference-notes")
    before = target.read_text()
    (small_disk / "filler").write_bytes(b"x" * (small_disk.stat().st_blksize * 55))
    screen.pane.insertPlainText("y" * 40_000)
    until(window, lambda: screen.model.state is State.FAILED and screen.model.kept)
    assert isinstance(screen.model.error, StorageFull)
    assert target.read_text() == before
    (small_disk / "filler").unlink()
    QTest.keyClick(screen.pane, Qt.Key.Key_S, CTRL)
    saved(window, screen)
    assert target.read_text() == "y" * 40_000 + before
    window.close()


def test_a_full_home_and_a_locked_file_offer_another_place(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path, quick: None
) -> None:
    window = open_window(home)
    screen = editor(window)
    path_of(screen).chmod(0o444)
    journal = screen.model._open.journal  # type: ignore[union-attr]
    journal.path.unlink()
    journal.path.mkdir()  # so that nothing can be written there
    QTest.keyClicks(screen.pane, "precious ")
    until(window, lambda: not screen.model.kept and screen.model.error is not None)
    window.context.interaction.answers = [tmp_path / "rescued.md"]
    window.close()
    assert (tmp_path / "rescued.md").read_text().startswith("precious ")


PROGRAM = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from app_window import wait
from engine.base.paths import open_home
from m4review.app.application import make_application
from m4review.app.links import Place
from m4review.app.interaction import Interaction
from m4review.app.start import make_window
from m4review.editor import viewmodel
from m4review.editor.loading import State

viewmodel.SAVE = 3_600_000  # nothing is saved: all there is, is the journal
app = make_application([])
window = make_window(open_home(sys.argv[1]), interaction=Interaction())
window.show()
window.go(Place("edit", "mimic-sofa-24h", text="instruction"))
screen = window.screens["edit"]
wait(lambda: screen.model.state is State.SAVED, 60)
for number in range(100000):
    QTest.keyClicks(screen.pane, f"{number} ")
    if number % 10 == 9:
        wait(lambda: screen.model.kept, 30)
        print(number, flush=True)
"""


def test_a_kill_in_the_middle_of_typing_loses_nothing_that_was_kept(
    open_window: Callable[..., MainWindow], home: Path, texts: Path
) -> None:
    path = texts / "tasks/sofa/mimic-sofa-24h/instruction.md"
    before = path.read_text()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    ) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(3)]
        os.kill(child.pid, signal.SIGKILL)
    assert path.read_text() == before
    window = open_window(home)
    screen = editor(window)
    shown = screen.pane.toPlainText()
    assert shown.endswith(before)
    typed = shown.removesuffix(before)
    assert typed.startswith("".join(f"{number} " for number in range(told[-1] + 1)))
    assert "brought back" in screen.note.text.text()
    until(window, lambda: path.read_text() == shown)


def test_form_preview_and_outline_follow(
    open_window: Callable[..., MainWindow], home: Path
) -> None:
    window = open_window(home)
    screen = editor(window, "skill", task=ALONE)
    until(window, lambda: screen.outline.count() > 3, 60)
    screen.outline.itemActivated.emit(screen.outline.item(2))
    heading = screen.outline.item(2).text().strip()
    assert screen.pane.textCursor().block().text().strip("# ") == heading
    until(window, lambda: heading in screen.preview.browser.toPlainText())
    screen.pane.moveCursor(QTextCursor.MoveOperation.End)
    screen.pane.insertPlainText("\n![x](https://example.org/x.png) <script>1</script> **bold end**")
    until(window, lambda: "bold end" in screen.preview.browser.toPlainText())
    assert screen.preview.browser.requested == []
    window.actions_of.trigger("editor.form")
    first = next(each for each in screen.form.widgets.values() if each.isEnabled())
    assert first.hasFocus()
    field = screen.form.widgets["category"]
    field.setCurrentText("system")  # type: ignore[attr-defined]
    screen.form._done("category")
    assert "\ncategory: system\n" in screen.pane.toPlainText()
    assert screen.form.widgets["tier"].isEnabled() is False
    QTest.keyClick(screen.pane, Qt.Key.Key_Z, CTRL)
    assert "\ncategory: clinical\n" in screen.pane.toPlainText()
    screen.model.typing.history.mark_saved()  # leave the shared skill alone


def test_what_changed_is_shown_beside(open_window: Callable[..., MainWindow], home: Path) -> None:
    window = open_window(home)
    screen = editor(window)
    screen.pane.go_to(1)
    screen.pane.insertPlainText("An altogether new beginning. ")
    window.actions_of.trigger("editor.compare")
    assert screen.side.currentWidget() is screen.compare
    until(window, lambda: "altogether" in screen.compare.page.toPlainText())
    screen.pane.insertPlainText("And more. ")
    until(window, lambda: "And more" in screen.compare.page.toPlainText())
    window.actions_of.trigger("editor.preview")
    assert screen.side.currentWidget() is screen.preview
    window.context.settings.set("editor.parts", {})


def test_two_thousand_findings_do_not_hold_the_window_up(
    open_window: Callable[..., MainWindow], home: Path
) -> None:
    window = open_window(home)
    screen = editor(window)
    many = tuple(
        TextFinding(1 + n, 1, 3, "warning", "rule", f"words {n}", "do") for n in range(2_000)
    )
    header = screen.findings.table.horizontalHeader()
    assert header.resizeContentsPrecision() == 0  # else every row is measured at every lint
    screen.model.findings = many
    screen._show_findings()
    assert screen.findings.model.rowCount() == 2_000
    assert len(screen.pane._underlines) < 300  # those near what is to be seen
    screen.model.findings = ()
    screen._show_findings()


def test_shipped_texts_are_copied_to_a_folder_of_ones_own(
    open_window: Callable[..., MainWindow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick: None,
) -> None:
    monkeypatch.setattr("engine.editing.place.is_installed", lambda: True)
    mine = tmp_path / "mine"
    window = open_window(None, mine)
    screen = editor(window)
    assert screen.model.state is State.READ_ONLY
    assert screen.pane.isReadOnly()
    assert "came with the program" in screen.note.text.text()
    screen.choose_folder()
    until(window, lambda: screen.model.state is State.SAVED, 120)
    assert path_of(screen).is_relative_to(mine)
    assert str(mine) in screen.note.text.text()
    assert str(mine) in screen.where.text()
    QTest.keyClicks(screen.pane, "own ")
    saved(window, screen)
    assert path_of(screen).read_text().startswith("own ")
    use_content(None)


def test_two_windows_do_not_edit_one_text(
    open_window: Callable[..., MainWindow], home: Path
) -> None:
    first = open_window(home)
    editor(first)
    second = open_window(home)
    second.go(Place("edit", "mimic-sofa-24h", text="instruction"))
    screen = cast("EditorScreen", second.screens["edit"])
    until(second, lambda: screen.errors.error is not None)
    assert "another window" in screen.errors.error.text  # type: ignore[union-attr]


def test_the_state_is_told_while_it_is_saved(
    open_window: Callable[..., MainWindow], home: Path
) -> None:
    window = open_window(home)
    screen = editor(window)
    told: list[str] = []
    screen.model.state_changed.connect(lambda: told.append(screen.model.state.value))
    began = time.monotonic()
    QTest.keyClicks(screen.pane, "a")
    wait(lambda: "Saved" in told, 20)
    assert time.monotonic() - began >= viewmodel.SAVE / 1000 * 0.9  # Qt's timers are coarse
    assert list(dict.fromkeys(told)) == ["Changed", "Saving…", "Saved"]
    settle(window)
