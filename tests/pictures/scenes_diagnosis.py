"""The diagnosis: each of its tabs, with findings and without, and while it looks."""

from __future__ import annotations

from m4review.app.links import Place
from m4review.diagnosis import viewmodel
from pictures.registry import scene
from pictures.stage import Stage

_TABS = ("signatures", "segments", "proposals", "notes")


def _tabs(stage: Stage, run: str) -> None:
    stage.go(Place("diagnosis", stage.runs[run]))
    screen = stage.diagnosis
    assert screen.model.diagnosis is not None
    for at, name in enumerate(_TABS):
        screen.tabs.setCurrentIndex(at)
        stage.shot(name)


@scene("diagnosis-several", "Several mistakes in one output", "everything")
def several(stage: Stage) -> None:
    _tabs(stage, "everything")


@scene("diagnosis-words", "Mistakes in a query of episodes", "ventilation-flawed")
def words(stage: Stage) -> None:
    _tabs(stage, "ventilation-flawed")


@scene("diagnosis-index", "Mistakes in an index of many parts", "charlson-flawed")
def index(stage: Stage) -> None:
    _tabs(stage, "charlson-flawed")


@scene("diagnosis-eicu", "Another database", "gcs-flawed")
def eicu(stage: Stage) -> None:
    _tabs(stage, "gcs-flawed")


@scene("diagnosis-cohort", "Stays that are missing", "only_with_gas")
def cohort(stage: Stage) -> None:
    _tabs(stage, "only_with_gas")


@scene("diagnosis-times", "Times that are hours off", "other_zone")
def times(stage: Stage) -> None:
    _tabs(stage, "other_zone")


@scene("diagnosis-none", "A run without a mistake", "charlson")
def none(stage: Stage) -> None:
    stage.go(Place("diagnosis", stage.runs["charlson"]))
    stage.shot()


@scene("diagnosis-scope", "One column alone, another signature, and its rows in the diff",
       "everything", alone=True)  # fmt: skip
def scope(stage: Stage) -> None:
    stage.go(Place("diagnosis", stage.runs["everything"]))
    screen = stage.diagnosis
    screen.scope.setCurrentIndex(screen.scope.count() - 1)
    stage.shot("column")
    screen.scope.setCurrentIndex(1)
    stage.shot("keys")
    screen.scope.setCurrentIndex(0)
    screen.signatures.selectRow(min(2, screen.signatures_model.rowCount() - 1))
    stage.shot("third")
    screen.signatures.opened.emit(0)
    stage.until(lambda: stage.diff.grid is not None)
    stage.shot("rows")


@scene(
    "diagnosis-working",
    "While it looks: at first, with findings, and stopped",
    "everything",
    alone=True,
)
def working(stage: Stage) -> None:
    run = stage.runs["everything"]
    stage.go(Place("diagnosis", run))
    screen, model = stage.diagnosis, stage.diagnosis.model
    model.show(run, again=True)
    stage.until(lambda: bool(screen.busy_words.text()))
    stage.shot("begun", still=False)
    stage.until(lambda: model.diagnosis is not None or not model.busy)
    assert model.busy, "it was ready before a picture could be taken"
    stage.pause(0.3)
    stage.shot("found", still=False)
    model.cancel()
    stage.shot("stopped")


@scene(
    "diagnosis-longer",
    "Where the time was over before everything was tried",
    "highest_ratio",
    alone=True,
)
def longer(stage: Stage) -> None:
    usual, viewmodel.SECONDS = viewmodel.SECONDS, 0.5
    try:
        stage.go(Place("diagnosis", stage.runs["highest_ratio"]))
    finally:
        viewmodel.SECONDS = usual
    assert stage.diagnosis.model.diagnosis is not None
    assert stage.diagnosis.model.diagnosis.cut_short
    stage.shot()


@scene("diagnosis-failed", "A run that has no rows to look at", "no_table")
def failed(stage: Stage) -> None:
    stage.go(Place("diagnosis", stage.runs["no_table"]))
    stage.shot()
