"""What the diff screen shows and can do, without a widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from m4review.app.jobs import JobHandle, JobRunner
from m4review.diff.layout import (
    CELL_WORDS,
    KEY_WORDS,
    MATCHES,
    CellStatus,
    KeyStatus,
    Layout,
)
from m4review.diff.query import Kind, Pair, Query, Sort
from m4review.diff.reader import ColumnStatistics, DiffFile, Record, View, printed
from m4review.diff.table import FIRST_KEY, TableColumn, as_tsv

COPY_LIMIT = 1_000_000
"""Cells that are copied at once; more belongs into a file."""
_COPY_STEP = 5_000


@dataclass(frozen=True)
class Cell:
    """One scored column of one row, for the row panel."""

    name: str
    """Column name."""
    reference: str | None
    """The reference's value as text; None for null or no such row."""
    agent: str | None
    """The agent's value as text; None for null or no such row."""
    status: CellStatus
    """How they stand."""
    difference: str
    """Agent − reference where both are numbers or times, else empty."""

    @property
    def words(self) -> str:
        """The status in words."""
        return CELL_WORDS[self.status]


@dataclass(frozen=True)
class RowDetail:
    """One row, for the row panel."""

    row: int
    """Row of the file, from 0."""
    status: KeyStatus
    """How the key stands."""
    keys: tuple[tuple[str, str | None], ...]
    """Name and value of each key column."""
    cells: tuple[Cell, ...]
    """One for each scored column."""

    @property
    def words(self) -> str:
        """The key's status in words."""
        return KEY_WORDS[self.status]


class DiffViewModel(QObject):
    """State of the diff screen. All reading happens in jobs."""

    opened = Signal()
    view_changed = Signal(object)
    """A new `View` is there."""
    query_changed = Signal()
    """Filters or order were changed; the view follows."""
    busy_changed = Signal(bool)
    statistics_changed = Signal(object)
    """A `ColumnStatistics`, or None while it is being computed."""
    row_asked = Signal(int)
    """Go to this position of the view."""
    copied = Signal(str, int)
    """Text for the clipboard, and its number of cells."""
    failed = Signal(object)
    """An `M4Error`."""
    told = Signal(str)
    """One line for the user."""

    def __init__(self, runner: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner = runner
        self.file: DiffFile | None = None
        self.view: View | None = None
        self.longest: dict[str, str] = {}
        self.query = Query()
        self._undo: list[Query] = []
        self._computing: JobHandle | None = None
        self._counting: JobHandle | None = None
        self._readers: list[JobHandle] = []
        self._first_row: int | None = None
        self._stay_on: int | None = None
        self.statistics_column: int | None = None

    # --- opening and closing

    def open(self, path: Path, *, scratch: Path | None = None, row: int | None = None) -> None:
        """Open a diff file in the background; `opened` and `view_changed` follow.

        Args:
            path: the file.
            scratch: where queries spill.
            row: the file's row to go to; the first mismatch when None.
        """
        self._first_row = row

        def work(job: Job) -> tuple[DiffFile, View, dict[str, str]]:
            file = DiffFile(path, scratch=scratch)
            try:
                with file.cursor() as cursor:
                    longest = file.longest(cursor)
                return file, file.view(Query(), job), longest
            except BaseException:
                file.close()
                raise

        self._busy(True)
        self._runner.start(
            "Open the diff", work, on_done=self._opened, on_failed=self._open_failed, quiet=True
        )

    def _opened(self, result: tuple[DiffFile, View, dict[str, str]]) -> None:
        self.file, self.view, self.longest = result
        self._busy(False)
        self.opened.emit()
        self.view_changed.emit(self.view)
        if self._first_row is not None:
            self.go_to_row(self._first_row)
        elif len(self.view.departures):
            self.row_asked.emit(int(self.view.departures[0]))

    def _open_failed(self, error: M4Error) -> None:
        self._busy(False)
        self.failed.emit(error)

    def close(self) -> None:
        """Let the file go once nothing reads it any more."""
        file, self.file, self.view = self.file, None, None
        if file is None:
            return
        busy = [handle for handle in self._readers if not handle.state.over]
        for handle in busy:
            handle.cancel()
        if not busy:
            file.close()
            return
        left = len(busy)

        def over() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                file.close()

        for handle in busy:
            handle.over.connect(over)

    @property
    def layout(self) -> Layout:
        """The open file's layout.

        Raises:
            UsageError: nothing is open.
        """
        if self.file is None:
            raise UsageError("No diff is open.")
        return self.file.layout

    # --- filters and order

    def set_only_mismatches(self, on: bool) -> None:
        """Leave out rows that match."""
        self._change(replace(self.query, only_mismatches=on))

    def set_column(self, column: int | None) -> None:
        """Look at one scored column (None: any)."""
        pair = self.query.pair
        if pair is not None and pair.column != column:
            pair = None
        self._change(replace(self.query, column=column, pair=pair))

    def toggle_kind(self, kind: Kind, on: bool) -> None:
        """Show rows of this kind (besides the other chosen kinds)."""
        kinds = self.query.kinds | {kind} if on else self.query.kinds - {kind}
        self._change(replace(self.query, kinds=kinds))

    def set_text(self, text: str) -> None:
        """Words that must occur in the key."""
        self._change(replace(self.query, text=text))

    def set_pair(self, pair: Pair | None) -> None:
        """Only rows in which these two values meet."""
        column = pair.column if pair else self.query.column
        self._change(replace(self.query, pair=pair, column=column))

    def toggle_sort(self, field: str, *, add: bool) -> None:
        """Ascending, then descending, then not at all.

        Args:
            field: column of the file, "mismatches" or "row".
            add: keep the other columns of the order (at most three in all).
        """
        now = next((sort for sort in self.query.sort if sort.field == field), None)
        others = tuple(sort for sort in self.query.sort if sort.field != field)
        first_down = field == "mismatches"  # the worst rows first is what is wanted there
        if now is None:
            new: tuple[Sort, ...] = (Sort(field, first_down),)
        elif now.descending == first_down:
            new = (Sort(field, not first_down),)
        else:
            new = ()
        kept = others if add else ()
        self._change(replace(self.query, sort=(*kept, *new)[-3:]))

    def show_query(self, query: Query) -> None:
        """Show exactly this filter and order."""
        self._change(query)

    def clear(self) -> None:
        """Show all rows in the file's order."""
        self._change(Query())

    @property
    def can_undo(self) -> bool:
        """Is there a former filter to go back to?"""
        return bool(self._undo)

    def undo(self) -> None:
        """Go back to the filter and order before the last change."""
        if self._undo:
            self._apply(self._undo.pop())

    def _change(self, query: Query) -> None:
        if query == self.query:
            return
        self._undo.append(self.query)
        del self._undo[:-50]
        self._apply(query)

    def _apply(self, query: Query) -> None:
        self.query = query
        self.query_changed.emit()
        self._compute()

    def _compute(self) -> None:
        file = self.file
        if file is None:
            return
        if self._computing is not None:
            self._computing.cancel()
        query = self.query

        def done(view: View) -> None:
            if self._computing is handle and self.file is file:
                self._computing = None
                self._busy(False)
                self._show(view)

        def failed(error: M4Error) -> None:
            if self._computing is handle:
                self._computing = None
                self._busy(False)
                self.failed.emit(error)

        def cancelled() -> None:
            if self._computing is handle:
                self._computing = None
                self._busy(False)

        self._busy(True)
        handle = self._read("Filter and sort the diff", lambda job: file.view(query, job))
        self._computing = handle
        handle.done.connect(done)
        handle.failed.connect(failed)
        handle.cancelled.connect(cancelled)

    def _read(self, title: str, work: Any) -> JobHandle:
        self._readers = [handle for handle in self._readers if not handle.state.over]
        handle = self._runner.start(title, work, quiet=True)
        self._readers.append(handle)
        return handle

    def cancel(self) -> None:
        """Stop a filter or sort that is being computed and go back to the one before."""
        if self._computing is None:
            return
        self._computing.cancel()
        self._computing = None  # what comes too late is dropped
        self._busy(False)
        if self.view is not None:
            self.query = self.view.query
            self.query_changed.emit()

    @property
    def busy(self) -> bool:
        """Is a view being computed?"""
        return self._computing is not None

    def _busy(self, on: bool) -> None:
        self.busy_changed.emit(on)

    def remember_position(self, position: int) -> None:
        """The row to stay on when the filter changes."""
        if self.view is not None and 0 <= position < self.view.count:
            self._stay_on = self.view.row_at(position)

    def _show(self, view: View) -> None:
        self.view = view
        stay = self._stay_on
        self.view_changed.emit(view)
        if view.count == 0:
            return
        position = view.position_of(stay) if stay is not None else None
        self.row_asked.emit(position if position is not None else 0)

    # --- going about

    def next_mismatch(self, position: int, direction: int) -> None:
        """Go to the next (1) or the one before (-1) that departs; tells when there is none."""
        if self.view is None:
            return
        found = self.view.next_departure(position, direction)
        if found is None:
            which = "No further mismatch below." if direction > 0 else "No mismatch above."
            self.told.emit(which)
        else:
            self.row_asked.emit(found)

    def go_to_row(self, row: int) -> None:
        """Go to a row of the file (from 0)."""
        if self.view is None:
            return
        position = self.view.position_of(row)
        if position is not None:
            self.row_asked.emit(position)
        elif 0 <= row < self.layout.rows:
            self.told.emit(
                f"Row {row + 1:,} is left out by the filters. "
                "Clear them (Ctrl+Backspace) to see it."
            )
        else:
            self.told.emit(f"There is no row {row + 1:,}; the last one is {self.layout.rows:,}.")

    def go_to(self, text: str) -> None:
        """Go to what was typed: "#12" is a row, anything else the values of the keys."""
        given = text.strip()
        if not given or self.file is None:
            return
        number = given.removeprefix("#").replace(",", "").strip()
        if given.startswith("#"):
            if number.isdecimal() and int(number) > 0:
                self.go_to_row(int(number) - 1)
            else:
                self.told.emit("A row is given as # and a number, for example #120.")
            return
        file = self.file
        handle = self._read(
            "Find a key", lambda job: file.find_key(given.replace(",", " ").split(), job)
        )

        def done(row: int | None) -> None:
            if row is None:
                self.told.emit("No row has this key. (For a row number write # before it.)")
            else:
                self.go_to_row(row)

        handle.done.connect(done)
        handle.failed.connect(self.failed.emit)

    # --- what is told about a column and a row

    def show_statistics(self, column: int | None) -> None:
        """Compute the statistics of a scored column; a newer call cancels an older one."""
        if column == self.statistics_column and column is not None:
            return
        self.statistics_column = column
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        self.statistics_changed.emit(None)
        file = self.file
        if column is None or file is None:
            return

        def done(statistics: ColumnStatistics) -> None:
            if self._counting is handle:
                self._counting = None
                self.statistics_changed.emit(statistics)

        handle = self._read("Count in a column", lambda job: file.statistics(column, job))
        self._counting = handle
        handle.done.connect(done)
        handle.failed.connect(self.failed.emit)

    def detail(self, record: Record) -> RowDetail:
        """One record for the row panel."""
        layout = self.layout
        at = FIRST_KEY
        keys = []
        for key in layout.keys:
            keys.append((key.name, None if record[at] is None else printed(record[at])))
            at += 1
        cells = []
        for column in layout.scored:
            reference, agent, status = record[at], record[at + 1], CellStatus(record[at + 2])
            cells.append(
                Cell(
                    column.name,
                    None if reference is None else printed(reference),
                    None if agent is None else printed(agent),
                    status,
                    _difference(reference, agent, status),
                )
            )
            at += 3
        return RowDetail(record[0], KeyStatus(record[1]), tuple(keys), tuple(cells))

    def status_line(self, position: int) -> str:
        """Where one is, and how much there is to see."""
        view = self.view
        if view is None or self.file is None:
            return ""
        total = self.layout.rows
        departing = len(view.departures)
        which = ""
        if self.query.column is not None:
            which = f" in {self.layout.scored[self.query.column].name}"
        mismatches = f"{departing:,} row{'s' if departing != 1 else ''} with a mismatch{which}"
        if view.count == 0:
            return f"No row passes the filters · {total:,} rows in all"
        if view.query.filtered:
            return (
                f"row {position + 1:,} of {view.count:,} shown ({total:,} in all) · "
                f"{mismatches} in this view"
            )
        return f"row {position + 1:,} of {total:,} · {mismatches}"

    # --- copying

    def copy(
        self,
        blocks: Sequence[tuple[int, int, list[int]]],
        columns: Sequence[TableColumn],
        *,
        headers: bool,
    ) -> None:
        """Put cells on the clipboard as tab-separated text.

        Args:
            blocks: (first position, last position, columns) from top to bottom.
            columns: all columns of the table.
            headers: with a line of column names.
        """
        view, file = self.view, self.file
        if view is None or file is None or not blocks:
            return
        cells = sum((last - first + 1) * len(which) for first, last, which in blocks)
        if cells > COPY_LIMIT:
            self.failed.emit(
                UsageError(
                    f"{cells:,} cells are too many for the clipboard.",
                    todo="Filter first, or write all rows to a file with `m4bench diff --out`.",
                )
            )
            return

        def work(job: Job) -> str:
            parts: list[str] = []
            with file.cursor() as cursor:
                for number, (first, last, which) in enumerate(blocks):
                    records: list[Record] = []
                    for start in range(first, last + 1, _COPY_STEP):
                        job.check()
                        size = min(_COPY_STEP, last + 1 - start)
                        records += file.read(cursor, view, start, size)
                    chosen = [columns[at] for at in which]
                    parts.append(as_tsv(records, chosen, headers=headers and number == 0))
            return "\n".join(parts)

        handle = self._read("Copy", work)
        handle.done.connect(lambda text: self.copied.emit(text, cells))
        handle.failed.connect(self.failed.emit)


def _difference(reference: Any, agent: Any, status: CellStatus) -> str:
    return "" if status in MATCHES - {CellStatus.NEAR} else difference_words(reference, agent)


def difference_words(reference: Any, agent: Any) -> str:
    """Agent − reference, with sign and unit; empty where both are not numbers or times."""
    if reference is None or agent is None:
        return ""
    numbers = (int, float, Decimal)
    if isinstance(reference, numbers) and isinstance(agent, numbers):
        return f"{float(agent) - float(reference):+.6g}"
    try:
        seconds = (agent - reference).total_seconds()
    except (TypeError, AttributeError):
        return ""
    return signed_duration(seconds)


def signed_duration(seconds: float) -> str:
    """A difference of times: "+1 h", "−2 d 3 h", "+12 s"."""
    sign = "+" if seconds >= 0 else "−"
    rest = abs(seconds)
    parts = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{int(count)} {name}")
    if rest or not parts:
        parts.append(f"{rest:g} s")
    return sign + " ".join(parts[:3])
