"""Small widgets that several screens use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.tips import as_written

Role = Literal["title", "heading", "section", "muted", "figure", "plain"]
Tone = Literal["good", "bad", "warn", "plain"]


def label(text: str = "", role: Role = "plain", *, wrap: bool = False) -> QLabel:
    """A label; always plain text, because texts may come from agents."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setProperty("role", role)
    result.setWordWrap(wrap)
    return result


class ElidedLabel(QLabel):
    """One line of plain text that is cut with "…" where there is no room; the tip has it whole."""

    def __init__(self, text: str = "", role: Role = "plain") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setToolTip(as_written(text))

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), self.fontMetrics().averageCharWidth() * 8), hint.height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        rect = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, rect.width())
        side = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(rect, side, text)
        painter.end()


class ColumnScroll(QScrollArea):
    """Scrolls up and down only: never narrower than what it holds."""

    def __init__(self, inner: QWidget) -> None:
        super().__init__()
        inner.setProperty("plain", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(inner)

    def minimumSizeHint(self) -> QSize:
        inner = self.widget()
        width = inner.minimumSizeHint().width() if inner is not None else 0
        return QSize(width + self.verticalScrollBar().sizeHint().width(), 60)


def keep_height(widget: QWidget) -> None:
    """Keep the height that what breaks into lines needs at this width: a page would squeeze it."""
    widget.setMinimumHeight(max(0, widget.heightForWidth(widget.width())))


def set_tone(widget: QWidget, tone: Tone) -> None:
    """Colour a label by meaning."""
    widget.setProperty("tone", tone)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def badge(text: str, tone: Tone) -> QLabel:
    """A word in a pill."""
    result = label(text)
    result.setProperty("badge", True)
    result.setProperty("tone", tone)
    result.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)
    return result


class PushButton(QPushButton):
    """A push button that Enter presses as Space does; Qt leaves that to some desktops."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setAutoDefault(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            self.click()
            return
        super().keyPressEvent(event)


class IconButton(PushButton):
    """A push button whose icon follows the theme."""

    def __init__(self, context: Context, text: str, icon: str, *, main: bool) -> None:
        super().__init__(f" {text}" if icon and text else text)  # Qt sets them too close
        self.setAccessibleName(text)
        self._context, self._icon_name, self._main = context, icon, main
        if main:
            self.setProperty("kind", "main")
        if icon:
            context.theme_changed.connect(self._recolour)
            self._recolour()

    def set_icon_name(self, icon: str) -> None:
        """Show another icon."""
        self._icon_name = icon
        self._recolour()

    def _recolour(self) -> None:
        theme = self._context.theme
        self.setIcon(icons.icon(self._icon_name, theme.on_accent if self._main else theme.text))


def button(
    context: Context,
    text: str,
    clicked: Callable[[], object],
    *,
    icon: str = "",
    main: bool = False,
    tip: str = "",
) -> IconButton:
    """A push button that calls `clicked`."""
    result = IconButton(context, text, icon, main=main)
    if tip:
        result.setToolTip(as_written(tip))
    result.clicked.connect(lambda _=False: clicked())
    return result


def spin_box(context: Context, low: int, high: int, name: str) -> QSpinBox:
    """A field for a whole number."""
    result = QSpinBox()
    result.setRange(low, high)
    result.setGroupSeparatorShown(True)
    result.setAccessibleName(name)
    result.lineEdit().setTextMargins(context.px(6), 0, 0, 0)
    return result


def card(layout: QLayout | None = None) -> QFrame:
    """A framed surface."""
    frame = QFrame()
    frame.setProperty("card", True)
    if layout is not None:
        frame.setLayout(layout)
    return frame


def clear(layout: QLayout) -> None:
    """Remove and delete everything in a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
        elif (inner := item.layout()) is not None:
            clear(inner)


class ErrorPanel(QFrame):
    """An error in place: title, text, what to do, details."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("errorPanel")
        self.setAccessibleName("Error")
        self._context = context
        self._error: M4Error | None = None
        self._grid = grid = QGridLayout(self)
        grid.setColumnStretch(1, 1)
        self._icon = QLabel()
        self._title = label("", "heading")
        self._text = label(wrap=True)
        self._todo = label(wrap=True)
        self._details = label("", "muted", wrap=True)
        for each in (self._text, self._todo, self._details):
            each.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse
                | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        close = button(context, "Close", self.dismiss)
        grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self._title, 0, 1)
        grid.addWidget(close, 0, 2, 2, 1, Qt.AlignmentFlag.AlignTop)
        for row, each in enumerate((self._text, self._todo, self._details), start=1):
            grid.addWidget(each, row, 1)
        self.hide()

    @property
    def error(self) -> M4Error | None:
        """What is shown."""
        return self._error

    def show_error(self, error: M4Error) -> None:
        """Show it (a cancelled job is nothing to show)."""
        self._error = error
        theme = self._context.theme
        side = self._context.px(22)
        self._icon.setPixmap(icons.pixmap("circle-x", theme.bad, side, self.devicePixelRatioF()))
        place = f"{error.place}: " if error.place and str(error.place) else ""
        self._title.setText(error.title)
        self._text.setText(place + error.text)
        self._todo.setText(f"What to do: {error.todo}" if error.todo else "")
        self._todo.setVisible(bool(error.todo))
        self._details.setText(f"Details: {error.details}" if error.details else "")
        self._details.setVisible(bool(error.details))
        self.show()
        self._need_height()

    def dismiss(self) -> None:
        """Take it away."""
        self._error = None
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._need_height()

    def _need_height(self) -> None:
        self._grid.invalidate()
        keep_height(self)


class EmptyState(QFrame):
    """What to do when there is nothing to show yet."""

    def __init__(self, context: Context, icon: str, title: str, text: str) -> None:
        super().__init__()
        self._context, self._icon_name = context, icon
        self.setProperty("card", True)
        outer = QVBoxLayout(self)
        outer.addStretch(1)
        self._icon = QLabel()
        self._icon.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title = label(title, "heading")
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.text = label(text, "muted", wrap=True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.text.setMinimumWidth(context.px(200))
        self.text.setMaximumWidth(context.px(560))
        self.buttons = QHBoxLayout()
        outer.addWidget(self._icon)
        outer.addWidget(self.title)
        middle = QHBoxLayout()  # an aligned item would get a height that cuts wrapped text
        middle.addStretch(1)
        middle.addWidget(self.text, 100)
        middle.addStretch(1)
        outer.addLayout(middle)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addLayout(self.buttons)
        row.addStretch(1)
        outer.addSpacing(context.px(8))
        outer.addLayout(row)
        outer.addStretch(2)
        context.theme_changed.connect(self._recolour)
        self._recolour()

    def _recolour(self) -> None:
        side = self._context.px(40)
        self._icon.setPixmap(icons.pixmap(self._icon_name, self._context.theme.muted, side, 2.0))

    def say(self, title: str, text: str) -> None:
        """Say something else."""
        self.title.setText(title)
        self.text.setText(text)


_PAGE = "page"
"""Name of the layout of a whole page."""


def page_layout(widget: QWidget, context: Context) -> QVBoxLayout:
    """The layout of a whole page, with its usual margins, whatever the zoom becomes."""
    layout = QVBoxLayout(widget)
    layout.setObjectName(_PAGE)
    _fit(layout, context)
    return layout


def fit_pages(window: QWidget, context: Context) -> None:
    """Give every page in a window the margins of the zoom that holds now."""
    for layout in window.findChildren(QVBoxLayout, _PAGE):
        _fit(layout, context)


def _fit(layout: QVBoxLayout, context: Context) -> None:
    edge = context.px(18)
    layout.setContentsMargins(edge, context.px(14), edge, context.px(14))
    layout.setSpacing(context.px(10))
