"""The saved reports as a browser shows them, wide and on a telephone."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.base.jobs import SimpleJob
from engine.workbench import Workbench
from pictures.browser import find_browser, photograph
from pictures.registry import scene
from pictures.settings import WIDTH
from pictures.stage import Stage

_PHONE = 390
"""Pixels of a telephone's width."""


def _report(stage: Stage, *runs: str) -> None:
    find_browser()
    with TemporaryDirectory(prefix="pictures-") as folder:
        page = Path(folder) / "report.html"
        with contextlib.closing(Workbench(stage.home)) as bench:
            bench.report([stage.runs[run] for run in runs], page, job=SimpleJob())
        for name, width in (("wide", WIDTH), ("phone", _PHONE)):
            stage.keep(photograph(page, stage.setting, width), name)


@scene("report-run", "The report of one run", "ventilation-flawed")
def run(stage: Stage) -> None:
    _report(stage, "ventilation-flawed")


@scene("report-many", "The report of a run with many mistakes", "everything")
def many(stage: Stage) -> None:
    _report(stage, "everything")


@scene("report-comparison", "The report of a comparison", "charlson-flawed", "charlson")
def comparison(stage: Stage) -> None:
    _report(stage, "charlson-flawed", "charlson")
