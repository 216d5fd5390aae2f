"""Runs that were made elsewhere: taken into the list, opened read-only, scored again.

A folder is listed where it lies and never written to. What an archive holds is unpacked into
the home. What is computed here (the score, the diff) lies beside our own runs, under the run's
name.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from engine import audit
from engine.base.errors import BadInput, UsageError
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task
from engine.references import open_reference, reference_state
from engine.runs import result
from engine.runs.judge import Verdict
from engine.runs.published import Published, Unusable, find_runs, open_ordinary, same
from engine.runs.records import Difference, Recomputed, RunSummary
from engine.runs.store import RunStore, StoredRun, now
from engine.runs.unpack import is_archive, unpack
from engine.sources import find_source
from engine.workbench.judges import OUTPUT, judge_for
from engine.workbench.types import ImportReport

UNPACKED = "published"
"""Below the home's folder of a run: what an archive held of it."""
_KEPT = ("isolated", "publishable", "publishable_reason", "failure_detail", "reasoning_effort")


def import_runs(
    home: Home, store: RunStore, path: Path, *, sources: Sequence[str], job: Job
) -> ImportReport:
    """See `Workbench.import_runs`."""
    for name in sources:
        find_source(home, name)
    if path.is_dir():
        return _take_all(home, store, path.resolve(), unpacked=False, sources=sources, job=job)
    if not is_archive(path):
        raise UsageError(
            "This is no folder of runs and no archive of one.",
            todo="Name a folder, or a .tar, .tar.zst or .tar.gz file.",
        )
    _clear(home)
    place = home.scratch / f"import-{os.getpid()}-{secrets.token_hex(4)}"
    whole = unpack(path, place, job=job)
    try:
        report = _take_all(home, store, place, unpacked=True, sources=sources, job=job)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if whole:
        return report
    cut = Unusable(path.name, "The archive seems cut off: what stood before was taken.")
    return ImportReport(report.imported, report.already, (*report.problems, cut), report.not_scored)


def rescore(home: Home, store: RunStore, run_id: str, source: str, *, job: Job) -> Recomputed:
    """See `Workbench.rescore`."""
    run = store.find(run_id)
    if run.folder is None:
        raise UsageError("Only an imported run is scored again; this one was scored here.")
    task, reference = _judged_by(home, run, source)
    output = run.folder / OUTPUT
    try:
        open_ordinary(output).close()
    except FileNotFoundError as error:
        raise BadInput(f"The run kept no {OUTPUT}, so it cannot be scored again.") from error
    except OSError as error:
        raise os_error(error, "reading the run's output") from error
    place = home.runs / run_id
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise os_error(error, "making a folder for the score") from error
    with audit.recorded(home, "run.rescore", source=source, object=run_id):
        verdict = judge_for(task, home).judge(task, reference, {OUTPUT: output}, place, job=job)
    found = _compared(run, source, verdict)
    manifest = reference_state(home, source, task.target).manifest
    store.note_published(
        run_id,
        source,
        {
            "recomputed": asdict(found),
            "reference": {"csv_sha256": manifest.content_sha256 if manifest else ""},
        },
    )
    return found


def place_of(home: Home, run: StoredRun) -> Path:
    """The folder that holds a run's record and files."""
    return run.folder or home.runs / run.summary.run_id


def _take_all(
    home: Home,
    store: RunStore,
    top: Path,
    *,
    unpacked: bool,
    sources: Sequence[str],
    job: Job,
) -> ImportReport:
    imported: list[RunSummary] = []
    already: list[str] = []
    problems: list[Unusable] = []
    not_scored: list[Unusable] = []
    for number, found in enumerate(find_runs(top, job=job), start=1):
        job.progress("import", number, 0, "Taking over runs")
        if isinstance(found, Unusable):
            problems.append(found)
            continue
        run_id = found.summary.run_id
        taken = _take(home, store, found, unpacked)
        if taken is None:
            imported.append(found.summary)
        elif taken:
            problems.append(Unusable(run_id, taken))
            continue
        else:
            already.append(run_id)
        try:
            _score_if_possible(home, store, run_id, sources, job)
        except (BadInput, UsageError) as error:
            not_scored.append(Unusable(run_id, error.text))
    if not (imported or already or problems):
        raise BadInput(
            "There is no run folder in it (a folder with a result.json).",
            todo="Name the results folder of a harness, or one run's folder.",
        )
    return ImportReport(
        tuple(store.find(run.run_id).summary for run in imported),
        tuple(already),
        tuple(problems),
        tuple(not_scored),
    )


def _take(home: Home, store: RunStore, found: Published, unpacked: bool) -> str | None:
    """Enter one run; None when it was, "" when it was there already, else why it cannot be."""
    run_id = found.summary.run_id
    try:
        there = store.find(run_id)
    except UsageError:
        there = None
    if there is not None:
        if result.read(place_of(home, there)) == found.raw:
            return ""
        return "Another run of that name is here already."
    folder = found.folder
    if unpacked:
        folder = home.runs / run_id / UNPACKED
        try:
            shutil.rmtree(home.runs / run_id, ignore_errors=True)  # of an import that was killed
            folder.parent.mkdir(mode=0o700, parents=True)
            found.folder.replace(folder)
        except OSError as error:
            raise os_error(error, "taking over a run") from error
    facts = {name: found.raw[name] for name in _KEPT if name in found.raw}
    audit.note(home, "run.import", source=None, object=run_id)
    entered = store.add_published(found.summary, folder, facts)
    return None if entered else "Another run of that name was begun just now."


def _score_if_possible(
    home: Home, store: RunStore, run_id: str, sources: Sequence[str], job: Job
) -> None:
    """Score an imported run with the first of `sources` that fits its task.

    Raises:
        BadInput, UsageError: why not.
    """
    run = store.find(run_id)
    if not sources or run.folder is None:
        return
    task = find_task(run.summary.task)
    fitting = [name for name in sources if find_source(home, name).kind == task.source_kind]
    if not fitting:
        raise UsageError(f"Its task needs {task.source_kind} data.")
    rescore(home, store, run_id, fitting[0], job=job)


def _judged_by(home: Home, run: StoredRun, source: str) -> tuple[Task, Path]:
    task = find_task(run.summary.task)
    info = find_source(home, source)
    if info.kind != task.source_kind:
        raise UsageError(
            f"The task {task.name} needs {task.source_kind} data; {info.name} is {info.kind}.",
            todo="Name another source; `m4bench source list` shows them.",
        )
    state = reference_state(home, source, task.target)
    if state.state != "ready":
        raise BadInput(
            f"The reference {task.target} of {source} is {state.state}.",
            todo=f"Build it: m4bench references build {source} --target {task.target}",
        )
    return task, open_reference(home, source, task.target)


def _compared(run: StoredRun, source: str, verdict: Verdict) -> Recomputed:
    folder = run.folder
    raw = (result.read(folder) if folder else None) or {}
    tests = raw.get("test_results")
    recorded = _figures(tests if isinstance(tests, dict) else {})
    recorded.pop("reward", None)
    figures = result.test_results(verdict)
    found = _figures(figures)
    differences = [
        Difference(name, recorded[name], found.get(name))
        for name in sorted(recorded)
        if not same(recorded[name], found.get(name))
    ]
    if not same(run.summary.reward, verdict.reward):
        differences.insert(0, Difference("reward", run.summary.reward, verdict.reward))
    return Recomputed(
        source=source,
        at=now(),
        reward_recorded=run.summary.reward,
        reward_now=verdict.reward,
        strict_recorded=run.summary.strict_pass,
        strict_now=verdict.strict_pass,
        same=not differences,
        differences=tuple(differences),
    )


_COMPARED = ("reward", "key_precision", "extra_keys", "agent_unique_keys")
"""Published figures that say how good the output is; numbers of tests say how it was tested."""


def _figures(tests: Any) -> dict[str, float | None]:
    """The figures that are compared, by name, as far as there are any."""
    rates = tests.get("match_rates")
    named = {name: tests.get(name) for name in _COMPARED} | {
        f"match_rates.{name}": value
        for name, value in (rates.items() if isinstance(rates, dict) else ())
    }
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _clear(home: Home) -> None:
    """Remove what imports of dead programs had unpacked."""
    for folder in home.scratch.glob("import-*"):
        owner = folder.name.split("-")[1]
        if not (owner.isdigit() and psutil.pid_exists(int(owner))):
            shutil.rmtree(folder, ignore_errors=True)
