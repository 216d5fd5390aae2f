"""Bundles: told before they are written, and told after they were imported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from engine.reviews.bundle import Exported, Merged, Preview
from m4review.app.context import Context
from m4review.app.widgets import button, label, set_tone
from m4review.review.viewmodel import ReviewsViewModel
from m4review.review.waiting import problem_words

_PATTERNS = ("Bundles of reviews (*.zip)", "All files (*)")
_MOST = 12


class BundleDesk(QObject):
    """Asks, writes, imports."""

    def __init__(self, context: Context, model: ReviewsViewModel, result: ImportResult) -> None:
        super().__init__(result)
        self._context, self._model, self._result = context, model, result
        model.previewed.connect(self._previewed)
        model.exported.connect(self._exported)
        model.merged.connect(self._merged)

    def export(self) -> None:
        """Begin an export: what would be in it comes first."""
        self._model.preview()

    def _previewed(self, preview: Preview) -> None:
        ask = self._context.interaction
        if not ask.confirm_facts(
            "Export a bundle",
            "One file for your colleagues, by any way you like. It holds:",
            facts_of(preview),
            more="Never in it: drafts, keys, what is not signed, rows of data in clear, or "
            "anything else of this machine. Sealed reviews stay sealed.",
            yes="Choose a file…",
        ):
            return
        rows = preview.kept_back > 0 and ask.confirm(
            "Also flagged rows of credentialed data?",
            f"{_some(preview.kept_back, 'set')} of row addresses (keys of patients' rows, "
            "encrypted like their reviews) come from credentialed sources. Whoever gets them must "
            "be allowed to see them. If you add them, the audit log records it.",
            yes="Add them",
            no="Leave them here",
        )
        overview = self._model.overview
        me = overview.me.name if overview is not None and overview.me is not None else ""
        today = datetime.now(UTC).date().isoformat()
        where = ask.choose_save("Export a bundle", file_name("reviews", me, today), _PATTERNS)
        if where is not None:
            to = where if where.suffix else where.with_suffix(".zip")
            self._model.export(to, with_rows=rows)

    def _exported(self, exported: Exported, name: str) -> None:
        rows = f", {_some(exported.annexes, 'set')} of flagged rows" if exported.annexes else ""
        kept = (
            f" {_some(exported.kept_back, 'set')} of rows stay here." if exported.kept_back else ""
        )
        self._context.told.emit(
            f"{name}: {exported.entries} entries, {exported.texts} texts{rows}.{kept}"
        )

    def ask_import(self) -> None:
        """Choose bundles, and import them."""
        paths = self._context.interaction.choose_files("Import bundles", "", _PATTERNS)
        if paths:
            self._model.merge(paths)

    def take(self, paths: Sequence[Path]) -> None:
        """Import what was dropped."""
        self._model.merge(paths)

    def _merged(self, merged: Merged, given: int, why: str) -> None:
        self._result.show_result(merged, given, why)


class ImportResult(QFrame):
    """What an import brought, and what is wrong, with what to do."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.setAccessibleName("What the import brought")
        self.heading = label("", "heading", wrap=True)
        self.words = label("", wrap=True)
        self.problems = label("", wrap=True)
        set_tone(self.problems, "warn")
        box = QVBoxLayout(self)
        head = QHBoxLayout()
        head.addWidget(self.heading, 1)
        self.export = button(
            context, "Export a bundle…", context.bundle_asked.emit, icon="upload", main=True
        )
        head.addWidget(self.export)
        head.addWidget(button(context, "Close", self.hide))
        box.addLayout(head)
        box.addWidget(self.words)
        box.addWidget(self.problems)
        self.hide()

    def show_result(self, merged: Merged, given: int, why: str) -> None:
        """Show what came."""
        if merged.entries:
            head = f"{_some(merged.entries, 'new entry', 'new entries')}"
            head += f", {merged.known} were here already" if merged.known else ""
        else:
            head = "Nothing new: everything in it was here already (an older bundle, or the same)"
        self.heading.setText(f"{head}.")
        lines = [f"• {act}." for act in merged.acts[:_MOST]]
        if len(merged.acts) > _MOST:
            lines.append(f"… and {len(merged.acts) - _MOST} more.")
        if given:
            lines.append(
                f"{given} of your reviews can be read now, since every reviewer has signed: export"
                " a bundle with the key for the others."
            )
        if why:
            lines.append(f"Your key is due and could not be given: {why}")
        self.words.setText("\n".join(lines))
        self.words.setVisible(bool(lines))
        self.problems.setText("\n".join(problem_words(p) for p in merged.problems[:_MOST]))
        self.problems.setVisible(bool(merged.problems))
        self.export.setVisible(given > 0)
        self.show()


def file_name(what: str, name: str, day: str = "") -> str:
    """A name for a file that does not meet a colleague's in a shared folder.

    Args:
        what: e.g. ``reviews``.
        name: a person's, in any script; only its letters and digits are used.
        day: ISO 8601; it stands last.
    """
    person = "-".join("".join(c if c.isalnum() else " " for c in name).lower().split())
    return "-".join(part for part in (what, person, day) if part) + ".zip"


def facts_of(preview: Preview) -> list[tuple[str, str]]:
    """What a bundle would hold, as names and values."""
    facts = [
        ("People", f"{preview.people} (name, role, public key)"),
        ("Assignments", str(preview.assignments)),
        ("Reviews", f"{preview.reviews}, each sealed until its key is given"),
        ("Keys of reviews", f"{preview.keys}, of those that every reviewer has signed"),
        ("Adjudications", str(preview.adjudications)),
        ("Signed texts", f"{preview.texts} (of the benchmark, without data)"),
        ("Flagged rows", f"{preview.rows} sets, encrypted; of synthetic or open sources"),
    ]
    if preview.kept_back:
        facts.append(("Kept back", f"{preview.kept_back} sets of rows of credentialed sources"))
    return facts


def _some(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
