"""The timeline without a widget: which cell, which roles, which event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.diagnosis.lineage import Role
from m4review.app.jobs import JobHandle, JobRunner
from m4review.app.links import Place
from m4review.timeline.cell import CellForm, CellPage, load_cell, load_form, some_key
from m4review.timeline.tracks import Tracks, lay_out
from m4review.timeline.words import ROLES, Clock, clock_of, searched

if TYPE_CHECKING:
    from engine.workbench import Workbench

_KEPT = 20
"""Cells that are remembered for the session."""

Laid = tuple[CellPage, Clock, Tracks]


class TimelineViewModel(QObject):
    """Loads one cell after the other; remembers the last ones."""

    changed = Signal()
    """Another cell is shown, or none (while one is being looked up)."""
    form_changed = Signal()
    """What can be chosen from is there."""
    listed_changed = Signal()
    """Other roles are shown, or other words sought."""
    event_changed = Signal(int)
    """Another event is chosen; -1 for none."""
    key_found = Signal(object)
    """The key of a row by chance, as pairs of column and text."""
    busy_changed = Signal(bool)
    progressed = Signal(object)
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.place: Place | None = None
        self.page: CellPage | None = None
        self.clock: Clock | None = None
        self.tracks: Tracks | None = None
        self.form: CellForm | None = None
        self.roles: frozenset[Role] = frozenset(ROLES)
        self.sought: tuple[str, ...] = ()
        self._texts: list[str] | None = None
        self.current = -1
        self._known: dict[Place, Laid] = {}
        self._loading: JobHandle | None = None

    # --- cells

    def show(self, place: Place) -> None:
        """Show the cell at an address; looks it up in the background."""
        if place == self.place and (self.page is not None or self._loading is not None):
            return
        self.place = place
        self.cancel()
        known = self._known.get(place)
        if known is not None:
            self._show(known)
            return
        self.page, self.clock, self.tracks, self.current = None, None, None, -1
        self._texts = None
        self.changed.emit()
        if not place.column:
            return

        def work(job: Job) -> Laid:
            page = load_cell(self._workbench, place, job)
            clock = clock_of(page.lineage, offsets=page.offsets)
            agent = page.agent.value if page.agent is not None else None
            return page, clock, lay_out(page.lineage, clock, agent)

        def done(laid: Laid) -> None:
            self._known[place] = laid
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
            if place == self.place:
                self._show(laid)

        def failed(error: M4Error) -> None:
            if place == self.place:
                self.failed.emit(error)

        handle = self._runner.start(
            f"Find where {place.column} comes from", work, on_done=done, on_failed=failed
        )
        self._loading = handle
        handle.progressed.connect(self.progressed.emit)
        handle.over.connect(lambda: self._over(handle))
        self.busy_changed.emit(True)

    def _over(self, handle: JobHandle) -> None:
        if self._loading is handle:
            self._loading = None
            self.busy_changed.emit(False)

    def _show(self, laid: Laid) -> None:
        self.page, self.clock, self.tracks = laid
        self.current, self._texts = -1, None
        self.changed.emit()

    @property
    def busy(self) -> bool:
        """Is a cell being looked up?"""
        return self._loading is not None

    def cancel(self) -> None:
        """Stop looking."""
        handle, self._loading = self._loading, None
        if handle is not None:
            handle.cancel()
            self.busy_changed.emit(False)

    def forget(self) -> None:
        """Sources, references or runs have changed: look everything up again."""
        self._known.clear()

    def column_place(self, column: str) -> Place | None:
        """The address of another column of the same row."""
        return None if self.place is None else replace(self.place, column=column)

    # --- choosing a cell of a task

    def load_form(self, task: str) -> None:
        """Find out what can be chosen from."""
        if self.form is not None and self.form.task.name == task:
            self.form_changed.emit()
            return

        def done(form: CellForm) -> None:
            self.form = form
            self.form_changed.emit()

        self._runner.start(
            "Read the task",
            lambda _job: load_form(self._workbench, task),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

    def find_some_key(self, source: str) -> None:
        """Find a row by chance."""
        form = self.form
        if form is not None:
            self._runner.start(
                "Find a row",
                lambda _job: some_key(self._workbench, form.task, source),
                on_done=self.key_found.emit,
                on_failed=self.failed.emit,
                quiet=True,
            )

    # --- roles and events

    @property
    def counts(self) -> Mapping[Role, int]:
        """Events by role."""
        found: Counter[Role] = Counter()
        if self.page is not None:
            found.update(event.role for event in self.page.lineage.events)
        return found

    @property
    def untimed(self) -> int:
        """Events that have no place in the picture."""
        return 0 if self.tracks is None else int((~self.tracks.timed).sum())

    def toggle_role(self, role: Role, on: bool) -> None:
        """Show the events of a role, or leave them out."""
        roles = self.roles | {role} if on else self.roles - {role}
        if roles != self.roles:
            self.roles = roles
            self.listed_changed.emit()

    def seek(self, text: str) -> None:
        """List only the events that have all of these words, in any of their parts."""
        words = tuple(text.casefold().split())
        if words != self.sought:
            self.sought = words
            self.listed_changed.emit()

    @property
    def listed(self) -> list[int]:
        """Numbers of the events that are listed, in order of time."""
        if self.page is None:
            return []
        shown = self.of_roles
        if not self.sought:
            return shown
        if self._texts is None:
            self._texts = [searched(event) for event in self.page.lineage.events]
        texts = self._texts
        return [n for n in shown if all(word in texts[n] for word in self.sought)]

    @property
    def of_roles(self) -> list[int]:
        """Numbers of the events of the roles that are shown, whatever is sought."""
        if self.page is None:
            return []
        events = self.page.lineage.events
        return [n for n, event in enumerate(events) if event.role in self.roles]

    def choose(self, event: int) -> None:
        """Choose an event by its number in the lineage."""
        if event != self.current:
            self.current = event
            self.event_changed.emit(event)
