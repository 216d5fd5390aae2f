"""How far the whole benchmark is: every item of every task as a small sign, by family."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.reviews.checklist import newest
from engine.workbench.review_types import ReviewOverview, TaskStanding
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import label
from m4review.review.words import (
    STANDING_SIGNS,
    STANDING_WORDS,
    brief,
    full_words,
)

_SIGNS = Qt.ItemDataRole.UserRole + 1
_TITLES = ("Task", "Questions", "In words", "Reviewers", "Adjudicator")


class SignsDelegate(QStyledItemDelegate):
    """Draws one tinted square with a sign per item."""

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        super().paint(painter, option, index)
        theme, px = self._context.theme, self._context.px
        side, gap = px(18), px(2)
        rect = option.rect
        left, top = rect.left() + px(4), rect.center().y() - side // 2
        for at, standing in enumerate(index.data(_SIGNS) or ()):
            sign = STANDING_SIGNS[standing]
            place = QRect(left + at * (side + gap), top, side, side)
            if sign.tint != "surface":  # it would be a hole in a chosen row
                painter.fillRect(place, QColor(getattr(theme, sign.tint)))
            picture = icons.icon(sign.icon, getattr(theme, sign.tone))
            picture.paint(painter, place.adjusted(px(2), px(2), -px(2), -px(2)))

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        signs = len(index.data(_SIGNS) or ())
        px = self._context.px
        return QSize(signs * (px(18) + px(2)) + px(10), px(26))


class ProgressPanel(QWidget):
    """Tasks by family; Enter opens the review of one."""

    opened = Signal(str)
    """A task."""
    chosen = Signal()
    """Another task is current, or others are selected."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._overview: ReviewOverview | None = None
        self.words = label("", wrap=True)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName("Progress of every task")
        self.tree.setHeaderLabels(list(_TITLES))
        self.tree.setUniformRowHeights(True)
        self.tree.setAllColumnsShowFocus(True)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.tree.setItemDelegateForColumn(1, SignsDelegate(context, self.tree))
        header = self.tree.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._legend = FlowLayout(spacing=context.px(12))
        box = QVBoxLayout(self)
        edge = context.px(8)
        box.setContentsMargins(edge, edge, edge, edge)
        box.addWidget(self.words)
        box.addWidget(self.tree, 1)
        box.addLayout(self._legend)
        self._entries: dict[str, tuple[QLabel, QLabel]] = {}
        for standing in STANDING_SIGNS:
            entry = QWidget()
            line = QHBoxLayout(entry)
            line.setContentsMargins(0, 0, 0, 0)
            picture, words = QLabel(), label(STANDING_WORDS[standing], "muted")
            line.addWidget(picture)
            line.addWidget(words)
            self._entries[standing] = (picture, words)
            self._legend.addWidget(entry)
        self.tree.itemActivated.connect(self._open)
        self.tree.currentItemChanged.connect(lambda *_: self.chosen.emit())
        self.tree.itemSelectionChanged.connect(self.chosen.emit)
        context.theme_changed.connect(self._fill)

    def show_overview(self, overview: ReviewOverview) -> None:
        """Show how far every task is."""
        self._overview = overview
        self._fill()

    def select(self, task: str) -> None:
        """Make a task the current one."""
        flags = Qt.MatchFlag.MatchRecursive | Qt.MatchFlag.MatchExactly
        for item in self.tree.findItems(task, flags):
            if item.data(0, Qt.ItemDataRole.UserRole) == task:
                self.tree.setCurrentItem(item)
                self.tree.scrollToItem(item)

    @property
    def task(self) -> str:
        """The current task; empty on a family."""
        item = self.tree.currentItem()
        return str(item.data(0, Qt.ItemDataRole.UserRole) or "") if item is not None else ""

    @property
    def unasked(self) -> tuple[str, ...]:
        """The selected tasks that nobody is asked about yet; a family stands for all of its own."""
        found: set[str] = set()
        for item in self.tree.selectedItems():
            rows = [item.child(at) for at in range(item.childCount())] or [item]
            found |= {str(row.data(0, Qt.ItemDataRole.UserRole)) for row in rows if row is not None}
        tasks = self._overview.tasks if self._overview is not None else ()
        return tuple(t.task for t in tasks if t.task in found and t.outcome is None)

    def _fill(self) -> None:
        theme, side = self._context.theme, self._context.px(14)
        for standing, (picture, _) in self._entries.items():
            sign = STANDING_SIGNS[standing]
            colour = getattr(theme, sign.tone)
            picture.setPixmap(icons.pixmap(sign.icon, colour, side, self.devicePixelRatioF()))
        if self._overview is None:
            return
        before = self.task
        self.tree.clear()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        chosen: QTreeWidgetItem | None = None
        families: dict[str, list[TaskStanding]] = {}
        for each in self._overview.tasks:
            families.setdefault(each.family, []).append(each)
        for family, tasks in families.items():
            top = QTreeWidgetItem(self.tree, [family, "", _family_words(tasks)])
            for column in range(3):
                top.setFont(column, bold)
            for each in tasks:
                row = self._row(top, each)
                if chosen is None or each.task == before:
                    chosen = row
            top.setExpanded(True)
        if chosen is not None:
            self.tree.setCurrentItem(chosen)
        self.words.setText(_whole_words(self._overview))

    def _row(self, top: QTreeWidgetItem, each: TaskStanding) -> QTreeWidgetItem:
        signed = ",  ".join(f"{'✓' if done else '…'} {name}" for name, done in each.signed)
        row = QTreeWidgetItem(top, [each.task, "", brief(each.outcome), signed, each.adjudicator])
        row.setData(0, Qt.ItemDataRole.UserRole, each.task)
        row.setData(1, _SIGNS, signs_of(each))
        items = each.outcome.items if each.outcome is not None else ()
        told = "\n".join(f"{i.item.title}: {full_words(i.standing)}" for i in items)
        row.setToolTip(1, as_written(told or full_words("unassigned")))
        row.setData(1, Qt.ItemDataRole.AccessibleTextRole, brief(each.outcome))
        row.setToolTip(3, "✓ has signed, … has not")
        return row

    def _open(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        name = item.data(0, Qt.ItemDataRole.UserRole)
        if name:
            self.opened.emit(str(name))
        else:
            item.setExpanded(not item.isExpanded())


def signs_of(each: TaskStanding) -> tuple[str, ...]:
    """The standing of each item of a task; of one that nobody is asked about, as many dashes."""
    if each.outcome is not None:
        return tuple(item.standing for item in each.outcome.items)
    return ("unassigned",) * len(newest("table").items)


def _family_words(tasks: list[TaskStanding]) -> str:
    settled = sum(each.outcome is not None and each.outcome.settled for each in tasks)
    return f"{settled} of {len(tasks)} settled"


def _whole_words(overview: ReviewOverview) -> str:
    tasks = overview.tasks
    settled = sum(each.outcome is not None and each.outcome.settled for each in tasks)
    asked = sum(each.outcome is not None for each in tasks)
    counts = Counter(sign for each in tasks if each.outcome is not None for sign in signs_of(each))
    told = ", ".join(f"{counts[s]} {STANDING_WORDS[s]}" for s in STANDING_SIGNS if counts[s])
    head = f"{settled} of {len(tasks)} tasks settled; reviewers are asked about {asked}."
    return f"{head} Questions: {told}." if told else head
