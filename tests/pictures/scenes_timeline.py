"""The timeline: where one value comes from, by task, and each of its panels."""

from __future__ import annotations

from m4review.app.links import Place
from pictures.registry import scene
from pictures.stage import Stage

_MANY_WINDOWS = "35044342"
"""A stay of the open demo whose suspicion rests on many windows."""
_PANELS = ("value", "arithmetic", "agent")


def _value(stage: Stage, run: str, column: str, status: str = "different") -> None:
    """Every panel of the first such value."""
    row = stage.row_of(run, column, status)
    stage.go(Place("timeline", stage.runs[run], row, column=column))
    screen = stage.timeline
    assert screen.model.page is not None
    for at, name in enumerate(_PANELS):
        if screen.panels.isTabVisible(at):
            screen.panels.setCurrentIndex(at)
            stage.shot(name)


@scene("timeline-score", "A score of a day: used and rejected measurements", "mean_heart_rate")
def score(stage: Stage) -> None:
    _value(stage, "mean_heart_rate", "oasis")


@scene("timeline-views", "Closer, the stay, everything; a row chosen; kinds left out",
       "mean_heart_rate", alone=True)  # fmt: skip
def views(stage: Stage) -> None:
    row = stage.row_of("mean_heart_rate", "oasis", "different")
    stage.go(Place("timeline", stage.runs["mean_heart_rate"], row, column="oasis"))
    screen = stage.timeline
    plot = screen.plot
    plot.fit_stay()
    stage.shot("stay")
    plot.fit_all()
    stage.shot("all")
    plot.fit_window()
    plot.zoom_by(0.4)
    plot.step(1)
    stage.shot("closer")
    for role, chip in screen.chips.chips.items():
        if role != "decisive" and chip.isEnabled() and chip.isChecked():
            chip.click()
    stage.shot("decisive")


@scene("timeline-infusion", "Infusions as bars: vasopressors", "per_hour")
def infusion(stage: Stage) -> None:
    _value(stage, "per_hour", "norepinephrine_equivalent_dose")


@scene("timeline-sofa", "A score that infusions went into", "no_norepinephrine")
def sofa(stage: Stage) -> None:
    _value(stage, "no_norepinephrine", "cardiovascular")


@scene("timeline-ratio", "A ratio while ventilated", "highest_ratio")
def ratio(stage: Stage) -> None:
    _value(stage, "highest_ratio", "pao2fio2_score")


@scene("timeline-episodes", "Episodes of ventilation", "ventilation-flawed")
def episodes(stage: Stage) -> None:
    _value(stage, "ventilation-flawed", "ventilation_status")


@scene("timeline-time", "A value that is a time", "other_zone")
def time(stage: Stage) -> None:
    _value(stage, "other_zone", "suspected_infection_time")


@scene("timeline-windows", "Many windows: folded, a row with its rule, unfolded", "other_zone",
       alone=True)  # fmt: skip
def windows(stage: Stage) -> None:
    row = stage.row_of("other_zone", "suspected_infection_time", key=_MANY_WINDOWS)
    stage.go(Place("timeline", stage.runs["other_zone"], row, column="suspected_infection_time"))
    screen = stage.timeline
    assert screen.plot.foldable, "this value has few windows"
    stage.shot("folded")
    page = screen.model.page
    assert page is not None
    events = page.lineage.events
    refused = (at for at, event in enumerate(events) if ": " in event.rule)
    screen.plot._choose(next(refused, 0))
    stage.shot("rule")
    screen.plot.fit_window()
    screen.unfold.setChecked(True)
    stage.shot("unfolded")


@scene("timeline-urine", "Sums over hours", "everything")
def urine(stage: Stage) -> None:
    _value(stage, "everything", "weight")


@scene("timeline-missing", "A row that the agent's table lacks", "everything")
def missing(stage: Stage) -> None:
    _value(stage, "everything", "weight", "no agent value")


@scene("timeline-extra", "A row that only the agent's table has", "everything")
def extra(stage: Stage) -> None:
    row = stage.row_of("everything", "weight", "no reference value")
    stage.go(Place("timeline", stage.runs["everything"], row, column="weight"))
    stage.shot()


@scene("timeline-eicu", "Offsets from unit admission, eICU", "gcs-flawed")
def eicu(stage: Stage) -> None:
    _value(stage, "gcs-flawed", "gcs_min")


@scene("timeline-codes", "Rows without a time: diagnoses", "charlson-flawed")
def codes(stage: Stage) -> None:
    _value(stage, "charlson-flawed", "charlson_comorbidity_index")


@scene("timeline-agent", "The SQL that an agent ran for this column", "agent")
def agent(stage: Stage) -> None:
    _value(stage, "agent", "ventilation_status")


@scene("timeline-task", "A value of a task's reference, without a run: asked for, and found",
       "calendar_day", alone=True)  # fmt: skip
def task(stage: Stage) -> None:
    stage.go(Place("timeline", "mimic-sofa-24h"))
    stage.shot("asked")
    screen = stage.timeline
    screen.chooser.source.setCurrentText("mimic-demo")
    screen.chooser.chance.click()
    stage.rest()
    screen.chooser.go.click()
    stage.shot("found")


@scene("timeline-failed", "A column that is not there", "calendar_day")
def failed(stage: Stage) -> None:
    stage.go(Place("timeline", stage.runs["calendar_day"], 0, column="no_such_column"))
    stage.shot()
