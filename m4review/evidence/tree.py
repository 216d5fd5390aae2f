"""Sections and lines with their outcome, for mouse and keyboard."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from engine.claims import Unread
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.evidence.groups import Group, Section
from m4review.evidence.words import OUTCOMES, Sign, colour, text_title

_ROLE = Qt.ItemDataRole.UserRole + 1


class EvidenceTree(QTreeView):
    """One row for each line of a text; N and P walk what needs attention."""

    group_shown = Signal(object)
    """A `Group` became current."""
    unread_shown = Signal(object)
    """An `Unread` became current."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName("Claims by section")
        self.setHeaderHidden(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.data_model = QStandardItemModel(self)
        self.setModel(self.data_model)
        self.selectionModel().currentChanged.connect(self._current)
        context.theme_changed.connect(self._size)
        self._size()

    def fill(self, sections: Iterable[Section], unread: tuple[Unread, ...]) -> None:
        """Show sections; what was current stays current where it is still there."""
        before = self.current_group
        model = self.data_model
        model.clear()
        model.setHorizontalHeaderLabels(["Outcome", "Line", "Claim"])
        root = model.invisibleRootItem()
        sections = list(sections)
        several = len({section.text for section in sections}) > 1
        for section in sections:
            title = f"{text_title(section.text)} · {section.title}" if several else section.title
            head = self._head(title, len(section.groups))
            root.appendRow([head, QStandardItem(), QStandardItem()])
            for group in section.groups:
                head.appendRow(self._row(OUTCOMES[group.outcome], group.line, group.shown, group))
        if unread:
            head = self._head("Numbers that could not be read", len(unread))
            root.appendRow([head, QStandardItem(), QStandardItem()])
            sign = Sign("not read", "circle-slash", "plain", "No check understands this number")
            for number in unread:
                shown = f"{number.shown}  in  “…{number.around.strip()}…”"
                head.appendRow(self._row(sign, number.line, shown, number))
        for at in range(root.rowCount()):
            self.setFirstColumnSpanned(at, QModelIndex(), True)
        self.expandAll()
        if unread:  # many, and nothing that has to be looked at first
            self.collapse(model.index(root.rowCount() - 1, 0))
        header = self.header()
        header.setStretchLastSection(True)
        for column in (0, 1):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self._restore(before)

    @property
    def current_group(self) -> Group | None:
        """What is current, where it is a line that was checked."""
        found = self.currentIndex().siblingAtColumn(0).data(_ROLE)
        return found if isinstance(found, Group) else None

    def groups(self) -> list[tuple[QModelIndex, Group]]:
        """All lines that are shown, from top to bottom."""
        found = []
        for at in range(self.data_model.rowCount()):
            head = self.data_model.index(at, 0)
            for row in range(self.data_model.rowCount(head)):
                index = self.data_model.index(row, 0, head)
                group = index.data(_ROLE)
                if isinstance(group, Group):
                    found.append((index, group))
        return found

    def step(self, way: int) -> bool:
        """To the next (1) or previous (-1) line that needs attention; False where there is none."""
        groups = self.groups()
        now = next(
            (n for n, (index, _) in enumerate(groups) if index.row() == self.currentIndex().row()
             and index.parent() == self.currentIndex().parent()),
            -1 if way > 0 else len(groups),
        )  # fmt: skip
        ahead = groups[now + 1 :] if way > 0 else groups[:now][::-1]
        for index, group in ahead:
            if group.outcome in ("disagrees", "look"):
                self.setCurrentIndex(index)
                self.scrollTo(index)
                return True
        return False

    def go_to(self, text: str, line: int) -> bool:
        """To a line of a text; False where nothing of it is shown."""
        for index, group in self.groups():
            if group.text == text and group.line == line:
                self.setCurrentIndex(index)
                self.scrollTo(index)
                return True
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and event.key() in (Qt.Key.Key_N, Qt.Key.Key_P):
            if not self.step(1 if event.key() == Qt.Key.Key_N else -1):
                self._context.told.emit("Nothing further needs attention.")
            event.accept()
            return
        super().keyPressEvent(event)

    def _size(self) -> None:
        side = self._context.px(16)
        self.setIconSize(QSize(side, side))
        self.setIndentation(self._context.px(14))

    def _head(self, title: str, count: int) -> QStandardItem:
        item = QStandardItem(f"{title}   ({count})")
        font = self.font()
        font.setBold(True)
        item.setFont(font)
        item.setToolTip(as_written(title))
        return item

    def _row(self, sign: Sign, line: int, shown: str, about: object) -> list[QStandardItem]:
        theme = self._context.theme
        first = QStandardItem(icons.icon(sign.icon, colour(sign, theme)), sign.word)
        first.setForeground(QColor(colour(sign, theme)))
        first.setData(about, _ROLE)
        first.setToolTip(as_written(sign.tip))
        number = QStandardItem(str(line))
        number.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        words = QStandardItem(shown)
        words.setToolTip(as_written(shown))
        return [first, number, words]

    def _restore(self, before: Group | None) -> None:
        if before is not None and self.go_to(before.text, before.line):
            return
        groups = self.groups()
        worst = [
            index
            for wanted in ("disagrees", "look")
            for index, group in groups
            if group.outcome == wanted
        ]
        if worst or groups:
            index = worst[0] if worst else groups[0][0]
            self.setCurrentIndex(index)
            self.scrollTo(index)

    def _current(
        self, now: QModelIndex | QPersistentModelIndex, _: QModelIndex | QPersistentModelIndex
    ) -> None:
        about = now.sibling(now.row(), 0).data(_ROLE) if now.isValid() else None
        if isinstance(about, Group):
            self.group_shown.emit(about)
        elif isinstance(about, Unread):
            self.unread_shown.emit(about)
