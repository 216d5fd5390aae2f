"""`EvidencePanel`: what was found out about each claim of a task's skills, beside the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.claims import Check, Unread
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.jobs import Progress
from m4review.app.links import DATA
from m4review.app.tips import as_written
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    button,
    clear,
    label,
    set_tone,
)
from m4review.evidence.across import AcrossTable
from m4review.evidence.beside import TextBeside
from m4review.evidence.cards import CheckCard, cards_of
from m4review.evidence.groups import Filter, Group, counts, filtered
from m4review.evidence.outgoing import Outgoing
from m4review.evidence.tree import EvidenceTree
from m4review.evidence.viewmodel import EvidenceModel
from m4review.evidence.words import KINDS, ORDER, OUTCOMES, colour, count_words, provenance

_NARROW = 860
"""Below this width text and cards stand under the list."""
_PAUSE = 150
"""Milliseconds after the last key before the list is searched."""


class EvidencePanel(QWidget):
    """Claims by section with the outcome of each check; as a page part, or beside a review.

    Args:
        context: the window's.
        attachable: with buttons "Attach".
    """

    attach = Signal(object)
    """A check for a verdict: the mapping that `engine.claims.attachment` makes, with ``query``,
    ``source_sha256`` and ``date``. It comes a moment after the click; see `attached_to`."""

    def __init__(
        self, context: Context, parent: QWidget | None = None, *, attachable: bool = False
    ) -> None:
        super().__init__(parent)
        self.context, self._attachable = context, attachable
        self._keys_wanted = False
        self.attach_to: Callable[[], str] = str
        self.attached_to = ""
        """What `attach_to` said when the check was asked for that `attach` tells now."""
        self.model = EvidenceModel(context.workbench, context.runner, self)
        self.outgoing = Outgoing(context, self.model)
        self.errors = ErrorPanel(context)
        self.sources = QComboBox()
        self.sources.setAccessibleName("Source that the claims are held against")
        self.sources.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.check_button = button(
            context,
            "Check",
            self._check,
            icon="play",
            main=True,
            tip="Ask the data of each claim",
        )
        self.stop_button = button(context, "Stop", self.model.cancel, icon="circle-stop")
        self.export_button = button(
            context,
            "Export…",
            self._export,
            icon="external-link",
            tip="All of it as JSON; counts below 11 are left out",
        )
        self.state = ElidedLabel("", "muted")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setMaximumWidth(context.px(180))
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search claims and findings")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search claims and findings")
        self.kinds = QComboBox()
        self.kinds.setAccessibleName("Kind of claim")
        self.kinds.addItem("All kinds", "")
        for kind, words in KINDS.items():
            self.kinds.addItem(words, kind)
        self.chips: dict[str, QPushButton] = {}
        self.tree = EvidenceTree(context)
        self.beside = TextBeside(context)
        self.across = AcrossTable(context)
        self.none = EmptyState(
            context,
            "stethoscope",
            "Not checked yet",
            "Each claim of the skill is held against the data, the reference's SQL and the other "
            "texts. The data are only read.",
        )
        self._cards = QWidget()
        self._card_rows = QVBoxLayout(self._cards)
        self._scroll = ColumnScroll(self._cards)
        self._open_data = button(
            context, "To the data…", lambda: context.go(DATA), icon="database", main=True
        )
        self.none.buttons.addWidget(self._open_data)
        self._open_data.hide()
        self._stack = QStackedWidget()
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(_PAUSE)
        self._coming: Iterator[CheckCard] = iter(())
        self._last: CheckCard | None = None
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(self._next_card)
        self._build()
        self._wire()

    # --- building

    def _build(self) -> None:
        px = self.context.px
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(px(6))
        top = QHBoxLayout()
        top.addWidget(label("Data"))
        top.addWidget(self.sources)
        top.addWidget(self.check_button)
        top.addWidget(self.bar)
        top.addWidget(self.stop_button)
        top.addWidget(self.state, 1)
        top.addWidget(self.export_button)
        page.addLayout(top)
        page.addWidget(self.errors)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName("Claims, or windows and thresholds")
        self.tabs.addTab(self.tree, "Claims")
        self.tabs.addTab(self.across, "Windows and thresholds")
        right = QSplitter(Qt.Orientation.Vertical)
        right.setChildrenCollapsible(False)
        right.addWidget(self.beside)
        right.addWidget(self._scroll)
        right.setSizes([px(230), px(380)])
        if self._attachable:  # beside a review all of it scrolls, so that no part is too low
            self.tabs.setMinimumHeight(px(230))
            self._scroll.setMinimumHeight(px(240))
        self._halves = QSplitter(Qt.Orientation.Horizontal)
        self._halves.setChildrenCollapsible(False)
        self._halves.addWidget(self.tabs)
        self._halves.addWidget(right)
        self._halves.setSizes([px(520), px(640)])
        whole = QWidget()
        inner = QVBoxLayout(whole)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addLayout(self._filters())
        inner.addWidget(self._halves, 1)
        self._stack.addWidget(self.none)
        self._stack.addWidget(whole)
        page.addWidget(self._stack, 1)
        self._paint_chips()

    def _filters(self) -> FlowLayout:
        line = FlowLayout(spacing=self.context.px(6))
        hidden = self.context.settings.get("evidence.hidden")
        for outcome in ORDER:
            chip = QPushButton()
            chip.setCheckable(True)
            chip.setChecked(not hidden.get(outcome, False))
            chip.setProperty("kind", "chip")
            chip.setToolTip(as_written(OUTCOMES[outcome].tip))
            chip.toggled.connect(lambda _: self._outcomes_chosen())
            self.chips[outcome] = chip
            line.addWidget(chip)
        line.addWidget(self.kinds)
        self.search.setMinimumWidth(self.context.px(240))
        line.addWidget(self.search)
        return line

    def _wire(self) -> None:
        self.sources.activated.connect(self._source_chosen)
        self.kinds.activated.connect(lambda _: self._fill_tree())
        self.search.textChanged.connect(lambda _: self._wait.start())
        self._wait.timeout.connect(self._fill_tree)
        self.tree.group_shown.connect(self._show_group)
        self.tree.unread_shown.connect(self._show_unread)
        self.across.line_wanted.connect(self._show_line)
        self.model.sources_changed.connect(self._fill_sources)
        self.model.changed.connect(self._fill)
        self.model.working_changed.connect(self._say)
        self.model.progressed.connect(self._progressed)
        self.model.failed.connect(self._failed)
        self.outgoing.failed.connect(self._failed)
        self.outgoing.told.connect(self.context.told.emit)
        self.context.theme_changed.connect(self._look)
        self._say()

    # --- what a screen calls

    def show_task(self, task: str, source: str = "") -> None:
        """Show what is kept of a task (and a source); look for nothing anew."""
        self.errors.dismiss()
        self.model.show(task, source or str(self.context.settings.get("evidence.source")))

    def go_to(self, text: str, line: int) -> bool:
        """To a line's evidence; False where there is none that is shown."""
        self.tabs.setCurrentIndex(0)
        return self.tree.go_to(text, line)

    def take_keyboard(self) -> None:
        """The keys go to what can be done next: the claims, or the button that checks them."""
        self._keys_wanted = self.model.loading  # then as soon as it is known
        if self.model.evidence is not None:
            self.tree.setFocus()
        elif self.model.working:
            self.stop_button.setFocus()
        elif self.model.source:
            self.check_button.setFocus()
        elif self._open_data.isVisible():
            self._open_data.setFocus()

    def begin_search(self) -> None:
        """Begin to search."""
        self.search.setFocus()
        self.search.selectAll()

    # --- filling

    def _fill_sources(self) -> None:
        self.sources.clear()
        for name in self.model.sources:
            self.sources.addItem(name, name)
        if self.model.source in self.model.sources:
            self.sources.setCurrentIndex(self.model.sources.index(self.model.source))
        self.sources.setEnabled(bool(self.model.sources))

    def _fill(self) -> None:
        self.beside.set_texts(self.model.texts)
        self.across.fill(self.model.evidence, tuple(self.model.texts))
        if self.model.evidence is None:
            self._clear_cards()
        self._paint_chips()
        self._fill_tree()
        self._say()

    def _fill_tree(self) -> None:
        self._wait.stop()
        evidence = self.model.evidence
        wanted = Filter(
            frozenset(outcome for outcome in ORDER if self.chips[outcome].isChecked()),
            str(self.kinds.currentData() or ""),
            self.search.text(),
        )
        unread = evidence.unread if evidence is not None and not wanted.kind else ()
        words = wanted.text.lower().split()
        unread = tuple(u for u in unread if all(w in f"{u.around}".lower() for w in words))
        self.tree.fill(filtered(self.model.sections, wanted), unread)

    def _say(self) -> None:
        model, working = self.model, self.model.working
        evidence = model.evidence
        held = self.check_button.hasFocus() or self.stop_button.hasFocus()
        self._open_data.setVisible(not model.sources and not model.loading)
        self._stack.setCurrentIndex(1 if evidence is not None else 0)
        self.bar.setVisible(working)
        self.stop_button.setVisible(working)
        self.check_button.setVisible(not working)
        self.check_button.setEnabled(bool(model.source))
        self.check_button.setText(" Check again" if evidence is not None else " Check")
        self.export_button.setEnabled(evidence is not None)
        set_tone(self.state, "plain")
        if evidence is not None and model.stale:
            set_tone(self.state, "warn")
            self.state.setText(f"Out of date: {'; '.join(model.stale)}. {provenance(evidence)}")
        elif evidence is not None:
            self.state.setText(f"{provenance(evidence)} · {count_words(evidence)}")
        elif not model.sources and not model.loading:
            self.none.say(
                "No data for this task",
                "The claims can be checked against a copy of the database that the task is about: "
                "add its folder, or make synthetic data, on the page Data.",
            )
            self.state.setText("")
        else:
            self.none.say(
                "Not checked yet",
                "Each claim of the skill is held against the data, the reference's SQL and the "
                "other texts. The data are only read.",
            )
            self.state.setText("")
        if self._keys_wanted and not model.loading:
            held, self._keys_wanted = self.isVisible(), False
        if held:  # a button that goes would hand the keys to whatever stands next to it
            self.take_keyboard()

    def _paint_chips(self) -> None:
        number = counts(self.model.sections)
        for outcome, chip in self.chips.items():
            sign = OUTCOMES[outcome]  # type: ignore[index]
            chip.setText(f" {sign.word}  {number[outcome]:,}")  # type: ignore[index]
            chip.setAccessibleName(f"{sign.word}: {number[outcome]}")  # type: ignore[index]
            chip.setIcon(icons.icon(sign.icon, colour(sign, self.context.theme)))

    def _look(self) -> None:
        self._paint_chips()
        self._fill_tree()
        self.across.fill(self.model.evidence, tuple(self.model.texts))
        group = self.tree.current_group
        if group is not None:
            self._show_group(group)

    # --- one line

    def _show_group(self, group: Group) -> None:
        evidence = self.model.evidence
        if evidence is None:
            return
        first = group.checks[0] if group.checks else None
        place = first or (group.claims[0] if group.claims else None)
        shown = place.shown if place is not None else ""
        column = place.column if place is not None else group.column
        self.beside.mark(group.text, group.line, column, len(shown))
        self._clear_cards()
        self._card_rows.addWidget(label(f"Line {group.line}: {group.shown}", "heading", wrap=True))
        if not group.checks:
            said = ", ".join(f"“{claim.shown}”" for claim in group.claims)
            words = f"Read here: {said}. No check of its own exists for it."
            self._card_rows.addWidget(label(words, "muted", wrap=True))
        self._card_rows.addStretch(1)
        self._scroll.verticalScrollBar().setValue(0)
        self._coming = cards_of(
            self.context,
            evidence,
            group,
            attachable=self._attachable,
            on_copy=lambda check: self.outgoing.copy(evidence, check),
            on_attach=self._attach,
        )
        self._next_card()
        self._more.start()

    def _next_card(self) -> None:
        """One card at a time: a picture takes a while to make."""
        last, self._last = self._last, None
        if last is not None and last.finish():
            return
        self._last = next(self._coming, None)
        if self._last is None:
            self._more.stop()
            return
        self._card_rows.insertWidget(self._card_rows.count() - 1, self._last)

    @property
    def complete(self) -> bool:
        """Are all cards of the line shown?"""
        return not self._more.isActive()

    def _clear_cards(self) -> None:
        self._more.stop()
        self._coming, self._last = iter(()), None
        clear(self._card_rows)

    def _show_unread(self, number: Unread) -> None:
        skills = [name for name in self.model.texts if name.startswith("skill/")]
        if len(skills) == 1:
            self.beside.mark(skills[0], number.line, number.column, len(number.shown))
        self._clear_cards()
        self._card_rows.addWidget(label(f"Line {number.line}: {number.shown}", "heading"))
        words = (
            "This number stands in a rule, and no check understands it. Compare it with the "
            "reference's SQL yourself."
        )
        self._card_rows.addWidget(label(words, wrap=True))
        self._card_rows.addWidget(label(f"“…{number.around.strip()}…”", "muted", wrap=True))
        self._card_rows.addStretch(1)

    def _show_line(self, text: str, line: int) -> None:
        self.beside.mark(text, line)

    def _attach(self, check: Check) -> None:
        evidence, to = self.model.evidence, self.attach_to()
        if evidence is None:
            return

        def work(_job: Job) -> dict[str, Any]:
            return self.context.workbench.evidence_piece(evidence, check)

        def done(piece: dict[str, Any]) -> None:
            if self.model.task == evidence.task:
                self.attached_to = to
                self.attach.emit(piece)
                self.attached_to = ""

        self.model.read("Prepare a check", work, done)

    # --- commands

    def _source_chosen(self, at: int) -> None:
        name = str(self.sources.itemData(at) or "")
        self.context.settings.set("evidence.source", name)
        self.model.choose(name)

    def _outcomes_chosen(self) -> None:
        hidden = {name: True for name, chip in self.chips.items() if not chip.isChecked()}
        self.context.settings.set("evidence.hidden", hidden)
        self._fill_tree()

    def _check(self) -> None:
        self.errors.dismiss()
        self.model.check(fresh=self.model.evidence is not None and not self.model.stale)

    def _export(self) -> None:
        if self.model.evidence is not None:
            self.outgoing.export(self.model.evidence)

    def _progressed(self, progress: Progress) -> None:
        self.bar.setRange(0, 100)
        self.bar.setValue(round(100 * (progress.share or 0)))
        self.bar.setToolTip(as_written(progress.text))

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)
        self._say()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < self.context.px(_NARROW)
        way = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if self._halves.orientation() != way:
            self._halves.setOrientation(way)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and event.key() == Qt.Key.Key_Slash:
            self.begin_search()
            return
        super().keyPressEvent(event)
