"""The list of events under the picture, and the legend above it that is also its filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from engine.diagnosis.lineage import Event, Role
from engine.diagnosis.lineage.model import EPOCH
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.records import AnyIndex, Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.theme import Theme
from m4review.app.tips import as_written, in_lines
from m4review.app.widgets import keep_height
from m4review.timeline.symbols import role_icon
from m4review.timeline.words import LOOKS, NO_TIME, ROLES, Clock, value_words

_RULE = 160
"""Characters of a rule in the list; below the list it stands whole."""
_TIME, _RULE_AT, _UNTIL = 1, 4, 5
"""Columns that are left out where no row has them."""
_WIDEST = 250
"""Pixels of a column at 100 %; what needs more is cut with "…"."""
_ROOM = {2: 190, 3: 175}
"""The same for item and value beside rules: the words that a rule begins with are in sight."""
_NONE_OF_THEM = "No source row of this value is of this kind."
Numbered = tuple[int, Event]
"""An event and its number in the lineage."""


class EventModel(RecordModel[Numbered]):
    """Events in rows; the first column has the role's mark."""

    def __init__(self, context: Context) -> None:
        self.clock: Clock | None = None
        self._context = context
        super().__init__(_columns(self._told), lambda: context.theme)

    def _told(self, at: datetime | None) -> str:
        if at is None:
            return NO_TIME
        return self.clock.told(at) if self.clock is not None else ""

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0:
            record = self.record(index.row())
            theme, side = self._context.theme, self._context.px(14)
            return None if record is None else _icon(record[1].role, theme, side)
        return super().data(index, role)

    def row_of(self, event: int) -> int:
        """The row of an event; -1 where it is not listed."""
        return next((r for r in range(self.rowCount()) if self._number(r) == event), -1)

    def _number(self, row: int) -> int:
        record = self.record(row)
        return -1 if record is None else record[0]


_ICONS: dict[tuple[str, bool, int], object] = {}


def _icon(role: Role, theme: Theme, side: int) -> object:
    """One picture per role, theme and size: lists ask for it at every row."""
    key = (role, theme.dark, side)
    if key not in _ICONS:
        _ICONS[key] = role_icon(role, theme, side, 2.0)
    return _ICONS[key]


def in_time(record: Numbered) -> tuple[bool, datetime, int]:
    """Order in time; what has no time comes last, the rows that were used first of these."""
    event = record[1]
    return (event.start is None, event.start or EPOCH, ROLES.index(event.role))


def _in_a_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _RULE else f"{line[: _RULE - 1]}…"


def _columns(told: Callable[[datetime | None], str]) -> list[Column[Numbered]]:
    def number(record: Numbered) -> tuple[int, float, str]:
        value = record[1].number
        return (0, value, "") if value is not None else (1, 0.0, str(record[1].value))

    return [
        Column(
            "Role",
            lambda r: LOOKS[r[1].role].words,
            tip=lambda r: LOOKS[r[1].role].about,
            order=lambda r: ROLES.index(r[1].role),
        ),
        Column("Time", lambda r: told(r[1].start), order=in_time),
        Column("Item", lambda r: r[1].item, tip=lambda r: in_lines(r[1].item)),
        Column("Value", lambda r: value_words(r[1]), numeric=True, order=number),
        Column("Rule", lambda r: _in_a_line(r[1].rule), tip=lambda r: in_lines(r[1].rule)),
        Column("Until", lambda r: told(r[1].end) if r[1].end else "", order=lambda r: r[1].end),
        Column("For column", lambda r: ", ".join(r[1].columns)),
        Column("Table", lambda r: r[1].table),
        Column("Code", lambda r: r[1].item_id),
    ]


class EventList(ListTable):
    """The list."""

    chosen = Signal(int)
    """An event was chosen: its number in the lineage."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, "Source rows of this value")
        self.records = EventModel(context)
        self.setModel(self.records)
        self.setSortingEnabled(True)
        self.sortByColumn(_TIME, Qt.SortOrder.AscendingOrder)
        self._quiet = False
        context.theme_changed.connect(self._widest)
        self._widest()

    def _widest(self) -> None:
        side = self._context.px(14)
        self.setIconSize(QSize(side, side))
        self.horizontalHeader().setMaximumSectionSize(self._context.px(_WIDEST))

    def sizeHintForColumn(self, column: int) -> int:
        most = None if self.isColumnHidden(_RULE_AT) else _ROOM.get(column)
        hint = super().sizeHintForColumn(column)
        return hint if most is None else min(hint, self._context.px(most))

    def show_events(self, events: list[Numbered], clock: Clock | None) -> None:
        """Show these."""
        self._quiet = True
        self.records.clock = clock
        self.records.set_records(events)
        for at, used in (
            (_TIME, any(event.start is not None for _, event in events)),
            (_UNTIL, any(event.end is not None for _, event in events)),
            (_RULE_AT, any(event.rule for _, event in events)),
        ):
            self.setColumnHidden(at, bool(events) and not used)
        self._quiet = False

    def show_first_used(self) -> None:
        """Begin with the first row that was used: hundreds of others may stand before it."""
        for row in range(self.records.rowCount()):
            record = self.records.record(row)
            if record is not None and record[1].role == ROLES[0]:
                self.scrollTo(self.records.index(row, 0), self.ScrollHint.PositionAtTop)
                return

    def select(self, event: int) -> None:
        """Select an event without telling it again."""
        row = self.records.row_of(event)
        self._quiet = True
        if row >= 0:
            self.selectRow(row)
            self.scrollTo(self.records.index(row, 0))
        else:
            self.setCurrentIndex(QModelIndex())
            self.scrollToTop()
        self._quiet = False

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        super().currentChanged(current, previous)
        record = self.records.record(current.row()) if current.isValid() else None
        if record is not None and not self._quiet:
            self.chosen.emit(record[0])


def beside(widgets: Iterable[QWidget], gap: int) -> QWidget:
    """Widgets that stay beside each other in a line that wraps; `gap` pixels between them."""
    group = QWidget()
    line = QHBoxLayout(group)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(gap)
    for each in widgets:
        line.addWidget(each)
    return group


class RoleChips(QWidget):
    """The legend: one button per role with its mark and count; off leaves its events out."""

    toggled = Signal(str, bool)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        line = self._line = FlowLayout(self)
        self.chips: dict[Role, QPushButton] = {}
        for role in ROLES:
            chip = QPushButton(LOOKS[role].words)
            chip.setProperty("kind", "chip")
            chip.setCheckable(True)
            chip.setChecked(True)
            chip.setAutoDefault(False)
            chip.toggled.connect(lambda on, which=role: self.toggled.emit(which, on))
            self.chips[role] = chip
            line.addWidget(chip)
        context.theme_changed.connect(self._recolour)
        self.show_counts({})
        self._recolour()

    @property
    def gap(self) -> int:
        """Pixels between two of them."""
        return self._line.spacing()

    def add(self, widget: QWidget) -> None:
        """Put another widget into the same line."""
        self._line.addWidget(widget)

    def show_counts(self, counts: Mapping[Role, int]) -> None:
        """Say how many there are of each."""
        for role, chip in self.chips.items():
            chip.setText(f"{LOOKS[role].words} {counts.get(role, 0):,}")
            some = counts.get(role, 0) > 0
            chip.setEnabled(some)
            why = "" if some else f"\n{_NONE_OF_THEM}"
            chip.setToolTip(as_written(in_lines(LOOKS[role].about + why)))

    def need_height(self) -> None:
        """Ask for the height of as many lines as there are; the picture would lie over them."""
        self._line.invalidate()
        keep_height(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.need_height()

    def _recolour(self) -> None:
        side = self._context.px(16)
        for role, chip in self.chips.items():
            chip.setIcon(role_icon(role, self._context.theme, side, 2.0))
            chip.setIconSize(QSize(side, side))
