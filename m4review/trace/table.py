"""The table model over a trace's steps: texts are made for the rows that are painted, no others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from engine.agents.traces import TraceStep
from m4review.app.theme import Theme
from m4review.app.tips import as_written
from m4review.trace.steps import Steps, Told, number_of, step_of
from m4review.trace.words import (
    KINDS,
    StepFilter,
    exit_words,
    is_error,
    moment,
    one_line,
    seconds_words,
    since,
)

AnyIndex = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
TITLES = ("#", "Turn", "Time", "Kind", "What", "Exit", "Took")
NUMBER, TURN, TIME, KIND, WHAT, EXIT, TOOK = range(7)
_FIRST = 200
"""Steps of which one tells when the run began, if any does."""
_RIGHT = frozenset({NUMBER, TURN, TIME, TOOK})
_TIPS = {
    TURN: "Which response of the model it belongs to",
    TIME: "From the begin of the run",
    EXIT: "Exit status of a command; 0 is success",
}


@dataclass(frozen=True)
class Loaded:
    """Steps made ready beside the window: what it shows at once."""

    steps: Steps
    """All of them."""
    rows: list[int]
    """Numbers of those that the filter lets through."""
    asked: StepFilter
    """The filter."""


def make_ready(steps: Iterable[Told], asked: StepFilter) -> Loaded:
    """Do what takes long over many steps; for a worker."""
    every = steps if isinstance(steps, Steps) else Steps(steps)
    return Loaded(every, asked.rows(every.told), asked)


def _begin(told: Sequence[Told]) -> float | None:
    """When the run began, by its first steps."""
    return next((at for one in told[:_FIRST] if (at := moment(step_of(one).at))), None)


class StepTable(QAbstractTableModel):
    """Steps in rows, filtered; new ones and changed ones come while the run lives."""

    def __init__(self, theme: Callable[[], Theme], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._steps = Steps()
        self._rows: list[int] = []
        self._begin: float | None = None
        self.filter = StepFilter()

    # --- what is in it

    def load(self, loaded: Loaded) -> None:
        """Show a whole trace."""
        self.beginResetModel()
        self._steps, self._rows = loaded.steps, loaded.rows
        self.filter = loaded.asked
        self._begin = _begin(self._steps.told)
        self.endResetModel()

    def put(self, told: Iterable[Told]) -> None:
        """Take new steps and newer states of old ones; of one number the last one holds."""
        changed, new = self._steps.put(told)
        if self._begin is None and len(self._steps) - len(new) < _FIRST:
            self._begin = _begin(self._steps.told)
        for one in changed:
            self._show(one)
        shown = self.filter.rows(new)
        if shown:
            first = len(self._rows)
            self.beginInsertRows(_NOWHERE, first, first + len(shown) - 1)
            self._rows += shown
            self.endInsertRows()

    def _show(self, told: Told) -> None:
        number = number_of(told)
        row = bisect_left(self._rows, number)
        there = row < len(self._rows) and self._rows[row] == number
        wanted = self.filter.fits(told)
        if there and wanted:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(TITLES) - 1))
        elif wanted:
            self.beginInsertRows(_NOWHERE, row, row)
            self._rows.insert(row, number)
            self.endInsertRows()
        elif there:
            self.beginRemoveRows(_NOWHERE, row, row)
            del self._rows[row]
            self.endRemoveRows()

    @property
    def steps(self) -> Steps:
        """All of them, also those without a row; not to be changed."""
        return self._steps

    def step(self, row: int) -> TraceStep | None:
        """The step in a row."""
        return self.numbered(self._rows[row]) if 0 <= row < len(self._rows) else None

    def numbered(self, number: int) -> TraceStep | None:
        """The step of a number."""
        return self._steps.numbered(number)

    def row_of(self, number: int) -> int | None:
        """The row of a step, or of the next one that is shown; None when there is none after it."""
        row = bisect_left(self._rows, number)
        return row if row < len(self._rows) else None

    def at_line(self, line: int) -> int | None:
        """Number of the step that begins on (or last before) a line of the trace."""
        return self._steps.at_line(line)

    # --- Qt

    def rowCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        step = self.step(index.row()) if index.isValid() else None
        if step is None:
            return None
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(step, column)
        if role == Qt.ItemDataRole.ToolTipRole and column == WHAT:
            return as_written(one_line(step))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column in _RIGHT else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(step, column)
        return None

    def _text(self, step: TraceStep, column: int) -> str:
        match column:
            case 0:
                return str(step.number)
            case 1:
                return str(step.turn) if step.turn else ""
            case 2:
                return since(self._begin, step.at)
            case 3:
                return KINDS[step.kind]
            case 4:
                return one_line(step)
            case 5:
                return exit_words(step)
            case _:
                return seconds_words(step.seconds)

    def _colour(self, step: TraceStep, column: int) -> QColor | None:
        theme = self._theme()
        if is_error(step) and column in (KIND, EXIT, WHAT):
            return QColor(theme.bad)
        if column in (NUMBER, TURN, TIME, TOOK) or step.kind in ("reasoning", "start", "end"):
            return QColor(theme.muted)
        if column == EXIT and step.exit_code == 0:
            return QColor(theme.good)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS.get(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section in _RIGHT else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None
