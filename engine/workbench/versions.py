"""The workbench's versions of a text: saved, signed, from git, from a file; and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.base.errors import BadInput, UsageError
from engine.base.files import os_error
from engine.base.paths import Home
from engine.base.text import neutralise
from engine.claims.live import kind_of
from engine.prose import ProseDiff, compare_texts
from engine.prose.history import commits_of, decoded, text_at
from engine.reviews import Desk
from engine.reviews.texts import Content, kept, normalise
from engine.workbench.texts import TextUser, text_name


@dataclass(frozen=True)
class TextVersion:
    """One version of a text."""

    kind: Literal["saved", "signed", "git", "file"]
    """Where it comes from: the disk, the ledger's kept texts, git's history, another file."""
    id: str
    """Hash of the signed text, commit, or the file's path; empty for what is saved."""
    at: str = ""
    """ISO 8601; empty where there is none."""
    who: str = ""
    """Who signed or committed it."""
    note: str = ""
    """The task that was reviewed, or the commit's first line."""

    @property
    def title(self) -> str:
        """In words, for a list."""
        day, note = self.at[:10], f": {self.note}" if self.note else ""
        match self.kind:
            case "saved":
                return "As saved on the disk"
            case "signed":
                return f"Signed {day} by {self.who}{note}"
            case "git":
                return f"Git {day} {self.id[:8]} by {self.who}{note}"
            case "file":
                return f"File {Path(self.id).name}"


SAVED = TextVersion("saved", "")
"""What lies on the disk."""


class Versions:
    """Part of `Workbench`. Every method may be called from any thread."""

    home: Home
    """The home folder."""
    content: Path | None
    """A folder with `tasks/` and `skills/`; None for the shipped content."""

    def text_users(self, path: Path) -> tuple[TextUser, ...]:
        """See `Texts`."""
        raise NotImplementedError

    def text_versions(self, path: Path) -> tuple[TextVersion, ...]:
        """The versions that a text can be compared with: saved, then signed and git, newest first.

        A signed version is named only where its text is kept on this machine.

        Raises:
            UsageError: the file is no text of a task.
        """
        found: list[TextVersion] = [SAVED]
        found += sorted(self._signed(path), key=lambda version: version.at, reverse=True)
        found += [
            TextVersion("git", c.id, c.at, neutralise(c.author), neutralise(c.subject))
            for c in commits_of(path)
        ]
        return tuple(found)

    def version_text(self, path: Path, version: TextVersion) -> str:
        """The text of a version.

        Raises:
            BadInput: it cannot be read (any more), or is no UTF-8 text.
        """
        match version.kind:
            case "saved":
                return _read(path)
            case "file":
                return _read(Path(version.id))
            case "git":
                return text_at(path, version.id)
            case "signed":
                text = kept(Desk(self.home, Content(self.content)).place, version.id)
                if text is None:
                    raise BadInput(
                        "The signed text is not on this machine, or was touched.",
                        todo="Merge the bundle that holds it.",
                    )
                return text

    def compare_version(
        self, path: Path, version: TextVersion, text: str | None = None
    ) -> ProseDiff:
        """What became of a text since an earlier version.

        Args:
            path: the text's file.
            version: the earlier version; of a signed one line ends, trailing blanks and the tier
                are left out on both sides, as a signature leaves them out.
            text: what an editor holds; what is saved when None.

        Raises:
            BadInput: a version cannot be read.
        """
        before, after = self.version_text(path, version), _read(path) if text is None else text
        if version.kind == "signed":
            after = normalise(after, skill=kind_of(path) == "skill")
        return compare_texts(before, after)

    def _signed(self, path: Path) -> Iterator[TextVersion]:
        try:
            name, users = text_name(path), {user.task for user in self.text_users(path)}
        except UsageError:
            return
        desk = Desk(self.home, Content(self.content))
        state, seen = desk.state(), set[tuple[str, str]]()
        for asked in state.assignments.values():
            if asked.body.task not in users:
                continue
            for author, review in asked.reviews.items():
                digest = review.body.texts.get(name)
                if digest is None or (author, digest) in seen:
                    continue
                seen.add((author, digest))
                if kept(desk.place, digest) is not None:
                    who = state.name(author)
                    yield TextVersion("signed", digest, review.entry.at, who, asked.body.task)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise os_error(error, "reading a version of the text") from error
    return decoded(data, path.name)
