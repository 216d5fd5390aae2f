"""One step in full: what it did, its SQL laid out, what came back, what it wrote."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from engine.agents.traces import TraceStep
from engine.base.text import neutralise
from engine.runs.kept import SHOWN, KeptFile
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.highlight import SqlHighlighter
from m4review.app.widgets import ColumnScroll, IconButton, button, clear, label
from m4review.trace.viewmodel import TraceViewModel
from m4review.trace.words import KINDS, is_error, seconds_words

_FOLDED, _UNFOLDED = 14, 34
"""Lines of a text that are seen before it scrolls by itself."""
_COMMAND_LIMIT = 60_000
_HOW = {
    "add": "written",
    "edit": "changed",
    "delete": "deleted",
    "redirect": "written by redirect",
    "copy": "written by COPY",
    "call": "written by a program",
}
_OUTPUT = "output.csv"


class FittedText(QPlainTextEdit):
    """Plain text for reading, as high as its lines, up to a bound; then it scrolls."""

    def __init__(self, name: str, *, wrap: bool) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setProperty("code", True)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        mode = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(mode.WidgetWidth if wrap else mode.NoWrap)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.most = _FOLDED

    def show_text(self, text: str, *, most: int = _FOLDED) -> None:
        """Show this, at most so many lines at once."""
        self.most = most
        self.setPlainText(text)
        self.fit()

    def fit(self) -> None:
        """Take the height that the text needs."""
        lines = min(self.most, max(1, int(self.document().size().height())))
        spacing = QFontMetricsF(self.font()).lineSpacing()
        edge = self.height() - self.viewport().height()
        bar = self.horizontalScrollBar()
        room = 0 if bar.isVisible() else bar.sizeHint().height()
        wide = self.lineWrapMode() == QPlainTextEdit.LineWrapMode.NoWrap
        extra = room if wide and bar.maximum() > 0 else 0
        height = int(lines * spacing + 2 * self.document().documentMargin() + max(edge, 6) + extra)
        if height != self.height():
            self.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(80, super().minimumSizeHint().height())


class TextDialog(QDialog):
    """A text on its own, for reading."""

    def __init__(self, parent: QWidget, context: Context, title: str, note: str, text: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.resize(context.px(820), context.px(560))
        rows = QVBoxLayout(self)
        rows.addWidget(label(note, "muted", wrap=True))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setProperty("code", True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(title)
        self.text.setPlainText(text)
        if title.endswith(".sql"):
            SqlHighlighter(self.text.document(), context)
        rows.addWidget(self.text, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        rows.addWidget(buttons)


class StepDetail(ColumnScroll):
    """The chosen step."""

    diff_asked = Signal()
    """Open the diff of what the run wrote."""
    address_asked = Signal(int)
    """Copy the address of a step."""

    def __init__(self, context: Context, model: TraceViewModel) -> None:
        inner = QWidget()
        super().__init__(inner)
        self._context, self._model = context, model
        self.step: TraceStep | None = None
        self._laid_out = ""
        self.dialog: TextDialog | None = None
        self.title = label("", "heading")
        self.facts = label("", "muted", wrap=True)
        self.error = label("", wrap=True)
        self.error.setProperty("tone", "bad")
        self.what_title = label("Command", "section")
        self.what = FittedText("What the step did", wrap=True)
        self.sql_title = label("SQL", "section")
        self.sql = FittedText("SQL of the step", wrap=False)
        self._colours = SqlHighlighter(self.sql.document(), context)
        self.sql_button = button(context, "As written", self._toggle_sql)
        self.output_title = label("What came back", "section")
        self.output = FittedText("What came back", wrap=False)
        self.output_button = button(context, "Show all of it", self._read_output)
        self.files_title = label("Files", "section")
        self.files = FlowLayout(spacing=context.px(6))
        self.copy_button = button(context, "Copy", self._copy, icon="copy", tip="Copy what it did")
        self.link_button = button(context, "Address", self._address, tip="Copy the step's address")
        self.hint = label("Choose a step to read what it did and what came back.", "muted")
        self._build(inner)
        model.output_read.connect(self._output_read)
        model.sql_laid_out.connect(self._sql_read)
        model.file_read.connect(self._file_read)
        self.show_step(None)

    def _build(self, inner: QWidget) -> None:
        rows = QVBoxLayout(inner)
        edge = self._context.px(10)
        rows.setContentsMargins(edge, 0, self._context.px(4), edge)
        rows.setSpacing(self._context.px(6))
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.copy_button)
        head.addWidget(self.link_button)
        rows.addWidget(self.hint)
        rows.addLayout(head)
        rows.addWidget(self.facts)
        rows.addWidget(self.error)
        rows.addWidget(self.files_title)
        rows.addLayout(self.files)
        rows.addWidget(self.what_title)
        rows.addWidget(self.what)
        rows.addLayout(_row(self.sql_title, self.sql_button))
        rows.addWidget(self.sql)
        rows.addLayout(_row(self.output_title, self.output_button))
        rows.addWidget(self.output)
        rows.addStretch(1)

    def show_step(self, step: TraceStep | None) -> None:
        """Show a step, or its newer state; None for none."""
        same = step is not None and self.step is not None and step.number == self.step.number
        self.step = step
        for each in (self.title, self.facts, self.copy_button, self.link_button):
            each.setVisible(step is not None)
        self.hint.setVisible(step is None)
        if not same:
            self.verticalScrollBar().setValue(0)
            self._laid_out = ""
        self._show_what(step)
        self._show_sql(step, same=same)
        self._show_output(step)
        self._show_files(step)
        if step is None:
            self.error.hide()
            return
        turn = f" · turn {step.turn}" if step.turn else ""
        self.title.setText(f"Step {step.number} · {KINDS[step.kind]}{turn}")
        self.facts.setText(_facts(step))
        error = step.error.message if step.error is not None else ""
        self.error.setText(error)
        self.error.setVisible(bool(error) and error != step.text)

    def _show_what(self, step: TraceStep | None) -> None:
        text = "" if step is None else neutralise((step.command or step.text)[:_COMMAND_LIMIT])
        if step is not None and len(step.command or "") > _COMMAND_LIMIT:
            text += f"\n… the whole command is in trace.jsonl, line {step.line}."
        self.what_title.setText("Command" if step is not None and step.command else "Text")
        for each in (self.what_title, self.what):
            each.setVisible(bool(text))
        if text != self.what.toPlainText():
            self.what.show_text(text, most=_UNFOLDED)

    def _show_sql(self, step: TraceStep | None, *, same: bool) -> None:
        parts = step.sql if step is not None else ()
        for each in (self.sql_title, self.sql, self.sql_button):
            each.setVisible(bool(parts))
        if not parts or step is None:
            return
        count = f" ({len(parts)} statements)" if len(parts) > 1 else ""
        self.sql_title.setText(f"SQL{count}")
        if same and self._laid_out:
            return
        self._as_written()
        self._model.lay_out_sql(step)

    def _as_written(self) -> None:
        parts = self.step.sql if self.step is not None else ()
        self.sql.show_text(neutralise("\n\n".join(part.strip() for part in parts)), most=_UNFOLDED)
        self.sql_button.setText("Laid out")

    def _toggle_sql(self) -> None:
        if self.sql_button.text() == "As written":
            self._as_written()
        elif self._laid_out:
            self._sql_read(self.step.number if self.step else 0, self._laid_out)

    def _sql_read(self, number: int, text: str) -> None:
        if self.step is not None and number == self.step.number:
            self._laid_out = text
            self.sql.show_text(text, most=_UNFOLDED)
            self.sql_button.setText("As written")

    def _show_output(self, step: TraceStep | None) -> None:
        text = step.output if step is not None else ""
        whole = step is not None and step.output_ref is not None and bool(text)
        lines = text.count("\n") + 1
        for each in (self.output_title, self.output):
            each.setVisible(bool(text))
        self.output_button.setVisible(whole)
        self.output_button.setEnabled(True)
        count = f" ({lines} lines)" if lines > _FOLDED else ""
        self.output_title.setText(f"What came back{count}")
        if text != self.output.toPlainText():
            self.output.show_text(text)

    def _read_output(self) -> None:
        if self.step is not None:
            self.output_button.setEnabled(False)
            self._model.read_output(self.step)

    def _output_read(self, number: int, text: str) -> None:
        if self.step is not None and number == self.step.number:
            self.output.show_text(text, most=_UNFOLDED)
            self.output_title.setText(f"What came back, whole ({text.count(chr(10)) + 1:,} lines)")

    def _show_files(self, step: TraceStep | None) -> None:
        clear(self.files)
        writes = step.writes if step is not None else ()
        self.files_title.setVisible(bool(writes))
        self.files_title.setText("Files")
        for file in writes:
            name = neutralise(file.path)
            each: IconButton = button(
                self._context,
                f"{name} ({_HOW[file.how]})",
                lambda path=file.path: self._model.read_file(path),  # type: ignore[misc]
                icon="file-text",
                tip="Show what the run kept of it",
            )
            self.files.addWidget(each)
            if name.rpartition("/")[2] == _OUTPUT:
                diff = button(
                    self._context,
                    "Compare with the reference",
                    self.diff_asked.emit,
                    icon="git-compare-arrows",
                )
                self.files.addWidget(diff)

    def _file_read(self, path: str, kept: KeptFile | None) -> None:
        step = self.step
        by_step = next((f for f in step.writes if f.path == path), None) if step else None
        if kept is not None:
            note = f"As the run kept it at its end, {kept.size:,} bytes."
            if kept.cut:
                note += f" The first {SHOWN >> 10} KiB are shown."
            text = kept.text
        elif by_step is not None and by_step.content is not None:
            note = "The run did not keep this file; this is what the step wrote."
            text = neutralise(by_step.content)
        else:
            self._context.told.emit(f"The run kept nothing of {neutralise(path)}.")
            return
        self.dialog = TextDialog(self, self._context, neutralise(path), note, text)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # Not every window system gives the keyboard back itself.
        self.dialog.finished.connect(lambda _: self.window().activateWindow())
        self.dialog.open()

    def _copy(self) -> None:
        if self.step is not None:
            text = self.step.command or self.step.text or self.step.output
            QGuiApplication.clipboard().setText(neutralise(text))
            self._context.told.emit("Copied.")

    def _address(self) -> None:
        if self.step is not None:
            self.address_asked.emit(self.step.number)


def _row(title: QWidget, action: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.addWidget(title)
    row.addStretch(1)
    row.addWidget(action)
    return row


def _facts(step: TraceStep) -> str:
    parts = []
    if step.tool:
        parts.append(f"tool {step.tool}")
    if step.skill:
        parts.append(f"opens the skill {step.skill}")
    if step.running:
        parts.append("at work")
    elif step.exit_code is not None:
        parts.append(f"exit status {step.exit_code}")
    elif is_error(step):
        parts.append("failed")
    if step.seconds is not None:
        parts.append(f"took {seconds_words(step.seconds)}")
    if step.at:
        parts.append(step.at.replace("T", " ").removesuffix("Z")[:19] + " UTC")
    parts.append(f"line {step.line} of the trace")
    return "  |  ".join(parts)
