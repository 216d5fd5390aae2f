"""How far reviewers agree: a table, and a picture of each figure with its interval."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from engine.reviews.agreement import Agreement, Figure
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import EmptyState, label

_FIGURES = (
    ("raw", "Raw", "Share of questions with the same answer; Wilson's interval"),
    ("kappa", "Kappa", "Cohen's kappa, unweighted"),
    ("ac1", "AC1", "Gwet's AC1: steadier than kappa where nearly everything is agreed"),
    ("ac2", "AC2", "Gwet's AC2, linear weights on agree – concern – disagree"),
)
_ABOUT = (
    "First verdicts that were given blind and can be read. Intervals are 95 %; questions of one "
    "task are not taken for independent. A figure without an interval rests on too little."
)


class Row(NamedTuple):
    """The figures of one pair, or of all."""

    who: str
    figures: Agreement


class AgreementPanel(QWidget):
    """Table above, picture below."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.table = ListTable(context, "Agreement of reviewers")
        columns: list[Column[Row]] = [
            Column("Reviewers", lambda r: r.who),
            Column("Tasks", lambda r: str(r.figures.tasks), numeric=True),
            Column("Questions", lambda r: str(r.figures.raw.items), numeric=True),
        ]
        columns += [_figure_column(*each) for each in _FIGURES]
        self.model = RecordModel(columns, lambda: context.theme, self)
        self.table.setModel(self.model)
        self.picture = AgreementPicture(context)
        self.empty = EmptyState(
            context, "chart-bar", "No figures yet",
            "They come as soon as one task's reviews can be read: when every reviewer has signed.",
        )  # fmt: skip
        full = QWidget()
        inside = QVBoxLayout(full)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(label(_ABOUT, "muted", wrap=True))
        inside.addWidget(self.table, 1)
        inside.addWidget(self.picture, 3)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(full)
        box = QVBoxLayout(self)
        edge = context.px(8)
        box.setContentsMargins(edge, edge, edge, edge)
        box.addWidget(self.stack)
        self.table.setMinimumHeight(context.px(90))

    def show_figures(self, found: tuple[tuple[str, Agreement], ...]) -> None:
        """Show these; the first is of all together."""
        rows = [Row(who, figures) for who, figures in found if figures.raw.items]
        self.model.set_records(rows)
        self.picture.show_rows(rows)
        self.stack.setCurrentIndex(1 if rows else 0)


def figure_words(figure: Figure) -> str:
    """A figure with its interval."""
    if figure.value is None:
        return "not defined"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def _figure_column(name: str, title: str, about: str) -> Column[Row]:
    return Column(
        title,
        lambda row: figure_words(getattr(row.figures, name)),
        order=lambda row: getattr(row.figures, name).value,
        about=about,
    )


class AgreementPicture(QWidget):
    """Points with their intervals from −1 (or 0) to 1; each figure has a line of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._rows: list[Row] = []
        self.setAccessibleName("Agreement with intervals")
        self.setMinimumHeight(context.px(150))
        context.theme_changed.connect(self.update)

    def show_rows(self, rows: list[Row]) -> None:
        """Draw these; as many as there is room for."""
        self._rows = rows
        self.setAccessibleDescription(
            "; ".join(
                f"{row.who}: {title} {figure_words(getattr(row.figures, name))}"
                for row in rows[:1]
                for name, title, _ in _FIGURES
            )
        )
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, px = self._context.theme, self._context.px
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.muted))
        metrics = self.fontMetrics()
        line = metrics.height() + px(4)
        low = min([0.0, *(f.low if f.low is not None else f.value or 0.0 for f in self._all())])
        low = -1.0 if low < -0.5 else -0.5 if low < 0 else 0.0  # noqa: PLR2004 - round ends
        left = px(14) + max(
            [metrics.horizontalAdvance(f"{r.who}  AC1 ") for r in self._rows] or [0]
        )
        left = min(left, self.width() // 2)
        right = self.width() - px(24)
        foot = self.height() - line

        def x(value: float) -> float:
            return left + (value - low) / (1 - low) * (right - left)

        for step in range(round((1 - low) * 4) + 1):
            value = low + step / 4
            painter.setPen(QPen(QColor(theme.line), 2 if value == 0 else 1))
            painter.drawLine(QPointF(x(value), 0), QPointF(x(value), foot))
            painter.setPen(QColor(theme.muted))
            painter.drawText(
                QRectF(x(value) - 40, foot, 80, line), int(Qt.AlignmentFlag.AlignCenter),
                f"{value:g}",
            )  # fmt: skip
        top = px(2)
        for row in self._rows:
            for name, title, _ in _FIGURES:
                if top + line > foot:
                    painter.end()
                    return
                first = title == _FIGURES[0][1]
                self._one(painter, top, line, f"{row.who if first else ''}  {title}", left,
                          getattr(row.figures, name), x)  # fmt: skip
                top += line
            top += px(4)
        painter.end()

    def _all(self) -> list[Figure]:
        return [getattr(row.figures, name) for row in self._rows for name, _, _ in _FIGURES]

    def _one(  # noqa: PLR0917 - one line of a picture
        self,
        painter: QPainter,
        top: int,
        line: int,
        name: str,
        left: int,
        figure: Figure,
        x: object,
    ) -> None:
        theme, px = self._context.theme, self._context.px
        painter.setPen(QColor(theme.text))
        words = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideLeft, left - px(10))
        side = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
        painter.drawText(QRectF(0, top, left - px(8), line), side, words)
        if figure.value is None or not callable(x):
            return
        middle = top + line / 2
        pen = QPen(QColor(theme.accent), px(2))
        painter.setPen(pen)
        if figure.low is not None and figure.high is not None:
            painter.drawLine(QPointF(x(figure.low), middle), QPointF(x(figure.high), middle))
            for end in (figure.low, figure.high):
                painter.drawLine(QPointF(x(end), middle - px(3)), QPointF(x(end), middle + px(3)))
            painter.setBrush(QColor(theme.accent))
        else:
            painter.setBrush(QColor(theme.surface))  # hollow: no interval
        painter.drawEllipse(QPointF(x(figure.value), middle), px(4), px(4))
