"""The diagnosis screen on a diagnosis made by hand: what is said, and where each row leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from app_window import settle, show_diff
from diff_factory import make_diff
from PySide6.QtWidgets import QLabel

from engine.diagnosis.model import (
    NO_ROWS,
    Change,
    Clue,
    ColumnDiagnosis,
    Diagnosis,
    KeyDiagnosis,
    Proposal,
    Rows,
    Segment,
    Signature,
)
from m4review.app.links import Place
from m4review.app.window import MainWindow
from m4review.diagnosis.panels import ProposalsPanel
from m4review.diagnosis.view import DiagnosisScreen
from m4review.diagnosis.viewmodel import scopes_of
from m4review.diagnosis.words import (
    FAULTS,
    NOTHING_FITS,
    NOTHING_YET,
    nothing_departs,
    summary_words,
)
from m4review.diff.view import DiffScreen

SIGNATURE = Signature(
    id="offset", title="Constant offset", words="Consistent with one more than the reference.",
    predicts="the reference + 1", columns=("score",), evidence="source", parameters={"by": 1},
    explained=40, tested=43, gained=40, broken=2, rows=Rows("s1 = 2", 43), against=NO_ROWS,
    counter_example=9, change=Change("sofa", "score", "score + 1"),
)  # fmt: skip
SEGMENT = Segment(
    column="score", features=("age",), levels=("65–79",), words="age 65–79",
    rows=Rows("k1 = 1", 1000), mismatches=Rows("k1 = 1 AND s1 = 2", 14), share=0.04, base=0.0,
    ratio=None, covered=0.5, difference=(0.01, 0.07), p=0.0001,
    people=(900, 12, 800, 12),
)  # fmt: skip
FOUND = Diagnosis(
    task="some-task", mismatches=43, ranked=(SIGNATURE,), unexplained=3,
    columns=(ColumnDiagnosis("score", 1, 43, (SIGNATURE,), Rows("s1 = 2 AND k1 = 2", 3)),),
    keys=KeyDiagnosis(1, 2, 3, (), Rows("key_status > 0", 6)), segments=(SEGMENT,),
    proposals=(
        Proposal("skill", "The skill says so.", ("score",), "offset",
                 (Clue("skill", "Add one.", "SKILL.md:3"),), Rows("s1 = 2", 43)),
    ),
    notes=("The item set could not be tried.",),
)  # fmt: skip


def test_no_proposal_ever_blames_for_sure() -> None:
    assert all("may" in words.lower() or "cannot" in words.lower() for words in FAULTS.values())


def test_scopes_are_the_table_the_keys_and_each_column() -> None:
    scopes = scopes_of(FOUND)
    assert [scope.column for scope in scopes] == ["", "", "score"]
    assert scopes[1].residual.count == 6
    assert scopes[2].title == "score (43 mismatches)"
    words = summary_words(FOUND)
    assert "40 of them are as the one signature predicts" in words
    assert "not what caused them" in words


@pytest.mark.gui
def test_a_clue_without_a_blank_does_not_make_the_page_wider(
    open_window: Callable[..., MainWindow],
) -> None:
    panel = ProposalsPanel(open_window().context)
    panel.show_diagnosis(FOUND)
    before = panel.minimumSizeHint().width()
    long = "Rows: " + "1.5,null," * 400
    proposal = replace(FOUND.proposals[0], clues=(Clue("agent", long, "script.py:1"),))
    panel.show_diagnosis(replace(FOUND, proposals=(proposal,)))
    said = next(one for one in panel.findChildren(QLabel) if one.text().startswith("Rows: "))
    assert panel.minimumSizeHint().width() < before + 200
    assert said.text().endswith("…")
    assert "1.5,null," * 100 in said.toolTip()
    panel.deleteLater()


@pytest.mark.gui
def test_every_finding_leads_to_its_rows_in_the_diff(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    make_diff(tmp_path / "diff.duckdb", 3_000)
    window = open_window()
    diff = show_diff(window, tmp_path / "diff.duckdb")
    assert isinstance(diff, DiffScreen)
    diff.run_id = "some-run"
    screen = window.screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)
    model = screen.model
    model.run_id, model.diagnosis, model.scopes = "some-run", FOUND, scopes_of(FOUND)
    model.changed.emit()

    assert screen.signatures_model.rowCount() == 1
    listed = screen.signatures_model.index(0, 0).data()
    assert listed == "score: one more than the reference"
    assert [screen.tabs.tabText(at) for at in range(4)] == [
        "Signatures (1)", "Segments (1)", "Proposals (1)", "Notes (1)",
    ]  # fmt: skip

    def shown() -> tuple[str, str, int | None]:
        settle(window)
        query = diff.model.query
        assert query.chosen is not None
        assert diff.model.view is not None
        return query.chosen.sql, query.chosen.words, query.column

    screen.signatures.opened.emit(0)
    assert window.place == Place("diff", "some-run")
    assert shown() == ("s1 = 2", "explained by: Constant offset", 1)
    assert diff.model.view is not None
    with duckdb.connect(str(tmp_path / "other.duckdb")) as con:
        con.execute(f"ATTACH '{tmp_path / 'diff.duckdb'}' AS d (READ_ONLY)")
        assert con.sql("SELECT count(*) FROM d.diff WHERE s1 = 2").fetchall() == [
            (diff.model.view.count,)
        ]
    screen.segments.opened.emit(0)
    assert shown() == ("k1 = 1 AND s1 = 2", "mismatching, age 65–79", 1)
    screen.scope.setCurrentIndex(1)
    screen.residual_button.click()
    assert shown()[0] == "key_status > 0"
    assert shown()[2] is None
    asked: list[Place] = []
    window.context.went.connect(asked.append)
    screen.signature_panel.row_asked.emit(9)
    assert asked == [Place("diff", "some-run", 9)]


def test_from_the_diff_and_its_column_page_one_can_ask_what_went_wrong(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    made = make_diff(tmp_path / "diff.duckdb", 300)
    window = open_window()
    diff = window.screens["diff"]
    assert isinstance(diff, DiffScreen)
    assert not diff.why_button.isEnabled()
    diff.run_id = "some-run"
    show_diff(window, made.path)
    assert diff.why_button.isEnabled()
    assert window.actions_of["run.diagnosis"].isEnabled()
    names = [column.name for column in diff.model.layout.scored]
    diff.show_page(1)
    page = diff.page
    assert page is not None
    assert page.finding.isHidden()
    screen = window.screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)
    known = replace(FOUND, columns=(replace(FOUND.columns[0], column=names[1]),))
    screen.model.run_id, screen.model.diagnosis = "some-run", known
    screen.model.changed.emit()
    assert page.finding.text() == (
        "Best signature: consistent with one more than the reference; it explains 40 of 43 "
        "mismatching cells it was tested on (93.0 %)."
    )
    diff.show_page(0)
    assert page.finding.isHidden()
    asked: list[Place] = []
    window.context.went.disconnect(window.go)
    window.context.went.connect(asked.append)
    page.why.click()
    diff.why_button.click()
    window.actions_of.trigger("run.diagnosis")
    assert asked == [Place("diagnosis", "some-run")] * 3


RIGHT = replace(
    FOUND, mismatches=0, ranked=(), unexplained=0, columns=(), segments=(), proposals=(), notes=(),
    keys=KeyDiagnosis(0, 0, 0, (), NO_ROWS),
)  # fmt: skip


@pytest.mark.gui
def test_of_a_run_that_is_all_right_it_says_that_nothing_departs(
    open_window: Callable[..., MainWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    screen = window.screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)
    found = {"right-run": RIGHT, "other-run": FOUND}
    workbench = window.context.workbench
    monkeypatch.setattr(workbench, "diff_of", lambda run_id, job: Path(__file__))
    monkeypatch.setattr(workbench, "diagnose_run", lambda run_id, **_: found[run_id])

    def said() -> list[str]:
        settle(window)
        return [each.text() for each in screen.findChildren(QLabel) if each.isVisible()]

    for _ in range(2):  # at first, and where it is remembered
        window.go(Place("diagnosis", "right-run"))
        assert "Nothing departs from the reference" in said()
        assert not screen.tabs.isVisible()
        window.go(Place("task", "mimic-sofa-24h"))
    window.go(Place("diagnosis", "other-run"))
    assert "Nothing departs from the reference" not in said()
    assert screen.tabs.isVisible()


def test_an_output_is_all_right_only_with_its_keys_and_once_all_was_tested() -> None:
    assert nothing_departs(RIGHT)
    assert not nothing_departs(FOUND)
    assert not nothing_departs(replace(RIGHT, complete=False))
    assert not nothing_departs(replace(RIGHT, keys=KeyDiagnosis(0, 0, 1, (), NO_ROWS)))


@pytest.mark.gui
def test_where_no_signature_fits_the_place_beside_the_list_says_so(
    open_window: Callable[..., MainWindow],
) -> None:
    screen = open_window().screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)
    none = replace(FOUND, ranked=(), columns=(replace(FOUND.columns[0], signatures=()),))
    for complete, words in ((False, NOTHING_YET), (True, NOTHING_FITS)):
        screen.model.diagnosis = replace(none, complete=complete)
        screen.model.scopes = scopes_of(screen.model.diagnosis)
        screen.model.changed.emit()
        assert words in [each.text() for each in screen.signature_panel.findChildren(QLabel)
                         if not each.isHidden()]  # fmt: skip


@pytest.mark.gui
def test_while_more_is_found_the_best_stays_chosen_unless_another_was(
    open_window: Callable[..., MainWindow],
) -> None:
    screen = open_window().screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)

    def found(*words: str) -> None:
        ranked = tuple(replace(SIGNATURE, words=f"Consistent with {each}.") for each in words)
        screen.model.diagnosis = replace(FOUND, ranked=ranked)
        screen.model.scopes = scopes_of(screen.model.diagnosis)
        screen.model.changed.emit()

    def chosen() -> str:
        return str(screen.signatures.currentIndex().siblingAtColumn(0).data())

    found("second", "third")
    assert chosen() == "score: second"
    found("first", "second", "third")
    assert chosen() == "score: first"
    screen.signatures.selectRow(2)
    found("best", "first", "second", "third")
    assert chosen() == "score: third"


@pytest.mark.gui
def test_where_the_time_was_over_one_can_search_longer(
    open_window: Callable[..., MainWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    screen = window.screens["diagnosis"]
    assert isinstance(screen, DiagnosisScreen)
    asked: list[tuple[str, float, bool]] = []

    def diagnose(run_id: str, *, seconds: float, again: bool, **_others: object) -> Diagnosis:
        asked.append((run_id, seconds, again))
        return replace(FOUND, cut_short=seconds < 100)

    workbench = window.context.workbench
    monkeypatch.setattr(workbench, "diff_of", lambda run_id, job: Path(__file__))
    monkeypatch.setattr(workbench, "diagnose_run", diagnose)
    window.go(Place("diagnosis", "some-run"))
    settle(window)
    assert screen.longer_button.isVisible()
    screen.longer_button.click()
    settle(window)
    assert not screen.longer_button.isVisible()
    assert asked == [("some-run", 90, False), ("some-run", 600, True)]
