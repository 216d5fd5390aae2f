"""Rows on their way out of the diff: to the clipboard and into files, as the source's policy says.

Asked first where the policy wants it, recorded in the audit log before anything is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error, UsageError
from engine.scoring.exporting import FORMATS, write_rows
from engine.sources import Decision
from m4review.app.context import Context
from m4review.app.jobs import JobHandle
from m4review.diff.reader import Record, View
from m4review.diff.table import TableColumn, as_tsv
from m4review.diff.viewmodel import DiffViewModel

if TYPE_CHECKING:
    from engine.base.jobs import Job

COPY_LIMIT = 1_000_000
"""Cells that are copied at once; more belongs into a file."""
_STEP = 5_000
Blocks = Sequence[tuple[int, int, list[int]]]
"""(first position, last position, columns) from top to bottom."""
Scope = Literal["selection", "shown", "all"]


@dataclass(frozen=True)
class _Ask:
    source: str
    decision: Decision


class Outgoing(QObject):
    """Copies and exports what the diff screen shows."""

    copied = Signal(str, int)
    """Text for the clipboard, and its number of cells; 0 for a text that was selected."""
    told = Signal(str)
    """One line for the user."""
    failed = Signal(object)
    """An `M4Error`; nothing was copied."""

    def __init__(self, context: Context, model: DiffViewModel) -> None:
        super().__init__(model)
        self._context, self._model = context, model
        self.run_id = ""
        """Whose diff is shown; empty for a file that belongs to no run."""

    # --- the clipboard

    def copy(self, blocks: Blocks, columns: Sequence[TableColumn], *, headers: bool) -> None:
        """Put cells on the clipboard as tab-separated text.

        Args:
            blocks: what is selected.
            columns: all columns of the table.
            headers: with a line of column names.
        """
        view, file = self._model.view, self._model.file
        if view is None or file is None or not blocks:
            return
        cells = sum((last - first + 1) * len(which) for first, last, which in blocks)
        if cells > COPY_LIMIT:
            self.failed.emit(
                UsageError(
                    f"{cells:,} cells are too many for the clipboard.",
                    todo="Filter first, or write the rows to a file (Diff, Export).",
                )
            )
            return

        def work(job: Job, source: str) -> str:
            text = _text(blocks, columns, headers, job)
            self._record(source, "clipboard", _rows_in(blocks))
            return text

        def _text(blocks: Blocks, columns: Sequence[TableColumn], headers: bool, job: Job) -> str:
            parts: list[str] = []
            with file.cursor() as cursor:
                for number, (first, last, which) in enumerate(blocks):
                    records: list[Record] = []
                    for start in range(first, last + 1, _STEP):
                        job.check()
                        size = min(_STEP, last + 1 - start)
                        records += file.read(cursor, view, start, size)
                    chosen = [columns[at] for at in which]
                    parts.append(as_tsv(records, chosen, headers=headers and number == 0))
            return "\n".join(parts)

        def agreed(source: str) -> None:
            handle = self._model.read("Copy", lambda job: work(job, source))
            handle.done.connect(lambda text: self.copied.emit(text, cells))
            handle.failed.connect(self.failed.emit)

        self._permitted("Copy these rows", agreed)

    def copy_text(self, text: str) -> None:
        """Put a text of one row (a value, a key, a part of it) on the clipboard."""

        def agreed(source: str) -> None:
            handle = self._model.read("Copy", lambda _: self._record(source, "clipboard", 1))
            handle.done.connect(lambda _: self.copied.emit(text, 0))
            handle.failed.connect(self.failed.emit)

        self._permitted("Copy this text", agreed)

    # --- files

    def export(
        self,
        scope: Scope,
        *,
        blocks: Blocks = (),
        columns: Sequence[TableColumn] = (),
        shown: Sequence[int] = (),
    ) -> None:
        """Ask for a file and write rows into it.

        Args:
            scope: the selected cells; the rows that are shown, in their order, with the columns
                that are not hidden; or all rows and columns.
            blocks: what is selected.
            columns: all columns of the table.
            shown: those that are not hidden.
        """
        view = self._model.view
        if view is None or self._model.file is None:
            return
        if scope == "selection" and not blocks:
            self.told.emit("Nothing is selected.")
            return
        rows: np.ndarray[tuple[int], np.dtype[np.int32]] | None = None
        names: list[str] | None = None
        if scope == "selection":
            rows = _selected_rows(blocks, view)
            names = _names(columns, sorted({at for _, _, which in blocks for at in which}))
        elif scope == "shown":
            rows, names = view.rows, _names(columns, shown)
        total = self._model.layout.rows if rows is None else len(rows)

        def agreed(source: str) -> None:
            patterns = ("Parquet (*.parquet)", "CSV (*.csv)")
            path = self._context.interaction.choose_save(
                f"Write {total:,} rows", f"{self.run_id or 'diff'}.parquet", patterns
            )
            if path is not None:
                self._write(path, rows, names, total, source)

        self._permitted("Write these rows to a file", agreed)

    def _write(
        self,
        path: Path,
        rows: np.ndarray[tuple[int], np.dtype[np.int32]] | None,
        names: list[str] | None,
        total: int,
        source: str,
    ) -> None:
        file, tried = self._model.file, bool(self._model.query.tolerances)
        if file is None:
            return
        if path.suffix.casefold() not in FORMATS:
            path = path.with_name(path.name + ".parquet")

        def work(job: Job) -> int:
            self._record(source, "file", total, path.name)
            with file.cursor() as cursor:
                return write_rows(cursor, path, rows=rows, names=names, job=job)

        scored = " Their status is that of the score, not of the what-if." if tried else ""
        handle = self._model.read("Write the rows", work, quiet=False)
        handle.done.connect(
            lambda count: self.told.emit(f"{count:,} rows written to {path.name}.{scored}")
        )
        handle.failed.connect(self.failed.emit)
        handle.cancelled.connect(lambda: self.told.emit("Stopped; no file was written."))

    # --- policy

    def _permitted(self, title: str, then: Callable[[str], object]) -> None:
        """Go on with the source's name where its policy (and the user) say yes."""

        def ask(_job: Job) -> _Ask:
            if not self.run_id:
                return _Ask("", _UNKNOWN)
            workbench = self._context.workbench
            source = workbench.run_record(self.run_id).summary.source
            try:
                return _Ask(source, workbench.may_export(source))
            except UsageError:  # the source was removed; its rows are still somebody's
                return _Ask(source, _UNKNOWN)

        def answered(found: _Ask) -> None:
            decision = found.decision
            if not decision.allowed:
                self.failed.emit(UsageError("These rows may not be copied.", todo=decision.why))
                return
            if decision.confirm is not None and not self._context.interaction.confirm(
                title, decision.confirm, yes="Copy"
            ):
                self.told.emit("Nothing was copied.")
                return
            then(found.source)

        handle: JobHandle = self._model.read("Ask the source's policy", ask)
        handle.done.connect(answered)
        handle.failed.connect(self._refused)

    def _refused(self, error: M4Error) -> None:
        self.failed.emit(error)

    def _record(
        self, source: str, kind: Literal["clipboard", "file"], rows: int, name: str = ""
    ) -> None:
        """Tell the audit log; what cannot be recorded is not copied."""
        of = f"diff of {self.run_id}" if self.run_id else "diff of no run"
        self._context.workbench.note_copy(source, kind=kind, of=of, rows=rows, name=name)


_UNKNOWN = Decision(
    True,
    "It is not known which source these rows come from.",
    confirm=(
        "It is not known which source these rows come from, so they count as credentialed data. "
        "Whoever gets them must be allowed to see them. Copy them? It will be recorded in the "
        "audit log."
    ),
)


def _rows_in(blocks: Blocks) -> int:
    """Rows that any block holds, each counted once."""
    count, end = 0, -1
    for first, last, _ in sorted(blocks):
        count += max(0, last - max(first, end + 1) + 1)
        end = max(end, last)
    return count


def _selected_rows(blocks: Blocks, view: View) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Row numbers of the file of all selected positions, in the order of the view."""
    picked = np.unique(
        np.concatenate([np.arange(first, last + 1, dtype=np.int64) for first, last, _ in blocks])
    )
    return (picked if view.rows is None else view.rows[picked]).astype(np.int32)


def _names(columns: Sequence[TableColumn], which: Sequence[int]) -> list[str]:
    """Readable names of columns of the table; a value always has its status beside it."""
    names: dict[str, None] = {}
    pending: str | None = None
    for at in which:
        column = columns[at]
        if column.part == "row":
            names["row"] = None
        elif column.part == "status":
            names |= {"key_status": None, "mismatching_columns": None}
        elif column.part == "key":
            names[column.title] = None
        else:
            if pending is not None and pending != column.title:
                names[f"{pending}__status"] = None
            pending = column.title
            names[f"{column.title}__{column.part}"] = None
    if pending is not None:
        names[f"{pending}__status"] = None
    return list(names)
