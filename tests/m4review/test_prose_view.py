"""Two versions of a text in the real window: marks, keys, versions, both layouts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from absence import absent
from app_window import wait
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from engine.base.content import content_folder
from engine.prose import compare_texts
from engine.workbench import TextVersion
from m4review.app.context import Context
from m4review.prose.rows import rows_of, summary
from m4review.prose.view import ProseDiffView

pytestmark = pytest.mark.gui
SOFA = content_folder("skills") / "sofa" / "SKILL.md"
Key = Qt.Key


@pytest.fixture
def view(context: Context) -> Iterator[ProseDiffView]:
    view = ProseDiffView(context)
    view.resize(1000, 640)
    view.show()
    yield view
    rest(view)
    view.hide()
    view.deleteLater()


def rest(view: ProseDiffView) -> None:
    """Wait until every version is read and every row drawn."""
    wait(lambda: not view.context.runner.live and view.page.complete, 30)


def edited() -> str:
    text = SOFA.read_text(encoding="utf-8").replace("GCS < 6", "GCS < 7")
    return text + "\nA sentence that is wholly new here.\n"


def test_changes_are_told_by_sign_and_words_not_by_colour_alone(view: ProseDiffView) -> None:
    view.open(SOFA, edited())
    rest(view)
    assert view.status.text().startswith("1 changed, 1 added")
    marks = [row.mark for row in view.rows if row.mark]
    assert [mark.split()[0] for mark in marks] == ["≠", "+"]
    shown = view.page.toPlainText()
    assert "GCS < 6" in shown
    assert "GCS < 7" in shown
    formats = {
        piece.kind: view.page._words(piece)
        for row in view.rows
        for piece in row.one
        if row.change is not None
    }
    assert formats["removed"].fontStrikeOut()
    assert formats["added"].fontUnderline()
    assert not formats["same"].fontUnderline()


def test_n_and_p_walk_the_changes_round(view: ProseDiffView) -> None:
    view.open(SOFA, edited())
    rest(view)
    view.page.setFocus()
    walked = []
    for key in (Key.Key_N, Key.Key_N, Key.Key_N, Key.Key_P):
        QTest.keyClick(view.page, key)
        walked.append(view.current)
    assert walked == [0, 1, 0, 1]
    assert view.status.text().startswith("Change 2 of 2")


def test_both_layouts_and_folding_are_remembered(view: ProseDiffView) -> None:
    view.open(SOFA, edited())
    rest(view)
    folded = len(view.rows)
    view.only.click()
    view.beside.click()
    rest(view)
    assert view.page.complete
    assert len(view.rows) > 3 * folded
    assert view.page._tables[0].columns() == 2
    settings = view.context.settings
    assert settings.get("prose.only_changes") is settings.get("prose.beside") is False


def test_a_click_names_the_line(view: ProseDiffView) -> None:
    chosen: list[int] = []
    view.line_chosen.connect(chosen.append)
    view.open(SOFA, edited())
    rest(view)
    view.step(1)
    spot = view.page.cursorRect().center()
    QTest.mouseClick(view.page.viewport(), Qt.MouseButton.LeftButton, pos=spot + QPoint(4, 0))
    line = edited().split("\n").index(next(x for x in edited().split("\n") if "GCS < 7" in x)) + 1
    assert chosen == [line]


def test_a_file_can_be_chosen_and_a_bad_one_is_told(view: ProseDiffView, tmp_path: Path) -> None:
    other, bad = tmp_path / "other.md", tmp_path / "bad.md"
    other.write_text("# SOFA\n", encoding="utf-8")
    bad.write_bytes(b"\xff\xfe")
    view.context.interaction.answers = [other, bad]
    view.open(SOFA)
    rest(view)
    view.file_button.click()
    rest(view)
    assert view.versions.currentText() == "File other.md"
    assert view.model.diff is not None
    assert view.model.diff.apply("# SOFA\n") == SOFA.read_text(encoding="utf-8")
    view.file_button.click()
    rest(view)
    assert view.errors.error is not None
    assert "UTF-8" in view.errors.error.text


def test_versions_from_git_stand_in_the_list(view: ProseDiffView, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        absent("git")
    path = tmp_path / "skills" / "sofa" / "SKILL.md"
    path.parent.mkdir(parents=True)
    for number in (1, 2):
        path.write_text(f"# SOFA\n\nVersion {number} of it.\n", encoding="utf-8")
        if number == 1:
            for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "First one")):
                subprocess.run(
                    ["git", "-c", "user.name=A", "-c", "user.email=a@b", *words],
                    cwd=path.parent,
                    check=True,
                )
    view.open(path)
    rest(view)
    assert view.versions.currentText().endswith("by A: First one")
    assert view.status.text().startswith("1 changed")


def test_an_edited_text_is_held_against_what_was_signed(view: ProseDiffView) -> None:
    model = view.model
    saved, older = TextVersion("saved", ""), TextVersion("git", "0" * 40, "2026-11-01")
    newest = TextVersion("signed", "b" * 64, "2026-11-20", "Berta")
    model.versions = (saved, newest, TextVersion("signed", "a" * 64, "2026-11-10", "Anna"), older)
    assert model._first() is newest
    model.versions = (saved, older)
    assert model._first() is saved


def test_both_columns_are_as_wide_in_a_narrow_panel_too(view: ProseDiffView) -> None:
    view.beside.setChecked(True)
    view.open(SOFA, edited())
    rest(view)

    def widths() -> list[float]:
        layout = view.page.document().documentLayout()
        found = []
        for table in (view.page._head, view.page._tables[-1]):
            assert table is not None
            row = table.rows() - 1
            at = [table.cellAt(row, column) for column in range(table.columns())]
            blocks = [cell.firstCursorPosition().block() for cell in at]
            lefts = [layout.blockBoundingRect(block).left() for block in blocks]
            if len(set(lefts)) == 3:  # rows that are folded are one cell
                found += [lefts[2] - lefts[1], layout.blockBoundingRect(blocks[2]).width()]
        return found

    for wide in (1000, 420):
        view.resize(wide, 640)
        wait(lambda: not view.page._fit.isActive(), 10)
        rest(view)
        assert max(widths()) - min(widths()) < 24  # but for the padding of a cell
        assert view.page.horizontalScrollBar().maximum() == 0


def test_hostile_text_is_shown_as_it_is(view: ProseDiffView) -> None:
    evil = '<img src="http://x.example/a.png"><b>bold</b> & more'
    view.compare("plain words\n", f"plain {evil}\n", "before", "after")
    rest(view)
    assert evil in view.page.toPlainText()
    QTest.keyClick(view.page, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert evil.rsplit(maxsplit=1)[-1] in QGuiApplication.clipboard().text()


def test_the_same_text_has_no_change(view: ProseDiffView) -> None:
    view.compare("a. b.\n", "a. b.\n", "before", "after")
    rest(view)
    assert view.status.text() == "Both versions are the same."
    view.step(1)
    assert view.current is None


def test_what_is_folded_is_counted() -> None:
    text = "".join(f"Sentence number {n} of these.\n\n" for n in range(9))
    diff = compare_texts(text, text.replace("number 4", "number 44"))
    rows = rows_of(diff, only_changes=True)
    assert [row.text for row in rows if row.kind == "folded"] == [
        "3 unchanged parts not shown",
        "3 unchanged parts not shown",
    ]
    assert summary(diff) == "1 changed"
