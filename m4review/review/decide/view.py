"""The adjudicator's page: item by item, what was said without names, a decision and its reason."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import REVIEWS, Place, parse
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    PushButton,
    button,
    label,
    page_layout,
    set_tone,
)
from m4review.review.decide.viewmodel import DecideViewModel
from m4review.review.marks import answer_icon
from m4review.review.sheet.answer import RowList, Words
from m4review.review.sheet.texts import TextsPanel
from m4review.review.sheet.voices import VoicesPanel
from m4review.review.words import text_title

_DECISIONS = (("agree", "1 The texts stand"), ("disagree", "2 They must be changed"))


class DecideScreen(Screen):
    """One adjudication."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = DecideViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self._title = ElidedLabel("", "title")
        self.names = button(
            context, "Show names…", self._ask_names, icon="users",
            tip="Who said what; that names were shown stands in the record",
        )  # fmt: skip
        self.note = label("", wrap=True)
        set_tone(self.note, "warn")
        self.list = RowList(context, 2, 6)
        self.list.setAccessibleName("Questions to decide")
        self.heading = label("", "heading", wrap=True)
        self.question = label("", "muted", wrap=True)
        self.voices = VoicesPanel(context)
        self.decisions: dict[str, PushButton] = {}
        self.reason = Words(context, 4)
        self.reason.setAccessibleName("Reason")
        self.reason.setPlaceholderText("Why? A reason is needed for every decision.")
        self.texts = TextsPanel(context, refer=False)
        self.state = label("", "muted")
        self.sign_button = button(context, "Sign…", self.sign, icon="pen-line", main=True, tip="F9")
        self.empty = EmptyState(context, "circle-help", "", "")
        self.empty.buttons.addWidget(
            button(context, "All reviews", lambda: context.go(REVIEWS), icon="clipboard-list")
        )
        self.stack = QStackedWidget()
        self._build()
        self._wire()

    def _build(self) -> None:
        px = self.context.px
        page = page_layout(self, self.context)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self.names)
        page.addLayout(head)
        page.addWidget(self.errors)
        page.addWidget(self.note)
        inner = QWidget()
        left = QVBoxLayout(inner)
        left.setContentsMargins(0, 0, px(4), 0)
        left.setSpacing(px(8))
        for each in (self.list, self.heading, self.question, self.voices):
            left.addWidget(each)
        line = QHBoxLayout()
        for verdict, text in _DECISIONS:
            chip = PushButton(f" {text}")
            chip.setCheckable(True)
            chip.setProperty("kind", "chip")
            chip.clicked.connect(lambda _=False, said=verdict: self.model.decide(said))
            self.decisions[verdict] = chip
            line.addWidget(chip)
        line.addStretch(1)
        left.addLayout(line)
        left.addWidget(self.reason, 1)
        work = QWidget()
        rows = QVBoxLayout(work)
        rows.setContentsMargins(0, 0, 0, 0)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(ColumnScroll(inner))
        splitter.addWidget(self.texts)
        splitter.setSizes([px(520), px(560)])
        rows.addWidget(splitter, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.state, 1)
        foot.addWidget(self.sign_button)
        rows.addLayout(foot)
        self.stack.addWidget(self.empty)
        self.stack.addWidget(work)
        page.addWidget(self.stack, 1)

    def _wire(self) -> None:
        model = self.model
        self.reason.left.connect(self.list.setFocus)
        self.texts.view.left.connect(self.list.setFocus)
        model.loaded.connect(self._fill)
        model.item_changed.connect(self._fill_item)
        model.saved_changed.connect(self._fill_state)
        model.signed.connect(self._signed)
        model.failed.connect(self._failed)
        self.list.currentRowChanged.connect(self._row)
        self.reason.textChanged.connect(lambda: model.set_reason(self.reason.toPlainText()))
        self.voices.opened.connect(self._open)
        self.context.theme_changed.connect(self._fill_item)

    # --- the screen

    @property
    def title(self) -> str:
        return "Decide"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self._title.setText(f"Decide: {place.name}")
        if place.name != self.model.task or self.model.docket is None:
            self.empty.say("Reading…", "What the reviewers said is being opened.")
            self.stack.setCurrentIndex(0)
        self.model.show(place.name)

    @property
    def _handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "review.agree": lambda: self.model.decide("agree"),
            "review.concern": lambda: self.model.decide("disagree"),
            "review.next": lambda: self.model.step(1),
            "review.previous": lambda: self.model.step(-1),
            "review.words": self.reason.setFocus,
            "review.undo": self.model.undo,
            "review.sign": self.sign,
        }

    def bind(self, actions: Actions) -> None:
        for name, handler in self._handlers.items():
            actions.bind(name, handler)

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
        self.list.clear()
        self.voices.forget()
        with QSignalBlocker(self.reason):
            self.reason.clear()
        self.stack.setCurrentIndex(0)

    # --- filling

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)
        if self.model.docket is None:
            self.empty.say("There is nothing to decide", "What happened stands above.")

    def _fill(self) -> None:
        docket = self.model.docket
        if docket is None or not self.isVisible():
            return
        self.stack.setCurrentIndex(1)
        named = bool(docket.draft["named"])
        self.names.setVisible(not named)
        told = ", ".join(docket.unlike)
        self.note.setText(
            f"Nothing can be signed: since the reviewers signed, {told}. Ask them again about what "
            "rests on it." if told
            else "Names are shown; the record will say so." if named else ""
        )  # fmt: skip
        self.note.setVisible(bool(self.note.text()))
        self.texts.set_texts(docket.texts)
        with QSignalBlocker(self.list):
            self.list.clear()
            self.list.addItems([item.title for item, _ in docket.items])
        self._fill_item()
        self.list.setFocus()

    def _fill_item(self) -> None:
        model, docket = self.model, self.model.docket
        if docket is None:
            return
        theme = self.context.theme
        with QSignalBlocker(self.list):
            for row, (item, _) in enumerate(docket.items):
                said = str(model.entry_of(item.id).get("decision") or "")
                words = dict(_DECISIONS).get(said, "  not decided")[2:].lower()
                self.list.item(row).setText(f"{item.title}:  {words}")
                self.list.item(row).setIcon(answer_icon(theme, said))
                if item.id == model.current:
                    self.list.setCurrentRow(row)
        self.list.fit()
        item, voices = next(each for each in docket.items if each[0].id == model.current)
        entry = model.entry_of(item.id)
        self.heading.setText(item.title)
        self.question.setText(item.question)
        self.voices.show_voices(voices)
        for verdict, chip in self.decisions.items():
            chip.setChecked(verdict == entry["decision"])
            chip.setIcon(answer_icon(theme, verdict))
        if self.reason.toPlainText() != entry["reason"]:
            with QSignalBlocker(self.reason):
                self.reason.setPlainText(entry["reason"])
        anchors = [
            {"text": a.text, "lines": f"{a.first}-{a.last}"}
            for voice in voices
            for a in voice.verdict.anchors
        ]
        self.texts.set_item(item, anchors)
        if anchors and self.texts.shown != anchors[0]["text"]:
            self.texts.go_to(anchors[0]["text"])
        self._fill_state()

    def _fill_state(self) -> None:
        docket, missing = self.model.docket, self.model.missing
        if docket is None:
            return
        kept = "✓ Kept, encrypted, on this machine only" if self.model.saved else "Not kept yet…"
        done = len(docket.items) - len(missing)
        self.state.setText(f"{kept}    {done} of {len(docket.items)} decided with a reason")
        self.sign_button.setEnabled(not docket.unlike and not self.model.signing)

    # --- doing

    def _row(self, row: int) -> None:
        docket = self.model.docket
        if docket is not None and 0 <= row < len(docket.items):
            self.model.choose(docket.items[row][0].id)

    def _ask_names(self) -> None:
        if self.context.interaction.confirm(
            "Show who said what?",
            "You can decide without names. If you look, the record of your decision says so.",
            yes="Show names",
        ):
            self.model.show(self.model.task, names=True)

    def _open(self, kind: str, value: object) -> None:
        if kind == "anchors" and isinstance(value, dict):
            self.texts.go_to(str(value["text"]), str(value["lines"]))
        elif kind in ("rows", "places"):
            try:
                self.context.go(parse(str(value)))
            except M4Error as error:
                self.context.interaction.error(error)

    def sign(self) -> None:
        """Show what is decided, and sign."""
        model, docket = self.model, self.model.docket
        if docket is None or docket.unlike:
            return
        if model.missing:
            titles = {item.id: item.title for item, _ in docket.items}
            told = "; ".join(f"{titles[name]} {what}" for name, what in model.missing.items())
            self.context.told.emit(f"Not complete yet: {told}.")
            model.choose(next(iter(model.missing)))
            return
        words = dict(_DECISIONS)
        facts = [("Task", docket.task), ("Assignment", f"{docket.assignment.id[:16]}…")]
        facts += [
            (item.title, words[model.entry_of(item.id)["decision"]][2:].lower())
            for item, _ in docket.items
        ]
        facts += [("Names", "were shown" if docket.draft["named"] else "were not shown")]
        facts += [("Texts", ", ".join(text_title(name) for name in docket.texts))]
        if self.context.interaction.confirm_facts(
            "Sign the adjudication",
            "A record of its own beside the reviews, which stay as they are:",
            facts,
            more="It can never be changed.",
            yes="Sign",
            no="Go on writing",
        ):
            model.sign()

    def _signed(self, _signed: object) -> None:
        task = self.model.task
        self.context.told.emit("Decided and signed. Export a bundle for the reviewers.")
        self._forget()
        self.context.announced.emit("reviews")
        self.context.go(Place("review", task))
