"""All checks of one task on one source, kept by the hash of what they rest on."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.base.errors import M4Error, UsageError
from engine.base.files import write_json
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.claims.across import across
from engine.claims.asking import Asker, asking
from engine.claims.checks.agreement import agreement_checks
from engine.claims.checks.bands import band_checks
from engine.claims.checks.items import item_checks
from engine.claims.checks.lists import list_checks
from engine.claims.checks.measures import measure_checks
from engine.claims.checks.outcome import outcome_checks
from engine.claims.checks.spellings import spelling_checks
from engine.claims.checks.windows import window_checks
from engine.claims.extract.unread import unread_numbers
from engine.claims.material import Material, read_material
from engine.claims.model import Across, Check, Claim, Evidence, Unread
from engine.references import find_target, reference_state
from engine.references.targets import sql_sha256
from engine.sources import SourceInfo, find_source, known_source

TEXT_CHECKS = (agreement_checks, band_checks, list_checks, window_checks)
"""What needs no database."""
DATA_CHECKS = (item_checks, measure_checks, spelling_checks)
"""What asks the source."""
_KEPT = 20
"""Of how many states of its texts the evidence of a task is kept, the newest ones."""


def check_texts(task: Task, texts: Mapping[Path, str] | None = None) -> tuple[Check, ...]:
    """The checks that need no source; quick enough for an editor, a moment after typing.

    Args:
        task: the task.
        texts: what an editor holds instead of what is on disk, by path.

    Raises:
        BadInput: a text cannot be read.
    """
    material = read_material(task, texts)
    return _ordered([check for run in TEXT_CHECKS for check in run(material)])


def check_evidence(
    home: Home,
    task: Task,
    source: str,
    *,
    job: Job,
    texts: Mapping[Path, str] | None = None,
    memory_limit: str | None = None,
    fresh: bool = False,
) -> Evidence:
    """Hold every claim of a task's skills against texts, reference and source.

    The source is only read. What was found is kept with the source until a text, the
    reference's SQL, the source or these checks change.

    Args:
        home: where everything is kept.
        task: the task.
        source: name of the source.
        job: progress by check; can be cancelled.
        texts: what an editor holds instead of what is on disk, by path.
        memory_limit: of the queries, in DuckDB's words; its usual one when None.
        fresh: look again even if nothing changed.

    Raises:
        UsageError: unknown source, or one of another kind than the task's.
        BadInput: a text cannot be read.
        Busy, StorageFull, Cancelled.
    """
    info = find_source(home, source)
    if info.kind != task.source_kind:
        raise UsageError(
            f"{task.name} is a task on {task.source_kind}, and {source} is not.",
            todo="Name another source (m4bench source list).",
        )
    material = read_material(task, texts)
    info = known_source(home, source, job=job)
    kept = _place(info, task) / _name(home, material, source, info.digest)
    if not fresh and (found := _read(kept)) is not None:
        return found
    with asking(info, job, memory_limit) as asker:
        checks = run_checks(material, asker, home, source)
    evidence = Evidence(
        task=task.name,
        source=source,
        source_digest=info.digest,
        sql_sha256=sql_sha256(find_target(task.target)),
        texts=material.hashes,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        claims=tuple(claim for skill in material.skills for claim in skill.claims),
        unread=tuple(
            number
            for skill in material.skills
            for number in unread_numbers(skill.document, skill.claims)
        ),
        checks=checks,
        across=across(material),
    )
    _keep(kept, evidence)
    return evidence


def kept_evidence(
    home: Home, task: Task, source: str, texts: Mapping[Path, str] | None = None
) -> tuple[Evidence, tuple[str, ...]] | None:
    """The newest evidence that is kept of a task and source; asks the source nothing.

    Args:
        home: where everything is kept.
        task: the task.
        source: name of the source.
        texts: what an editor holds instead of what is on disk, by path.

    Returns:
        The evidence, and in words what has changed since (nothing: it holds); None where nothing
        is kept.

    Raises:
        UsageError: there is no such source.
        BadInput: a text cannot be read.
    """
    info, material = find_source(home, source), read_material(task, texts)
    for path in _newest(_place(info, task)):
        if (found := _read(path)) is None:
            continue
        why = [
            f"{name.replace('/', ' ')} was changed"
            for name in sorted({*found.texts, *material.hashes})
            if found.texts.get(name) != material.hashes.get(name)
        ]
        if found.source_digest != info.digest:
            why.append("the source's data were changed")
        if found.sql_sha256 != sql_sha256(find_target(task.target)):
            why.append("the reference's SQL was changed")
        if not why and path.name != _name(home, material, source, info.digest):
            why.append("the reference was built anew, or the program's checks are newer")
        return found, tuple(why)
    return None


def run_checks(material: Material, asker: Asker, home: Home, source: str) -> tuple[Check, ...]:
    """All checks; an `asker` that is used again asks nothing twice.

    Raises:
        Cancelled: its job was stopped.
    """
    job, checks = asker.job, list[Check]()
    done, total = 0, len(TEXT_CHECKS) + len(DATA_CHECKS) + 1
    for run in TEXT_CHECKS:
        job.check()
        job.progress("claims", done, total, "comparing the texts")
        checks += run(material)
        done += 1
    for ask in DATA_CHECKS:
        job.progress("claims", done, total, "asking the source")
        checks += ask(material, asker)
        done += 1
    checks += outcome_checks(material, asker, home, source)
    job.progress("claims", total, total, "everything is checked")
    return _ordered(checks)


def _ordered(checks: list[Check]) -> tuple[Check, ...]:
    order = {"skill": 0, "operational-spec": 1, "instruction": 2}
    return tuple(
        sorted(checks, key=lambda c: (order.get(c.text, 9), c.skill, c.line, c.column, c.name))
    )


def _place(info: SourceInfo, task: Task) -> Path:
    return info.path.parent / "claims" / task.name


def _name(home: Home, material: Material, source: str, digest: str) -> str:
    return f"{_key(home, material, source, digest)}.json"


def _newest(folder: Path) -> list[Path]:
    """What is kept of a task, the newest first; a file that goes meanwhile is left out."""
    found = []
    for path in folder.glob("*.json"):
        with suppress(OSError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def _key(home: Home, material: Material, source: str, digest: str) -> str:
    target = find_target(material.task.target)
    state = reference_state(home, source, material.task.target)
    parts = {
        "source": digest,
        "sql": sql_sha256(target),
        "texts": dict(material.hashes),
        "task": material.task.name,
        "reference": state.manifest.content_sha256 if state.manifest else state.state,
        "checks": _own_sha256(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def _own_sha256() -> str:
    """Of the code of the checks and of what reads the SQL: other code may answer otherwise."""
    here = Path(__file__).parent
    files = [*sorted(here.rglob("*.py")), *sorted((here.parent / "preflight").glob("*.py"))]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _keep(path: Path, evidence: Evidence) -> None:
    # Only a memory: what cannot be kept is found out again the next time.
    with suppress(M4Error, OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(path, dataclasses.asdict(evidence), "keeping what was found out")
        for old in _newest(path.parent)[_KEPT:]:
            old.unlink(missing_ok=True)


def _read(path: Path) -> Evidence | None:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        data["claims"] = tuple(Claim(**claim) for claim in data["claims"])
        data["unread"] = tuple(Unread(**number) for number in data["unread"])
        data["checks"] = tuple(
            Check(**{**check, "claims": tuple(check["claims"])}) for check in data["checks"]
        )
        data["across"] = tuple(
            Across(**{**row, "places": {n: tuple(lines) for n, lines in row["places"].items()}})
            for row in data["across"]
        )
        return Evidence(**data)
    except (OSError, ValueError, TypeError, KeyError):
        return None
