"""The column page, from its top to its end, for each kind of column."""

from __future__ import annotations

from pictures.registry import scene
from pictures.stage import Stage


def _page(stage: Stage, run: str, column: str) -> None:
    diff = stage.open_diff(run)
    diff.show_page(stage.column(column))
    page = diff.page
    assert page is not None
    stage.until(lambda: page.drawn)
    stage.shots_down(page.area, "")


@scene("page-categories", "A column of words", "ventilation-flawed")
def categories(stage: Stage) -> None:
    _page(stage, "ventilation-flawed", "ventilation_status")


@scene("page-flags", "A column of yes and no", "charlson-flawed")
def flags(stage: Stage) -> None:
    _page(stage, "charlson-flawed", "charlson_comorbidity_index")


@scene("page-levels", "The levels of a score", "mean_heart_rate")
def levels(stage: Stage) -> None:
    _page(stage, "mean_heart_rate", "oasis")


@scene("page-score", "A score of few levels, eICU", "gcs-flawed")
def score(stage: Stage) -> None:
    _page(stage, "gcs-flawed", "gcs_min")


@scene("page-measures", "A column of measured values", "everything")
def measures(stage: Stage) -> None:
    _page(stage, "everything", "weight")


@scene("page-unit", "A column in another unit: axes of two scales, the ratio", "micromoles")
def unit(stage: Stage) -> None:
    _page(stage, "micromoles", "scr_min")


@scene("page-near", "A column whose differences are near its tolerance", "everything")
def near(stage: Stage) -> None:
    _page(stage, "everything", "uo_mlkghr_6hr")


@scene("page-times", "A column of times", "other_zone")
def times(stage: Stage) -> None:
    _page(stage, "other_zone", "suspected_infection_time")


@scene("page-right", "A column that is right everywhere", "charlson")
def right(stage: Stage) -> None:
    _page(stage, "charlson", "charlson_comorbidity_index")


@scene("page-whatif", "A tolerance tried from the page's curve", "everything", alone=True)
def what_if(stage: Stage) -> None:
    diff = stage.open_diff("everything")
    diff.show_page(stage.column("uo_mlkghr_6hr"))
    page = diff.page
    assert page is not None
    stage.until(lambda: page.drawn)
    assert page.model.study is not None
    points = page.model.study.curve
    diff.model.set_tolerance(stage.column("uo_mlkghr_6hr"), points[len(points) // 2].tolerance)
    stage.rest()
    bar = page.area.verticalScrollBar()
    bar.setValue(bar.maximum())
    stage.shot()
