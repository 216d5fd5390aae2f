"""Panels of the run page: what was found of the agent, and an imported run scored again."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout

from engine.workbench import Recomputed
from m4review.app.context import Context
from m4review.app.widgets import button, clear, label, set_tone
from m4review.run.facts import Find, finds_of
from m4review.run.viewmodel import RunPage
from m4review.run.words import reward_words, strict_words, when

_SHOWN = 8


class FindsPanel(QFrame):
    """Violations, each with its place and a way there."""

    asked = Signal(object)
    """Show the place of a `Find`."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("notePanel")
        self._context = context
        self._rows = QGridLayout(self)
        self._rows.setColumnStretch(1, 1)
        self.finds: tuple[Find, ...] = ()
        self.hide()

    def show_page(self, page: RunPage) -> None:
        """Show what was found of a run; nothing where nothing was."""
        finds = finds_of(page.record)
        if finds == self.finds:
            return
        self.finds = finds
        clear(self._rows)
        many = "things" if len(finds) > 1 else "thing"
        title = label(f"{len(finds)} {many} found that zero the run's reward", "heading")
        self._rows.addWidget(title, 0, 0, 1, 3)
        for row, find in enumerate(finds[:_SHOWN], start=1):
            self._rows.addWidget(label(find.words, wrap=True), row, 1)
            self._rows.addWidget(label(find.place, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            go = button(self._context, "Show", lambda what=find: self.asked.emit(what))  # type: ignore[misc]
            go.setAccessibleName(f"Show {find.place}")
            self._rows.addWidget(go, row, 2)
        if len(finds) > _SHOWN:
            more = label(f"{len(finds) - _SHOWN} more stand in the record.", "muted")
            self._rows.addWidget(more, _SHOWN + 1, 0, 1, 3)
        self.setVisible(bool(finds))


class AgainPanel(QFrame):
    """Of an imported run: the recorded scores beside those found here."""

    asked = Signal(str)
    """Score it with the data of this source."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._context = context
        rows = QVBoxLayout(self)
        head = QHBoxLayout()
        head.addWidget(label("Recorded and recomputed", "heading"))
        head.addStretch(1)
        self.source = QComboBox()
        self.source.setAccessibleName("Source to score the run with")
        self.again = button(
            context, "Score it here", lambda: self.asked.emit(self.source.currentText())
        )
        head.addWidget(self.source)
        head.addWidget(self.again)
        rows.addLayout(head)
        self.words = label("", wrap=True)
        rows.addWidget(self.words)
        self._figures = QGridLayout()
        self._figures.setColumnStretch(3, 1)
        self._figures.setHorizontalSpacing(context.px(24))
        rows.addLayout(self._figures)
        self.hide()

    def show_page(self, page: RunPage) -> None:
        """Show an imported run's figures; hidden for runs of our own."""
        published = page.summary.origin == "published"
        self.setVisible(published)
        if not published:
            return
        chosen = self.source.currentText()
        self.source.clear()
        self.source.addItems(list(page.sources))
        self.source.setCurrentText(chosen or page.summary.source)
        kept = "output.csv" in page.record.artefacts or page.has_diff
        for each in (self.source, self.again):
            each.setEnabled(bool(page.sources) and kept)
            each.setVisible(kept)
        clear(self._figures)
        found = page.record.recomputed
        if found is None:
            self._say_none(page, kept=kept)
        else:
            self._say(found)

    def _say_none(self, page: RunPage, *, kept: bool) -> None:
        set_tone(self.words, "plain")
        if not kept:
            self.words.setText("The run kept no output.csv: only the recorded scores are known.")
        elif not page.sources:
            self.words.setText("No source here fits its task; add one (Data) to score it again.")
        else:
            self.words.setText("The scores are as recorded; nobody has recomputed them here.")

    def _say(self, found: Recomputed) -> None:
        on = f"Scored on {found.source}, {when(found.at)}: "
        if found.same:
            self.words.setText(f"✓ {on}every recorded figure agrees at 8 decimals.")
        else:
            count = len(found.differences)
            self.words.setText(f"✗ {on}{count} figures differ from the record.")
        set_tone(self.words, "good" if found.same else "bad")
        for column, title in enumerate(("Figure", "Recorded", "Recomputed")):
            self._figures.addWidget(label(title, "section"), 0, column)
        lines = [
            ("reward", reward_words(found.reward_recorded), reward_words(found.reward_now)),
            ("strict pass", strict_words(found.strict_recorded), strict_words(found.strict_now)),
        ]
        lines += [
            (each.figure, _exact(each.recorded), _exact(each.now)) for each in found.differences
        ]
        for row, line in enumerate(lines, start=1):
            for column, text in enumerate(line):
                cell: QLabel = label(text)
                if column and line[1] != line[2]:
                    set_tone(cell, "bad")
                self._figures.addWidget(cell, row, column)


def _exact(value: float | None) -> str:
    return "–" if value is None else f"{value:.8g}"
