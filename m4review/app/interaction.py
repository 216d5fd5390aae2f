"""Telling, asking and choosing go through one facade, so that no view-model opens a dialog.

By itself it answers without anybody (the default of each question) and remembers what was
asked, which is what tests look at. The window brings one that shows dialogs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.base.errors import M4Error


@dataclass
class Interaction:
    """Answers without a person: `answers` in their order, then no."""

    answers: list[object] = field(default_factory=list)
    """What will be answered next (bool, text, path or None)."""
    said: list[str] = field(default_factory=list)
    """Every text that was told or asked."""
    errors: list[M4Error] = field(default_factory=list)
    """Every error that was shown."""

    def _answer(self, text: str) -> object:
        self.said.append(text)
        return self.answers.pop(0) if self.answers else None

    def tell(self, title: str, text: str) -> None:
        """Say something that needs no answer."""
        self.said.append(f"{title}: {text}")

    def error(self, error: M4Error) -> None:
        """Show an error: title, text, what to do, details."""
        self.errors.append(error)

    def confirm(self, title: str, text: str, *, yes: str, no: str = "Cancel") -> bool:
        """Ask before something that cannot be undone; True for `yes`."""
        return self._answer(f"{title}: {text}") is True

    def confirm_facts(
        self,
        title: str,
        text: str,
        facts: Sequence[tuple[str, str]],
        *,
        more: str = "",
        yes: str,
        no: str = "Cancel",
    ) -> bool:
        """Ask before something with consequences that are a list of names and values.

        Args:
            title: of the question.
            text: what stands above the list.
            facts: names and values.
            more: what stands below it.
            yes: the button that agrees.
            no: the other one, which Enter and Escape press.
        """
        told = "; ".join(f"{name} {value}" for name, value in facts)
        return self._answer(f"{title}: {text} {told}. {more}") is True

    def ask_text(self, title: str, label: str, *, text: str = "") -> str | None:
        """A line of text; None when the user changed her mind."""
        answer = self._answer(f"{title}: {label}")
        return answer if isinstance(answer, str) else None

    def ask_secret(self, title: str, label: str) -> str | None:
        """A text that is not shown while it is typed; None when the user changed her mind."""
        return self.ask_text(title, label)

    def choose_one(self, title: str, label: str, options: Sequence[str]) -> str | None:
        """One of several texts (the first is proposed); None when the user changed her mind."""
        answer = self._answer(f"{title}: {label}")
        return answer if isinstance(answer, str) and answer in options else None

    def choose_files(
        self, title: str, start: str = "", patterns: Sequence[str] = ()
    ) -> tuple[Path, ...]:
        """Existing files; none when the user changed her mind."""
        answer = self._answer(title)
        if isinstance(answer, Path):
            return (answer,)
        return tuple(answer) if isinstance(answer, tuple | list) else ()

    def choose_folder(self, title: str, start: str = "") -> Path | None:
        """A folder, or None."""
        answer = self._answer(title)
        return answer if isinstance(answer, Path) else None

    def choose_file(self, title: str, start: str = "", patterns: Sequence[str] = ()) -> Path | None:
        """An existing file, or None."""
        answer = self._answer(title)
        return answer if isinstance(answer, Path) else None

    def choose_save(self, title: str, name: str, patterns: Sequence[str] = ()) -> Path | None:
        """Where to write a file (its name proposed), or None."""
        answer = self._answer(title)
        return answer if isinstance(answer, Path) else None
