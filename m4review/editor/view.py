"""The editor's window side: the text in the middle, outline and preview beside it, lint below."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.base.files import write_text
from engine.editing import tables
from engine.editing.outline import Heading
from m4review.app import icons
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.tips import as_written
from m4review.app.widgets import ElidedLabel, ErrorPanel, button, page_layout, set_tone
from m4review.editor.conflicts import ConflictPanel
from m4review.editor.findbar import FindBar
from m4review.editor.form_panel import FormPanel
from m4review.editor.loading import State
from m4review.editor.pane import TextPane
from m4review.editor.panels import Concern, Findings, Note, Offer, Outline
from m4review.editor.preview import Preview
from m4review.editor.viewmodel import EditorModel
from m4review.prose.view import ProseDiffView
from m4review.task.view import EDITED

_TONES = {
    State.SAVED: ("circle-check", "good"),
    State.CHANGED: ("circle-dot", "plain"),
    State.SAVING: ("loader-circle", "plain"),
    State.OPENING: ("loader-circle", "plain"),
    State.CLOSED: ("circle-slash", "plain"),
    State.READ_ONLY: ("info", "plain"),
}
_NO_LIMIT = 16_777_215
"""Qt's own greatest height of a widget."""
_PARTS = {"outline": True, "preview": True, "form": False, "compare": False, "findings": True}
"""What stands around the text at first."""
_BESIDE = ("preview", "form", "compare")
"""What stands to its right, one at a time."""
_COLOURS = {"good": "good", "bad": "bad", "warn": "warn", "plain": "muted"}


class EditorScreen(Screen):
    """One text of a task."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.pane = TextPane(context)
        self.model = EditorModel(context.workbench, context.runner, self.pane.typing, self)
        self.errors = ErrorPanel(context)
        self.note = Note(context)
        self.concern = Concern(
            context, save=self._agree, count=self.model.count_effects, wait=self._not_now
        )
        self.conflicts = ConflictPanel(context, self.model.decide)
        self.chooser = QComboBox()
        self.chooser.setAccessibleName("Text of the task")
        self.chooser.setToolTip("Another text of this task (Ctrl+Shift+T)")
        self.chooser.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.state_icon = QLabel()
        self.state = ElidedLabel("")
        self.state.setAccessibleName("Where the text stands")
        self.outline = Outline()
        self.preview = Preview(context)
        self.form = FormPanel(context, self._form_changed)
        self.compare = ProseDiffView(context)
        self.find_bar = FindBar(context, self.pane)
        self.findings = Findings(context)
        self.where = ElidedLabel("", "muted")
        self.position = QLabel()
        self._headings: tuple[Heading, ...] = ()
        self._line = 0
        self._wanted_line = 0
        self._toggles: dict[str, QPushButton] = {}
        self._build()
        self._connect()

    # --- building

    def _build(self) -> None:
        px = self.context.px
        page = page_layout(self, self.context)
        head = QHBoxLayout()
        head.addWidget(self.chooser)
        head.addSpacing(px(8))
        head.addWidget(self.state_icon)
        head.addWidget(self.state, 1)
        for name, text, tip in (
            ("outline", "Outline", "Headings, to jump to (Ctrl+Shift+O)"),
            ("preview", "Preview", "The text as Markdown shows it (Ctrl+Shift+M)"),
            ("form", "Form", "Front matter or task.toml as a form (Ctrl+Shift+I)"),
            ("compare", "Changes", "What changed since an earlier version (Ctrl+Shift+K)"),
            ("findings", "Lint", "What the lint says, below the text (Ctrl+Shift+L)"),
        ):
            head.addWidget(self._toggle(name, text, tip))
        page.addLayout(head)
        for panel in (self.errors, self.note, self.concern):
            page.addWidget(panel)
        self._middle = QStackedWidget()
        page.addWidget(self._middle, 1)
        self.side = QStackedWidget()
        self.side.addWidget(self.preview)
        self.side.addWidget(self.form)
        self.side.addWidget(self.compare)
        self._columns = QSplitter(Qt.Orientation.Horizontal)
        self._columns.setChildrenCollapsible(False)
        for each in (self.outline, self.pane, self.side):
            self._columns.addWidget(each)
        self._columns.setStretchFactor(1, 1)
        self._columns.setSizes([px(180), px(520), px(420)])
        above = QWidget()
        box = QVBoxLayout(above)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self._columns, 1)
        box.addWidget(self.find_bar)
        self._rows = QSplitter(Qt.Orientation.Vertical)
        self._rows.setChildrenCollapsible(False)
        self._rows.addWidget(above)
        self._rows.addWidget(self.findings)
        self._rows.setStretchFactor(0, 1)
        self._list_height = px(120)
        self._rows.setSizes([px(520), self._list_height])
        self._middle.addWidget(self._rows)
        self._middle.addWidget(self.conflicts)
        foot = QHBoxLayout()
        foot.addWidget(self.where, 1)
        foot.addWidget(self.position)
        self.folder = button(
            self.context,
            "Folder of texts…",
            self.choose_folder,
            icon="folder-open",
            tip="Where tasks and skills are read from and saved",
        )
        foot.addWidget(self.folder)
        page.addLayout(foot)

    def _toggle(self, name: str, text: str, tip: str) -> QPushButton:
        made = QPushButton(text)
        made.setToolTip(as_written(tip))
        made.setCheckable(True)
        made.setProperty("kind", "chip")
        made.setAutoDefault(False)
        made.clicked.connect(lambda _=False: self.show_part(name, on=made.isChecked()))
        self._toggles[name] = made
        return made

    def _connect(self) -> None:
        model, pane = self.model, self.pane
        model.opened.connect(self._opened)
        model.state_changed.connect(self._show_state)
        model.findings_changed.connect(self._show_findings)
        model.outlined.connect(self._show_outline)
        model.noted.connect(self._noted)
        model.asked.connect(self._asked)
        model.conflicted.connect(self._conflicted)
        model.replaced.connect(self._replaced)
        model.failed.connect(self.errors.show_error)
        pane.textChanged.connect(self._typed)
        pane.cursorPositionChanged.connect(self._moved)
        self.outline.chosen.connect(self._jump)
        self.findings.chosen.connect(self.show_finding)
        self.compare.line_chosen.connect(self._jump)
        self.chooser.activated.connect(self._choose)
        self.context.theme_changed.connect(self._show_state)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.applicationStateChanged.connect(self._activated)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(250)
        self._quiet.timeout.connect(self._settle)

    # --- the screen

    @property
    def title(self) -> str:
        return self.model.text.title if self.model.text else "Text"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self._wanted_line = place.line or 0
        self.model.open(place.name, place.text)
        if self.model.state not in (State.OPENING, State.CLOSED):
            self._go_to_wanted()

    def place(self) -> Place | None:
        if self.model.task is None or self.model.text is None:
            return None
        line = self.pane.line
        return Place(
            "edit", self.model.task.name, text=self.model.text.name, line=line if line > 1 else None
        )

    def bind(self, actions: Actions) -> None:
        for name, handler in self._handlers().items():
            actions.bind(name, handler)
        self.pane.setFocus()

    def leave(self, actions: Actions) -> None:
        self.model.save()
        for name in self._handlers():
            actions.bind(name, None)

    def close_down(self) -> None:
        self._quiet.stop()
        self.preview.stop()
        self.model.shut_down()
        if self.model.unkept is not None:
            self._rescue(self.model.unkept)

    def _rescue(self, text: str) -> None:
        """Neither the text's file nor the home could be written: offer another place."""
        self.context.interaction.tell(
            "Your text could not be saved",
            "Neither its file nor the home folder can be written. Choose another place for it.",
        )
        name = self.model.text.path.name if self.model.text else "text.md"
        path = self.context.interaction.choose_save("Save the text elsewhere", name)
        if path is not None:
            try:
                write_text(path, text, "saving the text elsewhere")
            except M4Error as error:
                self.context.interaction.error(error)

    def _handlers(self) -> dict[str, Callable[[], object]]:
        pane = self.pane
        table = pane.change_table
        handlers: dict[str, Callable[[], object]] = {
            "editor.save": lambda: self.model.save(asked=True),
            "editor.undo": self._undo,
            "editor.redo": pane.redo_step,
            "app.find": self.find_bar.show_bar,
            "editor.replace": lambda: self.find_bar.show_bar(replace=True),
            "editor.find_next": lambda: self.find_bar.step(1),
            "editor.find_previous": lambda: self.find_bar.step(-1),
            "editor.next_finding": lambda: self.step_finding(1),
            "editor.previous_finding": lambda: self.step_finding(-1),
            "editor.goto": self._ask_line,
            "editor.texts": self._show_texts,
            "editor.outline": lambda: self.show_part("outline"),
            "editor.preview": lambda: self.show_part("preview"),
            "editor.form": lambda: self.show_part("form"),
            "editor.findings": lambda: self.show_part("findings"),
            "editor.compare": lambda: self.show_part("compare"),
            "editor.folder": self.choose_folder,
            "editor.task": self._back_to_task,
            **{
                name: partial(self._open_named, text or "instruction")
                for name, text in EDITED.items()
            },
            "table.new": pane.new_table,
            "table.align": lambda: table(tables.align),
            "table.row_below": lambda: table(lambda t, p: tables.add_row(t, p.line)),
            "table.row_above": lambda: table(lambda t, p: tables.add_row(t, p.line, above=True)),
            "table.row_delete": lambda: table(lambda t, p: tables.delete_row(t, p.line)),
            "table.row_up": lambda: table(lambda t, p: tables.move_row(t, p.line, -1)),
            "table.row_down": lambda: table(lambda t, p: tables.move_row(t, p.line, 1)),
            "table.column_right": lambda: table(tables.add_column),
            "table.column_left": lambda: table(lambda t, p: tables.add_column(t, p, before=True)),
            "table.column_delete": lambda: table(tables.delete_column),
            "table.column_back": lambda: table(lambda t, p: tables.move_column(t, p, -1)),
            "table.column_on": lambda: table(lambda t, p: tables.move_column(t, p, 1)),
        }
        return handlers

    # --- what the model tells

    def _opened(self) -> None:
        model = self.model
        self.errors.dismiss()
        for panel in (self.note, self.concern, self.conflicts):
            panel.hide()
        self._middle.setCurrentWidget(self._rows)
        self.chooser.clear()
        for text in model.texts:
            self.chooser.addItem(text.title, text.name)
        if model.text is not None:
            self.chooser.setCurrentIndex(model.texts.index(model.text))
            self.pane.colours.show_language(model.text.language)
            self.pane.setAccessibleName(f"Text: {model.text.title}")
            self.where.setText(str(model.text.path))
        self.pane.put_cursor(0)
        self._show_place_of_texts()
        self._show_findings()
        self._show_outline(())
        self._apply_parts()
        self._go_to_wanted()
        self._settle()
        self.title_changed.emit()

    def _show_place_of_texts(self) -> None:
        place = self.model.place
        if place is None:
            return
        if place.problem:
            self.note.say(place.problem, Offer("Choose a folder…", self.choose_folder, main=True))
        elif not place.editable:
            self.note.say(
                "These texts came with the program and are only read. To change them, choose a "
                "folder of your own: tasks and skills are copied there, and the program reads "
                "and saves them there from then on.",
                Offer("Choose a folder…", self.choose_folder, main=True),
            )

    def _go_to_wanted(self) -> None:
        if self._wanted_line:
            self.pane.go_to(self._wanted_line)
        self._wanted_line = 0

    def _show_state(self) -> None:
        model = self.model
        icon, tone = _TONES.get(model.state, ("triangle-alert", "bad"))
        text = model.state.value
        if model.error is not None:
            icon, tone = "triangle-alert", "bad"
            if model.state is not State.FAILED:
                text = f"{text}, but what you type is not kept"
            text = f"{text}: {model.error.text}"
            self.state.setText(text)
            kept = "\nWhat you typed is kept in the home folder." if model.kept else ""
            self.state.setToolTip(as_written(f"{text}\n{model.error.todo or ''}{kept}"))
        else:
            self.state.setText(text)
        set_tone(self.state, tone)  # type: ignore[arg-type]
        side = self.context.px(16)
        colour = getattr(self.context.theme, _COLOURS[tone])
        self.state_icon.setPixmap(icons.pixmap(icon, colour, side, self.devicePixelRatioF()))
        if self.pane.isReadOnly() != model.read_only:
            self.pane.setReadOnly(model.read_only)
        if model.state is not State.ASKING:
            self.concern.hide()
        if model.state is State.GONE:
            self.note.say(
                "The file of this text was deleted or moved outside the program. What you see is "
                "kept here.",
                Offer("Write it again", model.write_anew, main=True),
            )

    def _noted(self, text: str) -> None:
        offers = []
        if "brought back" in text:
            offers.append(Offer("Take it away again", self._undo_all))
        self.note.say(text, *offers)

    def _undo_all(self) -> None:
        """Back to what is on disk, as one may redo."""
        typing = self.model.typing
        while typing.history.dirty and typing.history.can_undo:
            self.pane.undo_step()
        self.note.hide()

    def _asked(self) -> None:
        self.concern.show_effects(self.model.users, self.model.effects)

    def _agree(self) -> None:
        self.concern.hide()
        self.model.agree()
        self.pane.setFocus()

    def _not_now(self) -> None:
        self.concern.hide()
        self.context.told.emit("Kept as a draft. Ctrl+S asks again.")
        self.pane.setFocus()

    def _conflicted(self, merge: object) -> None:
        self.conflicts.show_merge(merge)  # type: ignore[arg-type]
        self._middle.setCurrentWidget(self.conflicts)

    def _replaced(self) -> None:
        self._middle.setCurrentWidget(self._rows)
        self._settle()
        self.context.announced.emit("texts")

    def _show_findings(self) -> None:
        findings = self.model.findings
        self.pane.show_findings(findings)
        self.findings.show_findings(findings)
        self._make_room(bool(findings))
        if self.model.lint_error is not None:
            self.findings.summary.setText(f"Lint: {self.model.lint_error.text}")
        elif self.model.text is not None and self.model.text.kind == "reference-notes":
            self.findings.summary.setText("Lint: there are no rules for this text")

    def _make_room(self, listed: bool) -> None:
        """Where nothing is found the text has all the room but a line; else the list as before."""
        line = self.context.px(24)
        above, below = self._rows.sizes()
        if self.findings.maximumHeight() == _NO_LIMIT and below > line:
            self._list_height = below
        self.findings.setMaximumHeight(_NO_LIMIT if listed else line)
        wanted = max(below, self._list_height) if listed else line
        if wanted != below:
            self._rows.setSizes([above + below - wanted, wanted])

    def _show_outline(self, headings: tuple[Heading, ...]) -> None:
        self._headings = headings
        self.outline.show_headings(headings)
        self.outline.follow(self.pane.line)

    # --- typing and going about

    def _typed(self) -> None:
        self._quiet.start()

    def _settle(self) -> None:
        """A moment without a key: bring what follows the text up to it."""
        text = self.model.typing.history.text
        self.preview.follow(text, self.pane.line)
        if self.model.text is not None and self.side.currentWidget() is self.form:
            self.form.show_text(self.model.text.kind, text, locked=self.model.read_only)
        if self.model.path is not None and self.compare.isVisible():
            if self.compare.model.path == self.model.path:
                self.compare.set_text(text)
            else:
                self.compare.open(self.model.path, text)
        if self.find_bar.isVisible():
            self.find_bar.look()

    def _moved(self) -> None:
        cursor = self.pane.textCursor()
        line = cursor.blockNumber() + 1
        self.position.setText(f"line {line}, column {cursor.positionInBlock() + 1}")
        if line == self._line:
            return
        self._line = line
        before = self.outline.currentRow()
        self.outline.follow(line)
        row = self.outline.currentRow()
        if row != before and 0 <= row < len(self._headings):
            self.preview.follow(self.model.typing.history.text, line)
            self._scroll_preview(row)

    def _scroll_preview(self, row: int) -> None:
        if self.preview.isVisible():
            words = self._headings[row].text
            nth = sum(1 for heading in self._headings[:row] if heading.text == words)
            self.preview.show_heading(words, nth)

    def _jump(self, line: int) -> None:
        self.pane.go_to(line)
        self.pane.setFocus()

    def show_finding(self, finding: object) -> None:
        """Go to the place of a finding."""
        line, column, length = (getattr(finding, n) for n in ("line", "column", "length"))
        self.pane.go_to(line, column, length)
        self.pane.setFocus()

    def step_finding(self, direction: int) -> None:
        """Go to the next finding, or the one before; from the end on from the beginning."""
        found = sorted(self.model.findings)
        if not found:
            self.context.told.emit("The lint finds nothing in this text.")
            return
        cursor = self.pane.textCursor()
        here = (cursor.blockNumber() + 1, cursor.selectionStart() - cursor.block().position() + 1)
        keys = [(f.line, f.column) for f in found]
        if direction > 0:
            at = next((n for n, key in enumerate(keys) if key > here), 0)
        else:
            at = next((n for n in reversed(range(len(keys))) if keys[n] < here), len(keys) - 1)
        self.show_finding(found[at])
        self.context.told.emit(found[at].message)

    def _undo(self) -> None:
        if not self.pane.undo_step():
            why = self.model.why_no_undo
            self.context.told.emit(why or "There is nothing to undo: the history begins here.")

    def _ask_line(self) -> None:
        answer = self.context.interaction.ask_text("Go to a line", "Line:")
        if answer and answer.strip().isdecimal():
            self._jump(int(answer))

    def _show_texts(self) -> None:
        self.chooser.setFocus()
        self.chooser.showPopup()

    def _choose(self, row: int) -> None:
        self._open_named(str(self.chooser.itemData(row)))

    def _open_named(self, name: str) -> None:
        if self.model.task is not None:
            self.context.go(Place("edit", self.model.task.name, text=name))

    def _back_to_task(self) -> None:
        if self.model.task is not None:
            self.context.go(Place("task", self.model.task.name))

    def _activated(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self.model.look_outside()

    def choose_folder(self) -> None:
        """Ask for a folder of the user's own, and use it."""
        folder = self.context.interaction.choose_folder(
            "An empty folder for a copy of tasks and skills, or one that holds them"
        )
        if folder is not None:
            self.model.choose_folder(Path(folder))

    # --- parts

    def show_part(self, name: str, *, on: bool | None = None) -> None:
        """Show or hide outline, preview, form or findings."""
        parts = self._parts()
        on = not parts[name] if on is None else on
        if on and name in _BESIDE:  # one at a time
            parts |= dict.fromkeys(_BESIDE, False)
        parts[name] = on
        self.context.settings.set("editor.parts", parts)
        self._apply_parts()
        self._settle()
        if on and name == "form":
            self.form.take_keyboard()

    def _parts(self) -> dict[str, bool]:
        return {**_PARTS, **self.context.settings.get("editor.parts")}

    def _apply_parts(self) -> None:
        parts = self._parts()
        text = self.model.text
        markdown = text is None or text.language == "markdown"
        can = {
            "outline": markdown,
            "preview": markdown,
            "form": text is not None and FormPanel.has_form(text.kind),
            "compare": text is not None and text.kind != "reference-notes",
            "findings": True,
        }
        if parts["preview"] and not can["preview"]:  # what stands in its place
            parts["form"] = True
        shown = {name: parts[name] and can[name] for name in can}
        pages = {"form": self.form, "compare": self.compare, "preview": self.preview}
        page = next((widget for name, widget in pages.items() if shown[name]), None)
        if page is not None:
            self.side.setCurrentWidget(page)
        self.side.setVisible(page is not None)
        self.outline.setVisible(shown["outline"])
        self.findings.setVisible(shown["findings"])
        for name, toggle in self._toggles.items():
            toggle.setChecked(shown[name] and pages.get(name, page) is page)
            toggle.setEnabled(can[name])

    def _form_changed(self, text: str) -> None:
        self.pane.replace_text(text)
        self._settle()

    def sizeHint(self) -> QSize:
        return QSize(900, 600)
