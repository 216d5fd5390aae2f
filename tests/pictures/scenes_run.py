"""Where the error analysis is entered: the page of a run, and the list of runs."""

from __future__ import annotations

from m4review.app.links import RUNS, Place
from pictures.registry import scene
from pictures.stage import Stage


@scene("run-flawed", "The page of a flawed run", "ventilation-flawed")
def flawed(stage: Stage) -> None:
    stage.go(Place("run", stage.runs["ventilation-flawed"]))
    stage.shot()


@scene("run-agent", "The page of an agent's run, with its steps", "agent-skill")
def agent(stage: Stage) -> None:
    stage.go(Place("run", stage.runs["agent-skill"]))
    stage.shot()
    stage.go(Place("run", stage.runs["agent-skill"], step=4))
    stage.shot("step")


@scene("run-list", "The list of runs")
def listed(stage: Stage) -> None:
    stage.go(RUNS)
    stage.shot()
