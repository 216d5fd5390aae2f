"""One text that is being edited, without a widget: kept, saved, linted, merged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEventLoop, QFileSystemWatcher, QObject, QTimer, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.editing.history import Record
from engine.editing.journal import KEPT
from engine.editing.merge import Merge, merge
from engine.editing.opening import Opened, settle, take_in
from engine.editing.outline import Heading, outline
from engine.editing.place import ContentPlace, choose_content
from engine.editing.saving import Saved, on_disk, save, write_anew
from engine.editing.textfile import TextFile, decode
from engine.editing.texts import EditableText
from engine.workbench import TextEffect, TextFinding, TextUser
from m4review.app.jobs import JobHandle, JobRunner
from m4review.editor.loading import Loaded, Outside, State, load, write_down
from m4review.editor.typing import Typing

if TYPE_CHECKING:
    from engine.workbench import Workbench

KEEP, SAVE, LINT = 150, 2_000, 350
"""Milliseconds: until what was typed is in the journal; between saves; of quiet before a lint."""
RETRY = 10_000
"""Milliseconds until a save that failed is tried again."""


class EditorModel(QObject):
    """Opens one text at a time; every disk access is a job.

    Jobs that touch the text's journal or file stand in one lane, so that they happen in order.
    """

    opened = Signal()
    state_changed = Signal()
    findings_changed = Signal()
    outlined = Signal(object)
    noted = Signal(str)
    conflicted = Signal(object)
    asked = Signal()
    replaced = Signal()
    """The text became another one by itself: a merge, or an undo of everything."""
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, typing: Typing, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.typing = typing
        self.task: Task | None = None
        self.texts: tuple[EditableText, ...] = ()
        self.text: EditableText | None = None
        self.users: tuple[TextUser, ...] = ()
        self.place: ContentPlace | None = None
        self.findings: tuple[TextFinding, ...] = ()
        self.effects: tuple[TextEffect, ...] | None = None
        self.pending: Merge | None = None
        self.state = State.CLOSED
        self.error: M4Error | None = None
        self.lint_error: M4Error | None = None
        self.unkept: str | None = None
        """A text that could be written nowhere when it was closed."""
        self._closing: JobHandle | None = None
        self._open: Opened | None = None
        self._theirs: TextFile | None = None
        self._agreed: set[Path] = set()
        self._waiting: list[Record] = []
        self._generation = 0
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._keeping = self._timer(KEEP, self._keep)
        self._saving = self._timer(SAVE, self.save)
        self._linting = self._timer(LINT, self._lint)
        self._watch = QFileSystemWatcher(self)
        self._watch.fileChanged.connect(lambda _: self.look_outside())
        self._watch.directoryChanged.connect(lambda _: self.look_outside())
        typing.recorded.connect(self._recorded)

    def _timer(self, milliseconds: int, what: Callable[[], object]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(what)
        return timer

    # --- opening and closing

    @property
    def path(self) -> Path | None:
        """The file of the open text."""
        return self._open.path if self._open else None

    @property
    def read_only(self) -> bool:
        """May it not be typed in now?"""
        return self.state in (State.OPENING, State.CLOSED, State.READ_ONLY, State.CONFLICT)

    @property
    def kept(self) -> bool:
        """Is everything that was typed in the journal?"""
        opened = self._open
        if opened is None:
            return self.unkept is None
        return not (self._waiting or "keep" in self._busy or opened.journal.stale)

    @property
    def why_no_undo(self) -> str:
        """Why one cannot go back further."""
        return self.typing.history.why

    def open(self, task: str, name: str) -> None:
        """Open a text of a task; the one that is open is saved and closed first.

        Args:
            task: its name.
            name: the text's; the first one where it is empty.
        """
        if self._open is not None and self.task is not None and self.text is not None:
            same = name in (self.text.name, "") or (name == self.text.kind == "skill")
            if self.task.name == task and same:
                self.look_outside()
                return
            self.close()
        self._set(State.OPENING)
        workbench = self._workbench

        def work(_job: Job) -> Loaded:
            return load(workbench, task, name)

        self._generation += 1
        now = self._generation
        handle = self._job("Open a text", work, self._failed_to_open)
        handle.done.connect(lambda loaded: self._loaded(loaded, now))

    def _failed_to_open(self, error: M4Error) -> None:
        self._set(State.CLOSED, error)
        self.failed.emit(error)

    def _loaded(self, loaded: Loaded, generation: int) -> None:
        if generation != self._generation:
            loaded.opened.close()
            return
        self.task, self.texts, self.text = loaded.task, loaded.texts, loaded.text
        self.users, self.place = loaded.users, loaded.place
        self._open, self.pending = loaded.opened, loaded.opened.pending
        self._theirs = loaded.opened.file
        self.findings, self.effects, self.lint_error = (), None, None
        self._waiting = []  # a new list: a job may still write the old one
        if len(self.users) < 2 and not loaded.signed:  # noqa: PLR2004 - nobody else is concerned
            self._agreed.add(loaded.opened.path)
        self.typing.load(loaded.opened.history)
        self._watch_file()
        if not loaded.place.editable:
            self._set(State.READ_ONLY)
        elif self.pending is not None:
            self._set(State.CONFLICT)
        else:
            self._set(State.CHANGED if loaded.opened.history.dirty else State.SAVED)
        self.opened.emit()
        if loaded.opened.note:
            self.noted.emit(loaded.opened.note)
        if self.pending is not None:
            self.conflicted.emit(self.pending)
        if self.state is State.CHANGED:
            self._saving.start(SAVE)
        self._lint()

    def close(self) -> None:
        """Save what can be saved and let the text go; what cannot stays in the journal."""
        opened, self._open = self._open, None
        self._generation += 1
        for timer in (self._keeping, self._saving, self._linting):
            timer.stop()
        if files := [*self._watch.files(), *self._watch.directories()]:
            self._watch.removePaths(files)
        if opened is None:
            return
        history, waiting = self.typing.history, self._waiting
        agreed = opened.path in self._agreed
        may_save = agreed and self.state in (State.CHANGED, State.SAVING, State.FAILED)
        text, dirty, snapshot = history.text, history.dirty, history.copy()

        def work(_job: Job) -> None:
            kept: M4Error | None = None
            saved = not dirty
            try:
                try:
                    write_down(opened, waiting, snapshot)
                except M4Error as error:
                    kept = error
                if may_save and dirty:
                    outcome = save(opened.path, text, opened.file)
                    saved = not outcome.outside
                    if saved and kept is None:
                        opened.journal.append([["saved", text]])
                if kept is not None and not saved:
                    raise kept
            finally:
                opened.close()

        self._set(State.CLOSED)
        self._closing = self._job("Close a text", work, lambda error: self._lost(error, text))

    def _lost(self, error: M4Error, text: str) -> None:
        """Neither file nor journal could be written."""
        self.unkept = text
        self.failed.emit(error)

    def shut_down(self) -> None:
        """Close the text and wait for it: the program ends."""
        self.close()
        handle = self._closing
        if handle is not None and not handle.state.over:
            loop = QEventLoop()
            handle.over.connect(loop.quit)
            QTimer.singleShot(20_000, loop, loop.quit)
            if not handle.state.over:
                loop.exec()

    # --- what is typed

    def _recorded(self, record: Record) -> None:
        if self._open is None:
            return
        self._waiting.append(record)
        if not self._keeping.isActive():
            self._keeping.start(KEEP)
        self._linting.start(LINT)
        if self.state in (State.SAVED, State.CHANGED):
            self._set(State.CHANGED if self.typing.history.dirty else State.SAVED)
        if not self._saving.isActive():
            self._saving.start(SAVE)

    def _keep(self) -> None:
        """What was typed goes into the journal."""
        opened, waiting = self._open, self._waiting
        if opened is None or not (waiting or opened.journal.stale) or self._postponed("keep"):
            return
        snapshot = None
        if opened.journal.large or opened.journal.stale:
            self.typing.history.shorten(KEPT)  # here, so that both count the same steps
            snapshot = self.typing.history.copy()
            self._waiting = []

        def work(_job: Job) -> None:
            write_down(opened, waiting, snapshot, must=snapshot is not None)

        def done(_: object) -> None:
            if self._open is opened:
                self.state_changed.emit()

        handle = self._job("Keep what was typed", work, self._not_kept)
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("keep", self._keep))

    def _not_kept(self, error: M4Error) -> None:
        if self._open is not None:
            self._set(self.state, error)
            self._keeping.start(SAVE)

    # --- saving

    def save(self, *, asked: bool = False) -> None:
        """Save, unless there is nothing to save or somebody has to decide first."""
        opened, history = self._open, self.typing.history
        self._saving.stop()
        if opened is None or self.state in (State.CONFLICT, State.GONE, State.READ_ONLY):
            return
        if not history.dirty:
            self._set(State.SAVED)
            return
        if opened.path not in self._agreed:
            self._ask(again=asked)
            return
        if self._postponed("save"):
            return
        self._waiting.append(history.mark_tried())
        waiting, text = self._waiting, history.text
        self._set(State.SAVING)

        def work(_job: Job) -> Saved:
            with contextlib.suppress(M4Error):  # the home may be full, and the text's disk not
                write_down(opened, waiting, None)
            saved = save(opened.path, text, opened.file)
            if saved.file is not None and not saved.outside:
                opened.file = saved.file
            return saved

        def done(saved: Saved) -> None:
            if self._open is opened:
                self._saved(opened, saved)

        handle = self._job("Save a text", work, self._not_saved)
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("save", self.save))

    def _saved(self, opened: Opened, saved: Saved) -> None:
        if saved.outside:
            self._found_outside()
            return
        self._waiting.append(self.typing.history.mark_kept())
        self._keep()
        self._watch_file()
        self._unsaved()

    def _not_saved(self, error: M4Error) -> None:
        if self._open is not None:
            self._set(State.FAILED, error)
            self._saving.start(RETRY)  # the disk may have room again

    # --- whom it concerns

    def _ask(self, *, again: bool) -> None:
        if self.state is State.ASKING and not again:
            return
        self._set(State.ASKING)
        self.count_effects()

    def count_effects(self) -> None:
        """What saving would do to each task; `asked` tells when it is known."""
        opened, text = self._open, self.typing.history.text
        if opened is None or self._postponed("effects"):
            return
        workbench, path = self._workbench, opened.path
        self.effects = None
        self.asked.emit()

        def work(_job: Job) -> tuple[TextEffect, ...]:
            return workbench.effect_of(path, text)

        def done(effects: tuple[TextEffect, ...]) -> None:
            if self._open is not opened:
                return
            self.effects = effects
            if len(self.users) < 2 and not any(e.stale for e in effects):  # noqa: PLR2004
                self.agree()
            else:
                self.asked.emit()

        def failed(error: M4Error) -> None:
            if self._open is opened:
                self.effects = ()  # it cannot be known: whoever saves decides without it
                self.asked.emit()
                self.failed.emit(error)

        handle = self._runner.start(
            "See whom a change concerns", work, on_failed=failed, quiet=True, lane="lint"
        )
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("effects", self.count_effects))

    def agree(self) -> None:
        """Save it, whomever it concerns; asked once for a text while the program runs."""
        if self._open is not None:
            self._agreed.add(self._open.path)
            self._set(State.CHANGED)
            self.save()

    # --- what others did

    def look_outside(self) -> None:
        """Did somebody else change the file?"""
        opened = self._open
        if opened is None or self.state in (State.OPENING, State.CONFLICT):
            return
        if "save" in self._busy or self._postponed("look"):
            return
        path = opened.path

        def work(_job: Job) -> bool:
            return on_disk(path) == opened.file.data

        def done(same: bool) -> None:
            if self._open is not opened:
                return
            if not same:
                self._found_outside()
            elif self.state is State.GONE:
                self._unsaved()
            self._watch_file()

        handle = self._job("Look at a text's file", work, self.failed.emit)
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("look", self.look_outside))

    def _found_outside(self) -> None:
        """The file is another one than was known, or gone: see what it is now, and merge."""
        opened, history = self._open, self.typing.history
        if opened is None or self._postponed("merge"):
            return
        saved, mine = history.saved, history.text

        def work(_job: Job) -> Outside:
            data = on_disk(opened.path)
            if data is None:
                return Outside(None, None)
            if data == opened.file.data:  # nothing any more, or it was this program itself
                return Outside(opened.file, None)
            file = decode(data, opened.path)
            return Outside(file, merge(saved, mine, file.text))

        def done(found: Outside) -> None:
            if self._open is not opened:
                return
            if found.file is None:
                self._set(State.GONE)
            elif found.merged is None:
                self._unsaved()
            elif self.typing.history.text != mine:  # typed on meanwhile
                self._again.add("merge")
            else:
                self._bring_together(opened, found.file, found.merged)

        handle = self._job("Merge what changed outside", work, self._not_saved)
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("merge", self._found_outside))

    def _unsaved(self) -> None:
        """Nothing stands in the way of saving what is not on disk yet."""
        dirty = self.typing.history.dirty
        self._set(State.CHANGED if dirty else State.SAVED)
        if dirty:
            self._saving.start(SAVE)

    def _bring_together(self, opened: Opened, file: TextFile, merged: Merge) -> None:
        history = self.typing.history
        if merged.conflicts and history.dirty and history.text != file.text:
            self.pending, self._theirs = merged, file
            self._set(State.CONFLICT)
            self.conflicted.emit(merged)
            return
        text = merged.text() if not merged.conflicts else history.text
        if history.dirty and history.text != file.text:
            settle(history, file.text, text)
            note = "This text was changed outside the program; your changes were merged into it."
        else:
            note, _ = take_in(history, file.text)
        self._settled(opened, file, note)

    def decide(self, decided: dict[int, list[str]]) -> None:
        """Every conflict is decided: the lines that stay, by number of piece."""
        opened, file = self._open, self._theirs
        if opened is None or self.pending is None or file is None:
            return
        text = self.pending.text(decided)
        self.pending = None
        settle(self.typing.history, file.text, text)
        self._settled(opened, file, "The two versions are one again.")

    def _settled(self, opened: Opened, file: TextFile, note: str) -> None:
        """The history is a new one on top of what is on disk: keep it whole, and save."""
        opened.file = file
        waiting, self._waiting = self._waiting, []
        snapshot = self.typing.history.copy()

        def work(_job: Job) -> None:
            write_down(opened, waiting, snapshot, must=True)

        self._job("Keep what was merged", work, self._not_kept)
        self.typing.show_history()
        self._watch_file()
        self._set(State.CHANGED if self.typing.history.dirty else State.SAVED)
        self.replaced.emit()
        if note:
            self.noted.emit(note)
        self._linting.start(LINT)
        self.save()

    def write_anew(self) -> None:
        """The file is gone: write it again from what is here."""
        opened, text = self._open, self.typing.history.text
        if opened is None or self.state is not State.GONE:
            return
        path, like = opened.path, opened.file

        def work(_job: Job) -> TextFile:
            return write_anew(path, text, like)

        def done(file: TextFile) -> None:
            if self._open is opened:
                opened.file = file
                self._waiting.append(self.typing.history.mark_saved(text))
                self._keep()
                self._set(State.CHANGED if self.typing.history.dirty else State.SAVED)
                self._watch_file()

        self._job("Write a text anew", work, self._not_saved).done.connect(done)

    def _watch_file(self) -> None:
        if self._open is None:
            return
        path = str(self._open.path)
        if path not in self._watch.files():  # an atomic rename ends the watching of a file
            self._watch.addPath(path)
        if not self._watch.directories():
            self._watch.addPath(str(self._open.path.parent))

    # --- lint and outline

    def _lint(self) -> None:
        opened, task, text = self._open, self.task, self.typing.history.text
        if opened is None or task is None or self._postponed("lint"):
            return
        workbench, path, name = self._workbench, opened.path, task.name
        markdown = self.text is not None and self.text.language == "markdown"

        def work(_job: Job) -> tuple[tuple[Heading, ...], tuple[TextFinding, ...], Any]:
            headings = outline(text) if markdown else ()
            try:
                return headings, workbench.lint_text(name, path, text), None
            except UsageError:
                return headings, (), None  # a text that no rule is for
            except M4Error as error:
                return headings, (), error

        def done(found: tuple[tuple[Heading, ...], tuple[TextFinding, ...], Any]) -> None:
            if self._open is not opened:
                return
            self.outlined.emit(found[0])
            self.lint_error = found[2]
            if self.typing.history.text == text:  # else the places are those of an older text
                self.findings = found[1]
                self.findings_changed.emit()

        handle = self._runner.start(
            "Lint a text", work, on_failed=self.failed.emit, quiet=True, lane="lint"
        )
        handle.done.connect(done)
        handle.over.connect(lambda: self._over("lint", self._lint))

    # --- where texts lie

    def choose_folder(self, folder: Path) -> None:
        """Use a folder of the user's own for all texts; the open text is opened there."""
        task, text = self.task, self.text
        self.close()
        home = self._workbench.home

        def work(job: Job) -> ContentPlace:
            return choose_content(home, folder, job)

        def done(place: ContentPlace) -> None:
            self.noted.emit(f"Texts are read from {place.root} and saved there from now on.")
            if task is not None and text is not None:
                self.open(task.name, text.name)

        handle = self._runner.start(
            "Copy tasks and skills", work, on_failed=self._failed_to_open, lane="editor"
        )
        handle.done.connect(done)

    # --- helpers

    def _job(
        self, title: str, work: Callable[[Job], Any], failed: Callable[[M4Error], object]
    ) -> JobHandle:
        return self._runner.start(title, work, on_failed=failed, quiet=True, lane="editor")

    def _postponed(self, what: str) -> bool:
        """One job of a kind at a time; another one follows when something was asked meanwhile."""
        if what in self._busy:
            self._again.add(what)
            return True
        self._busy.add(what)
        return False

    def _over(self, what: str, again: Callable[[], object]) -> None:
        self._busy.discard(what)
        if what in self._again:
            self._again.discard(what)
            again()

    def _set(self, state: State, error: M4Error | None = None) -> None:
        self.state, self.error = state, error
        self.state_changed.emit()
