"""The run page's tab about the model and the network: facts, tokens over time, requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from engine.agents.traces import TraceStep
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import ColumnScroll, clear, label
from m4review.run.facts import network_words, usage_facts
from m4review.run.viewmodel import RunPage
from m4review.trace.chart import TokenChart, tokens_of

_Row = Mapping[str, Any]


def _size(row: _Row) -> str:
    out, into = row.get("bytes_out"), row.get("bytes_in")
    if not isinstance(out, int) or not isinstance(into, int):
        return ""
    return f"{out:,} / {into:,}"


def _number(name: str) -> Column[_Row]:
    titles = {"input_tokens": "Tokens in", "output_tokens": "Tokens out"}
    return Column(
        titles[name],
        lambda row: f"{row[name]:,}" if isinstance(row.get(name), int) else "–",
        numeric=True,
    )


class UsageTab(ColumnScroll):
    """What the run asked of its model, and what came to the gateway."""

    step_asked = Signal(int)
    """Show a step of the trace."""

    def __init__(self, context: Context) -> None:
        inner = QWidget()
        super().__init__(inner)
        self._context = context
        self._egress: Sequence[_Row] = ()
        self._steps: Sequence[TraceStep] = ()
        self.facts = QGridLayout()
        self.facts.setColumnStretch(2, 1)
        self.facts.setHorizontalSpacing(context.px(18))
        self.chart = TokenChart(context)
        self.chart.chosen.connect(self.step_asked)
        self.none = label("", "muted", wrap=True)
        self.requests: RecordModel[_Row] = RecordModel(
            [
                Column("Time (UTC)", lambda row: str(row.get("ts", ""))[:19].replace("T", " ")),
                Column("Request", lambda row: f"{row.get('method', '')} {row.get('path', '')}"),
                Column("Host", lambda row: f"{row.get('host', '')}"),
                Column(
                    "Result",
                    network_words,
                    tone=lambda row: "bad" if "✗" in network_words(row) else "",
                ),
                Column("Status", lambda row: str(row.get("status") or "–"), numeric=True),
                _number("input_tokens"),
                _number("output_tokens"),
                Column("Bytes out / in", _size, numeric=True),
                Column(
                    "Took",
                    lambda row: f"{row['seconds']:.1f} s" if "seconds" in row else "",
                    numeric=True,
                ),
            ],
            lambda: context.theme,
        )
        self.table = ListTable(context, "Requests that came to the gateway")
        self.table.setModel(self.requests)
        rows = QVBoxLayout(inner)
        edge = context.px(14)
        rows.setContentsMargins(edge, edge, edge, edge)
        rows.addWidget(label("Model and budget", "heading"))
        rows.addLayout(self.facts)
        rows.addSpacing(context.px(10))
        rows.addWidget(label("Tokens over time", "heading"))
        rows.addWidget(self.chart)
        rows.addSpacing(context.px(10))
        rows.addWidget(label("Requests that came to the gateway", "heading"))
        rows.addWidget(self.none)
        rows.addWidget(self.table)
        rows.addStretch(1)

    def show_page(self, page: RunPage) -> None:
        """Show a run's facts and requests."""
        clear(self.facts)
        facts = usage_facts(page.record)
        for row, (name, value, remark) in enumerate(facts):
            self.facts.addWidget(label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            self.facts.addWidget(label(value, wrap=len(value) > 60), row, 1)  # noqa: PLR2004
            self.facts.addWidget(label(remark, "muted", wrap=True), row, 2)
        if not facts:
            self.facts.addWidget(label("This agent asks no model.", "muted"), 0, 0)
        if page.egress != self._egress or not self.none.text():
            self._egress = page.egress
            self.requests.set_records(page.egress)
        count = len(page.egress)
        refused = sum(1 for row in page.egress if not row.get("allowed"))
        self.none.setText(
            f"{count:,} {'request' if count == 1 else 'requests'}, {refused:,} of them refused."
            if count
            else "None: nothing was asked of a model or of any other address."
        )
        self.table.setVisible(bool(count))
        head = self.table.horizontalHeader().sizeHint().height()
        rows = min(count, 14) * self._context.px(30)
        self.table.setFixedHeight(head + rows + self._context.px(22))
        self._draw()

    def show_steps(self, steps: Sequence[TraceStep]) -> None:
        """Draw the tokens of these steps."""
        self._steps = steps
        self._draw()

    def _draw(self) -> None:
        self.chart.show_tokens(tokens_of(self._steps, self._egress))
