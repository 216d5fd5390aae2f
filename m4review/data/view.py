"""The data screen's window side."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.sources import MissingTable, SourceInfo, TableInfo
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.flow import FlowLayout
from m4review.app.jobs import JobHandle
from m4review.app.jobs_view import JobRow
from m4review.app.links import Place
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import EmptyState, ErrorPanel, button, label, page_layout, spin_box
from m4review.data.viewmodel import ACCESS, KINDS, DataViewModel, name_for, size_words

_LEAST_STAYS, _MOST_STAYS, _STAYS = 50, 100_000, 200


class SyntheticDialog(QDialog):
    """Asks what is to be invented."""

    def __init__(self, parent: QWidget, context: Context, model: DataViewModel) -> None:
        super().__init__(parent)
        self.setWindowTitle("Make synthetic data")
        self._model = model
        form = QFormLayout(self)
        self.kind = QComboBox()
        for value, words in KINDS.items():
            self.kind.addItem(words, value)
        self.name = QLineEdit()
        self.stays = spin_box(context, _LEAST_STAYS, _MOST_STAYS, "ICU stays")
        self.stays.setValue(_STAYS)
        self.seed = spin_box(context, 0, 999_999, "Seed")
        self.seed.setValue(1)
        self.seed.setToolTip("The same seed gives the same data again")
        hint = label(
            "Invented patients, shaped like the real database. Nothing in it comes from a person.",
            "muted",
            wrap=True,
        )
        hint.setMinimumWidth(360)
        form.addRow(hint)
        form.addRow("Shaped like", self.kind)
        form.addRow("Name", self.name)
        form.addRow("ICU stays", self.stays)
        form.addRow("Seed", self.seed)
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        make = box.addButton("Make it", QDialogButtonBox.ButtonRole.AcceptRole)
        make.setProperty("kind", "main")
        make.setDefault(True)
        box.accepted.connect(self.accept)
        box.rejected.connect(self.reject)
        form.addRow(box)
        self.kind.currentIndexChanged.connect(lambda _: self._suggest())
        self._suggest()
        self.name.setFocus()
        self.name.selectAll()

    def _suggest(self) -> None:
        short = {"mimic-iv": "mimic", "eicu": "eicu"}[self.kind.currentData()]
        self.name.setText(self._model.free_name(f"synthetic-{short}"))


class DataScreen(Screen):
    """Sources, their tables, and what they lack."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = DataViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self.add_button = button(context, "Add a folder…", self._add_folder, icon="folder-plus")
        self.file_button = button(context, "Add a DuckDB file…", self._add_file, icon="database")
        self.make_button = button(
            context, "Make synthetic data…", self._make, icon="sparkles", main=True
        )
        self.remove_button = button(context, "Remove…", self._remove, icon="trash-2")
        self.table = ListTable(context, "Sources")
        self.records: RecordModel[SourceInfo] = RecordModel(
            [
                Column("Name", lambda s: s.name),
                Column("Kind", lambda s: KINDS.get(s.kind, s.kind)),
                Column(
                    "State",
                    self.model.state_words,
                    tone=lambda s: "good" if s.state == "ready" else "warn",
                ),
                Column("ICU stays", lambda s: f"{s.stays:,}" if s.stays else "–", numeric=True),
                Column("Tables", lambda s: f"{len(s.tables):,}", numeric=True),
                Column("Size", lambda s: size_words(s.size_bytes), numeric=True),
                Column("Access", lambda s: ACCESS.get(s.access, s.access)),
            ],
            lambda: context.theme,
        )
        self.table.setModel(self.records)
        self.tables: RecordModel[TableInfo] = RecordModel(
            [
                Column("Table", lambda t: t.name),
                Column("Rows", lambda t: f"{t.rows:,}", numeric=True, order=lambda t: t.rows),
            ],
            lambda: context.theme,
        )
        self.missing: RecordModel[MissingTable] = RecordModel(
            [
                Column("Missing table", lambda t: t.name),
                Column("Needed for", lambda t: ", ".join(t.needed_for) or "nothing here"),
            ],
            lambda: context.theme,
        )
        self.trouble = label("", wrap=True)
        self.trouble.setAccessibleName("Why the chosen source cannot be used")
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.trouble.hide()
        self._tabs = QTabWidget()
        self._tables_view = ListTable(context, "Tables of the source")
        self._tables_view.setModel(self.tables)
        self._missing_view = ListTable(context, "Tables that the source lacks")
        self._missing_view.setModel(self.missing)
        self._tabs.addTab(self._tables_view, "Tables")
        self._tabs.addTab(self._missing_view, "Missing")
        self.empty = EmptyState(
            context,
            "database",
            "No data yet",
            "Add the folder of a MIMIC-IV or eICU download (CSV, CSV.gz or Parquet; drop it on "
            "this page), or make synthetic data to try the program.",
        )
        self.form: SyntheticDialog | None = None
        self._jobs = QVBoxLayout()
        self._rows: dict[JobHandle, JobRow] = {}
        self._build()
        self.setAcceptDrops(True)
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self.errors.show_error)
        self.model.added.connect(self._added)
        self.model.told.connect(context.told.emit)
        context.synthetic_asked.connect(self._make)

    def _build(self) -> None:
        page = page_layout(self, self.context)
        head = QHBoxLayout()
        head.addWidget(label("Data", "title"), 0, Qt.AlignmentFlag.AlignTop)
        head.addSpacing(self.context.px(16))
        buttons = FlowLayout(spacing=self.context.px(8))
        for each in (self.make_button, self.add_button, self.file_button, self.remove_button):
            buttons.addWidget(each)
        head.addLayout(buttons, 1)
        page.addLayout(head)
        page.addWidget(
            label(
                "Sources are read and kept on this machine only; agents get a database of their "
                "own inside a sandbox without a network.",
                "muted",
                wrap=True,
            )
        )
        page.addWidget(self.errors)
        page.addLayout(self._jobs)
        halves = QSplitter(Qt.Orientation.Vertical)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.table)
        below = QWidget()
        lower = QVBoxLayout(below)
        lower.setContentsMargins(0, 0, 0, 0)
        lower.addWidget(self.trouble)
        lower.addWidget(self._tabs, 1)
        halves.addWidget(below)
        halves.setSizes([self.context.px(220), self.context.px(360)])
        self._stack = QStackedWidget()
        self._stack.addWidget(halves)
        self._stack.addWidget(self.empty)
        page.addWidget(self._stack, 1)

    @property
    def title(self) -> str:
        return "Data"

    def show_place(self, place: Place) -> None:
        self.model.reload()

    def bind(self, actions: Actions) -> None:
        if self.model.sources:
            self.table.setFocus()
        else:
            self.make_button.setFocus()

    # --- commands

    def _add_folder(self) -> None:
        start = self.context.settings.get("data.last_folder")
        path = self.context.interaction.choose_folder("Folder with the files", start)
        if path is not None:
            self.add_path(path)

    def _add_file(self) -> None:
        start = self.context.settings.get("data.last_folder")
        path = self.context.interaction.choose_file(
            "DuckDB file", start, ["DuckDB (*.duckdb *.db)", "All files (*)"]
        )
        if path is not None:
            self.add_path(path)

    def add_path(self, path: Path) -> None:
        """Import a folder or file under a name that the user may change."""
        self.context.settings.set("data.last_folder", str(path.parent))
        name = self.context.interaction.ask_text(
            "Name of the source",
            "What shall this source be called? (The same name goes on with an import.)",
            text=name_for(path),
        )
        if name:
            self.errors.dismiss()
            self._watch(self.model.add(name.strip(), path))

    def _make(self) -> None:
        if self.form is not None:
            return
        self.form = SyntheticDialog(self, self.context, self.model)
        self.form.finished.connect(self._form_answered)
        self.form.open()

    def _form_answered(self, answer: int) -> None:
        form, self.form = self.form, None
        if form is None:
            return
        self.window().activateWindow()  # not every window system gives the keyboard back itself
        if answer == QDialog.DialogCode.Accepted:
            self.make_synthetic(
                form.name.text().strip(),
                kind=form.kind.currentData(),
                stays=form.stays.value(),
                seed=form.seed.value(),
            )
        form.deleteLater()

    def make_synthetic(self, name: str, *, kind: str, stays: int, seed: int) -> None:
        """Make a synthetic source and show its progress."""
        self.errors.dismiss()
        self._watch(self.model.make(name, kind=kind, stays=stays, seed=seed))

    def _remove(self) -> None:
        source = self.records.record(self.table.currentIndex().row())
        if source is not None and self.context.interaction.confirm(
            f"Remove the source {source.name}?",
            "The imported copy and everything built from it are deleted. The original files and "
            "the runs are kept.",
            yes="Remove it",
        ):
            self.model.remove(source.name)

    def _watch(self, handle: JobHandle) -> None:
        row = JobRow(self.context, handle)
        self._rows[handle] = row
        self._jobs.addWidget(row)
        handle.over.connect(lambda: self._unwatch(handle))

    def _unwatch(self, handle: JobHandle) -> None:
        row = self._rows.pop(handle, None)
        if row is not None:
            row.hide()
            row.deleteLater()

    def _added(self, name: str) -> None:
        self.context.announced.emit("sources")
        self.context.told.emit(f"The source {name} is ready.")

    # --- filling

    def _fill(self) -> None:
        before = self.records.record(self.table.currentIndex().row())
        sources = self.model.sources
        self.records.set_records(sources)
        self._stack.setCurrentIndex(0 if sources else 1)
        self.remove_button.setEnabled(bool(sources))
        if sources:
            at = next((i for i, s in enumerate(sources) if before and s.name == before.name), 0)
            self.table.selectRow(at)
            self._choose(at)
        self.table.selectionModel().currentRowChanged.connect(
            self._row_changed, Qt.ConnectionType.UniqueConnection
        )

    def _row_changed(self, index: object) -> None:
        self._choose(self.table.currentIndex().row())

    def _choose(self, row: int) -> None:
        source = self.records.record(row)
        self.tables.set_records(source.tables if source else ())
        self.missing.set_records(source.missing if source else ())
        trouble = self.model.trouble(source) if source else ""
        self.trouble.setText(trouble)
        self.trouble.setVisible(bool(trouble))
        number = len(source.missing) if source else 0
        self._tabs.setTabText(1, f"Missing ({number})")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = Path(event.mimeData().urls()[0].toLocalFile())
        event.acceptProposedAction()
        self.add_path(path)
