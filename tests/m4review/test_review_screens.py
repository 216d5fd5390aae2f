"""The window of reviews: what is told, kept, taken back and let go of."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import keyring.backends.fail
import pytest
from app_window import close_window, settle, show_diff, until
from diff_factory import make_diff
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton
from review_homes import TASK, Keyring, Team, make_team

from engine.base.content import content_folder
from engine.reviews import ledger
from engine.reviews.identity import my_signer
from engine.reviews.place import place_of
from m4review.app.interaction import Interaction
from m4review.app.links import Place, parse
from m4review.app.start import make_window
from m4review.app.window import MainWindow
from m4review.review.assign import AssignDialog
from m4review.review.bundles import file_name
from m4review.review.flags import NOWHERE
from m4review.review.sheet.view import ReviewScreen
from m4review.review.view import ReviewsScreen

pytestmark = pytest.mark.gui
Key = Qt.Key


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    return make_team(tmp_path, monkeypatch)


@pytest.fixture
def window_of(app: QApplication, team: Team) -> object:
    windows: list[MainWindow] = []

    def make(name: str, *answers: object) -> MainWindow:
        home = team.at(name).home
        window = make_window(home, interaction=Interaction(list(answers)), content=team.content)
        window.resize(1280, 820)
        window.show()
        windows.append(window)
        return window

    yield make
    for window in windows:
        close_window(window)


WindowOf = Callable[..., MainWindow]


def review_of(window: MainWindow) -> ReviewScreen:
    window.go(Place("review", TASK))
    settle(window)
    return cast("ReviewScreen", window.screen_shown)


def reviews_of(window: MainWindow, tab: str = "") -> ReviewsScreen:
    window.go(Place("reviews", tab))
    settle(window)
    return cast("ReviewsScreen", window.screen_shown)


def test_answers_are_taken_back_and_kept(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna")
    screen = review_of(window)
    model = screen.model
    assert all(not model.entry_of(item.id)["verdict"] for item in model.sheet.items)  # type: ignore[union-attr]
    assert len(model.missing) == 12
    model.choose("units")
    model.answer("concern")
    assert "severity" in str(model.missing["units"])
    model.set_severity("minor")
    model.refer("instruction", 2, 4)
    assert not model.attach("anchors", {"text": "instruction", "lines": "2-4"})
    model.set_words("why")
    check = {
        "name": "item-unit", "words": "as in the data", "query": "SELECT 1", "date": "2026-11-30",
        "source_sha256": "0" * 64,
    }  # fmt: skip
    for _ in range(2):
        screen.writing.evidence.attach.emit(check)
    assert model.entry_of("units")["evidence"] == [check]
    assert "units" not in model.missing
    model.choose("windows")
    model.answer("agree")
    model.undo()
    assert model.current == "windows"
    assert model.entry_of("windows")["verdict"] is None
    model.undo()  # the evidence
    model.undo()  # the lines; words have an undo of their own
    assert model.entry_of("units")["anchors"] == model.entry_of("units")["evidence"] == []
    assert model.entry_of("units")["text"] == "why"
    model.choose("units")
    model.answer("agree")
    assert model.entry_of("units")["severity"] is None
    # The window is closed at once: what was written is there all the same.
    assert model.saved == "changed"
    window.close()
    sheet = team.at("anna").review_page(TASK).sheet
    assert sheet is not None
    kept = {entry["item"]: entry for entry in sheet.draft["items"]}
    assert (kept["units"]["verdict"], kept["units"]["text"]) == ("agree", "why")
    assert team.at("anna").home.settings.read_text("utf-8").count("why") == 0


def test_an_answer_with_evidence_by_keys(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna")
    screen = review_of(window)
    model, writing = screen.model, screen.writing
    model.choose("units")
    QTest.keyClick(writing.list, Key.Key_6)
    assert model.entry_of("units")["severity"] is None  # nothing is said yet, so nothing is severe
    QTest.keyClick(writing.list, Key.Key_2)
    QTest.keyClick(writing.list, Key.Key_6)
    assert model.entry_of("units")["severity"] == "major"
    assert writing.answer.severities["major"].isChecked()
    # To the evidence: without data the keys are on the way to some. And back.
    QTest.keyClick(window, Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    assert writing.evidence.isVisible()
    assert writing.evidence.none.title.text() == "No data for this task"
    to_data = QApplication.focusWidget()
    assert isinstance(to_data, QPushButton)
    assert "To the data" in to_data.text()
    assert "build one" in writing.source.toolTip()
    QTest.keyClick(window, Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert writing.list.hasFocus()
    # However long an attachment's words are, its row is whole.
    check = {
        "name": "siblings", "words": "left out and called much like it, " * 20, "query": "SELECT 1",
        "date": "2026-11-30", "source_sha256": "0" * 64,
    }  # fmt: skip
    writing.evidence.attach.emit(check)
    settle(window)
    rows = writing.answer.attachments
    assert rows.isVisible()
    assert not rows.horizontalScrollBar().isVisible()
    row = rows.visualItemRect(rows.item(0))
    assert rows.viewport().rect().contains(row)
    assert rows.item(0).toolTip() == check["words"]
    window.go(Place("reviews"))
    assert not window.actions_of["task.evidence"].isEnabled()


def test_the_keys_go_to_what_can_be_done(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna")
    window.recover()
    settle(window)
    entry = window.findChild(QToolButton, "section-reviews")
    assert isinstance(entry, QToolButton)
    assert "(1)" in entry.text()  # told on the first page, whatever it is
    page = reviews_of(window)
    assert page.waiting.table.hasFocus()
    QTest.mouseClick(page.waiting.go_on, Qt.MouseButton.LeftButton)
    settle(window)
    assert window.place == Place("review", TASK)
    # From the words back to the questions: a number is an answer again.
    screen = cast("ReviewScreen", window.screen_shown)
    model, writing = screen.model, screen.writing
    QTest.keyClick(writing.list, Key.Key_1)
    QTest.keyClick(writing.list, Key.Key_W)
    QTest.keyClicks(writing.answer.words, "fine")
    QTest.keyClick(writing.answer.words, Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert writing.list.hasFocus()
    QTest.keyClick(writing.list, Key.Key_4)
    QTest.keyClick(writing.list, Key.Key_W)
    assert writing.answer.words.hasFocus()
    QTest.keyClick(writing.answer.words, Key.Key_Escape)
    assert writing.list.hasFocus()
    assert sum(bool(model.entry_of(item.id)["verdict"]) for item in model.sheet.items) == 2  # type: ignore[union-attr]
    # Signed: the next thing is the bundle, and nothing is counted any more.
    window.go(Place("worklist"))
    team.reviews("anna")
    screen = review_of(window)
    assert screen.sealed.export_button.hasFocus()
    window.context.interaction.answers = [True, None]
    QTest.keyClick(screen.sealed.export_button, Key.Key_Return)
    settle(window)
    assert window.place == Place("reviews")
    assert any(said.startswith("Export a bundle") for said in window.context.interaction.said)
    assert "(" not in entry.text()
    assert page.waiting.ask.hasFocus()
    QTest.keyClick(page.waiting.ask, Key.Key_Space)
    settle(window)
    assert window.place == Place("reviews", "progress")
    assert page.progress.tree.hasFocus()
    # A part that is clicked has the keys, not the one that is hidden by it.
    bar = page.tabs.tabBar()
    for number, part in ((2, page.people.table), (1, page.progress.tree)):
        place = bar.tabRect(number).center()
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
        settle(window)
        assert part.hasFocus()


def test_a_family_is_asked_about_at_once(team: Team, window_of: WindowOf) -> None:
    for name in ("tasks", "skills"):
        for family in ("gcs", "glasgow-coma-scale", "glasgow-coma-scale-eicu"):
            if (content_folder(name) / family).is_dir():
                shutil.copytree(content_folder(name) / family, team.content / name / family)
    window = window_of("clara")
    page = reviews_of(window, "progress")
    tree = page.progress.tree
    (sirs,) = tree.findItems(TASK, Qt.MatchFlag.MatchRecursive | Qt.MatchFlag.MatchExactly)
    (family,) = tree.findItems("gcs", Qt.MatchFlag.MatchExactly)
    tree.setCurrentItem(sirs)
    assert "Ask again" in page.assign_button.text()
    family.setSelected(True)
    assert len(page.progress.unasked) > 1  # the task that is asked about already is left out
    assert TASK not in page.progress.unasked
    wanted = page.progress.unasked
    QTest.mouseClick(page.assign_button, Qt.MouseButton.LeftButton)
    (dialog,) = window.findChildren(AssignDialog)
    for row in range(dialog.reviewers.count()):
        if not dialog.reviewers.item(row).text().startswith("Clara"):
            dialog.reviewers.setCurrentRow(row)
            QTest.keyClick(dialog.reviewers, Key.Key_Space)
    dialog.adjudicator.setCurrentIndex(dialog.adjudicator.findData(team.author("clara")))
    QTest.mouseClick(dialog.ask, Qt.MouseButton.LeftButton)
    settle(window)
    team.gives("clara", "anna")
    assert {wait.task for wait in team.at("anna").reviews().waits} == {TASK, *wanted}


def test_names_of_files_do_not_meet_in_a_shared_folder() -> None:
    assert file_name("reviews", "Anna Lind", "2026-11-30") == "reviews-anna-lind-2026-11-30.zip"
    assert file_name("identity", "Zoë O'Neil/../x") == "identity-zoë-o-neil-x.zip"
    assert file_name("identity", "") == "identity.zip"


def test_a_long_check_leaves_room_for_the_texts(team: Team, window_of: WindowOf) -> None:
    words = "Left out, and called much like the item that is named: " * 12
    check = {
        "name": "siblings", "words": words, "query": "SELECT 1", "date": "2026-11-30",
        "source_sha256": "0" * 64,
    }  # fmt: skip
    sheet = team.at("anna").review_page(TASK).sheet
    assert sheet is not None
    sheet.draft["items"][1]["evidence"] = [check]
    team.at("anna").keep_review(sheet.draft)
    team.reviews("anna", schema_mapping="doubtful")
    team.gives("anna", "berta")
    team.reviews("berta")
    team.gives("berta", "anna")
    team.gives("anna", "clara")
    team.gives("berta", "clara")
    window = window_of("clara")
    screen = review_of(window)
    assert screen.stack.currentWidget() is screen.result
    voices = screen.result.voices
    (link,) = [b for b in voices.findChildren(QPushButton) if b.text().strip().startswith("Left")]
    assert link.accessibleName() == words
    assert voices.minimumSizeHint().width() < window.context.px(480)


def test_a_text_that_changes_while_it_is_reviewed_is_told(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna")
    screen = review_of(window)
    model, writing = screen.model, screen.writing
    for item in ("output-grain", "definition"):
        model.choose(item)
        model.answer("agree")
    with (team.content / "tasks" / "sirs" / TASK / "task.toml").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert not writing.note.isVisible()
    model.look()
    until(window, writing.note.isVisible)
    assert "task.toml was changed" in writing._note_words.text()
    assert "Output grain" in writing._note_words.text()
    writing.sign()  # not while it is so
    assert window.context.interaction.said == []
    QTest.mouseClick(writing.take, Qt.MouseButton.LeftButton)
    settle(window)
    assert not writing.note.isVisible()
    assert model.entry_of("output-grain")["verdict"] is None
    assert model.entry_of("definition")["verdict"] == "agree"
    model.choose("output-grain")
    assert writing.answer.again.isVisible()


def test_without_the_key_nothing_is_lost_and_it_is_said(
    team: Team, window_of: WindowOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = window_of("anna")
    model = review_of(window).model
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)
    model.answer("agree")
    model.save()
    settle(window)
    assert model.saved == "failed"
    error = review_of(window).errors.error
    assert error is not None
    assert "gnome-keyring" in str(error.todo)
    assert reviews_of(window).model.overview is not None  # the ledger can be read all the same


def test_a_flag_goes_into_the_open_review_and_leads_back(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna", "Units", "Units")
    cell = Place("timeline", TASK, source="gone", key=(("stay_id", "30000001"),), column="sirs")
    for _ in range(2):
        window.go(cell)
        settle(window)  # the source is not there: what happened is told on that page
        QTest.keyClick(window.screen_shown, Key.Key_F6)
        settle(window)
    screen = review_of(window)
    assert screen.model.entry_of("units")["rows"] == [cell.link]
    screen.model.choose("units")
    assert screen.writing.answer.attachments.count() == 1
    # The list does not spell out whose row it is.
    assert "30000001" not in screen.writing.answer.attachments.item(0).text()
    QTest.keyClick(screen.writing.answer.attachments, Key.Key_Return)
    settle(window)
    assert window.place == cell
    drafts = [
        path.read_bytes()
        for path in (window.context.workbench.home.root / "reviews" / "drafts").iterdir()
    ]
    assert drafts
    assert not any(b"30000001" in data for data in drafts)


def test_the_row_under_the_cursor_of_the_diff_is_flagged(
    team: Team, window_of: WindowOf, tmp_path: Path
) -> None:
    window = window_of("anna")
    flags = window._flag_link
    told: list[str] = []
    window.context.told.connect(told.append)
    window.stack.setCurrentWidget(window.screens["diff"])
    flags.flag()
    assert told == [NOWHERE]
    screen = show_diff(window, make_diff(tmp_path / "diff.duckdb", 30).path, row=7)
    screen.run_id = "some-run"
    assert screen.grid is not None
    place = flags.place
    assert place is not None
    assert place.row == 7
    assert parse(place.link) == place
    QTest.keyClick(screen.grid, Key.Key_F6)
    settle(window)
    assert "There is no run" in str(window.context.interaction.errors[0])


def test_lines_are_referred_to_by_keys(team: Team, window_of: WindowOf) -> None:
    window = window_of("anna")
    screen = review_of(window)
    model, writing = screen.model, screen.writing
    # Into the text by the key that refers to lines, and back.
    QTest.keyClick(writing.list, Key.Key_L)
    assert writing.texts.view.hasFocus()
    assert not model.entry["anchors"]  # type: ignore[index]
    QTest.keyClick(writing.texts.view, Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(writing.texts.view, Key.Key_L)
    assert model.entry["anchors"] == [{"text": "instruction", "lines": "1"}]  # type: ignore[index]
    QTest.keyClick(writing.texts.view, Key.Key_Escape)
    assert writing.list.hasFocus()
    # An answer that refers to something is written, also where nothing else is.
    reviews_of(window)
    review_of(window)
    assert model.entry["anchors"]  # type: ignore[index]
    assert writing.state.text().startswith("✓ Kept")
    # Enter presses an answer that has the keys, as it presses a button.
    QTest.keyClick(writing.answer.answers["agree"], Key.Key_Return)
    assert model.entry["verdict"] == "agree"  # type: ignore[index]


def test_a_task_that_cannot_be_read_leaves_the_others(team: Team, window_of: WindowOf) -> None:
    (team.content / "skills" / "sirs" / "SKILL.md").unlink()
    window = window_of("anna")
    screen = reviews_of(window)
    assert screen.errors.error is None
    assert screen.waiting.table.hasFocus()  # what waits is told all the same
    (problem,) = screen.model.overview.problems  # type: ignore[union-attr]
    assert problem.what == "unreadable"
    assert problem.words.startswith(f"{TASK}: ")
    assert "Put the file back" in problem.todo
    assert screen.waiting.problems.isVisible()
    # Only the task itself cannot be opened, and says why.
    review = review_of(window)
    assert review.errors.error is not None
    assert review.stack.currentWidget() is review.empty


def test_a_key_that_was_given_leads_to_the_next_bundle(
    team: Team, window_of: WindowOf, tmp_path: Path
) -> None:
    team.reviews("anna")
    team.gives("anna", "berta")
    team.reviews("berta")
    team.gives("berta")
    window = window_of("anna")
    screen = reviews_of(window)
    screen.bundles.take([tmp_path / "berta.zip"])
    until(window, screen.result.isVisible)
    settle(window)
    assert "can be read now" in screen.result.words.text()
    assert screen.result.export.hasFocus()
    assert "that the last entry you signed arrived" in screen.waiting.empty.text.text()
    file = tmp_path / "anna-again.zip"
    window.context.interaction.answers = [True, file]
    QTest.keyClick(screen.result.export, Key.Key_Return)
    until(window, file.is_file)
    until(window, lambda: not screen.result.isVisible())  # what it asked for is done
    assert screen.waiting.ask.hasFocus()


def test_bundles_are_told_in_words_with_what_to_do(
    team: Team, window_of: WindowOf, tmp_path: Path
) -> None:
    window = window_of("berta")
    screen = reviews_of(window)
    # Again the same: nothing new.
    screen.bundles.take([tmp_path / "clara.zip"])
    until(window, screen.result.isVisible)
    assert "Nothing new" in screen.result.heading.text()
    # Touched on its way: nothing of it is taken.
    bad = tmp_path / "bad.zip"
    data = bytearray((tmp_path / "clara.zip").read_bytes())
    data[len(data) // 2] ^= 0xFF
    bad.write_bytes(data)
    screen.bundles.take([bad])
    until(window, lambda: screen.errors.error is not None)
    assert "bad.zip" in str(screen.errors.error)
    # Anna's home was copied and both copies were used: two histories.
    team.at("anna")
    place = place_of(team.benches["anna"].home)
    with ledger.locked(place):
        entry = ledger.append(place, my_signer(place), "reveal", {"review": "0" * 64, "key": "x"})
    first = team.gives("anna")
    (place.ledger / entry.path).unlink()
    (place.heads).unlink()
    with ledger.locked(place):
        ledger.append(place, my_signer(place), "reveal", {"review": "1" * 64, "key": "x"})
    second = tmp_path / "second.zip"
    first.replace(tmp_path / "first.zip")
    team.at("anna").export_reviews(second)
    team.at("berta")
    screen.bundles.take([tmp_path / "first.zip", second])
    until(window, lambda: "Two histories" in screen.result.problems.text())
    assert "Speak with the person" in screen.result.problems.text()
    screen = reviews_of(window)
    assert screen.waiting.problems.isVisible()


def test_what_a_bundle_holds_is_told_before(
    team: Team, window_of: WindowOf, tmp_path: Path
) -> None:
    to = tmp_path / "out"
    bench = team.at("anna")
    bench.flag_row(TASK, "units", "m4review://task/x/source/s/cell?key.stay_id=30000001")
    team.reviews("anna")
    window = window_of("anna", True, True, to)
    screen = reviews_of(window)
    window.actions_of.trigger("review.export")
    until(window, lambda: to.with_suffix(".zip").is_file())
    told = window.context.interaction.said[0]
    assert "People 3" in told
    assert "Sealed reviews stay sealed" in told
    # Nobody said that these data are free: rows leave only after a question, and it is recorded.
    assert "the audit log records it" in window.context.interaction.said[1]
    assert "export.reviews" in [entry.what for entry in bench.audit_log()]
    with zipfile.ZipFile(to.with_suffix(".zip")) as bundle:
        assert not [name for name in bundle.namelist() if "draft" in name]
        assert len([name for name in bundle.namelist() if name.startswith("annexes/")]) == 1
        assert not any(b"30000001" in bundle.read(name) for name in bundle.namelist())
    assert screen.errors.error is None


def test_only_what_rests_on_a_changed_text_is_asked_again(team: Team, window_of: WindowOf) -> None:
    team.reviews("anna", windows="doubtful")
    team.gives("anna", "berta")
    team.reviews("berta")
    team.gives("berta", "anna")
    team.gives("anna", "berta", "clara")
    team.gives("berta", "clara")
    clara = team.at("clara")
    draft = clara.docket(TASK).draft
    draft["items"][0].update(decision="agree", reason="seen")
    clara.sign_decisions(draft)
    with (team.content / "tasks" / "sirs" / TASK / "task.toml").open("a", encoding="utf-8") as file:
        file.write("# a line that came later\n")
    window = window_of("clara")
    screen = review_of(window)
    assert screen.stack.currentWidget() is screen.result
    shown = screen.result.beside.currentWidget()
    assert shown is screen.result.changes
    assert "Changed since the signatures: task.toml" in screen.result.words.text()
    said = screen.result.table.model()
    words = {str(said.index(r, c).data()) for r in range(said.rowCount()) for c in range(5)}
    assert "the texts stand" in words
    QTest.mouseClick(screen.result.again, Qt.MouseButton.LeftButton)
    until(window, lambda: bool(window.findChildren(AssignDialog)))
    (dialog,) = window.findChildren(AssignDialog)
    assert dialog.chosen == ([team.author("anna"), team.author("berta")], team.author("clara"))
    QTest.mouseClick(dialog.ask, Qt.MouseButton.LeftButton)
    settle(window)
    team.gives("clara", "anna")
    window = window_of("anna")
    sheet = review_of(window).model.sheet
    assert sheet is not None
    assert {item.id for item in sheet.items} == {"output-grain", "agreement", "suitability"}
    (changed,) = sheet.changed
    assert changed.name == "task.toml"
    assert "came later" in str(changed.after)
    assert "came later" not in str(changed.before)


def test_a_workstation_without_keyring_says_what_to_do(
    app: QApplication, open_window: Callable[..., MainWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)
    window = open_window()
    screen = reviews_of(window, "people")
    assert not screen.people.make.isEnabled()
    assert "gnome-keyring" in screen.people.keyring.text()


def test_without_an_identity_the_keys_are_on_the_way_to_one(
    app: QApplication, open_window: Callable[..., MainWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Keyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    window = open_window()
    screen = reviews_of(window)
    assert screen.waiting.start.hasFocus()
    QTest.keyClick(screen.waiting.start, Key.Key_Space)
    settle(window)
    people = screen.people
    assert people.name.hasFocus()
    QTest.keyClicks(people.name, "Anna")
    QTest.keyClick(people.name, Key.Key_Tab)
    QTest.keyClicks(people.role, "intensivist")
    QTest.keyClick(people.role, Key.Key_Return)
    until(window, people.own.isVisible)
    assert people.give.hasFocus()
    # A task that nobody was asked about leads to asking; alone one cannot.
    review = review_of(window)
    assert review.empty.title.text() == "Nobody was asked to review this task"
    assert review.ask_button.hasFocus()
    QTest.keyClick(review.ask_button, Key.Key_Space)
    until(window, lambda: bool(window.findChildren(AssignDialog)))
    (dialog,) = window.findChildren(AssignDialog)
    assert "Three people are needed" in dialog.why.text()
    QTest.keyClick(dialog, Key.Key_Escape)
    window.go(Place("reviews"))
    settle(window)
    assert window.focusWidget() is screen.waiting.start  # the closed dialog was the active one
    assert "Give your identity" in screen.waiting.start.text()
    assert not screen.waiting.ask.isVisible()
