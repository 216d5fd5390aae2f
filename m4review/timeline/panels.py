"""Beside the picture: both values, the arithmetic with its SQL, the windows, the agent's SQL."""

from __future__ import annotations

import re
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QPlainTextEdit,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.diagnosis.lineage import Step, Value
from m4review.app.context import Context
from m4review.app.highlight import SqlHighlighter
from m4review.app.tips import as_written, in_lines
from m4review.app.widgets import ColumnScroll, Tone, button, clear, label, set_tone
from m4review.diff.layout import MATCHES, KeyStatus
from m4review.diff.words import NO_ROW, difference_words, words_of
from m4review.timeline.cell import CellPage
from m4review.timeline.tracks import same_span
from m4review.timeline.words import Clock, breakable, span_words, verified_words, window_words

_STEP = Qt.ItemDataRole.UserRole
NO_WINDOW = "No window of time decides about this value."
OTHER_STAY = (
    " Where a row belongs does: rows of another admission or stay do not count, as their rules say."
)
_WHERE = re.compile(r"\bof another (?:hospital |unit )?(?:admission|stay)\b")
_SHORT = 24
"""Characters of two values that stand in one line."""
_WHOLE = 1e6
"""From here on six digits would leave out whole ones."""
_NO_STEPS = "No arithmetic: the value is not computed from others of this row, but taken as it is."
_NO_STEP = "It stands in a file that the run kept, not in a step of its trace."
_IN_TRACE = "Show the step of the run that has this statement"
_PARTS = 6
"""Parts of a value from which on what they are made of is shown when it is asked for."""
_FIRST = 36
"""Characters of a statement that a list names it by; so many have room in the panel."""
_OTHERS = 8
"""Other columns that are listed."""


def sql_box(context: Context, name: str) -> QPlainTextEdit:
    """A read-only box for SQL."""
    box = QPlainTextEdit()
    box.setReadOnly(True)
    box.setTabChangesFocus(True)
    box.setProperty("code", True)
    box.setAccessibleName(name)
    SqlHighlighter(box.document(), context)
    return box


def shown_value(value: Value) -> str:
    """A value as it is shown."""
    return words_of(value)


def rounded(value: Value) -> str:
    """A value as short as it is read in a list: a number that is no whole one in six digits."""
    if isinstance(value, float) and not value.is_integer() and abs(value) < _WHOLE:
        return f"{value:.6g}"
    return shown_value(value)


class ValuePanel(QWidget):
    """The two values, whether the picture was proven, what else differs, windows, notes."""

    column_asked = Signal(str)
    """Show another column of this row."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        edge = context.px(8)
        self._body.setContentsMargins(0, edge, 0, edge)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(edge, 0, edge, edge)
        outer.addWidget(ColumnScroll(inner))

    def show_page(self, page: CellPage | None, clock: Clock | None, untimed: int) -> None:
        """Show a cell (None: nothing)."""
        clear(self._body)
        if page is None or clock is None:
            return
        lineage, body = page.lineage, self._body
        self._values(page)
        proven = label(verified_words(lineage), wrap=True)
        set_tone(proven, "good" if lineage.verified else "warn")
        body.addWidget(proven)
        self._others(page)
        self._windows(page, clock)
        notes = list(lineage.notes)
        if untimed:
            many = "rows have" if untimed > 1 else "row has"
            where = "they stand" if untimed > 1 else "it stands"
            notes.append(f"{untimed:,} {many} no time; {where} in the list only, at its end.")
        if notes:
            body.addWidget(label("Notes", "section"))
        for note in notes:
            body.addWidget(label(note, "muted", wrap=True))
        body.addStretch(1)

    def _values(self, page: CellPage) -> None:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        rows: list[tuple[str, str, Tone]] = [
            ("Reference", shown_value(page.lineage.value), "plain")
        ]
        if page.agent is not None:
            fits = page.agent.status in MATCHES
            tone: Tone = "good" if fits else "bad"
            absent = page.agent.key_status is KeyStatus.MISSING
            rows.append(("Agent", NO_ROW if absent else shown_value(page.agent.value), tone))
            rows.append(("", ("= " if fits else "≠ ") + page.agent.words, tone))
            difference = difference_words(page.lineage.value, page.agent.value)
            if difference and not fits:
                rows.append(("Difference", difference, "plain"))
        for at, (name, text, tone) in enumerate(rows):
            grid.addWidget(label(name, "muted"), at, 0, Qt.AlignmentFlag.AlignTop)
            value = label(text, "heading" if name in ("Reference", "Agent") else "plain", wrap=True)
            set_tone(value, tone)
            grid.addWidget(value, at, 1)
        self._body.addLayout(grid)

    def _others(self, page: CellPage) -> None:
        """What else differs in the row: the parts that make a total wrong."""
        others = page.agent.others if page.agent is not None else ()
        if not others:
            return
        self._body.addWidget(label("Also different in this row", "section"))
        for other in others[:_OTHERS]:
            both = words_of(other.reference), words_of(other.agent)
            words = (" → " if len("".join(both)) < _SHORT else " →\n").join(both)
            link = button(
                self._context, other.column,
                partial(self.column_asked.emit, other.column),
                tip=f"Where this one comes from\nReference → agent: {words}",
            )  # fmt: skip
            line = QHBoxLayout()
            line.addWidget(link)
            line.addWidget(label(words, wrap=True), 1)
            self._body.addLayout(line)
        if len(others) > _OTHERS:
            rest = f"{len(others) - _OTHERS} more; the row in the diff has all of them."
            self._body.addWidget(label(rest, "muted", wrap=True))

    def _windows(self, page: CellPage, clock: Clock) -> None:
        body, windows, stay = self._body, page.lineage.windows, page.lineage.stay
        title = "Windows (hours from unit admission)" if clock.offsets else "Windows"
        body.addWidget(label(title, "section"))
        if not windows:
            words = NO_WINDOW
            if any(_WHERE.search(event.rule) for event in page.lineage.events):
                words += OTHER_STAY
            body.addWidget(label(words, "muted", wrap=True))
        spans = same_span(windows)
        for number, same in enumerate(spans, start=1):
            window, numbered = same[0], f"{number}: " if len(spans) > 1 else ""
            body.addWidget(label(numbered + span_words(window, clock), wrap=True))
            from_admission = window_words(window, stay)
            if from_admission and not clock.offsets:
                body.addWidget(label(from_admission, wrap=True))
            for rule in dict.fromkeys(each.rule for each in same):
                body.addWidget(label(breakable(rule), "muted", wrap=True))


class StepsPanel(QWidget):
    """The arithmetic: a tree of values, and the SQL that made the chosen one."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(["Made of", "Value"])
        self.tree.setAccessibleName("How the reference's value was made")
        self.tree.setUniformRowHeights(True)
        self.tree.setIndentation(context.px(12))
        header = self.tree.header()  # a long name is cut, never a value
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.sql = sql_box(context, "SQL that made the chosen value")
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.tree)
        split.addWidget(self.sql)
        split.setSizes([300, 160])
        self.none = label(_NO_STEPS, "muted", wrap=True)
        self._split = split
        rows = QVBoxLayout(self)
        edge = context.px(8)
        self.none.setContentsMargins(edge, edge, edge, edge)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(split)
        rows.addWidget(self.none)
        rows.setAlignment(self.none, Qt.AlignmentFlag.AlignTop)
        self.tree.currentItemChanged.connect(lambda item, _before: self._show(item))

    def show_steps(self, steps: tuple[Step, ...]) -> None:
        """Show the arithmetic of a cell."""
        self.tree.clear()
        self.sql.clear()
        self._split.setVisible(bool(steps))
        self.none.setVisible(not steps)
        stack: list[tuple[int, QTreeWidgetItem]] = []
        for at, step in enumerate(steps):
            while stack and stack[-1][0] >= step.depth:
                stack.pop()
            parent = stack[-1][1] if stack else self.tree.invisibleRootItem()
            item = _item(parent, step.name, step.value, step.expression)
            item.setData(0, _STEP, step)
            stack.append((step.depth, item))
            below = _told_below(steps, at)
            for name, value in step.inputs.items():
                if (name.rpartition(".")[2], value) not in below:
                    _item(item, name, value, f"read by {step.name}")
        first = self.tree.topLevelItem(0)
        many = first is not None and first.childCount() > _PARTS
        self.tree.expandToDepth(0 if many else 1)  # else the parts of a sum are far apart
        if first is not None:
            self.tree.setCurrentItem(first)

    def _show(self, item: QTreeWidgetItem | None) -> None:
        step = item.data(0, _STEP) if item is not None else None
        if not isinstance(step, Step):
            return
        given = [f"-- {name} = {shown_value(value)}" for name, value in step.inputs.items()]
        lines = [*given, step.expression, f"-- gives {shown_value(step.value)}"]
        self.sql.setPlainText("\n".join(lines))


def _item(parent: QTreeWidgetItem, name: str, value: Value, about: str) -> QTreeWidgetItem:
    """A line of the arithmetic; the tip has whole what is cut or rounded in it."""
    item = QTreeWidgetItem(parent, [name, rounded(value)])
    for at in (0, 1):
        item.setToolTip(at, as_written(in_lines(f"{name} = {shown_value(value)}\n{about}")))
    return item


def _told_below(steps: tuple[Step, ...], at: int) -> set[tuple[str, Value]]:
    """Columns and values that steps right below one are about: they need no line of their own."""
    found = set()
    for below in steps[at + 1 :]:
        if below.depth <= steps[at].depth:
            break
        if below.depth == steps[at].depth + 1:
            found.add((below.name.rpartition(".")[2], below.value))
    return found


class AgentSqlPanel(QWidget):
    """The agent's statements that name the column."""

    step_asked = Signal(int)
    """Show this step of the run's trace."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._page: CellPage | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Statement of the agent")
        shortest = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.choice.setSizeAdjustPolicy(shortest)
        self.choice.currentIndexChanged.connect(self._show)
        self.go = button(context, "Show in the trace", self._go, icon="list")
        self.words = label("", "muted", wrap=True)
        self.text = sql_box(context, "SQL of the agent")
        rows = QVBoxLayout(self)
        rows.addWidget(self.words)
        rows.addWidget(self.choice)
        rows.addWidget(self.text, 1)
        rows.addWidget(self.go)

    def show_page(self, page: CellPage | None) -> None:
        """Show a cell's statements."""
        self._page = page
        agent = page.agent if page is not None else None
        statements = agent.statements if agent is not None else ()
        self.choice.clear()
        for statement in statements:
            first = next((line for line in statement.sql.splitlines() if line.strip()), "")
            where = statement.file or f"Step {statement.step}"
            words = f"{where}: {' '.join(first.split())}"
            self.choice.addItem(words if len(words) <= _FIRST else f"{words[: _FIRST - 1]}…")
        self.choice.setCurrentIndex(len(statements) - 1)
        for each in (self.choice, self.go, self.text):
            each.setVisible(bool(statements))
        if page is None:
            self.words.setText("")
        elif agent is None:
            self.words.setText("This is a cell of the reference alone, without a run.")
        elif not statements:
            self.words.setText(
                f"No SQL statement of the run's trace, nor a script it kept, names "
                f"{page.place.column}. The agent may have written it in a program or by a "
                "pattern; the trace shows every step."
            )
        else:
            column, many = page.place.column, len(statements)
            words = f"{many} statements name {column}; the last one is shown first."
            if many == 1:
                noun = "script that the run kept" if statements[0].file else "statement"
                words = f"One {noun} names {column}."
            more = f" {agent.left_out} more are not listed." if agent.left_out else ""
            self.words.setText(words + more)

    def _show(self, at: int) -> None:
        agent = self._page.agent if self._page is not None else None
        if agent is not None and 0 <= at < len(agent.statements):
            self.text.setPlainText(agent.statements[at].sql)
            step = agent.statements[at].step
            self.go.setEnabled(step > 0)
            self.go.setToolTip(as_written(_IN_TRACE if step > 0 else _NO_STEP))
            column = self._page.place.column if self._page is not None else ""
            if self.text.find(column):  # the first mention in sight
                self.text.centerCursor()

    def _go(self) -> None:
        agent = self._page.agent if self._page is not None else None
        at = self.choice.currentIndex()
        if agent is not None and 0 <= at < len(agent.statements) and agent.statements[at].step:
            self.step_asked.emit(agent.statements[at].step)
