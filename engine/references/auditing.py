"""The reference-validity audit: how many rows of a source each convention touches.

Every question is one SQL file in `audit/`, which puts out one row with `affected` and `total`::

    -- counts: Gases that share patient and time with another gas.
    -- of: gases with a pO2
    -- targets: sofa-24h, sirs-24h
    -- why: Only one gas of a time counts; …

The words for readers are in the `reference-notes.md` of the tasks' families.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from sqlglot import exp, parse_one

from engine.base.duck import in_words, interruptible
from engine.base.errors import HarnessFault, UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.concepts import build_concepts, concept_graph
from engine.concepts.query import DERIVED, Query
from engine.concepts.tables import missing_for, source_columns
from engine.references.targets import find_target, kind_of
from engine.sources import KINDS, facts, find_source, open_source

AUDIT_FOLDER = Path(__file__).parent / "audit"
_FIELDS = ("counts", "of", "targets", "why")


@dataclass(frozen=True)
class AuditQuestion:
    """One thing that can be counted in a source."""

    name: str
    """File name without its ending."""
    counts: str
    """What is counted, one sentence."""
    of: str
    """What `total` counts, e.g. ``ICU stays``."""
    targets: tuple[str, ...]
    """Keys of the targets that it is about."""
    why: str
    """Why it matters."""
    query: Query
    """The SQL, with the tables that it reads."""


@dataclass(frozen=True)
class AuditCount:
    """The answer of one source to one question."""

    question: AuditQuestion
    """What was asked."""
    affected: int | None
    """How many rows; None where the source lacks a table."""
    total: int | None
    """Of how many; None where the source lacks a table."""
    missing: tuple[str, ...] = ()
    """Source tables that are lacking."""


@functools.cache
def audit_questions() -> tuple[AuditQuestion, ...]:
    """All questions, by name.

    Raises:
        HarnessFault: the files are ours, so a wrong header is our fault.
        UsageError: a question names an unknown target.
    """
    return tuple(_read(path) for path in sorted(AUDIT_FOLDER.glob("*.sql")))


def audit_source(
    home: Home, source: str, *, job: Job, targets: Sequence[str] | None = None
) -> tuple[AuditCount, ...]:
    """Count in `source`; derived tables that are needed are built first.

    Args:
        home: where everything is kept.
        source: name of the source.
        job: progress by question; can be cancelled.
        targets: only questions about these; all that fit the source's kind when None.

    Raises:
        UsageError: unknown source or target, or a target of the other kind of source.
        Cancelled, Busy, StorageFull, HarnessFault.
    """
    info = find_source(home, source)
    for key in targets or ():
        if kind_of(find_target(key)) != info.kind:
            raise UsageError(
                f"The target {key} is not built from {info.kind}.", todo="Name another source."
            )
    asked = [
        question
        for question in audit_questions()
        if kind_of(find_target(question.targets[0])) == info.kind
        and (targets is None or set(targets) & set(question.targets))
    ]
    graph = concept_graph()
    con = open_source(info)
    try:
        present = source_columns(con)
    finally:
        con.close()
    missing = {q.name: missing_for(graph, q.query, present) for q in asked}
    needed = {name for q in asked if not missing[q.name] for name in q.query.concepts}
    if needed:
        build_concepts(home, source, sorted(needed), job=job)
    counted: list[AuditCount] = []
    con = open_source(info)
    try:
        with interruptible(con, job):
            for position, question in enumerate(asked):
                job.check()
                job.progress("audit", position, len(asked), question.name)
                if lost := missing[question.name]:
                    counted.append(AuditCount(question, None, None, lost))
                else:
                    counted.append(_count(con, question))
    except duckdb.Error as error:
        raise in_words(error, "counting what conventions touch") from error
    finally:
        con.close()
    job.progress("audit", len(asked), len(asked), "everything is counted")
    return tuple(counted)


def _count(con: duckdb.DuckDBPyConnection, question: AuditQuestion) -> AuditCount:
    row = con.execute(question.query.sql).fetchone()
    if row is None:
        raise HarnessFault(f"The audit {question.name} gave no row.")
    return AuditCount(question, int(row[0]), int(row[1]))


def _read(path: Path) -> AuditQuestion:
    text = path.read_text(encoding="utf-8")
    fields: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        if not line.startswith("-- "):
            break
        name, colon, value = line[3:].partition(": ")
        if colon and name in _FIELDS and name not in fields:
            current, fields[name] = name, value
        elif line.startswith("--   ") and current:
            fields[current] += f" {line.strip('- ')}"
        else:
            raise HarnessFault(f"{path.name}: a header line is `-- field: …` or goes on indented.")
    if lost := [name for name in _FIELDS if not fields.get(name)]:
        raise HarnessFault(f"{path.name}: the header lacks {', '.join(lost)}.")
    targets = tuple(part.strip() for part in fields["targets"].split(","))
    if len({kind_of(find_target(key)) for key in targets}) != 1:
        raise HarnessFault(f"{path.name}: the targets are of two kinds of source.")
    query = Query(
        name=path.stem,
        area=path.parent.name,
        purpose=fields["counts"],
        grain="one row",
        key=(),
        reads=_reads(text),
        deviations="none",
        text=text,
    )
    return AuditQuestion(path.stem, fields["counts"], fields["of"], targets, fields["why"], query)


def _reads(text: str) -> dict[str, tuple[str, ...]]:
    """The tables that the SQL names with their schema, each with its columns that it names."""
    tree = parse_one(text, dialect="duckdb")
    named = {column.name for column in tree.find_all(exp.Column)}
    known = {t.full_name: t.columns for kind in KINDS for t in facts(kind).tables.values()}
    reads: dict[str, tuple[str, ...]] = {}
    for name in sorted({f"{t.db}.{t.name}" for t in tree.find_all(exp.Table) if t.db}):
        if name.startswith(f"{DERIVED}."):
            if name.removeprefix(f"{DERIVED}.") not in concept_graph().concepts:
                raise HarnessFault(f"An audit reads {name}, which is no concept.")
            reads[name] = ()
        else:
            reads[name] = tuple(column for column in known[name] if column in named)
    return reads
