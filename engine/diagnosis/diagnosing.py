"""From a diff to a diagnosis."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from engine.base import duck
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.diagnosis.judged import with_reason
from engine.diagnosis.model import (
    NO_ROWS,
    ColumnDiagnosis,
    Diagnosis,
    Judged,
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
from engine.diagnosis.signatures.find import (
    by_chance,
    open_positions,
    together,
    value_candidates,
)
from engine.diagnosis.table import Table, open_diff
from engine.references import find_target
from engine.sources import SourceInfo, find_source

MEMORY_LIMIT = "800MB"
"""Default limit of the database over the diff; the part of a source has its own."""
SECONDS = 90.0
"""Default time for trying changes of the reference's SQL."""
_NOT_KNOWN = (
    "Whose output this is is not known here: all texts of the task are taken as given to the agent."
)
_BEFORE_GROUPS = 2
"""Times that the search tells something before groups of stays are looked for."""


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
    given: Container[str] | None = None,
    judged: Sequence[Judged] = (),
    on_found: Callable[[Diagnosis], object] | None = None,
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
        given: the texts that the run was given (`propose`).
        judged: why the output could not be read, or lacks columns (`unmet`).
        on_found: told what is known so far, as often as there is more; `complete` is False.

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
            work = _Work(
                table, task, info, kept, job, seconds, spill, agent_sql, given, judged, on_found
            )
            return work.done()
    except duckdb.Error as error:
        raise duck.in_words(error, "looking for what explains the mismatches") from error
    finally:
        table.con.close()


@dataclass
class _Work:
    """A diagnosis in the making."""

    table: Table
    task: Task
    info: SourceInfo | None
    cache: Cache
    job: Job | None
    seconds: float
    scratch: Path | None
    agent_sql: Sequence[str]
    given: Container[str] | None
    judged: Sequence[Judged]
    on_found: Callable[[Diagnosis], object] | None
    candidates: list[Candidate] = field(default_factory=list)
    segments: tuple[Segment, ...] = ()
    notes: list[str] = field(default_factory=list)
    mismatches: Mapping[int, RowList] = field(default_factory=dict)
    cut_short: bool = False

    def done(self) -> Diagnosis:
        """Everything, in the order in which it helps: values, changes close by, groups, more."""
        self.mismatches = mismatching(self.table)
        self.candidates = with_reason(value_candidates(self.table, self.job), self.judged)
        if self.info is None:
            self.notes.append(
                "There is no source: nothing was computed again, so windows, items, thresholds and "
                "the like were not tested, and there are no segments."
            )
        elif self.mismatches:
            self._tell()
            self._with_source(self.info)
        return self._diagnosis(complete=True)

    def _with_source(self, info: SourceInfo) -> None:
        search = Search(
            table=self.table,
            source=info.path,
            kind=info.kind,
            digest=info.digest,
            target=find_target(self.task.target),
            cache=self.cache,
            job=self.job,
            scratch=self.scratch,
            seconds=self.seconds,
        )
        grouped = False
        chance = by_chance(self.table)
        positions = [p for p in open_positions(self.table, self.candidates) if p not in chance]
        if chance:
            self.notes.append(
                "The output has several different rows per key. Which of them is compared is "
                "chance, so columns that differ there alone were not computed again."
            )
        for number, found in enumerate(search.run(positions)):
            self.candidates += found
            self._tell()
            if not grouped and number + 1 >= _BEFORE_GROUPS:
                began = time.monotonic()
                self._groups(info)
                search.pause(time.monotonic() - began)
                grouped = True
        if not grouped:
            self._groups(info)
        self.notes += search.notes
        self.cut_short = search.cut_short
        if any(c.untested for c in self.candidates):
            self.notes.append(
                "Computed signatures were tested on a part of the mismatches, and ranking looks at "
                "that part: the source has more patients than are computed again, or does not "
                "give some rows of the reference."
            )
        self.cache.trim()

    def _groups(self, info: SourceInfo) -> None:
        """Segments, and what missing keys have in common."""
        attach(self.table.con, info.path)
        features = make_features(self.table, info.kind)
        self.table.con.execute(f"DETACH {SOURCE}")
        if features:
            self.segments = find_segments(self.table, features, self.job)
        else:
            self.notes.append("There are no segments: the keys name no stay, admission or patient.")
        self.candidates += cohort_candidates(self.table, features)
        self._tell()

    def _tell(self) -> None:
        if self.on_found is not None:
            self.on_found(self._diagnosis(complete=False))

    def _diagnosis(self, *, complete: bool) -> Diagnosis:
        table, mismatches = self.table, self.mismatches
        ranked, unexplained = _ranked(table, self.candidates, mismatches)
        unknown = (_NOT_KNOWN,) if ranked and self.given is None else ()
        return Diagnosis(
            task=self.task.name,
            mismatches=sum(
                int(rows.size) * (len(table.columns) if p == KEYS else 1)
                for p, rows in mismatches.items()
            ),
            ranked=ranked,
            unexplained=unexplained,
            columns=_columns(table, self.candidates, mismatches),
            keys=_keys(table, self.candidates, mismatches),
            segments=self.segments,
            proposals=propose(self.task, ranked, self.agent_sql, self.given, judged=self.judged),
            notes=(*self.notes, *unknown),
            complete=complete,
            cut_short=self.cut_short,
            judged=tuple(self.judged),
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
