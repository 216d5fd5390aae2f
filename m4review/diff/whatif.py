"""The bar "what if the tolerance were…": a slider over the tolerances that change anything.

It changes how rows are shown and counted, and says so all the while; the score stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
)

from engine.diagnosis.columns import TolerancePoint
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import button, keep_height, label, set_tone
from m4review.diff.layout import Layout, percent
from m4review.diff.viewmodel import DiffViewModel
from m4review.diff.words import printed

_REST = 90
"""Milliseconds that the slider rests before rows are asked for."""


class WhatIfBar(QFrame):
    """Follows the view-model's what-if and changes it."""

    column_wanted = Signal(int)
    """The tolerances of this column are wanted (`set_points`)."""
    closed = Signal()

    def __init__(self, context: Context, model: DiffViewModel) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._context, self._model = context, model
        self._points: tuple[TolerancePoint, ...] = ()
        self.column = QComboBox()
        self.column.setAccessibleName("Column of the what-if")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("What-if tolerance")
        self.slider.setMinimumWidth(context.px(160))
        self.slider.setToolTip("Each step is a tolerance at which more cells match")
        self.value = QLineEdit()
        self.value.setAccessibleName("What-if tolerance, exactly")
        self.value.setMaximumWidth(context.px(160))
        self.unit = label("", "muted")
        self.said = label("", wrap=True)
        self.said.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.reset = button(context, "As scored", self._reset, icon="refresh-cw",
                            tip="Take the what-if away")  # fmt: skip
        self.close_button = button(context, "Close", self.closed.emit)
        self._build()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_REST)
        self._timer.timeout.connect(self._apply_slider)
        self.column.currentIndexChanged.connect(lambda _: self._chosen())
        self.slider.valueChanged.connect(self._slid)
        self.value.editingFinished.connect(self._typed)
        model.query_changed.connect(self.follow)
        model.view_changed.connect(lambda _: self.follow())

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        flow = FlowLayout(spacing=self._context.px(8))
        height = self.column.sizeHint().height()
        for each in (
            label("What if the tolerance of"), self.column, label("were"), self.slider,
            self.value, self.unit, self.reset, self.close_button,
        ):  # fmt: skip
            each.setMinimumHeight(height)
            flow.addWidget(each)
        outer.addLayout(flow)
        line = QHBoxLayout()
        line.addWidget(self.said, 1)
        outer.addLayout(line)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        keep_height(self)

    @property
    def chosen(self) -> int | None:
        """The scored column; None where none has a tolerance."""
        found = self.column.currentData()
        return None if found is None else int(found)

    def set_layout_of(self, layout: Layout) -> None:
        """Offer the columns of an opened file that have distances."""
        with QSignalBlocker(self.column):
            self.column.clear()
            for scored in layout.scored:
                if scored.compared_as != "text":
                    self.column.addItem(scored.name, scored.index)
        self._points = ()
        self.follow()

    def choose(self, column: int) -> None:
        """Look at a column (texts have no tolerance and are not offered)."""
        at = self.column.findData(column)
        if at >= 0 and at != self.column.currentIndex():
            self.column.setCurrentIndex(at)
        else:
            self._chosen()

    def set_points(self, column: int, points: tuple[TolerancePoint, ...]) -> None:
        """The tolerances of a column at which its match rate changes, ascending."""
        if column == self.chosen:
            self._points = points
            with QSignalBlocker(self.slider):
                self.slider.setRange(0, max(0, len(points) - 1))
            self.follow()

    def follow(self) -> None:
        """Show what the view-model has."""
        column = self.chosen
        if self._model.file is None or column is None:
            self.said.setText("Every scored column holds texts; they are equal or not.")
            for each in (self.slider, self.value, self.reset):
                each.setEnabled(False)
            return
        scored = self._model.layout.scored[column]
        tolerance = dict(self._model.query.tolerances).get(column)
        now = scored.tolerance if tolerance is None else tolerance
        self.unit.setText("seconds" if scored.compared_as == "time" else "")
        self.unit.setVisible(scored.compared_as == "time")
        self.slider.setEnabled(len(self._points) > 1)
        self.value.setEnabled(True)
        self.reset.setEnabled(bool(self._model.query.tolerances))
        if not self._timer.isActive():
            with QSignalBlocker(self.slider):
                self.slider.setValue(self._step_of(now))
            if not self.value.hasFocus() or not self.value.isModified():
                self._show_value(now)
        self._say(column, tolerance)

    def _say(self, column: int, tolerance: float | None) -> None:
        layout = self._model.layout
        scored = layout.scored[column]
        unit = " s" if scored.compared_as == "time" else ""
        as_scored = (
            f"As scored: tolerance {printed(scored.tolerance)}{unit}, "
            f"{percent(layout.match_rate(column))} match."
        )
        view = self._model.view
        if tolerance is None or view is None or column not in view.counts:
            self.said.setText(as_scored)
            set_tone(self.said, "plain")
            return
        would, tried = self._model.counted.match_rate(column), dict(view.query.tolerances)[column]
        others = len(self._model.query.tolerances) - 1
        more = f" ({others} further column{'s' if others > 1 else ''} too.)" if others else ""
        self.said.setText(
            f"With a tolerance of {tried:.6g}{unit}, {percent(would)} "
            f"would match. {as_scored} Marks and counts below are the what-if's; the score is "
            f"not touched.{more}"
        )
        set_tone(self.said, "warn")

    def _step_of(self, tolerance: float) -> int:
        at = bisect_left([point.tolerance for point in self._points], tolerance)
        return min(at, max(0, len(self._points) - 1))

    def _chosen(self) -> None:
        self._points = ()
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, 0)
        if self.chosen is not None:
            self.column_wanted.emit(self.chosen)
        self.follow()

    def _slid(self, step: int) -> None:
        if step < len(self._points):
            self._show_value(self._points[step].tolerance)
            self.value.setModified(False)
            self._timer.start()

    def _show_value(self, tolerance: float) -> None:
        """The whole number stands in the field; what has no room there is at its end."""
        self.value.setText(printed(float(tolerance)))
        self.value.setCursorPosition(0)
        self.value.setToolTip(as_written(self.value.text()))

    def _apply_slider(self) -> None:
        step = self.slider.value()
        if self.chosen is not None and step < len(self._points):
            self._model.set_tolerance(self.chosen, self._points[step].tolerance)

    def _typed(self) -> None:
        if self.chosen is None or not self.value.isModified():
            return
        self.value.setModified(False)
        try:
            tolerance = float(self.value.text().replace(",", "."))
        except ValueError:
            tolerance = float("nan")
        if not tolerance >= 0:
            self.said.setText("A tolerance is a number from 0 on, for example 0.5.")
            return
        self._model.set_tolerance(self.chosen, tolerance)

    def _reset(self) -> None:
        self._timer.stop()
        self._model.drop_tolerances()
