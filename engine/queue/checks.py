"""The preflight: what must hold before runs are started, each with what to do where it does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.agents import find_agent
from engine.base.errors import M4Error, MissingPrerequisite
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task
from engine.isolation.interface import Sandbox
from engine.preflight import lint_task
from engine.references import reference_state
from engine.runs.records import RunRequest
from engine.workspaces.proof import tables_in

_LEAST_ROOM = 2 << 30
"""Bytes that should be free where the runs are kept."""
_SHOWN = 3
"""Troubles that are told in words; the rest is counted."""

Probe = Callable[[RunRequest], object]
"""Raises an `M4Error` where a request cannot be carried out."""


@dataclass(frozen=True)
class Check:
    """One thing that must hold."""

    name: str
    """What is looked at, in a word or two."""
    ok: bool
    """Does it hold?"""
    why: str
    """What was found, good or bad, in a sentence."""
    todo: str | None = None
    """What to do where it does not hold."""


@dataclass(frozen=True)
class _Trouble:
    words: str
    todo: str | None


def preflight(
    home: Home,
    requests: Sequence[RunRequest],
    probes: Mapping[str, Probe],
    *,
    sandbox: Callable[[str | None], Sandbox],
    strict: bool = False,
) -> tuple[Check, ...]:
    """Look at everything that requests need, without starting or building anything.

    Takes seconds: sandboxes are really tried. What several requests have in common is looked at
    and told once.

    Args:
        home: where everything is.
        requests: what is to be run.
        probes: checks of single requests, by name; what one has told, later ones do not repeat.
        sandbox: the probed sandbox of a name (the best when None); raises where none works.
        strict: a campaign's: references must be there and hold, and not be built on the way.
    """
    told: set[_Trouble] = set()
    checks = [_each(name, requests, probe, told) for name, probe in probes.items()]
    known = _known(requests)
    tasks = list({task.folder: task for _, task in known}.values())
    checks.append(_texts(tasks))
    checks.append(_references(home, known, strict=strict))
    checks.append(_databases(home, known))
    checks += _sandboxes(requests, sandbox)
    checks += _results(requests)
    checks.append(_room(home))
    return tuple(checks)


def _known(requests: Sequence[RunRequest]) -> list[tuple[RunRequest, Task]]:
    """Requests with their tasks; those without one are told by the probes."""
    found: dict[str, Task | None] = {}
    pairs = []
    for request in requests:
        task = request.task
        if isinstance(task, str):
            if task not in found:
                try:
                    found[task] = find_task(task)
                except M4Error:
                    found[task] = None
            task = found[task] or task
        if isinstance(task, Task):
            pairs.append((request, task))
    return pairs


def _each(name: str, requests: Sequence[RunRequest], probe: Probe, told: set[_Trouble]) -> Check:
    troubles: dict[_Trouble, None] = {}
    for request in once(requests):
        try:
            probe(request)
        except M4Error as error:
            troubles[_Trouble(error.text, error.todo)] = None
    new = [trouble for trouble in troubles if trouble not in told]
    told.update(new)
    count = f"{len(requests)} run{'s' if len(requests) != 1 else ''}"
    return _check(name, new, f"Nothing {'else ' if troubles else ''}is wrong with {count}.")


def once(requests: Sequence[RunRequest]) -> tuple[RunRequest, ...]:
    """Requests without those that differ from another in the number of their trial alone."""
    return tuple({replace(one, trial=min(one.trial, 1)): one for one in requests}.values())


def _texts(tasks: Sequence[Task]) -> Check:
    """No text gives anything away, and every skill has its front matter."""
    troubles = []
    for task in tasks:
        errors = [found for found in lint_task(task) if found.level == "error"]
        troubles += [
            _Trouble(
                f"{task.name}: {found.path.name}, line {found.line}: {found.message}",
                f"See `m4bench tasks lint {task.name}`.",
            )
            for found in errors
        ]
    return _check("Texts", troubles, f"{len(tasks)} task texts give nothing away.")


def _references(home: Home, known: Sequence[tuple[RunRequest, Task]], *, strict: bool) -> Check:
    troubles, built, absent = [], 0, 0
    for source, key in sorted({(request.source, task.target) for request, task in known}):
        try:
            found = reference_state(home, source, key)
        except M4Error as error:
            troubles.append(_Trouble(error.text, error.todo))
            continue
        built += found.state == "ready"
        if found.state != "ready" and strict:
            troubles.append(
                _Trouble(
                    f"{key} on {source}: {found.why}",
                    f"Say `m4bench references build {source} --target {key}`.",
                )
            )
        absent += found.state != "ready"
    words = f"{built} hold" + (f", {absent} are built first (minutes)." if absent else ".")
    return _check("References", troubles, words)


def _databases(home: Home, known: Sequence[tuple[RunRequest, Task]]) -> Check:
    """What a task takes away is not in the databases that were built for it."""
    troubles, seen = [], 0
    for source, task in {(request.source, task.name): task for request, task in known}.items():
        for path in sorted((home.workspaces / source[0]).glob(f"{task.name}.*duckdb")):
            try:
                tables = tables_in(path)
            except M4Error as error:
                troubles.append(_Trouble(error.text, error.todo))
                continue
            seen += 1
            schemas = {name.partition(".")[0] for name in tables}
            if task.mode == "raw" and "mimiciv_derived" in schemas:
                troubles.append(_there(path, "a schema of derived tables"))
            left = sorted(set(task.drop_tables) & set(tables))
            troubles += [_there(path, f"the table {name}") for name in left]
    words = f"{seen} hold what they may hold; others are built and proved before their run."
    return _check("Databases", troubles, words)


def _there(path: Path, what: str) -> _Trouble:
    return _Trouble(
        f"{path.name} holds {what}, which its task takes away.",
        "Delete the file; it is built anew before the run.",
    )


def _sandboxes(
    requests: Sequence[RunRequest], sandbox: Callable[[str | None], Sandbox]
) -> list[Check]:
    """A sandbox that works, and in it the programs of the agents."""
    troubles: list[_Trouble] = []
    missing: dict[_Trouble, None] = {}
    names, programs = set(), set()
    for backend in sorted({request.backend for request in requests}, key=str):
        try:
            works = sandbox(backend)
        except M4Error as error:
            troubles.append(_Trouble(error.text, error.todo))
            continue
        names.add(works.name)
        wanted = {_program(r.agent) for r in requests if r.backend == backend} - {None}
        if not wanted:
            continue
        try:
            there = works.programs()
        except MissingPrerequisite as error:
            missing[_Trouble(error.text, error.todo)] = None
            continue
        for program in sorted(str(name) for name in wanted):
            programs.add(program)
            if program not in there:
                words = f"The program {program} is not installed for {works.name}."
                missing[_Trouble(words, "See `m4bench doctor`.")] = None
    checks = [_check("Sandbox", troubles, f"{', '.join(sorted(names))}: really tried.")]
    if programs or missing:
        checks.append(
            _check("Programs", list(missing), f"Installed: {', '.join(sorted(programs))}.")
        )
    return checks


def _program(agent: str) -> str | None:
    try:
        return find_agent(agent).program
    except M4Error:
        return None  # told by the probes


def _results(requests: Sequence[RunRequest]) -> list[Check]:
    """A folder for results holds nothing yet: figures of two campaigns must not mix."""
    folders = sorted({request.results for request in requests if request.results is not None})
    if not folders:
        return []
    full = [f for f in folders if f.is_file() or (f.is_dir() and any(f.iterdir()))]
    trouble = _Trouble("The folder for results is not empty.", "Name a new folder for results.")
    troubles = [trouble] if full else []
    return [_check("Results folder", troubles, "Fresh.")]


def _room(home: Home) -> Check:
    home.runs.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home.runs).free
    troubles = []
    if free < _LEAST_ROOM:
        troubles.append(
            _Trouble(f"Only {free / 1e9:.1f} GB are free where runs are kept.", "Free some space.")
        )
    return _check("Disk", troubles, f"{free / 1e9:.0f} GB are free where runs are kept.")


def _check(name: str, troubles: Sequence[_Trouble], fine: str) -> Check:
    if not troubles:
        return Check(name, ok=True, why=fine)
    words = " ".join(trouble.words for trouble in troubles[:_SHOWN])
    more = len(troubles) - _SHOWN
    todo = " ".join(dict.fromkeys(t.todo for t in troubles[:_SHOWN] if t.todo)) or None
    return Check(name, ok=False, why=words + (f" And {more} more." if more > 0 else ""), todo=todo)
