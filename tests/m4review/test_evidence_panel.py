"""The evidence in the real window: kept at once, checked in a job, filtered, copied by policy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_window import settle, until, wait
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton

from engine.audit import read_log
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.catalogue.task import find_task
from engine.claims import Evidence, check_evidence
from engine.reviews.canonical import canonical
from engine.workbench import Workbench
from m4review.app.application import apply_look
from m4review.app.context import Context
from m4review.app.interaction import Interaction
from m4review.app.jobs import JobRunner
from m4review.app.links import Place, parse
from m4review.app.settings import Settings
from m4review.app.window import MainWindow
from m4review.evidence.cards import CheckCard
from m4review.evidence.groups import Filter, Group, filtered
from m4review.evidence.pictures import Histogram, ShareBar
from m4review.evidence.screen import EvidenceScreen
from m4review.evidence.view import EvidencePanel
from m4review.evidence.words import when

pytestmark = [pytest.mark.gui, pytest.mark.shared_data]
TASK, SOURCE = "mimic-sapsii-24h", "mimic-demo"


@pytest.fixture(scope="module")
def looked_at(small_built: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with evidence of the task that is kept; shared by the tests here, which only read."""
    root = tmp_path_factory.mktemp("evidence") / "home"
    shutil.copytree(small_built.root, root, ignore=shutil.ignore_patterns("lock", "scratch"))
    home = open_home(root)
    check_evidence(home, find_task(TASK), SOURCE, job=SimpleJob())
    return home


@pytest.fixture
def make_panel(app: QApplication, runner: JobRunner) -> Iterator[Callable[..., EvidencePanel]]:
    """Makes panels on a home, shown and at rest."""
    made: list[tuple[EvidencePanel, Context]] = []

    def make(home: Home, *, attachable: bool = False) -> EvidencePanel:
        context = Context(
            workbench=Workbench(home),
            runner=runner,
            settings=Settings(home.settings),
            interaction=Interaction(),
        )
        apply_look(context.theme, context.zoom, home.scratch)
        panel = EvidencePanel(context, attachable=attachable)
        made.append((panel, context))
        panel.resize(1200, 760)
        panel.show()
        panel.show_task(TASK, SOURCE)
        rest(panel)
        return panel

    yield make
    for panel, context in made:
        rest(panel)
        panel.hide()
        panel.deleteLater()
        context.deleteLater()


@pytest.fixture
def panel(make_panel: Callable[..., EvidencePanel], looked_at: Home) -> EvidencePanel:
    """With evidence that was kept."""
    return make_panel(looked_at)


def rest(panel: EvidencePanel) -> None:
    """Wait until nothing is read or drawn any more."""
    wait(lambda: not panel.context.runner.live and panel.complete, 120)


def cards(panel: EvidencePanel) -> list[CheckCard]:
    return [card for card in panel.findChildren(CheckCard) if card.isVisibleTo(panel)]


def found(panel: EvidencePanel) -> Evidence:
    assert panel.model.evidence is not None
    return panel.model.evidence


def go_to_item(panel: EvidencePanel) -> Group:
    """To a line with an item that is in the small data with numbers, unit and range."""
    wanted = {"item-known", "item-label", "item-read", "unit", "range", "distribution"}
    for index, group in panel.tree.groups():
        if wanted <= {check.name for check in group.checks}:
            panel.tree.setCurrentIndex(index)
            rest(panel)
            return group
    raise AssertionError("no such item")


def test_from_the_task_page_to_the_evidence(
    open_window: Callable[..., MainWindow], small_built_copy: Home
) -> None:
    window = open_window(small_built_copy.root)
    window.go(Place("task", TASK))
    settle(window)
    QTest.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    screen = window.screen_shown
    assert isinstance(screen, EvidenceScreen)
    panel = screen.panel
    assert panel.none.isVisible()
    assert panel.none.title.text() == "Not checked yet"
    assert panel.check_button.hasFocus()
    QTest.keyClick(panel.check_button, Qt.Key.Key_Space)
    assert panel.stop_button.isVisible()
    assert panel.stop_button.hasFocus()
    until(window, lambda: panel.model.evidence is not None and panel.complete)
    assert not panel.stop_button.isVisible()
    assert panel.tree.hasFocus()
    assert len(found(panel).checks) > 100
    where = screen.place()
    assert where is not None
    assert where.source == SOURCE
    QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert panel.search.hasFocus()


def test_a_line_shows_its_checks_and_its_place(panel: EvidencePanel) -> None:
    group = go_to_item(panel)
    assert [card.check for card in cards(panel)] == list(group.checks)
    assert panel.beside.text.textCursor().blockNumber() + 1 == group.line
    assert len(panel.beside.text.extraSelections()) == 2
    assert panel.findChildren(Histogram)
    assert panel.findChildren(ShareBar)
    said = " ".join(each.text() for each in panel.findChildren(QLabel))
    known = next(check.result for check in group.checks if check.name == "item-known")
    assert known is not None
    for words in (known["label"], known["category"], "exactly on the lower bound", "median"):
        assert str(words) in said


def test_kept_evidence_is_shown_and_says_when_it_is_out_of_date(
    make_panel: Callable[..., EvidencePanel], looked_at: Home, tmp_path: Path
) -> None:
    shutil.copytree(looked_at.root, tmp_path / "home")
    home = open_home(tmp_path / "home")
    panel = make_panel(home)
    assert found(panel).source_digest[:12] in panel.state.text()
    assert when(found(panel)) in panel.state.text()
    (path,) = (home.sources / SOURCE / "claims" / TASK).glob("*.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    data["texts"]["skill/sapsii"] = "0" * 64
    path.write_text(json.dumps(data), encoding="utf-8")
    panel.show_task(TASK)
    rest(panel)
    assert panel.state.text().startswith("Out of date: skill sapsii was changed")
    path.unlink()
    panel.show_task(TASK)
    rest(panel)
    assert panel.none.isVisible()


def test_checking_can_be_stopped(
    make_panel: Callable[..., EvidencePanel], small_built_copy: Home
) -> None:
    panel = make_panel(small_built_copy)
    over: list[str] = []
    panel.model.progressed.connect(lambda _: panel.stop_button.click())
    panel.check_button.click()
    handle = panel.model._job
    assert handle is not None
    handle.cancelled.connect(lambda: over.append("cancelled"))
    rest(panel)
    assert over == ["cancelled"]
    assert panel.none.isVisible()
    assert panel.check_button.isVisible()
    assert panel.errors.error is None


def test_filters_search_and_keys(panel: EvidencePanel) -> None:
    everything = len(panel.tree.groups())
    panel.chips["agrees"].click()
    panel.chips["read"].click()
    groups = panel.tree.groups()
    assert 0 < len(groups) < everything
    assert all(group.outcome != "agrees" for _, group in groups)
    assert set(panel.context.settings.get("evidence.hidden")) == {"agrees", "read"}
    panel.chips["agrees"].click()
    panel.kinds.setCurrentIndex(panel.kinds.findData("unit"))
    panel.kinds.activated.emit(panel.kinds.currentIndex())
    assert all("unit" in group.kinds for _, group in panel.tree.groups())
    panel.kinds.setCurrentIndex(0)
    panel.kinds.activated.emit(0)
    QTest.keyClick(panel, Qt.Key.Key_Slash)
    QTest.keyClicks(panel.search, "urea nitrogen")
    wait(lambda: 0 < len(panel.tree.groups()) < 12, 10)
    assert all("urea" in group.words for _, group in panel.tree.groups())
    panel.search.clear()
    wait(lambda: len(panel.tree.groups()) > 12, 10)
    attention = [g for _, g in panel.tree.groups() if g.outcome in ("disagrees", "look")]
    panel.tree.setCurrentIndex(panel.tree.groups()[0][0])
    walked = []
    while panel.tree.step(1):
        group = panel.tree.current_group
        assert group is not None
        walked.append(group)
    assert walked == attention or [attention[0], *walked] == attention


def test_the_query_can_be_read_and_copied(panel: EvidencePanel) -> None:
    go_to_item(panel)
    card = next(c for c in cards(panel) if c.check.name == "unit")
    next(b for b in card.findChildren(QPushButton) if b.accessibleName() == "Query").click()
    text = card.findChild(QPlainTextEdit)
    assert text is not None
    assert text.isReadOnly()
    assert "valueuom" in text.toPlainText()
    assert text.toPlainText().count("\n") > 1
    copy = next(b for b in card.findChildren(QPushButton) if b.accessibleName() == "Copy the query")
    copy.click()
    assert QGuiApplication.clipboard().text() == card.check.query


def test_what_goes_out_lacks_small_counts_and_is_recorded(
    panel: EvidencePanel, tmp_path: Path
) -> None:
    home = panel.context.workbench.home
    before = len(read_log(home, source=SOURCE))  # the home is shared with other tests
    go_to_item(panel)
    card = next(c for c in cards(panel) if c.check.name == "distribution")
    card.copied.emit(card.check)
    wait(lambda: "distribution" in QGuiApplication.clipboard().text(), 10)
    piece = json.loads(QGuiApplication.clipboard().text())
    assert not {"low", "high"} & piece["result"].keys()
    to = tmp_path / "evidence.json"
    panel.context.interaction.answers = [to]
    panel.export_button.click()
    wait(to.is_file, 10)
    document = json.loads(to.read_text(encoding="utf-8"))
    assert document["small_counts"] == "counts below 11 are left out"
    kinds = [entry.what for entry in read_log(home, source=SOURCE)[before:]]
    assert kinds == ["export.clipboard", "export.file"]


def test_an_attachment_is_what_a_verdict_needs(
    make_panel: Callable[..., EvidencePanel], looked_at: Home
) -> None:
    panel = make_panel(looked_at, attachable=True)
    given: list[dict[str, object]] = []
    panel.attach.connect(given.append)
    card = cards(panel)[0]
    next(b for b in card.findChildren(QPushButton) if b.accessibleName() == "Attach").click()
    wait(lambda: bool(given), 10)
    (piece,) = given
    canonical(piece)
    assert piece["source_sha256"] == found(panel).source_digest
    assert piece["date"] == found(panel).made_at
    assert isinstance(piece["query"], str)
    assert piece["words"] == card.check.words


def test_windows_and_thresholds_lead_to_their_lines(panel: EvidencePanel) -> None:
    panel.tabs.setCurrentWidget(panel.across)
    names = [panel.across.horizontalHeaderItem(n).text() for n in range(5)]
    assert names[:2] == ["Window or threshold", "Reference"]
    assert "Instruction" in names
    row = next(
        n
        for n in range(panel.across.rowCount())
        if panel.across.item(n, 0).text() == "24 hours after admission"
    )
    column = names.index("Operational spec")
    panel.across.clicked.emit(panel.across.model().index(row, column))
    assert panel.beside.shown == "operational-spec"
    assert "24" in panel.beside.text.textCursor().block().text()


def test_numbers_that_could_not_be_read_are_listed(panel: EvidencePanel) -> None:
    unread = found(panel).unread
    assert unread
    model = panel.tree.data_model
    head = model.item(model.rowCount() - 1)
    assert head.text().startswith("Numbers that could not be read")
    assert head.rowCount() == len(unread)
    panel.tree.setCurrentIndex(head.child(0).index())
    assert panel.beside.text.textCursor().blockNumber() + 1 == unread[0].line


def test_every_section_keeps_its_groups_and_an_empty_filter_hides_all(panel: EvidencePanel) -> None:
    whole = [group for section in panel.model.sections for group in section.groups]
    assert sum(len(group.checks) for group in whole) == len(found(panel).checks)
    assert list(filtered(panel.model.sections, Filter(outcomes=frozenset()))) == []


def test_the_address_names_task_and_source() -> None:
    place = Place("evidence", TASK, source=SOURCE)
    assert place.link == f"m4review://task/{TASK}/evidence?source={SOURCE}"
    assert parse(place.link) == place
    assert parse(f"m4review://task/{TASK}/evidence") == Place("evidence", TASK)
