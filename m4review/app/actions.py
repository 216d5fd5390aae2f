"""Every command of the window, named once: menus, keys, palette and help are made from it.

A screen binds what a command does while it is shown; without a handler the command is disabled.
Commands of two screens may therefore have one key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True)
class Command:
    """One named command."""

    name: str
    """E.g. ``diff.next``; unique."""
    text: str
    """What menus and the palette say."""
    menu: str
    """The menu that it stands in."""
    keys: tuple[str, ...] = ()
    """Key sequences; the first one is shown."""
    icon: str = ""
    """Name of an icon."""


COMMANDS: tuple[Command, ...] = (
    Command("app.open", "Open an address or run…", "File", ("Ctrl+O",), "external-link"),
    Command("app.copy_link", "Copy the address of this place", "File", ("Ctrl+L",), "copy"),
    Command("app.quit", "Quit", "File", ("Ctrl+Q",), "x"),
    Command("app.back", "Back", "Go", ("Alt+Left",), "arrow-left"),
    Command("app.forward", "Forward", "Go", ("Alt+Right",), "arrow-right"),
    Command("app.worklist", "Worklist", "Go", ("Ctrl+1",), "list-checks"),
    Command("app.runs", "Runs", "Go", ("Ctrl+2",), "history"),
    Command("app.data", "Data", "Go", ("Ctrl+3",), "database"),
    Command("app.queue", "Queue", "Go", ("Ctrl+4",), "list"),
    Command("app.models", "Models and policy", "Go", ("Ctrl+5",), "settings"),
    Command("app.reviews", "Reviews", "Go", ("Ctrl+6",), "clipboard-list"),
    Command("app.palette", "Find a command…", "Go", ("Ctrl+K",), "search"),
    Command("app.find", "Find or filter here", "Go", ("Ctrl+F",), "filter"),
    Command("app.refresh", "Read again", "View", ("F5",), "refresh-cw"),
    Command("app.zoom_in", "Larger", "View", ("Ctrl++", "Ctrl+="), "zoom-in"),
    Command("app.zoom_out", "Smaller", "View", ("Ctrl+-",), "zoom-out"),
    Command("app.zoom_reset", "Normal size", "View", ("Ctrl+0",)),
    Command("app.theme_auto", "Colours: as the system", "View", (), "sun-moon"),
    Command("app.theme_light", "Colours: light", "View", (), "sun"),
    Command("app.theme_dark", "Colours: dark", "View", (), "moon"),
    Command("app.jobs", "Show what is being worked on", "View", ("Ctrl+J",), "list"),
    Command("task.run", "Run an agent on this task…", "Run", ("Ctrl+R",), "play"),
    Command("task.evidence", "Evidence for this task", "Run", ("Ctrl+E",), "stethoscope"),
    Command("task.plan", "Plan several runs…", "Run", ("Ctrl+Shift+R",), "plus"),
    Command("launcher.start", "Start the run", "Run", ("Ctrl+Return",), "play"),
    Command("launcher.cancel", "Stop the run", "Run", ("Ctrl+.",), "circle-stop"),
    Command("plan.check", "Check what is planned", "Run", (), "circle-check"),
    Command("plan.add", "Add what is planned to the queue", "Run", ("Ctrl+Shift+Return",), "plus"),
    Command("queue.work", "Work on the queue, or stop", "Run", ("Ctrl+Shift+W",), "play"),
    Command("queue.pause", "Pause the queue, or resume", "Run", ("Ctrl+Shift+P",), "circle-slash"),
    Command("queue.cancel", "Cancel in the queue…", "Run", (), "circle-stop"),
    Command("run.diff", "Open the diff", "Run", ("Ctrl+D",), "git-compare-arrows"),
    Command("run.diagnosis", "What went wrong", "Run", ("Ctrl+E",), "stethoscope"),
    Command("run.report", "Save a report…", "Run", ("Ctrl+Shift+S",), "file-text"),
    Command("runs.compare", "Compare the chosen runs", "Run", ("Ctrl+Shift+D",), "columns-3"),
    Command("run.reveal", "Show the run's folder", "Run", (), "folder-open"),
    Command("run.delete", "Delete the run…", "Run", (), "trash-2"),
    Command("review.open", "Review this task", "Review", ("Ctrl+Shift+V",), "clipboard-list"),
    Command("review.agree", "Agree", "Review", ("1",), "circle-check"),
    Command("review.concern", "Concern", "Review", ("2",), "triangle-alert"),
    Command("review.disagree", "Disagree", "Review", ("3",), "circle-x"),
    Command("review.cannot", "Cannot judge", "Review", ("4",), "circle-help"),
    Command("review.minor", "Severity: minor", "Review", ("5",)),
    Command("review.major", "Severity: major", "Review", ("6",)),
    Command("review.critical", "Severity: critical", "Review", ("7",)),
    Command("review.next", "Next question", "Review", ("J", "Alt+Down"), "chevron-down"),
    Command("review.previous", "Question before", "Review", ("K", "Alt+Up"), "chevron-up"),
    Command("review.open_item", "Next question that lacks something", "Review", ("O",), "search"),
    Command("review.words", "Write in your words", "Review", ("W",), "file-text"),
    Command("review.lines", "Refer to the chosen lines", "Review", ("L",), "hash"),
    Command("review.undo", "Undo the last answer or reference", "Review", ("U",), "arrow-left"),
    Command("review.sign", "Sign…", "Review", ("F9",), "pen-line"),
    Command("review.flag", "Flag into the review…", "Review", ("F6",), "flag"),
    Command("review.import", "Import a bundle of reviews…", "Review", (), "download"),
    Command("review.export", "Export a bundle of reviews…", "Review", (), "upload"),
    Command("diff.next", "Next mismatch", "Diff", ("F8", "N"), "chevron-down"),
    Command("diff.previous", "Previous mismatch", "Diff", ("Shift+F8", "P"), "chevron-up"),
    Command("diff.goto", "Go to a key or row…", "Diff", ("Ctrl+G",), "hash"),
    Command("diff.only", "Only mismatches", "Diff", ("Ctrl+M",), "equal-not"),
    Command("diff.columns", "Only columns with mismatches", "Diff", ("Ctrl+B",), "columns-3"),
    Command("diff.clear", "Clear filters and order", "Diff", ("Ctrl+Backspace",), "x"),
    Command("diff.undo", "Filter as before", "Diff", ("Ctrl+Z",), "arrow-left"),
    Command("diff.copy", "Copy", "Diff", ("Ctrl+C",), "copy"),
    Command("diff.copy_headers", "Copy with column names", "Diff", ("Ctrl+Shift+C",), "copy"),
    Command("diff.export", "Export the rows shown…", "Diff", ("Ctrl+S",), "external-link"),
    Command("diff.export_selection", "Export the selected cells…", "Diff", (), "external-link"),
    Command("diff.export_all", "Export all rows…", "Diff", (), "external-link"),
    Command("diff.sql", "Filter by a condition in SQL…", "Diff", ("Ctrl+Shift+F",), "filter"),
    Command("diff.whatif", "What if the tolerance were…", "Diff", ("Ctrl+T",), "equal-not"),
    Command("diff.column_page", "Column page", "Diff", ("Ctrl+Shift+E",), "columns-3"),
    Command("diff.arrange", "Arrange the columns", "Diff", ("Ctrl+Shift+B",), "columns-3"),
    Command("diff.panel", "Row and column panel", "Diff", ("Ctrl+I",), "panel-right"),
    Command("diff.value", "Where does this value come from?", "Diff", ("F7",), "history"),
    Command("task.edit", "Edit the texts of this task", "Text", ("F2",), "file-text"),
    Command("text.instruction", "Edit: instruction", "Text", (), "file-text"),
    Command("text.skill", "Edit: skill", "Text", (), "file-text"),
    Command("text.operational-spec", "Edit: operational spec", "Text", (), "file-text"),
    Command("text.task", "Edit: task.toml", "Text", (), "file-text"),
    Command("text.reference-notes", "Edit: reference notes", "Text", (), "file-text"),
    Command("text.provenance", "Edit: provenance", "Text", (), "file-text"),
    Command("editor.task", "Back to the task", "Text", ("Shift+F2",), "arrow-left"),
    Command("editor.texts", "Another text of this task…", "Text", ("Ctrl+Shift+T",), "list"),
    Command("editor.save", "Save now", "Text", ("Ctrl+S",), "circle-check"),
    Command("editor.undo", "Undo", "Text", ("Ctrl+Z",), "arrow-left"),
    Command("editor.redo", "Do again", "Text", ("Ctrl+Shift+Z", "Ctrl+Y"), "arrow-right"),
    Command("editor.replace", "Find and replace…", "Text", ("Ctrl+H",), "search"),
    Command("editor.find_next", "Find the next", "Text", ("F3",), "chevron-down"),
    Command("editor.find_previous", "Find the one before", "Text", ("Shift+F3",), "chevron-up"),
    Command("editor.next_finding", "Next finding of the lint", "Text", ("F8",), "chevron-down"),
    Command("editor.previous_finding", "Finding before", "Text", ("Shift+F8",), "chevron-up"),
    Command("editor.goto", "Go to a line…", "Text", ("Ctrl+G",), "hash"),
    Command("editor.outline", "Show or hide the outline", "Text", ("Ctrl+Shift+O",), "list"),
    Command("editor.preview", "Show or hide the preview", "Text", ("Ctrl+Shift+M",), "panel-right"),
    Command("editor.form", "Show or hide the form", "Text", ("Ctrl+Shift+I",), "clipboard-list"),
    Command("editor.findings", "Show or hide the lint", "Text", ("Ctrl+Shift+L",), "list-checks"),
    Command("editor.compare", "What changed in this text…", "Text", ("Ctrl+Shift+K",), "history"),
    Command("editor.folder", "Folder of the texts…", "Text", (), "folder-open"),
    Command("table.new", "New table", "Table", ("Ctrl+Alt+N",), "table-2"),
    Command("table.align", "Align the columns", "Table", ("Ctrl+Alt+A",), "columns-3"),
    Command("table.row_below", "Row below", "Table", ("Ctrl+Alt+Down",), "plus"),
    Command("table.row_above", "Row above", "Table", ("Ctrl+Alt+Up",), "plus"),
    Command("table.row_delete", "Delete the row", "Table", ("Ctrl+Alt+Backspace",), "minus"),
    Command("table.row_up", "Row up", "Table", ("Alt+Shift+Up",), "chevron-up"),
    Command("table.row_down", "Row down", "Table", ("Alt+Shift+Down",), "chevron-down"),
    Command("table.column_right", "Column to the right", "Table", ("Ctrl+Alt+Right",), "plus"),
    Command("table.column_left", "Column to the left", "Table", ("Ctrl+Alt+Left",), "plus"),
    Command(
        "table.column_delete", "Delete the column", "Table", ("Ctrl+Alt+Shift+Backspace",), "minus"
    ),
    Command("table.column_back", "Move the column left", "Table", ("Alt+Shift+Left",)),
    Command("table.column_on", "Move the column right", "Table", ("Alt+Shift+Right",)),
    Command("app.help", "Keys and help", "Help", ("F1",), "keyboard"),
)


class Actions(QObject):
    """The commands as QActions of one window."""

    bound = Signal(str)
    """A command got or lost its handler."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._handlers: dict[str, Callable[[], object]] = {}
        self._actions: dict[str, QAction] = {}
        for command in COMMANDS:
            action = QAction(command.text, window)
            action.setObjectName(command.name)
            action.setShortcuts([QKeySequence(key) for key in command.keys])
            action.setEnabled(False)
            action.triggered.connect(lambda _=False, name=command.name: self.trigger(name))
            window.addAction(action)
            self._actions[command.name] = action

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def bind(self, name: str, handler: Callable[[], object] | None) -> None:
        """Say what a command does now; None disables it.

        Raises:
            KeyError: no command has this name.
        """
        action = self._actions[name]
        if handler is None:
            self._handlers.pop(name, None)
        else:
            self._handlers[name] = handler
        action.setEnabled(handler is not None)
        self.bound.emit(name)

    def trigger(self, name: str) -> None:
        """Do it, if something is bound."""
        handler = self._handlers.get(name)
        if handler is not None:
            handler()

    def available(self) -> list[Command]:
        """The commands that do something now."""
        return [
            c for c in COMMANDS if c.name in self._handlers and self._actions[c.name].isEnabled()
        ]


def key_text(command: Command) -> str:
    """The keys of a command as people write them."""
    return " or ".join(
        QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
        for key in command.keys
        if key != "Ctrl+="
    )
