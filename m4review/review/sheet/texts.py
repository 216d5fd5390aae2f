"""The texts of the exact version that is signed, one at a time, with what rests on which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from engine.reviews.checklist import Item
from m4review.app.context import Context
from m4review.app.widgets import button, label
from m4review.review.sheet.lines import LinesView
from m4review.review.words import lines_words, text_title

_SQL = "sql:"


class TextsPanel(QWidget):
    """Tabs for the texts; the queries of the reference share one, with a list to choose from."""

    referred = Signal(str, int, int)
    """Refer to lines of a text: its name, from, to."""

    def __init__(self, context: Context, *, refer: bool = True) -> None:
        super().__init__()
        self._context = context
        self._texts: Mapping[str, str] = {}
        self._marks: list[tuple[str, str]] = []
        self._rests: frozenset[str] = frozenset()
        self._shown = ""
        self._at: dict[str, int] = {}
        self._may_refer = refer
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("Texts")
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.query = QComboBox()
        self.query.setAccessibleName("Queries that make the reference")
        self.query.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.query.setMinimumContentsLength(18)
        self.view = LinesView(context, "Text that is reviewed")
        self.refer = button(
            context, "Refer to lines", self.refer_to_lines, icon="hash",
            tip="Choose lines in the text or at their numbers, then press L",
        )  # fmt: skip
        self.hint = label("", "muted")
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(context.px(6))
        box.addWidget(self.tabs)
        line = QHBoxLayout()
        line.setContentsMargins(context.px(8), 0, context.px(8), 0)
        line.addWidget(self.query, 2)
        line.addWidget(self.hint, 3)
        line.addWidget(self.refer)
        box.addLayout(line)
        box.addWidget(self.view, 1)
        self.refer.setVisible(refer)
        self.tabs.currentChanged.connect(lambda _: self._tab())
        self.query.activated.connect(lambda _: self._show(self.query.currentData()))
        self.view.chosen.connect(lambda *_: self._offer())
        self._offer()

    # --- what is shown

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Show these texts; the one that was shown stays where it is still there."""
        was, where = self._shown, self.view.verticalScrollBar().value()
        self._texts = texts
        names = [name for name in texts if not name.startswith(_SQL)]
        queries = [name for name in texts if name.startswith(_SQL)]
        with QSignalBlocker(self.tabs), QSignalBlocker(self.query):
            while self.tabs.count():
                self.tabs.removeTab(0)
            self.query.clear()
            for name in names:
                self.tabs.setTabData(self.tabs.addTab(text_title(name)), name)
            if queries:
                self.tabs.setTabData(self.tabs.addTab("Reference SQL"), _SQL)
                for name in queries:
                    self.query.addItem(name.removeprefix(_SQL), name)
        self._shown = ""
        if was in texts:
            self.go_to(was)
            self.view.verticalScrollBar().setValue(where)
        elif names:
            self.go_to(names[0])
        else:
            self.view.show_text("")
        self._title_tabs()

    def set_item(self, item: Item | None, anchors: Iterable[Mapping[str, str]]) -> None:
        """Say which texts a question rests on, and mark the lines that its answer refers to."""
        rests = frozenset(n for n in self._texts if item is not None and item.rests_on(n))
        self._rests = rests
        self._marks = [(str(each["text"]), str(each["lines"])) for each in anchors]
        self._title_tabs()
        self._mark()

    def _title_tabs(self) -> None:
        for at in range(self.tabs.count()):
            name = self.tabs.tabData(at)
            title = "Reference SQL" if name == _SQL else text_title(name)
            rests = any(each == name or each.startswith(name) for each in self._rests)
            self.tabs.setTabText(at, f"● {title}" if rests else title)
            self.tabs.setTabToolTip(at, "This question rests on it" if rests else "")

    def go_to(self, name: str, lines: str = "") -> None:
        """Show a text, and lines of it."""
        if name not in self._texts:
            return
        tab = _SQL if name.startswith(_SQL) else name
        for at in range(self.tabs.count()):
            if self.tabs.tabData(at) == tab:
                with QSignalBlocker(self.tabs):
                    self.tabs.setCurrentIndex(at)
        if tab == _SQL:
            self.query.setCurrentIndex(self.query.findData(name))
        self._show(name)
        if lines:
            first, _, last = lines.partition("-")
            self.view.choose_lines(int(first), int(last or first))

    def _tab(self) -> None:
        name = self.tabs.tabData(self.tabs.currentIndex())
        if name is not None:
            self._show(self.query.currentData() if name == _SQL else name)

    def _show(self, name: str) -> None:
        self.query.setVisible(name.startswith(_SQL))
        if name != self._shown:
            self._at[self._shown] = self.view.verticalScrollBar().value()
            self._shown = name
            self.view.show_text(self._texts.get(name, ""))
            self.view.verticalScrollBar().setValue(self._at.get(name, 0))
        self._mark()
        self._offer()

    @property
    def shown(self) -> str:
        """Name of the text that is shown."""
        return self._shown

    def _mark(self) -> None:
        found = []
        for text, lines in self._marks:
            first, _, last = lines.partition("-")
            if text == self._shown and first.isdecimal():
                found.append((int(first), int(last or first)))
        self.view.mark(found)

    # --- referring

    def _offer(self) -> None:
        first, last = self.view.lines
        self.refer.setEnabled(bool(first))
        lines = f"{first}-{last}" if last > first else str(first)
        self.hint.setText(
            lines_words(self._shown, lines)
            if first
            else "Choose lines to refer to them (L)"
            if self._may_refer
            else ""
        )

    def refer_to_lines(self) -> None:
        """Refer to the chosen lines; where none are, the keys go to the text to choose some."""
        first, last = self.view.lines
        if first:
            self.referred.emit(self._shown, first, last)
        else:
            self.view.setFocus()
            self._context.told.emit(
                "Choose lines with Shift and the arrow keys, then press L again. Esc leads back."
            )
