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
_RIGHT = frozenset({NUMBER, TURN, TIME, TOOK})
_TIPS = {
    TURN: "Which response of the model it belongs to",
    TIME: "From the begin of the run",
    EXIT: "Exit status of a command; 0 is success",
}


@dataclass(frozen=True)
class Loaded:
    """Steps made ready beside the window: what it shows at once."""

    steps: list[TraceStep]
    """Ordered by number."""
    numbers: list[int]
    """Their numbers."""
    rows: list[int]
    """Numbers of those that the filter lets through."""
    asked: StepFilter
    """The filter."""


def make_ready(steps: Sequence[TraceStep], asked: StepFilter) -> Loaded:
    """Do what takes long over many steps; for a worker."""
    return Loaded(list(steps), [step.number for step in steps], asked.rows(steps), asked)


class StepTable(QAbstractTableModel):
    """Steps in rows, filtered; new ones and changed ones come while the run lives."""

    def __init__(self, theme: Callable[[], Theme], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._steps: list[TraceStep] = []
        self._numbers: list[int] = []
        self._rows: list[int] = []
        self._begin: float | None = None
        self.filter = StepFilter()

    # --- what is in it

    def load(self, loaded: Loaded) -> None:
        """Show a whole trace."""
        self.beginResetModel()
        self._steps, self._numbers, self._rows = loaded.steps, loaded.numbers, loaded.rows
        self.filter = loaded.asked
        self._begin = next((at for s in self._steps[:200] if (at := moment(s.at))), None)
        self.endResetModel()

    def put(self, steps: Iterable[TraceStep]) -> None:
        """Take new steps and newer states of old ones."""
        steps = sorted(steps, key=lambda step: step.number)
        last = self._numbers[-1] if self._numbers else 0
        if self._begin is None:
            self._begin = next((at for s in steps if (at := moment(s.at))), None)
        for step in steps:
            if step.number > last:
                break
            at = bisect_left(self._numbers, step.number)
            if at < len(self._numbers) and self._numbers[at] == step.number:
                self._steps[at] = step
            else:
                self._numbers.insert(at, step.number)
                self._steps.insert(at, step)
            self._show(step)
        new = [step for step in steps if step.number > last]  # in their order: one insertion
        if not new:
            return
        self._numbers += [step.number for step in new]
        self._steps += new
        shown = self.filter.rows(new)
        if shown:
            first = len(self._rows)
            self.beginInsertRows(_NOWHERE, first, first + len(shown) - 1)
            self._rows += shown
            self.endInsertRows()

    def _show(self, step: TraceStep) -> None:
        row = bisect_left(self._rows, step.number)
        there = row < len(self._rows) and self._rows[row] == step.number
        wanted = self.filter.fits(step)
        if there and wanted:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(TITLES) - 1))
        elif wanted:
            self.beginInsertRows(_NOWHERE, row, row)
            self._rows.insert(row, step.number)
            self.endInsertRows()
        elif there:
            self.beginRemoveRows(_NOWHERE, row, row)
            del self._rows[row]
            self.endRemoveRows()

    @property
    def steps(self) -> Sequence[TraceStep]:
        """All of them, also those without a row; not to be changed."""
        return self._steps

    def step(self, row: int) -> TraceStep | None:
        """The step in a row."""
        return self.numbered(self._rows[row]) if 0 <= row < len(self._rows) else None

    def numbered(self, number: int) -> TraceStep | None:
        """The step of a number."""
        at = bisect_left(self._numbers, number)
        if at < len(self._numbers) and self._numbers[at] == number:
            return self._steps[at]
        return None

    def row_of(self, number: int) -> int | None:
        """The row of a step, or of the next one that is shown; None when there is none after it."""
        row = bisect_left(self._rows, number)
        return row if row < len(self._rows) else None

    def at_line(self, line: int) -> int | None:
        """Number of the step that begins on (or last before) a line of the trace."""
        return max((s.number for s in self._steps if s.line <= line), default=None)

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
            return one_line(step)
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
