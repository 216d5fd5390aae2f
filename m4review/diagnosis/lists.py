"""Signatures and segments as lists; shares have a bar behind their number."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from engine.diagnosis.model import Segment, Signature
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.theme import Theme
from m4review.diagnosis.words import (
    finding_words,
    interval_words,
    p_words,
    ratio_words,
)
from m4review.diff.layout import percent

SHARE = 1
"""Column of the bar in the list of signatures."""


class ShareBar(QStyledItemDelegate):
    """Draws a share as a thin bar under the cell's words."""

    def __init__(self, context: Context, share: Callable[[int], float]) -> None:
        super().__init__()
        self._context, self._share = context, share

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        super().paint(painter, option, index)
        theme, px = self._context.theme, self._context.px
        rect = option.rect
        whole = QRectF(rect.left() + px(6), rect.bottom() - px(5), rect.width() - px(12), px(3))
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRect(whole)
        whole.setWidth(whole.width() * min(1.0, max(0.0, self._share(index.row()))))
        painter.setBrush(QColor(theme.accent))
        painter.drawRect(whole)
        painter.restore()


def signatures_model(theme: Callable[[], Theme]) -> RecordModel[Signature]:
    """A model of signatures."""
    return RecordModel(
        [
            Column[Signature]("Consistent with", finding_words, tip=lambda s: s.words),
            Column(
                "Explains",
                lambda s: f"{s.explained:,} of {s.tested:,} ({percent(s.share)})",
                numeric=True,
                about="Mismatching cells that are as it predicts, of those it was tested on",
            ),
            Column(
                "Adds",
                lambda s: f"{s.gained:,}",
                numeric=True,
                about="Of these, the ones that no signature above explains: no cell counts twice",
            ),
            Column(
                "Against",
                lambda s: f"{s.broken:,}" if s.broken else "none",
                numeric=True,
                tone=lambda s: "warn" if s.broken else "",
                about="Matching cells for which it predicts another value",
            ),
        ],
        theme,
    )


def segments_model(theme: Callable[[], Theme]) -> RecordModel[Segment]:
    """A model of segments."""
    return RecordModel(
        [
            Column[Segment]("Stays with", lambda s: s.words),
            Column("Column", lambda s: s.column or "keys"),
            Column(
                "Mismatch here",
                lambda s: f"{s.mismatches.count:,} of {s.rows.count:,} ({percent(s.share)})",
                numeric=True,
                order=lambda s: s.share,
                about="Mismatching rows of all rows of the group",
            ),
            Column(
                "Elsewhere",
                lambda s: percent(s.base),
                numeric=True,
                order=lambda s: s.base,
                about="Mismatching rows per row outside the group",
            ),
            Column(
                "Ratio",
                ratio_words,
                numeric=True,
                order=lambda s: float("inf") if s.ratio is None else s.ratio,
                about="Share here by share elsewhere",
            ),
            Column(
                "Difference, 95 %",
                interval_words,
                numeric=True,
                order=lambda s: s.share - s.base,
                about="Here minus elsewhere in percentage points; interval corrected for the "
                "number of groups tested",
            ),
            Column(
                "Covers",
                lambda s: percent(s.covered),
                numeric=True,
                order=lambda s: s.covered,
                about="Part of all mismatching rows that lies in the group",
            ),
            Column(
                "Patients",
                lambda s: f"{s.people[1]:,} of {s.people[0]:,}",
                numeric=True,
                order=lambda s: s.people[0],
                about="Patients of the group who have such mismatches",
            ),
            Column(
                "p",
                lambda s: p_words(s.p),
                numeric=True,
                order=lambda s: s.p,
                about="Adjusted for all groups tested (Benjamini–Yekutieli)",
            ),
        ],
        theme,
    )
