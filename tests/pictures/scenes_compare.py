"""Runs of one task beside each other: two to eight of them, each tab, steps and texts."""

from __future__ import annotations

from m4review.app.links import Place
from pictures.registry import scene
from pictures.stage import Stage

_TABS = ("counts", "rows", "steps", "texts")
_SIX = ("everything", "pounds", "six_hours_back", "volume_of_before", "rounded", "half")
_EIGHT = (
    "raw-flawed", "raw", "dropped_last", "duplicate_keys", "off_by_one_gap",
    "trailing_space_lost", "gap_of_a_day", "cut_off",
)  # fmt: skip
_AGENTS = ("agent", "agent-skill", "agent-edited")


def _open(stage: Stage, *runs: str) -> None:
    stage.go(Place("compare", runs=tuple(stage.runs[run] for run in runs)))
    assert stage.compare.model.file is not None


def _tabs(stage: Stage, *runs: str) -> None:
    _open(stage, *runs)
    for at, name in enumerate(_TABS):
        stage.compare.tabs.setCurrentIndex(at)
        stage.shot(name)


@scene("compare-2", "A flawed run and the right one", "charlson-flawed", "charlson")
def two(stage: Stage) -> None:
    _tabs(stage, "charlson-flawed", "charlson")


@scene("compare-3", "An agent without the skill, with it, and with it edited", *_AGENTS)
def three(stage: Stage) -> None:
    _tabs(stage, *_AGENTS)


@scene("compare-6", "Six runs, several columns", *_SIX)
def six(stage: Stage) -> None:
    _tabs(stage, *_SIX)


@scene("compare-8", "Eight runs, one column", *_EIGHT)
def eight(stage: Stage) -> None:
    _tabs(stage, *_EIGHT)


@scene(
    "compare-column",
    "One column's rows; only what was broken; another row in full",
    *_SIX,
    alone=True,
)
def column(stage: Stage) -> None:
    _open(stage, *_SIX)
    screen = stage.compare
    screen.tabs.setCurrentWidget(screen.rows)
    columns = screen.model.file.comparison.columns if screen.model.file is not None else ()
    screen.model.choose(run=2, column=columns.index("weight"))
    stage.rest()
    screen.rows.table.setCurrentCell(4, 0)
    stage.shot("all")
    screen.model.choose(run=3, column=columns.index("uo"), only="broken")
    stage.shot("broken")
    for change in ("mended", "broken", "wrong_otherwise", "wrong"):
        screen.model.toggle(change, False)
        stage.rest()
    stage.shot("nothing")


@scene("compare-steps", "Steps of two agents beside each other, a command chosen on each side",
       *_AGENTS)  # fmt: skip
def steps(stage: Stage) -> None:
    _open(stage, *_AGENTS)
    screen = stage.compare
    screen.tabs.setCurrentIndex(_TABS.index("steps"))
    for side in screen.steps:
        side.list.setCurrentRow(max(0, side.list.count() - 4))
    stage.shot()


@scene(
    "compare-texts",
    "What the runs were given: without the skill, the same, edited",
    *_AGENTS,
    alone=True,
)
def texts(stage: Stage) -> None:
    _open(stage, *_AGENTS)
    screen = stage.compare
    screen.tabs.setCurrentWidget(screen.given)
    given = screen.given
    stage.shot("skill")
    given.file.setCurrentIndex(given.file.count() - 1)
    stage.shot("same")
    given.first.setCurrentIndex(1)
    given.second.setCurrentIndex(2)
    stage.shot("edited")


@scene("compare-failed", "Runs that cannot be compared", "charlson-flawed", "gcs-flawed")
def failed(stage: Stage) -> None:
    runs = ("charlson-flawed", "gcs-flawed")
    stage.go(Place("compare", runs=tuple(stage.runs[run] for run in runs)))
    stage.shot()
