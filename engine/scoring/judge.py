"""Scoring a table: reference and output side by side, once, into a score and a diff file.

Everything happens in a scratch database in memory that spills to disk under its memory limit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine.base import duck
from engine.base.errors import BadInput, bad_file
from engine.base.jobs import Job
from engine.catalogue.task import TableEvaluation
from engine.scoring.aligned import Aligned, lay
from engine.scoring.cells import number
from engine.scoring.diff import write_diff
from engine.scoring.output import MAX_BYTES, Unreadable, open_table
from engine.scoring.score import Diagnostic, Score, Tally, score_of, zero_score
from engine.scoring.sides import Side, load_output, load_reference, no_output
from engine.scoring.values import define_macros, fetch_row

MEMORY_LIMIT = "800MB"
"""Default limit of the scratch database: the process stays below 1.2 GB."""

UNORDERED = ("ventilation_status", "specimen")
"""Labels: never in the ordered error, even where they are written as numbers."""

_MAX_SCORED = 64
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_MAX_THREADS = 8


@dataclass(frozen=True)
class _Inputs:
    evaluation: TableEvaluation
    output: Path
    reference: Path
    unordered: Sequence[str]
    max_bytes: int


def score_table(
    evaluation: TableEvaluation,
    output: Path,
    reference: Path,
    *,
    unordered: Sequence[str] = UNORDERED,
    job: Job | None = None,
    memory_limit: str = MEMORY_LIMIT,
    scratch: Path | None = None,
    max_bytes: int = MAX_BYTES,
) -> Score:
    """Score an output.

    Args:
        evaluation: the task's rules.
        output: the agent's CSV; may be hostile, or missing.
        reference: Parquet, CSV or CSV.gz.
        unordered: value columns that are labels whatever they look like.
        job: progress and cancel.
        memory_limit: of the scratch database, in DuckDB's words.
        scratch: where to spill; the system's temporary folder when None.
        max_bytes: of the output, at most.

    Raises:
        BadInput: the reference has duplicate keys, lacks a column, has no rows, or is no table.
        Cancelled, StorageFull, HarnessFault: no score.
    """
    return judge_table(
        evaluation,
        output,
        reference,
        diff=None,
        unordered=unordered,
        job=job,
        memory_limit=memory_limit,
        scratch=scratch,
        max_bytes=max_bytes,
    )


def align(
    evaluation: TableEvaluation,
    output: Path,
    reference: Path,
    *,
    to: Path,
    job: Job | None = None,
    memory_limit: str = MEMORY_LIMIT,
    scratch: Path | None = None,
) -> None:
    """Write the diff file of an output; see `judge_table`."""
    judge_table(
        evaluation,
        output,
        reference,
        diff=to,
        job=job,
        memory_limit=memory_limit,
        scratch=scratch,
    )


def judge_table(
    evaluation: TableEvaluation,
    output: Path,
    reference: Path,
    *,
    diff: Path | None,
    unordered: Sequence[str] = UNORDERED,
    job: Job | None = None,
    memory_limit: str = MEMORY_LIMIT,
    scratch: Path | None = None,
    max_bytes: int = MAX_BYTES,
) -> Score:
    """Score an output and, where `diff` names a file, write the aligned rows into it.

    The diff appears whole or not at all. Arguments and errors: see `score_table`.
    """
    if len(evaluation.scored_columns) > _MAX_SCORED:
        raise BadInput(f"The task scores more than {_MAX_SCORED} columns.")
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    # Each thread holds buffers of its own, which count against the limit.
    threads = min(os.cpu_count() or 1, _MAX_THREADS)
    con = duck.connect(memory_limit=memory_limit, threads=threads, scratch=scratch)
    try:
        with duck.interruptible(con, job):
            inputs = _Inputs(evaluation, output, reference, unordered, max_bytes)
            return _judge(con, inputs, diff, job)
    except duckdb.Error as error:
        raise duck.in_words(error, "scoring") from error
    finally:
        con.close()


def look(
    evaluation: TableEvaluation,
    output: Path,
    *,
    job: Job | None = None,
    memory_limit: str = MEMORY_LIMIT,
    scratch: Path | None = None,
) -> tuple[Diagnostic, ...]:
    """Whether an output is there, can be read and has the columns: `score_table` without scoring.

    Raises:
        Cancelled, StorageFull, HarnessFault: it could not be looked at.
    """
    con = duck.connect(memory_limit=memory_limit, scratch=scratch)
    try:
        with duck.interruptible(con, job):
            define_macros(con)
            inputs = _Inputs(evaluation, output, output, UNORDERED, MAX_BYTES)
            read = _read_output(con, inputs, _wanted(evaluation), job)
    except duckdb.Error as error:
        raise duck.in_words(error, "looking at an output") from error
    finally:
        con.close()
    fault = read.fault
    score = zero_score(
        evaluation,
        reference_rows=0,
        failed="" if fault is None else fault.diagnostic,
        reason="" if fault is None else fault.text,
        agent_rows=read.rows,
        missing_columns=read.missing,
    )
    return tuple(score.diagnostics[:3])


def _wanted(evaluation: TableEvaluation) -> tuple[str, ...]:
    """The columns that are read."""
    names = [*evaluation.key_columns, *evaluation.scored_columns, *evaluation.value_columns]
    return tuple(dict.fromkeys(names))


def _judge(
    con: duckdb.DuckDBPyConnection, inputs: _Inputs, diff: Path | None, job: Job | None
) -> Score:
    define_macros(con)
    evaluation = inputs.evaluation
    wanted = _wanted(evaluation)
    _stage(job, 0, "reading the reference")
    reference = load_reference(con, inputs.reference, wanted, job=job)
    _check_reference(inputs.reference, reference, wanted)
    _stage(job, 1, "reading the output")
    read = _read_output(con, inputs, wanted, job)
    _stage(job, 2, "matching the keys")
    aligned = lay(con, evaluation, reference, read.side, path=inputs.reference, job=job)
    if read.fault is None:
        _stage(job, 3, "comparing")
        tally = _tally(aligned, evaluation, read.missing or (), inputs.unordered)
        score = score_of(evaluation, tally)
    else:
        score = zero_score(
            evaluation,
            reference_rows=reference.rows,
            failed=read.fault.diagnostic,
            reason=read.fault.text,
            agent_rows=read.rows,
            missing_columns=read.missing,
        )
    if diff is not None:
        _stage(job, 4, "writing the aligned rows")
        write_diff(aligned, diff, job=job)
    _stage(job, 5, "scored")
    return score


@dataclass
class _Read:
    side: Side
    missing: list[str] | None = None
    rows: int | None = None
    fault: Unreadable | None = None


def _read_output(
    con: duckdb.DuckDBPyConnection, inputs: _Inputs, wanted: Sequence[str], job: Job | None
) -> _Read:
    """The output as far as it can be read; what is wrong with it is its author's fault."""
    read = _Read(no_output(con))
    hint = ""
    try:
        with open_table(inputs.output, max_bytes=inputs.max_bytes, job=job) as table:
            required, keys = inputs.evaluation.required, inputs.evaluation.key_columns
            hint = _separator(table.header)
            read.missing = [name for name in required if name not in table.header]
            no_key = [name for name in keys if name not in table.header]
            side = load_output(con, table, wanted, job=job)
            read.rows = side.rows
    except Unreadable as fault:
        read.fault = Unreadable(fault.diagnostic, f"{fault.text}{hint}")
        return read
    if no_key:
        missing = ", ".join(dict.fromkeys([*no_key, *read.missing]))
        read.fault = Unreadable(
            "required_columns",
            f"Without the key no row can be found. Missing: {missing}.{hint}",
        )
        read.side = no_output(con)
    else:
        read.side = side
    return read


def _separator(header: Sequence[str]) -> str:
    """A sentence where the header looks as if it were separated by something else."""
    if len(header) != 1:
        return ""
    for sign, name in _SEPARATORS.items():
        if sign in header[0]:
            return f" Its header is one column with {name} in it; columns are separated by commas."
    return ""


def _stage(job: Job | None, done: int, text: str) -> None:
    if job is not None:
        job.check()
        job.progress("score", done, 5, text)


def _check_reference(path: Path, side: Side, wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in side.columns:
            raise bad_file(
                path,
                "The reference lacks a column that the task names.",
                column=name,
                todo="Is it the reference of this task? Build it again.",
            )
    if not side.rows:
        raise bad_file(path, "The reference has no rows, so nothing can be scored against it.")


def _tally(
    aligned: Aligned, evaluation: TableEvaluation, missing: Sequence[str], unordered: Sequence[str]
) -> Tally:
    """Count matches and sum the ordered errors, in one pass over the pairs."""
    sums = [f"count(*) FILTER ({cell.matches})" for cell in aligned.cells]
    ordered = [
        name
        for name in evaluation.value_columns
        if name not in unordered and aligned.reference.columns[name].numeric
    ]
    scales = _scales(aligned, ordered)
    sums += [
        _ordered_error(aligned, name, scale) for name, scale in zip(ordered, scales, strict=True)
    ]
    found, *rest = fetch_row(
        aligned.con,
        f"SELECT count(arn), {', '.join(sums)} FROM pairs {aligned.joins}",  # noqa: S608  (our own names)
    )
    scored = evaluation.scored_columns
    matched = {name: int(rest[i]) for i, name in enumerate(scored)}
    errors = {name: rest[len(scored) + i] for i, name in enumerate(ordered)}
    return Tally(
        reference_rows=aligned.reference.rows,
        agent_rows=aligned.agent.rows,
        found_keys=int(found),
        duplicates=aligned.duplicates,
        matched=matched,
        missing_columns=missing,
        compared_as={c.name: c.compared_as for c in aligned.cells if c.agent is not None},
        ordered_errors={k: float(v) / found for k, v in errors.items()} if found else None,
        notices=[*aligned.keys.notices, *(c.notice for c in aligned.cells if c.notice is not None)],
    )


def _scales(aligned: Aligned, names: Sequence[str]) -> list[float]:
    """Per ordered column: max - min of the reference, 1 where that is 0 or nothing is there."""
    if not names:
        return []
    columns = [aligned.reference.columns[name] for name in names]
    values = [f"({number(c, c.sql)})::DOUBLE" for c in columns]
    spans = ", ".join(f"max({v}) - min({v})" for v in values)
    row = fetch_row(aligned.con, f"SELECT {spans} FROM reference")  # noqa: S608  (our own names)
    return [float(span) if span else 1.0 for span in row]


def _ordered_error(aligned: Aligned, name: str, scale: float) -> str:
    """SQL of the sum of one column's errors over the rows whose key both sides have."""
    agent = aligned.agent.columns.get(name)
    if agent is None:
        return "count(arn)"
    column = aligned.reference.columns[name]
    r = f"({number(column, f'rc_{column.sql}')})::DOUBLE"
    a = f"({number(agent, f'ac_{agent.sql}')})::DOUBLE"
    if math.isfinite(scale):  # so are the reference's values; an infinite distance counts 1
        lone = f"CASE WHEN {r} IS NULL AND {a} IS NULL THEN 0 ELSE 1 END"
        share = f"abs({r} - {a}) / {scale!r}::DOUBLE"
        error = f"coalesce(CASE WHEN {share} > 1 THEN 1 ELSE {share} END, {lone})"
        return f"coalesce(sum({error}) FILTER (arn IS NOT NULL), 0)"
    return (
        f"coalesce(sum(CASE WHEN arn IS NULL OR {r} = {a} OR ({r} IS NULL AND {a} IS NULL) THEN 0 "
        f"WHEN {r} IS NULL OR {a} IS NULL THEN 1 "
        f"ELSE least(abs({r} - {a}) / 'inf'::DOUBLE, 1) END), 0)"
    )
