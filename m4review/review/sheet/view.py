"""One task's review: written, under seal, or opened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from engine.base.errors import M4Error
from engine.reviews.verdicts import ANSWERS, SEVERITIES, Verdict
from engine.workbench.review_types import ReviewPage, Signed
from m4review.app import icons
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import REVIEWS, Place, parse
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    button,
    card,
    label,
    page_layout,
)
from m4review.review.sheet.result import ResultPanel
from m4review.review.sheet.viewmodel import ReviewViewModel
from m4review.review.sheet.voices import VoicesPanel
from m4review.review.sheet.writing import WritingPanel
from m4review.review.words import brief, said_when, text_title

_ANSWER_COMMANDS = dict(
    zip(
        ("review.agree", "review.concern", "review.disagree", "review.cannot"), ANSWERS, strict=True
    )
)


class ReviewScreen(Screen):
    """The review of one task."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = ReviewViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self._title = ElidedLabel("", "title")
        self._line = ElidedLabel("", "muted")
        self.task_button = button(
            context, "Open the task", lambda: context.go(Place("task", self.model.task)),
            icon="file-text",
        )  # fmt: skip
        self.decide_button = button(
            context, "Decide…", lambda: context.go(Place("adjudicate", self.model.task)),
            icon="circle-check", main=True,
        )  # fmt: skip
        self.writing = WritingPanel(context, self.model)
        self.sealed = SealedPanel(context, self.model)
        self.result = ResultPanel(context)
        self.empty = EmptyState(context, "clipboard-list", "", "")
        self.ask_button = button(
            context, "Ask colleagues for it…",
            lambda: context.reviews_asked.emit(self.model.task), icon="users", main=True,
        )  # fmt: skip
        self.empty.buttons.addWidget(self.ask_button)
        self.ask_button.hide()
        self.empty.buttons.addWidget(
            button(context, "All reviews", lambda: context.go(REVIEWS), icon="clipboard-list")
        )
        self.stack = QStackedWidget()
        for each in (self.empty, self.writing, self.sealed, self.result):
            self.stack.addWidget(each)
        page = page_layout(self, context)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addSpacing(context.px(10))
        head.addWidget(self._line, 1)
        head.addWidget(self.task_button)
        head.addWidget(self.decide_button)
        page.addLayout(head)
        page.addWidget(self.errors)
        page.addWidget(self.stack, 1)
        self.decide_button.hide()
        self.model.loaded.connect(self._fill)
        self.model.failed.connect(self._failed)
        self.model.signed.connect(self._signed)
        self.model.own_shown.connect(self.sealed.show_own)
        self.writing.answer.words.left.connect(self.writing.list.setFocus)
        self.result.opened.connect(self._open)
        self.result.again_asked.connect(lambda: context.reviews_asked.emit(self.model.task))
        context.announced.connect(self._announced)

    @property
    def title(self) -> str:
        return "Review"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self._title.setText(place.name)
        if place.name != self.model.task or self.model.page is None:
            self._line.setText("")
            self.empty.say("Reading…", "Texts, ledger and draft are being looked at.")
            self.stack.setCurrentWidget(self.empty)
        self.model.show(place.name)

    def bind(self, actions: Actions) -> None:
        for name, handler in self._handlers.items():
            actions.bind(name, handler)

    @property
    def _handlers(self) -> dict[str, Callable[[], object]]:
        model = self.model
        found: dict[str, Callable[[], object]] = {
            name: partial(model.answer, answer) for name, answer in _ANSWER_COMMANDS.items()
        }
        found |= {
            f"review.{severity}": partial(model.set_severity, severity) for severity in SEVERITIES
        }
        return found | {
            "task.evidence": self.writing.turn_to_evidence,
            "review.next": partial(self._step, 1),
            "review.previous": partial(self._step, -1),
            "review.open_item": lambda: model.step(1, lacking=True),
            "review.words": self.writing.answer.words.setFocus,
            "review.lines": self.writing.texts.refer_to_lines,
            "review.undo": model.undo,
            "review.sign": self.writing.sign,
        }

    def _step(self, direction: int) -> None:
        """To a question beside; where nothing is answered yet, 1 to 4 answer and are no text."""
        self.model.step(direction)
        entry = self.model.entry
        if self.writing.answer.words.hasFocus() and entry is not None and not entry["verdict"]:
            self.writing.list.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in self._handlers:
            actions.bind(name, None)
        self.model.leave()
        self._forget()

    def close_down(self) -> None:
        try:
            self.model.close_down()
        except M4Error as error:
            self.context.interaction.error(error)
        self._forget()

    def _forget(self) -> None:
        for each in (self.writing, self.sealed, self.result):
            each.forget()
        self.stack.setCurrentWidget(self.empty)

    def _announced(self, what: str) -> None:
        if what == "reviews" and self.isVisible() and self.model.task:
            self.model.show(self.model.task)

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)
        if self.model.page is None:
            self.empty.say("This review cannot be shown", "What happened stands above.")

    def _signed(self, signed: Signed) -> None:
        more = (
            "Every reviewer has signed: the verdicts can be read now."
            if signed.revealed
            else "Export a bundle for the others."
        )
        self.context.told.emit(f"Signed and sealed. {more}")
        self.writing.forget()

    def _fill(self) -> None:
        page = self.model.page
        if page is None or not self.isVisible():
            return
        standing = page.standing
        self.ask_button.hide()
        self._line.setText(
            "   ·   ".join(filter(None, (brief(standing.outcome), page.description)))
        )
        self.decide_button.setVisible(page.to_decide)
        if page.sheet is not None:
            self.writing.fill()
            self._show(self.writing)
            self.writing.list.setFocus()
        elif standing.outcome is None:
            self.empty.say(
                "Nobody was asked to review this task",
                "Whoever leads the benchmark asks two reviewers, and an adjudicator who decides "
                "where they differ.",
            )
            self._show(self.empty)
            self.ask_button.show()
            self.ask_button.setFocus()
        elif page.signed and not page.revealed:
            self.sealed.show_page(page)
            self._show(self.sealed)
            self.sealed.export_button.setFocus()
        elif not any(item.voices for item in page.items):
            signed = sum(done for _, done in standing.signed)
            self.empty.say(
                "Under seal",
                f"{signed} of {len(standing.signed)} reviewers have signed. What they said can be "
                "read when all have, also here.",
            )
            self._show(self.empty)
        else:
            again = any(i.outcome.standing in ("stale", "unequal", "seen") for i in page.items)
            self.result.again.setVisible(again)
            self.result.words.setText(self._result_words(page))
            self.result.show_page(page)
            self._show(self.result)
            self.result.table.setFocus()
        self.title_changed.emit()

    def _show(self, panel: QWidget) -> None:
        """Let go of what the other panels hold, and show one."""
        for each in (self.writing, self.sealed, self.result):
            if each is not panel:
                each.forget()
        self.stack.setCurrentWidget(panel)

    def _result_words(self, page: ReviewPage) -> str:
        differs = sum(bool(item.differs) for item in page.items)
        words = f"Adjudicator: {page.standing.adjudicator}."
        mine = [
            item.outcome.item.title
            for item in page.items
            if any(voice.mine and voice.by in item.differs for voice in item.voices)
        ]
        if mine:
            words += f" It was decided otherwise than you said: {', '.join(mine)}."
        elif differs:
            words += f" Decided otherwise than a reviewer first said: {differs} of the questions."
        if page.changed:
            names = ", ".join(text_title(change.name) for change in page.changed)
            words += (
                f" Changed since the signatures: {names}; only what rests on it is asked again."
            )
        return words

    def _open(self, kind: str, value: object) -> None:
        if kind in ("rows", "places"):
            try:
                self.context.go(parse(str(value)))
            except M4Error as error:
                self.context.interaction.error(error)


class SealedPanel(QWidget):
    """After the signature: nothing can be read but by its author, when asked."""

    def __init__(self, context: Context, model: ReviewViewModel) -> None:
        super().__init__()
        self._context, self._model = context, model
        self._icon = QLabel()
        self.heading = label("", "heading", wrap=True)
        self.words = label("", wrap=True)
        self.people = label("", wrap=True)
        self.own = VoicesPanel(context)
        self.show_button = button(context, "Show what I said", self._toggle, icon="lock")
        self.export_button = button(
            context,
            "Export a bundle…",
            context.bundle_asked.emit,
            icon="upload",
            main=True,
            tip="For the other reviewers: it holds your sealed review",
        )
        box = QVBoxLayout()
        head = QHBoxLayout()
        head.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        for each in (self.heading, self.words, self.people):
            texts.addWidget(each)
        head.addLayout(texts, 1)
        box.addLayout(head)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.show_button)
        buttons.addWidget(self.export_button)
        box.addLayout(buttons)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(card(box))
        inner = QWidget()
        inside = QVBoxLayout(inner)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(self.own)
        inside.addStretch(1)
        page.addWidget(ColumnScroll(inner), 1)
        context.theme_changed.connect(self._recolour)
        self._recolour()
        self._titles: dict[str, str] = {}
        self._open = False

    def _recolour(self) -> None:
        side, theme = self._context.px(32), self._context.theme
        self._icon.setPixmap(icons.pixmap("lock", theme.accent, side, self.devicePixelRatioF()))

    def show_page(self, page: ReviewPage) -> None:
        """Say who has signed."""
        self.forget()
        outcome = page.standing.outcome
        items = outcome.items if outcome is not None else ()
        self._titles = {each.item.id: each.item.title for each in items}
        self.heading.setText(f"Signed {said_when(page.signed or '')} and sealed")
        self.words.setText(
            "Your answers are encrypted in the ledger. Nobody can read them, not even on this "
            "machine without your keyring, until every reviewer has signed and the bundles have "
            "been exchanged. They can never be changed."
        )
        told = [f"{'✓' if done else '…'} {name}" for name, done in page.standing.signed]
        self.people.setText("Reviewers: " + ",  ".join(told))

    def _toggle(self) -> None:
        if self._open:
            self.forget()
        else:
            self._model.show_own()

    def show_own(self, verdicts: tuple[Verdict, ...]) -> None:
        """Show one's own answers, for one's own eyes."""
        self._open = True
        self.show_button.setText(" Hide it again")
        self.own.show_own([(self._titles.get(v.item, v.item), v) for v in verdicts])

    def forget(self) -> None:
        """Hide one's own answers."""
        self._open = False
        self.show_button.setText(" Show what I said")
        self.own.forget()
