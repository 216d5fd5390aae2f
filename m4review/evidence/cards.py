"""The checks of one line, each as a card: outcome, sentence, figures, query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from engine.claims import Check, Evidence
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.highlight import SqlHighlighter
from m4review.app.tips import as_written
from m4review.app.widgets import button, label
from m4review.evidence.groups import Group, range_of
from m4review.evidence.pictures import Histogram, ShareBar
from m4review.evidence.words import AGAINST, TABLES, Sign, colour, sign_of, title_of

_MOST = 25
"""Rows of a table in a card; how many more there are is said."""
_QUERY_LINES = 6


def badge_row(context: Context, sign: Sign) -> tuple[QLabel, QLabel]:
    """Icon and word of an outcome."""
    icon, word = QLabel(), label(sign.word)
    shade = colour(sign, context.theme)
    icon.setPixmap(icons.pixmap(sign.icon, shade, context.px(18), 2.0))
    word.setStyleSheet(f"color: {shade}; font-weight: 600;")
    word.setToolTip(as_written(sign.tip))
    return icon, word


class CheckCard(QFrame):
    """One check."""

    copied = Signal(object)
    """Its outcome is to be copied."""
    attached = Signal(object)
    """It is to be attached to a verdict."""

    def __init__(
        self,
        context: Context,
        evidence: Evidence,
        group: Group,
        check: Check,
        *,
        attachable: bool,
    ) -> None:
        super().__init__()
        self.check = check
        self._context, self._evidence, self._group = context, evidence, group
        self.setProperty("card", True)
        self._rows = QVBoxLayout(self)
        edge = context.px(10)
        self._rows.setContentsMargins(edge, context.px(8), edge, context.px(8))
        self._place_of_picture = -1
        self._head(attachable=attachable)
        words = label(check.words, wrap=True)
        words.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._rows.addWidget(words)
        self._figures(check.result or {})
        self._query: QWidget | None = None

    def _head(self, *, attachable: bool) -> None:
        line = FlowLayout(spacing=self._context.px(6))
        icon, word = badge_row(self._context, sign_of(self.check))
        line.addWidget(icon)
        line.addWidget(word)
        line.addWidget(label(title_of(self.check), "heading"))
        line.addWidget(label(AGAINST[self.check.against], "muted"))
        if attachable:
            line.addWidget(
                button(
                    self._context,
                    "Attach",
                    lambda: self.attached.emit(self.check),
                    icon="plus",
                    tip="Attach this check to the verdict",
                )
            )
        if self.check.query:
            line.addWidget(
                button(self._context, "Query", self._toggle_query, tip="The SQL that was asked")
            )
        line.addWidget(
            button(
                self._context,
                "Copy",
                lambda: self.copied.emit(self.check),
                tip="Outcome and query as JSON; counts below 11 are left out",
            )
        )
        self._rows.addLayout(line)

    # --- figures

    def _figures(self, result: Mapping[str, Any]) -> None:
        if self.check.name == "item-known":
            self._item(result)
        elif "histogram" in result or self.check.name == "distribution":
            self._distribution(result)
        elif isinstance(result.get("units"), Mapping):
            self._shares(result["units"], "unit")
        elif "on_low" in result:
            self._outside(result)
        elif "siblings" in result:
            rows = [(str(s["item"]), s["label"], f"{s['rows']:,}") for s in result["siblings"]]
            self._table(("item", "label", "rows"), rows)
        elif "near" in result:
            self._spellings(result)
        elif isinstance(result.get("missing_rows"), Mapping):
            self._missing(result)
        elif "bands" in result:
            bands = [(f"{bound:g}", f"{points:g}") for bound, points in result["bands"]]
            self._table(("bound in the reference", "points on one side of it"), bands)
        elif "keys" in result:
            sizes = [(n, f"{result[n]:,}") for n in ("rows", "keys", "stays") if result.get(n)]
            self._table(("of the reference", "number"), sizes)

    def _item(self, result: Mapping[str, Any]) -> None:
        if not result:
            return
        stays = "patients" if str(result.get("table", "")).endswith("labevents") else "stays"
        table = str(result.get("table", ""))
        self._table(
            ("item", "label", "category", "kept in", "rows", stays),
            [
                (
                    str(result["item"]),
                    str(result["label"]),
                    str(result["category"]),
                    TABLES.get(table, table),
                    f"{result['rows']:,}",
                    f"{result['stays']:,}",
                )
            ],
        )

    def _distribution(self, result: Mapping[str, Any]) -> None:
        rows, missing = int(result.get("rows", 0)), int(result.get("missing", 0))
        stays = result.get("stays", 0)
        share = f"{missing / rows:.1%}" if rows else "–"
        words = f"{rows:,} rows of {stays:,} stays or patients; "
        words += f"{missing:,} without a number ({share})."
        self._rows.addWidget(label(words, "muted", wrap=True))
        if not result.get("quantiles"):
            return
        self._place_of_picture = self._rows.count()
        names = {"0.01": "1 %", "0.05": "5 %", "0.25": "25 %", "0.5": "median", "0.75": "75 %",
                 "0.95": "95 %", "0.99": "99 %"}  # fmt: skip
        quantiles = result["quantiles"]
        heads = ("lowest", *(names.get(q, q) for q in quantiles), "highest")
        values = (result.get("low"), *quantiles.values(), result.get("high"))
        told = tuple("–" if v is None else f"{v:,.5g}" for v in values)
        self._table(heads, [told])

    def finish(self) -> bool:
        """Add the picture, which takes a while to make; False where there is none to add."""
        at, self._place_of_picture = self._place_of_picture, -1
        if at < 0:
            return False
        result = self.check.result or {}
        limits = range_of(self._evidence, self._group, int(result["item"]))
        picture = Histogram(self._context, result["histogram"], limits, result["quantiles"])
        self._rows.insertWidget(at, picture)
        return True

    def _shares(self, units: Mapping[str, int], head: str) -> None:
        total = sum(units.values())
        grid = self._grid()
        ordered = sorted(units.items(), key=lambda pair: -pair[1])
        for column, text in enumerate((head, "share", "", "rows")):
            grid.addWidget(label(text, "section"), 0, column)
        for at, (name, rows) in enumerate(ordered[:_MOST], start=1):
            share = rows / total if total else 0.0
            grid.addWidget(label(name or "no unit"), at, 0)
            grid.addWidget(ShareBar(self._context, share, name or "no unit"), at, 1)
            grid.addWidget(_number(f"{share:.1%}"), at, 2)
            grid.addWidget(_number(f"{rows:,}"), at, 3)
        grid.setColumnStretch(1, 1)
        self._left_out(len(ordered))

    def _outside(self, result: Mapping[str, Any]) -> None:
        total = int(result["rows"])
        names = {
            "below": "below the range", "on_low": "exactly on the lower bound",
            "on_high": "exactly on the upper bound", "above": "above the range",
        }  # fmt: skip
        rows = [
            (names[n], f"{result[n]:,}", f"{result[n] / total:.2%}" if total else "–")
            for n in names
        ]
        self._table(("numbers", "rows", "share"), rows)

    def _spellings(self, result: Mapping[str, Any]) -> None:
        if near := result["near"]:
            unnamed = [(text, f"{count:,}") for text, count in near.items()]
            self._table(("in the data, and named nowhere", "rows"), unnamed)
        texts = sorted(result["texts"].items(), key=lambda pair: -pair[1]["rows"])
        rows = [(t, f"{n['rows']:,}", f"{n['stays']:,}") for t, n in texts]
        self._table((f"named, in {result['column']}", "rows", "stays"), rows)

    def _missing(self, result: Mapping[str, Any]) -> None:
        total = int(result["rows"])
        grid = self._grid()
        for column, text in enumerate(("column", "missing", "", "rows")):
            grid.addWidget(label(text, "section"), 0, column)
        lost = sorted(result["missing_rows"].items(), key=lambda pair: -pair[1])
        for at, (name, rows) in enumerate(lost[:_MOST], start=1):
            share = rows / total if total else 0.0
            grid.addWidget(label(name), at, 0)
            grid.addWidget(ShareBar(self._context, share, name), at, 1)
            grid.addWidget(_number(f"{share:.1%}"), at, 2)
            grid.addWidget(_number(f"{rows:,}"), at, 3)
        grid.setColumnStretch(1, 1)
        self._left_out(len(lost))

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(self._context.px(14))
        grid.setVerticalSpacing(self._context.px(3))
        self._rows.addLayout(grid)
        return grid

    def _table(self, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        grid = self._grid()
        for column, text in enumerate(heads):
            head = label(text, "section", wrap=True)
            if rows and _is_number(rows[0][column]):
                head.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(head, 0, column)
        for at, row in enumerate(rows[:_MOST], start=1):
            for column, text in enumerate(row):
                cell = _number(text) if _is_number(text) else label(text, wrap=len(text) > 40)  # noqa: PLR2004
                grid.addWidget(cell, at, column)
        grid.setColumnStretch(len(heads), 1)
        self._left_out(len(rows))

    def _left_out(self, count: int) -> None:
        if count > _MOST:
            self._rows.addWidget(label(f"and {count - _MOST:,} more", "muted"))

    # --- query

    def _toggle_query(self) -> None:
        if self._query is None:
            self._query = self._make_query()
            self._rows.addWidget(self._query)
        else:
            self._query.setVisible(self._query.isHidden())

    def _make_query(self) -> QWidget:
        whole = QWidget()
        rows = QVBoxLayout(whole)
        rows.setContentsMargins(0, 0, 0, 0)
        text = QPlainTextEdit(_broken(self.check.query))
        text.setReadOnly(True)
        text.setTabChangesFocus(True)
        text.setProperty("code", True)
        text.setAccessibleName("The query, read-only")
        text.setFixedHeight(text.fontMetrics().lineSpacing() * (_QUERY_LINES + 1))
        SqlHighlighter(text.document(), self._context)
        rows.addWidget(text)
        line = QHBoxLayout()
        line.addStretch(1)
        line.addWidget(button(self._context, "Copy the query", self._copy_query, icon="copy"))
        rows.addLayout(line)
        return whole

    def _copy_query(self) -> None:
        QGuiApplication.clipboard().setText(self.check.query)
        self._context.told.emit("The query is on the clipboard.")


def _broken(sql: str) -> str:
    """A line for each clause."""
    for word in ("FROM", "WHERE", "INNER JOIN", "GROUP BY", "ORDER BY", "UNION ALL", "ON"):
        sql = sql.replace(f" {word} ", f"\n{word} ")
    return sql


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").rstrip(" %").lstrip("-−").isdigit() or text == "–"


def _number(text: str) -> QLabel:
    result = label(text)
    result.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return result


def cards_of(
    context: Context,
    evidence: Evidence,
    group: Group,
    *,
    attachable: bool,
    on_copy: Callable[[Check], object],
    on_attach: Callable[[Check], object],
) -> Iterator[CheckCard]:
    """A card for each check of a line."""
    for check in group.checks:
        made = CheckCard(context, evidence, group, check, attachable=attachable)
        made.copied.connect(on_copy)
        made.attached.connect(on_attach)
        yield made
