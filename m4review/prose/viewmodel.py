"""The comparison without a widget: versions to choose from, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.jobs import Job
from engine.prose import ProseDiff, compare_texts
from engine.workbench import SAVED, TextVersion
from m4review.app.jobs import JobHandle, JobRunner

if TYPE_CHECKING:
    from engine.workbench import Workbench


class ProseDiffModel(QObject):
    """Loads versions and compares them; a newer request makes older answers void."""

    versions_changed = Signal()
    changed = Signal()
    """There is another comparison."""
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self._asked = 0
        self._handle: JobHandle | None = None
        self.path: Path | None = None
        self.text: str | None = None
        """What an editor holds; None for what is saved."""
        self.versions: tuple[TextVersion, ...] = ()
        self.version: TextVersion | None = None
        """The earlier one."""
        self.diff: ProseDiff | None = None
        self.before_title, self.after_title = "", ""

    def open(self, path: Path, text: str | None = None, version: TextVersion | None = None) -> None:
        """Compare a text with one of its earlier versions.

        Args:
            path: the text's file.
            text: what an editor holds; what is saved when None.
            version: with what; when None the last signed version; where none was signed what is
                saved, or for a saved text the newest version before it.
        """
        fresh = path != self.path
        self.path, self.text = path, text
        if fresh:
            self.versions, self.version, self.diff = (), None, None
        wanted = version or self.version

        def work(_job: Job) -> tuple[TextVersion, ...]:
            return self._workbench.text_versions(path)

        def done(found: tuple[TextVersion, ...]) -> None:
            extra = tuple(v for v in self.versions if v.kind == "file")
            usable = found if text is not None else found[1:]
            self.versions = (*(usable or found), *extra)
            self.versions_changed.emit()
            self.choose(wanted if wanted in self.versions else self._first())

        self._start("Find versions of the text", work, done)

    def _first(self) -> TextVersion:
        """What was signed last, if anything was: what is saved is as edited two seconds later."""
        signed = (each for each in self.versions if each.kind == "signed")
        return next(signed, self.versions[0])

    def set_text(self, text: str) -> None:
        """The editor holds something else now."""
        self.text = text
        if self.version is not None:
            self.choose(self.version)

    def choose(self, version: TextVersion) -> None:
        """Compare with another version."""
        path, text = self.path, self.text
        if path is None:
            return
        self.version = version
        if version not in self.versions:
            self.versions = (*self.versions, version)
            self.versions_changed.emit()

        def work(_job: Job) -> ProseDiff:
            return self._workbench.compare_version(path, version, text)

        def done(diff: ProseDiff) -> None:
            self._show(diff, version.title, "As saved" if text is None else "As edited")

        self._start("Compare the text", work, done)

    def choose_file(self, path: Path) -> None:
        """Compare with any file."""
        self.choose(TextVersion("file", str(path)))

    def compare(self, before: str, after: str, before_title: str, after_title: str) -> None:
        """Compare two texts that are at hand."""

        def work(_job: Job) -> ProseDiff:
            return compare_texts(before, after)

        self.path, self.versions, self.version = None, (), None
        self.versions_changed.emit()
        self._start("Compare", work, lambda diff: self._show(diff, before_title, after_title))

    @property
    def saved(self) -> TextVersion:
        """What lies on the disk."""
        return SAVED

    def _show(self, diff: ProseDiff, before: str, after: str) -> None:
        self.diff, self.before_title, self.after_title = diff, before, after
        self.changed.emit()

    def _start(self, title: str, work: object, done: object) -> None:
        self._asked += 1
        mine = self._asked
        if self._handle is not None:
            self._handle.cancel()

        def finish(result: object) -> None:
            if mine == self._asked:
                self._handle = None
                done(result)  # type: ignore[operator]

        def fail(error: object) -> None:
            if mine == self._asked:
                self._handle = None
                self.failed.emit(error)

        self._handle = self._runner.start(
            title,
            work,  # type: ignore[arg-type]
            on_done=finish,
            on_failed=fail,
            quiet=True,
        )
