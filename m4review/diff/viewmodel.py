"""What the diff screen shows and can do, without a widget."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from m4review.app.jobs import JobHandle, JobRunner
from m4review.diff.condition import checked
from m4review.diff.detail import RowDetail, row_detail
from m4review.diff.layout import Layout
from m4review.diff.query import Chosen, Kind, Pair, Query, Sort
from m4review.diff.reader import ColumnStatistics, DiffFile, Record, View

_AFTER_PAINT = 40
"""Milliseconds from the opening to the search for mismatches: the first rows are painted before."""


class DiffViewModel(QObject):
    """State of the diff screen. All reading happens in jobs."""

    opened = Signal()
    view_changed = Signal(object)
    """A new `View` is there."""
    query_changed = Signal()
    """Filters or order were changed; the view follows."""
    busy_changed = Signal(bool)
    progressed = Signal(object)
    """How far the filter or sort is (`Progress`)."""
    statistics_changed = Signal(object)
    """A `ColumnStatistics`, or None while it is being computed."""
    row_asked = Signal(int)
    """Go to this position of the view."""
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
        self._opening: JobHandle | None = None
        self._computing: JobHandle | None = None
        self._counting: JobHandle | None = None
        self._readers: list[JobHandle] = []
        self._first_row: int | None = None
        self._stay_on: int | None = None
        self._step_asked: tuple[int, int] | None = None
        self._after_paint = QTimer(self)
        self._after_paint.setSingleShot(True)
        self._after_paint.setInterval(_AFTER_PAINT)
        self._after_paint.timeout.connect(self._compute)
        self.statistics_column: int | None = None

    # --- opening and closing

    def open(self, path: Path, *, scratch: Path | None = None, row: int | None = None) -> None:
        """Open a diff file in the background; `opened` and `view_changed` follow.

        The rows come first, their mismatches (with a second `view_changed`) a moment later.

        Args:
            path: the file.
            scratch: where queries spill.
            row: the file's row to go to; the first mismatch when None.
        """
        self._first_row = row
        self._stay_on = self._step_asked = None

        def work(_job: Job) -> tuple[DiffFile, View, dict[str, str]]:
            file = DiffFile(path, scratch=scratch)
            try:
                with file.cursor() as cursor:
                    longest = file.longest(cursor)
                return file, file.at_once(), longest
            except BaseException:
                file.close()
                raise

        def done(result: tuple[DiffFile, View, dict[str, str]]) -> None:
            if self._opening is handle:
                self._opening = None
                self._opened(result)
            else:  # another one was asked for meanwhile, or none
                result[0].close()

        def failed(error: M4Error) -> None:
            if self._opening is handle:
                self._opening = None
                self._open_failed(error)

        self._busy(True)
        handle = self._runner.start("Open the diff", work, quiet=True)
        self._opening = handle
        handle.done.connect(done)
        handle.failed.connect(failed)

    def _opened(self, result: tuple[DiffFile, View, dict[str, str]]) -> None:
        self.file, self.view, self.longest = result
        self.query = self.view.query  # a former file's filter may speak of columns not in this one
        self._undo.clear()
        self._busy(False)
        self._after_paint.start()  # a filter that comes with the opening finds them as well
        self.opened.emit()
        self.view_changed.emit(self.view)
        if self._first_row is not None:
            self.go_to_row(self._first_row)

    def _open_failed(self, error: M4Error) -> None:
        self._busy(False)
        self.failed.emit(error)

    def close(self) -> None:
        """Let the file go once nothing reads it any more."""
        self._after_paint.stop()
        self._opening = None  # what is being opened is let go of when it comes
        if self._computing is not None:
            self._computing.cancel()
            self._computing = None
            self._busy(False)
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

    @property
    def counted(self) -> Layout:
        """The layout with the counts of what is shown: under a what-if, those of the what-if."""
        view = self.view
        return self.layout if view is None else self.layout.with_counts(view.counts)

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

    def show_rows(self, condition: str, words: str, *, column: int | None = None) -> None:
        """Show the rows for which a condition holds, and nothing else of the former filter.

        Args:
            condition: SQL over the table ``diff``, made by the engine (`Rows.condition`); what a
                person typed goes through `show_typed`.
            words: what the rows are, in words; shown beside the filters.
            column: the scored column that they speak of, whose mismatches are then looked at.
        """
        chosen = Chosen(condition, words)
        self._change(Query(chosen=chosen, column=column, tolerances=self.query.tolerances))

    def show_typed(self, text: str) -> bool:
        """Show the rows for which a typed SQL condition holds (besides the other filters).

        Empty text takes the condition away. False where it is refused; `failed` says why.
        """
        try:
            chosen = Chosen(checked(text, self.layout), text.strip()) if text.strip() else None
        except UsageError as error:
            self.failed.emit(error)
            return False
        self._change(replace(self.query, chosen=chosen))
        return True

    def drop_chosen(self) -> None:
        """Take the condition away."""
        self._change(replace(self.query, chosen=None))

    def set_tolerance(self, column: int, tolerance: float | None) -> None:
        """What if a column had this tolerance (None: as scored)? The score stays as it is.

        Raises:
            UsageError: the column holds texts, or it is no tolerance.
        """
        if tolerance is not None:
            self.layout.scored[column].compared.status(tolerance)
        others = tuple(pair for pair in self.query.tolerances if pair[0] != column)
        new = others if tolerance is None else (*others, (column, tolerance))
        sliding = self.query.tolerances and new and len(new) == len(self.query.tolerances)
        self._change(replace(self.query, tolerances=tuple(sorted(new))), merge=bool(sliding))

    def drop_tolerances(self) -> None:
        """Look at the statuses as scored again."""
        self._change(replace(self.query, tolerances=()))

    def show_query(self, query: Query) -> None:
        """Show exactly this filter and order."""
        self._change(query)

    def clear(self) -> None:
        """Show all rows in the file's order (a what-if stays; it hides nothing)."""
        self._change(Query(tolerances=self.query.tolerances))

    @property
    def can_undo(self) -> bool:
        """Is there a former filter to go back to?"""
        return bool(self._undo)

    def undo(self) -> None:
        """Go back to the filter and order before the last change."""
        if self._undo:
            self._apply(self._undo.pop())

    def _change(self, query: Query, *, merge: bool = False) -> None:
        if query == self.query:
            return
        if not merge:
            self._undo.append(self.query)
        del self._undo[:-50]
        self._apply(query)

    def _apply(self, query: Query) -> None:
        self.query = query
        self.query_changed.emit()
        self._compute()

    def _compute(self) -> None:
        file = self.file
        self._after_paint.stop()
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
                self._go_back()
                self.failed.emit(error)

        def cancelled() -> None:
            if self._computing is handle:
                self._computing = None
                self._busy(False)

        self._busy(True)
        handle = self.read("Filter and sort the diff", lambda job: file.view(query, job))
        self._computing = handle
        handle.progressed.connect(self.progressed.emit)
        handle.done.connect(done)
        handle.failed.connect(failed)
        handle.cancelled.connect(cancelled)

    def read(self, title: str, work: Any, *, quiet: bool = True) -> JobHandle:
        """Start a job that reads the open file; the file stays open until it is over."""
        self._readers = [handle for handle in self._readers if not handle.state.over]
        handle = self._runner.start(title, work, quiet=quiet)
        self._readers.append(handle)
        return handle

    def cancel(self) -> None:
        """Stop a filter or sort that is being computed and go back to the one before."""
        if self._computing is None:
            return
        self._computing.cancel()
        self._computing = None  # what comes too late is dropped
        self._busy(False)
        self._go_back()

    def _go_back(self) -> None:
        """Show the filter whose rows are there: the one asked for brought none."""
        if self.view is not None:
            self.query = self.view.query
            if self._undo and self._undo[-1] == self.query:
                self._undo.pop()  # nothing came of the change: there is nothing to undo
            self.query_changed.emit()

    @property
    def busy(self) -> bool:
        """Is a view being computed?"""
        return self._computing is not None

    @property
    def searching(self) -> bool:
        """Are the mismatches of the rows that are shown being sought, or about to be?"""
        return self.busy or self._after_paint.isActive()

    def _busy(self, on: bool) -> None:
        self.busy_changed.emit(on)

    def remember_position(self, position: int) -> None:
        """The row to stay on when the filter changes."""
        if self.view is not None and 0 <= position < self.view.count:
            self._stay_on = self.view.row_at(position)

    def _show(self, view: View) -> None:
        before, self.view = self.view, view
        stay, asked, self._step_asked = self._stay_on, self._step_asked, None
        self.view_changed.emit(view)
        if view.count == 0:
            return
        if before is not None and not before.sought and view.query == before.query:
            if asked is not None:
                self.next_mismatch(*asked)
            elif self._first_row is None and not stay and len(view.departures):
                self.row_asked.emit(int(view.departures[0]))
            return  # the same rows: who has gone on from the first stays where they are
        position = view.position_of(stay) if stay is not None else None
        self.row_asked.emit(position if position is not None else 0)

    # --- going about

    def next_mismatch(self, position: int, direction: int) -> None:
        """Go to the next (1) or the one before (-1) that departs; tells when there is none."""
        if self.view is None:
            return
        if not self.view.sought:  # answered when they are found
            self._step_asked = (position, direction)
            if not self.busy:
                self._compute()
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
        # The last key may have blanks in it, as a time has; 0 would split at all of them.
        more = len(self.layout.keys) - 1
        values = re.split(r"[,\s]+", given, maxsplit=more) if more else [given]
        handle = self.read("Find a key", lambda job: file.find_key(values, job))

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

        handle = self.read("Count in a column", lambda job: file.statistics(column, job))
        self._counting = handle
        handle.done.connect(done)
        handle.failed.connect(self.failed.emit)

    def detail(self, record: Record) -> RowDetail:
        """One record for the row panel."""
        shown = self.view.query.tolerances if self.view is not None else ()
        return row_detail(record, self.layout, frozenset(at for at, _ in shown))

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
        would = " in the what-if" if view.counts else ""
        rows = "row" if departing == 1 else "rows"
        mismatches = f"{departing:,} {rows} with a mismatch{which}{would}"
        if not view.sought:
            mismatches = "finding the mismatches…" if self.searching else "mismatches not sought"
        if view.count == 0:
            return f"No row passes the filters · {total:,} rows in all"
        if view.query.filtered:
            return (
                f"row {position + 1:,} of {view.count:,} shown ({total:,} in all) · "
                f"{mismatches} in this view"
            )
        return f"row {position + 1:,} of {total:,} · {mismatches}"
