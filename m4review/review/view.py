"""The page of reviews: what waits, progress, people, agreement, provenance; bundles in and out."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QTabWidget

from engine.reviews.worklist import Wait
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import REVIEWS, Place
from m4review.app.widgets import ElidedLabel, ErrorPanel, button, label, page_layout
from m4review.review.agreement import AgreementPanel
from m4review.review.assign import AssignDialog
from m4review.review.bundles import BundleDesk, ImportResult, file_name
from m4review.review.people import PeoplePanel
from m4review.review.progress import ProgressPanel
from m4review.review.provenance import ProvenancePanel
from m4review.review.viewmodel import ReviewsViewModel
from m4review.review.waiting import WaitingPanel

_NAMED = 4
"""Tasks that a question names before it counts the rest."""
_TABS = ("waiting", "progress", "people", "agreement", "provenance")


class ReviewsScreen(Screen):
    """Everything about reviews but the review of one task."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.setAcceptDrops(True)
        self.model = ReviewsViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self.who = ElidedLabel("", "muted")
        self.result = ImportResult(context)
        self.bundles = BundleDesk(context, self.model, self.result)
        self.waiting = WaitingPanel(context)
        self.progress = ProgressPanel(context)
        self.people = PeoplePanel(context)
        self.agreement = AgreementPanel(context)
        self.provenance = ProvenancePanel(context)
        self.import_button = button(
            context, "Import a bundle…", self.bundles.ask_import, icon="download",
            tip="From a colleague; a file can be dropped anywhere on this page",
        )  # fmt: skip
        self.export_button = button(
            context, "Export a bundle…", self.bundles.export, icon="upload",
            tip="Everything signed, as one file for colleagues",
        )  # fmt: skip
        self.assign_button = button(
            context, "Ask for reviews…", self._assign, icon="users",
            tip="Reviewers and adjudicator of what is chosen; Ctrl or Shift chooses several tasks",
        )  # fmt: skip
        self._wanted = ""
        self._keys_wanted = False
        """The keys go into the page as soon as it is known what stands there."""
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName("Parts of the reviews")
        self.tabs.tabBar().setAccessibleName("Parts of the reviews")
        self._build()
        self._wire()

    def _build(self) -> None:
        page = page_layout(self, self.context)
        head = QHBoxLayout()
        head.addWidget(label("Reviews", "title"))
        head.addSpacing(self.context.px(10))
        head.addWidget(self.who, 1)
        for each in (self.assign_button, self.import_button, self.export_button):
            head.addWidget(each)
        page.addLayout(head)
        page.addWidget(self.errors)
        page.addWidget(self.result)
        for panel, name in (
            (self.waiting, "Waiting for you"), (self.progress, "Progress"),
            (self.people, "People"), (self.agreement, "Agreement"),
            (self.provenance, "Provenance"),
        ):  # fmt: skip
            self.tabs.addTab(panel, name)
        page.addWidget(self.tabs, 1)

    def _wire(self) -> None:
        model, go = self.model, self.context.go
        model.changed.connect(self._fill)
        model.agreement_changed.connect(lambda: self.agreement.show_figures(model.agreement))
        model.provenance_changed.connect(lambda: self.provenance.show_plans(model.plans))
        model.failed.connect(self.errors.show_error)
        model.merged.connect(self._came)
        model.exported.connect(lambda *_: self._gave())
        model.done.connect(self.context.told.emit)
        model.ledger_changed.connect(lambda: self.context.announced.emit("reviews"))
        self.waiting.opened.connect(self._open)
        self.waiting.people_asked.connect(lambda: go(Place("reviews", "people")))
        self.waiting.colleagues_asked.connect(lambda: go(Place("reviews", "progress")))
        self.context.bundle_asked.connect(self._bundle_asked)
        self.progress.opened.connect(lambda task: go(Place("review", task)))
        self.progress.chosen.connect(self._chosen)
        self.people.made.connect(model.make_reviewer)
        self.people.compared.connect(model.compare)
        self.people.exported.connect(self._export_identity)
        self.provenance.wanted.connect(model.write_provenance)
        self.tabs.currentChanged.connect(lambda _: self._tab_changed())
        self.context.reviews_asked.connect(self._asked)

    # --- the screen

    @property
    def title(self) -> str:
        return "Reviews"

    def place(self) -> Place | None:
        name = _TABS[self.tabs.currentIndex()]
        return Place("reviews", "" if name == _TABS[0] else name)

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self.tabs.setCurrentIndex(_TABS.index(place.name) if place.name in _TABS else 0)
        self.model.reload()
        self._tab_changed()

    def bind(self, actions: Actions) -> None:
        actions.bind("review.import", self.bundles.ask_import)
        actions.bind("review.export", self.bundles.export)
        actions.bind("review.open", self._open_task)
        self._keys_wanted = True
        self._focus()

    def leave(self, actions: Actions) -> None:
        for name in ("review.import", "review.export", "review.open"):
            actions.bind(name, None)
        self.result.hide()
        self._keys_wanted = False

    def _focus(self) -> None:
        panel = self.tabs.currentWidget()
        if self.result.isVisible() and self.result.export.isVisible():
            self.result.export.setFocus()  # others wait for the key that was given
            return
        if panel is self.waiting:
            if self.model.overview is not None:  # until it is read, nobody knows what waits
                self.waiting.take_keyboard()
            return
        target = {
            self.progress: self.progress.tree,
            self.people: self.people.name if self.people.form.isVisible() else self.people.table,
            self.agreement: self.agreement.table,
            self.provenance: self.provenance.table,
        }.get(panel)
        if target is not None:
            target.setFocus()

    def _tab_changed(self) -> None:
        panel = self.tabs.currentWidget()
        if panel is self.agreement:
            self.model.load_agreement()
        elif panel is self.provenance:
            self.model.load_provenance()
        self._chosen()
        # A click on a tab would leave the keys with the part that is hidden now.
        if self.isVisible() and not self.tabs.tabBar().hasFocus():
            self._focus()

    def _chosen(self) -> None:
        overview = self.model.overview
        standing = self.model.task(self.progress.task)
        here = self.tabs.currentWidget() is self.progress
        self.assign_button.setVisible(here)
        can = overview is not None and overview.me is not None and standing is not None
        self.assign_button.setEnabled(can)
        many = self.progress.unasked
        if len(many) > 1 or (standing is None and many):
            self.assign_button.setEnabled(overview is not None and overview.me is not None)
            self.assign_button.setText(f" Ask for reviews of {_tasks(many)}…")
            return
        again = standing is not None and standing.outcome is not None
        self.assign_button.setText(" Ask again…" if again else " Ask for reviews…")

    # --- filling

    def _fill(self) -> None:
        overview = self.model.overview
        if overview is None:
            return
        me = overview.me
        self.who.setText(f"{me.name}, {me.role}" if me else "Nobody signs on this workstation yet")
        self.waiting.show_overview(overview)
        self.progress.show_overview(overview)
        self.people.show_overview(overview)
        number = len(overview.waits)
        self.tabs.setTabText(0, f"Waiting for you ({number})" if number else "Waiting for you")
        self.export_button.setEnabled(me is not None)
        self._chosen()
        if self._wanted:
            task, self._wanted = self._wanted, ""
            self.progress.select(task)
            self._ask(task)
        if self.isVisible() and (self._keys_wanted or self.focusWidget() is None):
            self._keys_wanted = False
            self._focus()

    # --- doing

    def _open(self, wait: Wait) -> None:
        match wait.what:
            case "review":
                self.context.go(Place("review", wait.task))
            case "adjudication":
                self.context.go(Place("adjudicate", wait.task))
            case "key":
                self.model.give_key()
            case "again":
                self._ask(wait.task)

    def _open_task(self) -> None:
        if self.tabs.currentWidget() is self.progress and self.progress.task:
            self.context.go(Place("review", self.progress.task))
        elif (
            wait := self.waiting.model.record(self.waiting.table.currentIndex().row())
        ) is not None:
            self._open(wait)

    def _asked(self, task: str) -> None:
        """From another screen: ask people about a task (again)."""
        self._wanted = task
        self.context.go(Place("reviews", "progress"))  # reads the ledger; then it is asked

    def _came(self) -> None:
        self._keys_wanted = True  # what the bundle brought is read next

    def _gave(self) -> None:
        """What the import asked for is done."""
        had = self.result.isAncestorOf(self.focusWidget() or self)
        self.result.hide()
        if had:
            self._focus()

    def _bundle_asked(self) -> None:
        """From another screen: write a bundle for the others."""
        self.context.go(REVIEWS)
        self.bundles.export()

    def _assign(self) -> None:
        many = self.progress.unasked
        if len(many) > 1 or (many and not self.progress.task):
            self._ask_many(many)
        elif self.progress.task:
            self._ask(self.progress.task)

    def _ask_many(self, tasks: tuple[str, ...]) -> None:
        overview = self.model.overview
        if overview is None:
            return
        more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
        names = f"{_tasks(tasks)} ({', '.join(tasks[:_NAMED])}{more})"
        dialog = AssignDialog(self.context, names, overview.people, before=None, parent=self)
        dialog.accepted.connect(lambda: self.model.assign_all(tasks, *dialog.chosen))
        dialog.finished.connect(lambda _: dialog.deleteLater())
        dialog.open()

    def _ask(self, task: str) -> None:
        overview, standing = self.model.overview, self.model.task(task)
        if overview is None or standing is None:
            return
        if overview.me is None:
            self.context.told.emit("Make your identity first: who asks for reviews signs it.")
            self.context.go(Place("reviews", "people"))
            return
        before = None
        if standing.outcome is not None:
            body = standing.outcome.round.body
            before = (tuple(body.reviewers), body.adjudicator)
        dialog = AssignDialog(self.context, task, overview.people, before=before, parent=self)
        dialog.accepted.connect(lambda: self._assigned(dialog, task, again=before is not None))
        dialog.finished.connect(lambda _: dialog.deleteLater())
        dialog.open()

    def _assigned(self, dialog: AssignDialog, task: str, *, again: bool) -> None:
        reviewers, adjudicator = dialog.chosen
        self.model.assign(task, reviewers, adjudicator, again=again)

    def _export_identity(self) -> None:
        me = self.model.overview.me if self.model.overview is not None else None
        name = file_name("identity", me.name if me is not None else "")
        where = self.context.interaction.choose_save(
            "Write my identity", name, ("Bundles of reviews (*.zip)",)
        )
        if where is not None:
            self.model.export_reviewer(where if where.suffix else where.with_suffix(".zip"))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.bundles.take(paths)


def _tasks(tasks: tuple[str, ...]) -> str:
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"
