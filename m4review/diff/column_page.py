"""The column page: one scored column in charts and tables; every figure leads to its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.diagnosis.columns import Axis, Bar, ColumnStudy, Scatter
from m4review.app.context import Context
from m4review.app.jobs import Progress
from m4review.app.widgets import ColumnScroll, ErrorPanel, button, clear, label
from m4review.diff.charts import BarChart, Chart, CurveChart, HeatChart, Mark
from m4review.diff.column_viewmodel import ColumnViewModel
from m4review.diff.layout import KeyStatus, Layout, percent
from m4review.diff.matrix import MatrixTable
from m4review.diff.valuetable import Row, ValueTable
from m4review.diff.viewmodel import DiffViewModel
from m4review.diff.words import printed, signed, signed_duration

_NARROW = 1.5
"""Zoom from which on chart and table stand below each other."""
_BREATH = 10
"""Milliseconds from piece to piece: in between the window paints and takes what was pressed."""
_LISTED = 40
"""Bins of the scatter that are listed beside it, the fullest first."""


class ColumnPage(QWidget):
    """Follows a `ColumnViewModel`."""

    def __init__(self, context: Context, diff: DiffViewModel, model: ColumnViewModel) -> None:
        super().__init__()
        self._context, self._diff, self.model = context, diff, model
        self.choice = QComboBox()
        self.choice.setAccessibleName("Column that the page is about")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.choice.currentIndexChanged.connect(lambda _: self._choose())
        self.rate = label("", "figure")
        self.words = label("", "muted", wrap=True)
        self.finding = label("", wrap=True)
        self.why = button(
            context, "What went wrong", lambda: None, icon="stethoscope",
            tip="All that was found out of this run, with its rows (Ctrl+E)",
        )  # fmt: skip
        self.errors = ErrorPanel(context)
        self.busy = QProgressBar()
        self.busy.setMaximumWidth(context.px(220))
        self.stop = button(context, "Cancel", model.cancel)
        self.again = button(context, "Study it again", self._again, icon="refresh-cw")
        self.charts: dict[str, Chart] = {}
        self.tables: dict[str, ValueTable] = {}
        self.matrix: MatrixTable | None = None
        self._study: ColumnStudy | None = None
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        self._body.setContentsMargins(0, 0, context.px(8), 0)
        self.area = ColumnScroll(inner)
        self._left: list[Callable[[], object]] = []
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(_BREATH)
        self._next.timeout.connect(self._draw_next)
        self._build()
        model.study_changed.connect(self.show_study)
        model.progressed.connect(self._progress)
        model.stopped.connect(self._stopped)
        model.failed.connect(self._failed)
        context.theme_changed.connect(lambda: self.show_study(self._study, same=True))
        diff.query_changed.connect(self._what_if_changed)

    def _build(self) -> None:
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        head = QHBoxLayout()
        head.addWidget(self.choice)
        head.addWidget(self.rate)
        head.addStretch(1)
        head.addWidget(self.busy)
        head.addWidget(self.stop)
        head.addWidget(self.again)
        page.addLayout(head)
        page.addWidget(self.words)
        known = QHBoxLayout()
        known.addWidget(self.finding, 1)
        known.addWidget(self.why, 0, Qt.AlignmentFlag.AlignTop)
        page.addLayout(known)
        page.addWidget(self.errors)
        page.addWidget(self.area, 1)
        for each in (self.busy, self.stop, self.again):
            each.hide()

    def set_layout_of(self, layout: Layout) -> None:
        """Offer the columns of an opened file."""
        with QSignalBlocker(self.choice):
            self.choice.clear()
            for column in layout.scored:
                self.choice.addItem(column.name, column.index)

    def choose(self, column: int) -> None:
        """Show a column."""
        with QSignalBlocker(self.choice):
            self.choice.setCurrentIndex(max(0, self.choice.findData(column)))
        self._choose()

    def _choose(self) -> None:
        column = self.choice.currentData()
        if column is not None:
            self.errors.dismiss()
            self.model.show(int(column))

    def _again(self) -> None:
        column = self.choice.currentData()
        self.model.column = None
        if column is not None:
            self.model.show(int(column))

    def show_finding(self, words: str, *, run: bool) -> None:
        """Say the best signature of the column; without a run there is nothing to lead to."""
        told = f"Best signature: {words[:1].lower()}{words[1:]}" if words else ""
        self.finding.setText(told)
        for each in (self.finding, self.why):
            each.setVisible(bool(words) and run)

    # --- while it is made

    def _progress(self, progress: Progress) -> None:
        self.busy.setRange(0, int(progress.total))
        self.busy.setValue(int(progress.done))
        self.busy.setFormat(progress.text)
        for each in (self.busy, self.stop):
            each.setVisible(self.model.busy)

    def _stopped(self) -> None:
        for each in (self.busy, self.stop):
            each.hide()
        if self.model.study is None:
            self.words.setText("Stopped; nothing is shown of this column.")
            self.again.show()

    def _failed(self, error: M4Error) -> None:
        self._stopped()
        self.errors.show_error(error)

    # --- what is shown

    def show_study(self, study: ColumnStudy | None, *, same: bool = False) -> None:
        """Show a study (None: it is being made)."""
        place = self.area.verticalScrollBar().value() if same else 0
        self._study, self._left = study, []
        clear(self._body)
        self.charts, self.tables, self.matrix = {}, {}, None
        self.again.hide()
        if study is None or self._diff.file is None:
            self.rate.setText("")
            self.words.setText("Counting…" if self.model.busy or not same else "")
            return
        for each in (self.busy, self.stop):
            each.hide()
        scored = self._diff.layout.scored[study.position]
        unit = " s" if scored.compared_as == "time" else ""
        limit = ""
        if scored.compared_as != "text":
            limit = f", tolerance {printed(scored.tolerance)}{unit}"
        self.rate.setText(percent(study.rate))
        self.words.setText(
            f"{study.matches:,} of {study.reference_rows:,} rows of the reference match. "
            f"{self._as_scored(study)}"
            f"Compared as {scored.compared_as}{limit}."
        )
        self._statuses(study)
        left: list[Callable[[], object]] = []
        if study.confusion is not None:
            left.append(partial(self._confusion, study))
        if study.histogram is not None:
            left.append(partial(self._histogram, study, times=scored.compared_as == "time"))
        if study.scatter is not None:
            left.append(partial(self._scatter, study.scatter))
        if study.curve:
            left.append(partial(self._curve, study, unit))
        left.append(partial(self._body.addStretch, 1))
        left.append(partial(self.area.verticalScrollBar().setValue, place))
        self._left = left
        self._next.start()

    def _as_scored(self, study: ColumnStudy) -> str:
        """The other share that one meets: a score counts extra and duplicate rows, too."""
        counts = self._diff.layout.key_counts
        more = counts.get(KeyStatus.EXTRA, 0) + counts.get(KeyStatus.DUPLICATE, 0)
        if not more:
            return ""
        rows = study.reference_rows + more
        return (
            f"The score also counts {more:,} extra or duplicate {'row' if more == 1 else 'rows'}: "
            f"{study.matches:,} of {rows:,}, {study.matches / rows:.4f}. "
        )

    def _draw_next(self) -> None:
        """One piece at a time: a chart takes a moment to make, and the window must stay alive."""
        if self._left:
            self._left.pop(0)()
            self._next.start()

    def _then(self, step: Callable[[], object]) -> None:
        """Do this as the next piece: making a chart and drawing in it are two."""
        self._left.insert(0, step)

    @property
    def drawn(self) -> bool:
        """Does the whole page stand?"""
        return self._study is not None and not self._left

    def _card(self, title: str, note: str, *parts: QWidget) -> None:
        frame = QFrame()
        frame.setProperty("card", True)
        column = QVBoxLayout(frame)
        column.addWidget(label(title, "section", wrap=True))
        if note:
            column.addWidget(label(note, "muted", wrap=True))
        # In large letters there is no room for two beside each other.
        across = self._context.zoom < _NARROW
        ways = QBoxLayout.Direction
        line = QBoxLayout(ways.LeftToRight if across else ways.TopToBottom)
        for part in parts:
            stretch = 3 if isinstance(part, Chart) else 2
            if across:
                line.addWidget(part, stretch, Qt.AlignmentFlag.AlignTop)
            else:
                line.addWidget(part)
        column.addLayout(line)
        self._body.addWidget(frame)

    def _table(self, name: str, title: str, rows: Sequence[Row], whole: int) -> ValueTable:
        table = ValueTable(self._context, title, rows, whole)
        table.chosen.connect(lambda row: self.model.show_rows(row.condition, row.words))
        self.tables[name] = table
        return table

    def _bars(self, bars: Sequence[Bar]) -> list[Row]:
        return [Row(bar.words, bar.count, bar.condition) for bar in bars]

    def _statuses(self, study: ColumnStudy) -> None:
        total = self._diff.layout.rows
        left = self._table("statuses", "Cells by status", self._bars(study.statuses), total)
        right = self._table("nulls", "Null and absent", self._bars(study.nulls), total)
        self._card("Cells by status, and where values are null or absent", "", left, right)

    def _confusion(self, study: ColumnStudy) -> None:
        found = study.confusion
        assert found is not None  # noqa: S101 - the caller looked
        self.matrix = MatrixTable(self._context, found)
        self.matrix.chosen.connect(
            lambda cell: self.model.show_rows(cell.condition, self._pair_words(cell))
        )
        more = f" “other values” holds {found.others:,} further values." if found.others else ""
        self._card(
            "Reference (down) against agent (across)",
            "Rows of each pair of levels; on the framed diagonal both are the same." + more,
            self.matrix,
        )

    def _pair_words(self, cell: object) -> str:
        return self.matrix.words_of(cell) if self.matrix is not None else ""  # type: ignore[arg-type]

    def _histogram(self, study: ColumnStudy, *, times: bool) -> None:
        found = study.histogram
        assert found is not None  # noqa: S101 - the caller looked

        def shown(value: float | None) -> str:
            if value is None:
                return "–"
            return signed_duration(round(value, 3)) if times else signed(value)

        title = "Time offset, agent − reference" if times else "Difference, agent − reference"
        note = (
            f"{found.n:,} pairs of values differ"
            + (" (or are within the tolerance)" if found.n else "")
            + f"; {found.equal.count:,} are exactly equal and not drawn."
        )
        if found.n:
            note += (
                f" Median {shown(found.median)}, mean {shown(found.mean)}, from "
                f"{shown(found.smallest)} to {shown(found.largest)}; the agent's value is larger "
                f"in {percent(found.positive / found.n)}."
            )
        rows = self._bars(found.bars)
        if not rows:
            self._card(title, note)
            return
        chart = BarChart(self._context, title, "agent − reference")
        special = frozenset(
            at for at, bar in enumerate(found.bars) if bar.low is None or bar.high is None
        )
        bars = [(row.words, row.count) for row in rows]
        self._then(partial(chart.show_bars, bars, special=special))
        chart.chosen.connect(lambda at: self.model.show_rows(rows[at].condition, rows[at].words))
        self.charts["histogram"] = chart
        if special:
            note += " Hatched bars have no end on one side."
        filled = [row for row in rows if row.count]
        self._card(title, note, chart, self._table("histogram", title, filled, found.n))

    def _scatter(self, found: Scatter) -> None:
        x, y = found.reference, found.agent

        def centre(at: int, axis: Axis) -> float:
            return axis.low + (at + 0.5) * axis.step

        def between(at: int, axis: Axis) -> str:
            low = axis.low + at * axis.step
            if at == 0:
                return f"below {low + axis.step:g}"
            if at == found.bins - 1:
                return f"from {low:g} up"
            return f"{low:g} to {low + axis.step:g}"

        ordered = sorted(found.cells, key=lambda cell: (cell.reference, cell.agent))
        cells = [
            (
                Mark(
                    centre(cell.reference, x),
                    centre(cell.agent, y),
                    f"reference {between(cell.reference, x)}, agent {between(cell.agent, y)}",
                    cell.count,
                ),
                cell.condition,
            )
            for cell in ordered
        ]
        chart = HeatChart(self._context, "Pairs of values", "reference", "agent")
        marks = [mark for mark, _ in cells]
        ratio = found.ratio.median if found.ratio is not None else None
        self._then(partial(chart.show_grid, marks, x=x, y=y, bins=found.bins, ratio=ratio))
        chart.chosen.connect(
            lambda at: self.model.show_rows(cells[at][1], f"pairs with {cells[at][0].words}")
        )
        self.charts["scatter"] = chart
        rows = [
            Row(
                f"{between(cell.reference, x)} → {between(cell.agent, y)}",
                cell.count,
                cell.condition,
            )
            for cell in sorted(ordered, key=lambda cell: -cell.count)[:_LISTED]
        ]
        note = ""
        if found.ratio is not None:
            many = found.ratio
            low, high = f"{many.low:.4g}", f"{many.high:.4g}"
            spread = f"lie between {low} and {high}" if low != high else "have just this ratio"
            note = (
                f"Where they differ, the agent's value is {many.median:.4g} times the reference's "
                f"(the median of {many.n:,} pairs; half of them or more {spread}): the dotted "
                "line. "
            )
        if x != y:
            note += "The scales are far apart, so each axis has its own. "
        note += (
            f"Each field of {x.step:g} × {y.step:g} stands out the more, the fuller it is "
            "(logarithm); on the dashed line both are the same."
        )
        if found.beyond:
            lie = "pair lies outside and is" if found.beyond == 1 else "pairs lie outside and are"
            note += f" {found.beyond:,} {lie} in the outermost fields."
        if found.left_out:
            note += f" {found.left_out:,} pairs with an infinite value are not drawn."
        if len(cells) > _LISTED:
            note += f" Listed are the {_LISTED} fullest of {len(cells):,} fields."
        whole = sum(mark.count for mark, _ in cells)
        table = self._table("scatter", "reference → agent", rows, whole)
        self._card("Pairs of values", note, chart, table)

    def _curve(self, study: ColumnStudy, unit: str) -> None:
        scored = self._diff.layout.scored[study.position]
        marks = [
            Mark(
                point.tolerance,
                point.rate,
                f"at a tolerance of {point.tolerance:g}{unit} {percent(point.rate)} match",
                point.matches,
            )
            for point in study.curve
        ]
        chart = CurveChart(
            self._context,
            "Match rate against tolerance",
            f"tolerance{' (seconds)' if unit else ''}",
            "% that match",
        )
        what_if = dict(self._diff.query.tolerances).get(study.position)
        self._then(partial(chart.show_curve, marks, own=scored.tolerance, what_if=what_if))
        set_to: Callable[[int], None] = lambda at: self._diff.set_tolerance(  # noqa: E731
            study.position, study.curve[at].tolerance
        )
        chart.chosen.connect(set_to)
        self.charts["curve"] = chart
        rows = [Row(f"{m.x:g}{unit}", m.count, str(at)) for at, m in enumerate(marks)]
        table = ValueTable(
            self._context, "Match rate against tolerance", rows, study.reference_rows,
            first="tolerance",
        )  # fmt: skip
        table.chosen.connect(lambda row: set_to(int(row.condition)))
        self.tables["curve"] = table
        note = (
            "One step for each tolerance that changes something. A click on a point tries it as a "
            "what-if; the score is not touched."
        )
        if study.unknown:
            note += (
                f" {study.unknown:,} pairs keep their scored status: their distance is not known."
            )
        self._card("What if the tolerance were…", note, chart, table)

    def _what_if_changed(self) -> None:
        chart, study = self.charts.get("curve"), self._study
        if isinstance(chart, CurveChart) and study is not None and self._diff.file is not None:
            what_if = dict(self._diff.query.tolerances).get(study.position)
            own = self._diff.layout.scored[study.position].tolerance
            chart.show_curve(chart.marks, own=own, what_if=what_if)
