"""The home of the pictures: sources, and runs with every kind of mistake. Made once, then kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import planted_errors as planted
from demo_data import ROOT, demo_data

from engine.base.errors import M4Error
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.concepts import build_concepts
from engine.references import build_references
from engine.workbench import RunRequest, Workbench
from pictures.agents import AGENT_RUNS, run_agent
from pictures.kept import Made, read, write

SAMPLES = ROOT / "resources" / "samples"
MATERIAL = ROOT / "tests" / "material" / "ventilation"
STAYS = 200
"""Of a synthetic source, where the open data are not there."""
MIMIC, EICU = "mimic-demo", "eicu-demo"
_EVERYTHING = """
    WITH numbered AS (SELECT *, row_number() OVER () AS n FROM reference),
    wrong AS (
        SELECT * EXCLUDE (n) REPLACE (
            weight * 2.2046226218 AS weight,
            if(n % 50 = 3, NULL, uo) AS uo,
            uo_mlkghr_6hr + if(n % 7 = 0, 0.004, 0) AS uo_mlkghr_6hr
        )
        FROM numbered
        WHERE n % 31 <> 0
    )
    FROM wrong
    UNION ALL (FROM wrong LIMIT 40)
    UNION ALL (SELECT * REPLACE (charttime + INTERVAL 7 MINUTE AS charttime) FROM wrong LIMIT 25)
"""
"""Cells that differ, nulls, values within the tolerance, missing, extra and repeated rows."""
_NO_TABLE = "with open('output.csv', 'wb') as file:\n    file.write(bytes(range(256)) * 40)\n"
_NO_KEYS = "with open('output.csv', 'w') as file:\n    file.write('patient,score\\n1,2\\n')\n"


@dataclass(frozen=True)
class Run:
    """A run to be made."""

    task: str
    """Name of the task."""
    source: str
    """Name of the source."""
    script: Path | None = None
    """What computes the output."""
    text: str = ""
    """Or its text, in Python."""
    planted: planted.Planted | None = None
    """Or the error of an output that is computed from the reference."""
    diagnose: bool = False
    """Find out beforehand what went wrong."""


def _sample(name: str, task: str, source: str = MIMIC, *, diagnose: bool = False) -> Run:
    return Run(task, source, script=SAMPLES / f"{name}.sql", diagnose=diagnose)


def _planted(name: str, *, diagnose: bool = False) -> Run:
    error = next(each for each in planted.PLANTED if each.name == name)
    return Run(error.task, error.source, planted=error, diagnose=diagnose)


def _urine(name: str, sql: str, *, diagnose: bool = False) -> Run:
    error = planted.wrap(name, "mimic-urine-output-rate-raw", "", "", sql)
    return Run(error.task, error.source, planted=error, diagnose=diagnose)


_RAW = "mimic-ventilation-raw"
RUNS: Mapping[str, Run] = {
    "ventilation": _sample("ventilation", "mimic-ventilation"),
    "ventilation-flawed": _sample("ventilation-flawed", "mimic-ventilation", diagnose=True),
    "charlson": _sample("charlson", "mimic-charlson-raw", diagnose=True),
    "charlson-flawed": _sample("charlson-flawed", "mimic-charlson-raw", diagnose=True),
    "gcs": _sample("eicu-gcs", "eicu-gcs", EICU),
    "gcs-flawed": _sample("eicu-gcs-flawed", "eicu-gcs", EICU, diagnose=True),
    # One column, eight runs.
    "raw": _sample("ventilation-raw", _RAW),
    "raw-flawed": _sample("ventilation-raw-flawed", _RAW),
    "dropped_last": Run(_RAW, MIMIC, script=MATERIAL / "dropped_last.sql"),
    "duplicate_keys": Run(_RAW, MIMIC, script=MATERIAL / "duplicate_keys.sql"),
    "off_by_one_gap": Run(_RAW, MIMIC, script=MATERIAL / "off_by_one_gap.sql"),
    "trailing_space_lost": Run(_RAW, MIMIC, script=MATERIAL / "trailing_space_lost.sql"),
    "gap_of_a_day": _planted("gap_of_a_day"),
    "cut_off": _planted("cut_off"),
    # Many columns, six runs.
    "everything": _urine("everything", _EVERYTHING, diagnose=True),
    "pounds": _planted("pounds"),
    "six_hours_back": _planted("six_hours_back"),
    "volume_of_before": _planted("volume_of_before"),
    "rounded": _urine(
        "rounded", "SELECT * REPLACE (round(uo_mlkghr_6hr, 1) AS uo_mlkghr_6hr) FROM reference"
    ),
    "half": _urine("half", "SELECT * FROM reference WHERE stay_id % 2 = 0"),
    # Other kinds of columns and sources of values.
    "calendar_day": _planted("calendar_day"),
    "mean_heart_rate": _planted("mean_heart_rate"),
    "other_zone": _planted("other_zone", diagnose=True),
    "per_hour": _planted("per_hour"),
    "only_with_gas": _planted("only_with_gas", diagnose=True),
    "no_norepinephrine": _planted("no_norepinephrine"),
    "highest_ratio": _planted("highest_ratio"),
    "micromoles": _planted("micromoles"),
    # Outputs that are none.
    "no_table": Run("mimic-charlson-raw", MIMIC, text=_NO_TABLE),
    "no_keys": Run("mimic-charlson-raw", MIMIC, text=_NO_KEYS),
    "no_output": Run("mimic-charlson-raw", MIMIC, text="print('nothing is written')\n"),
}
"""What is run, by short name; `agents.AGENT_RUNS` come besides."""


def make_home(root: Path, tell: Callable[[str], None]) -> tuple[Home, Made]:
    """The home with all it can hold; what is there already is left as it is.

    Args:
        root: its folder.
        tell: told what is done.
    """
    home = open_home(root)
    bench = Workbench(home)
    try:
        made = read(root)
        if not (set(RUNS) | set(AGENT_RUNS)) <= set(made.runs) | set(made.lacking):
            _sources(bench, tell)
            _runs(bench, root, made, tell)
        for name in [n for n, run in RUNS.items() if run.diagnose and n in made.runs]:
            if name not in made.diagnosed:
                tell(f"diagnosing {name}")
                bench.diagnose_run(made.runs[name], job=SimpleJob())
                made.diagnosed.append(name)
                write(root, made)
    finally:
        bench.close()
    return home, made


def _sources(bench: Workbench, tell: Callable[[str], None]) -> None:
    for name, folder, kind in (
        (MIMIC, "mimic-iv-demo", "mimic-iv"),
        (EICU, "eicu-demo", "eicu"),
    ):
        data = demo_data() / "data" / folder
        if any(each.name == name and each.state == "ready" for each in bench.sources()):
            continue
        if data.is_dir():
            tell(f"reading {folder}")
            bench.add_source(name, data, job=SimpleJob())
        else:
            tell(f"the open data are not there: {name} is synthetic")
            bench.synth_source(name, kind=kind, stays=STAYS, seed=5, job=SimpleJob())
    tell("building concepts and references")
    build_concepts(bench.home, MIMIC, job=SimpleJob())
    targets = {(run.source, _target(bench, run.task)) for run in RUNS.values()}
    for source in (MIMIC, EICU):
        build_references(
            bench.home, source, sorted(t for s, t in targets if s == source), job=SimpleJob()
        )


def _target(bench: Workbench, task: str) -> str:
    return next(each.target for each in bench.tasks() if each.name == task)


def _runs(bench: Workbench, root: Path, made: Made, tell: Callable[[str], None]) -> None:
    for name, run in RUNS.items():
        if name in made.runs or name in made.lacking:
            continue
        tell(f"running {name}")
        script = run.script or _script(bench.home, root / "scripts", name, run)
        request = RunRequest(task=run.task, source=run.source, script=script, backend=backend())
        made.runs[name] = bench.run(request, job=SimpleJob()).summary.run_id
        write(root, made)
    for name, agent in AGENT_RUNS.items():
        if name in made.runs or name in made.lacking:
            continue
        tell(f"running {name}")
        try:
            made.runs[name] = run_agent(bench, agent, MIMIC)
        except M4Error as error:
            made.lacking[name] = f"{error.text} {error.todo or ''}".strip()
            tell(f"{name} is left out: {made.lacking[name]}")
        write(root, made)


def backend() -> str | None:
    """The sandbox that starts quickest, where it is installed; else the best that works."""
    return "bubblewrap" if shutil.which("bwrap") else None


def _script(home: Home, folder: Path, name: str, run: Run) -> Path:
    """A script that writes an output which was computed beforehand, or that text."""
    folder.mkdir(exist_ok=True)
    text = run.text
    if run.planted is not None:
        table = folder / f"{name}.csv"
        planted.write_output(home, run.planted, table)
        content = table.read_text(encoding="utf-8")
        text = (
            f"TABLE = {content!r}\nwith open('output.csv', 'w') as file:\n    file.write(TABLE)\n"
        )
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path
