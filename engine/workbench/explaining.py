"""The workbench's answers to "why?": diagnosis, lineage, comparison and report of runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb

from engine.agents.traces import Trace
from engine.base.duck import connect, in_words, quote_text
from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task
from engine.diagnosis import Diagnosis, Judged, diagnose, unmet
from engine.diagnosis.compare import Comparison, compare
from engine.diagnosis.keeping import keep, kept, key_of
from engine.diagnosis.lineage import CellLineage, Value, trace_cell
from engine.diagnosis.report import comparison_facts, run_facts, write_report
from engine.runs.had import had_by
from engine.runs.records import RunRecord
from engine.scoring import look
from engine.sources import find_source
from engine.workbench.judges import OUTPUT


class Explaining:
    """Part of `Workbench`. Every method may be called from any thread."""

    home: Home
    """The home folder."""

    def run_record(self, run_id: str) -> RunRecord:
        """See `Workbench`."""
        raise NotImplementedError

    def run_trace(self, run_id: str) -> Trace:
        """See `Workbench`."""
        raise NotImplementedError

    def diff_of(self, run_id: str, *, job: Job) -> Path | None:
        """See `Workbench`."""
        raise NotImplementedError

    def diagnose_run(
        self,
        run_id: str,
        *,
        job: Job,
        seconds: float = 90,
        again: bool = False,
        on_found: Callable[[Diagnosis], object] | None = None,
    ) -> Diagnosis:
        """What the mismatches of a run are consistent with, where they sit, whose fault.

        What was found out is kept in the run's folder, and given again as long as diff, source,
        texts and program are the same.

        Args:
            run_id: the run.
            job: progress and cancel.
            seconds: for trying changes of the reference's SQL, at most about.
            again: find it out anew.
            on_found: told what is known so far, as often as there is more; in this thread.

        Raises:
            UsageError: the run has no diff.
            Busy, Cancelled, StorageFull.
        """
        record = self.run_record(run_id)
        summary = record.summary
        task = find_task(summary.task)
        had = had_by(task, record.folder, record.raw, own=summary.origin == "own")
        diff = self._diff(run_id, job)
        judged = self._judged(record, task, job)
        digest = "" if summary.source is None else find_source(self.home, summary.source).digest
        key = key_of(diff, task, digest, had.statements, judged)
        found = None if again else kept(diff.parent, key, seconds)
        if found is None:
            found = diagnose(
                diff,
                task=task,
                home=self.home,
                source=summary.source,
                job=job,
                seconds=seconds,
                scratch=self.home.scratch,
                agent_sql=had.statements,
                given=had.given,
                judged=judged,
                on_found=on_found,
            )
            keep(diff.parent, key, seconds, found)
        return found

    def trace_value(
        self, task: Task, source: str, key: Mapping[str, Value], column: str, *, job: Job
    ) -> CellLineage:
        """Where a value of a task's reference comes from: rows, windows, arithmetic.

        Args:
            task: the task.
            source: the source that the reference was built from.
            key: the row: key column to value.
            column: a column of the reference.
            job: progress and cancel.

        Raises:
            UsageError: there is no such source, row or column.
            Busy, Cancelled, BadInput.
        """
        return trace_cell(self.home, source, task.target, key, column, job=job)

    def compare_runs(self, run_ids: Sequence[str], *, job: Job) -> tuple[Comparison, Path]:
        """Hold runs of one task against the first of them.

        Returns:
            The counts, and the file with the aligned rows (`engine.diagnosis.compare`), which
            the caller deletes.

        Raises:
            UsageError: fewer than two runs, more than eight, one that has no diff, or runs
                of different references.
            Cancelled, StorageFull.
        """
        if len(set(run_ids)) != len(run_ids):
            raise UsageError("A run cannot be compared with itself.")
        diffs = {run_id: self._diff(run_id, job) for run_id in run_ids}
        self.home.scratch.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(".duckdb", "compare-", self.home.scratch)
        os.close(handle)
        to = Path(name)
        try:
            return compare(diffs, to, job=job, scratch=self.home.scratch), to
        except BaseException:
            to.unlink(missing_ok=True)
            raise

    def report(self, run_ids: Sequence[str], to: Path, *, job: Job) -> tuple[Path, Path]:
        """Write a report without row-level data: of one run, or of several beside each other.

        Returns:
            The HTML file and the JSON file beside it.

        Raises:
            UsageError: as `compare_runs`, or `to` is not an HTML file.
            Cancelled, StorageFull.
        """
        if to.suffix.lower() not in (".html", ".htm"):
            raise UsageError("A report is an HTML file.", todo="Let its name end in .html.")
        records = [self.run_record(run_id) for run_id in run_ids]
        if len(records) == 1:
            diff = self.diff_of(run_ids[0], job=job)
            diagnosis = None if diff is None else self.diagnose_run(run_ids[0], job=job)
            rows = None if diff is None else _counted_rows(diff)
            return write_report(run_facts(records[0], rows, diagnosis), to)
        comparison, path = self.compare_runs(run_ids, job=job)
        path.unlink(missing_ok=True)
        return write_report(comparison_facts(comparison, records, job), to)

    def _judged(self, record: RunRecord, task: Task, job: Job) -> tuple[Judged, ...]:
        """Why the output could not be compared; the words of another program are not taken."""
        results = record.test_results
        if record.summary.origin == "own" and results is not None:
            return unmet(results.diagnostics)
        output = record.folder / OUTPUT
        return unmet(look(task.evaluation, output, job=job, scratch=self.home.scratch))

    def _diff(self, run_id: str, job: Job) -> Path:
        diff = self.diff_of(run_id, job=job)
        if diff is None:
            raise UsageError(
                f"The run {run_id} has no rows to look at: it left no output, or its reference "
                "is gone or has changed.",
                todo="Run it again, or build the reference it was judged against.",
            )
        return diff


def _counted_rows(diff: Path) -> int:
    """What match rates are counted over."""
    con = connect()
    try:
        # Attached, since this process may hold the same file open with other settings.
        con.execute(f"ATTACH {quote_text(str(diff))} AS d (READ_ONLY)")
        row = con.execute("SELECT count(*) FROM d.diff").fetchone()
    except duckdb.Error as error:
        raise in_words(error, "counting the rows of a diff") from error
    finally:
        con.close()
    return int(row[0]) if row is not None else 0
