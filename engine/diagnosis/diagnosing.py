"""From a diff to a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from engine.base import duck
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.diagnosis.model import (
    NO_ROWS,
    ColumnDiagnosis,
    Diagnosis,
    KeyDiagnosis,
    Segment,
    Signature,
)
from engine.diagnosis.proposal import propose
from engine.diagnosis.recompute.cache import Cache
from engine.diagnosis.recompute.patients import SOURCE, attach
from engine.diagnosis.recompute.search import Search
from engine.diagnosis.segments.features import make_features
from engine.diagnosis.segments.find import find_segments
from engine.diagnosis.signatures.candidate import (
    KEYS,
    Candidate,
    RowList,
    mismatching,
    ranges,
)
from engine.diagnosis.signatures.cohort import cohort_candidates
from engine.diagnosis.signatures.cover import greedy, signature
from engine.diagnosis.signatures.find import open_positions, together, value_candidates
from engine.diagnosis.table import Table, open_diff
from engine.references import find_target
from engine.sources import SourceInfo, find_source

MEMORY_LIMIT = "800MB"
"""Default limit of the database over the diff; the part of a source has its own."""
SECONDS = 90.0
"""Default time for trying changes of the reference's SQL."""


def diagnose(
    diff: Path,
    *,
    task: Task,
    home: Home | None = None,
    source: str | None = None,
    job: Job | None = None,
    seconds: float = SECONDS,
    memory_limit: str = MEMORY_LIMIT,
    scratch: Path | None = None,
    cache: Cache | None = None,
    agent_sql: Sequence[str] = (),
) -> Diagnosis:
    """Say what the mismatches of a diff are consistent with, and where they sit.

    Args:
        diff: a diff file.
        task: the task that the output was for.
        home: where the source is kept; None tests on values alone.
        source: name of the source whose reference the diff was made with; None likewise.
        job: progress and cancel.
        seconds: for trying changes of the reference's SQL, at most about.
        memory_limit: of the database over the diff, in DuckDB's words.
        scratch: where to spill; the home's when there is one.
        cache: outcomes of changes; by default kept in the home's scratch folder.
        agent_sql: the statements of the agent's trace, for the proposals.

    Raises:
        BadInput: `diff` is no diff file.
        UsageError: there is no such source.
        Cancelled, Busy, StorageFull, HarnessFault.
    """
    info = None if home is None or source is None else find_source(home, source)
    spill = scratch or (home.scratch if home is not None else None)
    table = open_diff(diff, memory_limit=memory_limit, scratch=spill)
    try:
        with duck.interruptible(table.con, job):
            kept = cache or Cache(None if home is None else home.scratch / "diagnosis")
            return _diagnosed(table, task, info, kept, job, seconds, spill, agent_sql)
    except duckdb.Error as error:
        raise duck.in_words(error, "looking for what explains the mismatches") from error
    finally:
        table.con.close()


def _diagnosed(  # noqa: PLR0917
    table: Table,
    task: Task,
    info: SourceInfo | None,
    cache: Cache,
    job: Job | None,
    seconds: float,
    scratch: Path | None,
    agent_sql: Sequence[str],
) -> Diagnosis:
    notes: list[str] = []
    candidates = value_candidates(table, job)
    segments: tuple[Segment, ...] = ()
    if info is None:
        notes.append(
            "There is no source: nothing was computed again, so windows, items, thresholds and "
            "the like were not tested, and there are no segments."
        )
    else:
        attach(table.con, info.path)
        features = make_features(table, info.kind)
        table.con.execute(f"DETACH {SOURCE}")
        if features:
            segments = find_segments(table, features, job)
        else:
            notes.append("There are no segments: the keys name no stay, admission or patient.")
        candidates += cohort_candidates(table, features)
        search = Search(
            table=table,
            source=info.path,
            kind=info.kind,
            digest=info.digest,
            target=find_target(task.target),
            cache=cache,
            job=job,
            scratch=scratch,
            seconds=seconds,
        )
        candidates += search.run(open_positions(table, candidates))
        notes += search.notes
        if any(c.untested for c in candidates):
            notes.append(
                "Computed signatures were tested on a part of the mismatches, and ranking looks at "
                "that part: the source has more patients than are computed again, or does not "
                "give some rows of the reference."
            )
        cache.trim()
    mismatches = mismatching(table)
    ranked, unexplained = _ranked(table, candidates, mismatches)
    return Diagnosis(
        task=task.name,
        mismatches=sum(
            int(rows.size) * (len(table.columns) if p == KEYS else 1)
            for p, rows in mismatches.items()
        ),
        ranked=ranked,
        unexplained=unexplained,
        columns=_columns(table, candidates, mismatches),
        keys=_keys(table, candidates, mismatches),
        segments=segments,
        proposals=propose(task, ranked, agent_sql),
        notes=tuple(notes),
    )


def _ranked(
    table: Table, candidates: Sequence[Candidate], mismatches: Mapping[int, RowList]
) -> tuple[tuple[Signature, ...], int]:
    weights = {KEYS: len(table.columns)}
    chosen, left = greedy(together(list(candidates)), mismatches, weights)
    signatures = tuple(signature(table, c, mismatches, mismatches) for c in chosen)
    return signatures, sum(int(r.size) * weights.get(p, 1) for p, r in left.items())


def _columns(
    table: Table, candidates: Sequence[Candidate], mismatches: Mapping[int, RowList]
) -> tuple[ColumnDiagnosis, ...]:
    found = []
    for column in table.columns:
        i = column.position
        if i not in mismatches:
            continue
        mine = {i: mismatches[i]}
        chosen, left = greedy([c for c in candidates if i in c.cells], mine)
        found.append(
            ColumnDiagnosis(
                column=column.name,
                position=i,
                mismatches=int(mismatches[i].size),
                signatures=tuple(signature(table, c, mine, (i,)) for c in chosen),
                residual=ranges(left[i]) if i in left else NO_ROWS,
            )
        )
    return tuple(found)


def _keys(
    table: Table, candidates: Sequence[Candidate], mismatches: Mapping[int, RowList]
) -> KeyDiagnosis:
    mine = {KEYS: mismatches[KEYS]} if KEYS in mismatches else {}
    chosen, left = greedy([c for c in candidates if KEYS in c.cells], mine)
    _, missing, extra, duplicates = table.by_key
    residual = ranges(left[KEYS]) if KEYS in left else NO_ROWS
    return KeyDiagnosis(
        missing=missing,
        extra=extra,
        duplicates=duplicates,
        signatures=tuple(signature(table, c, mine, (KEYS,)) for c in chosen),
        residual=residual,
    )
