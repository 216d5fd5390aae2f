"""What a rule finds, and the text that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from engine.catalogue.task import Task

Kind = Literal["task", "instruction", "operational-spec", "skill", "provenance"]
"""Which text of a task it is; ``task`` is task.toml."""
Level = Literal["error", "warning"]
"""``error``: gives something away or cannot be used; ``warning``: texts disagree."""


@dataclass(frozen=True, order=True)
class Finding:
    """One place that a rule objects to."""

    path: Path
    """The file."""
    line: int
    """Counted from 1."""
    column: int
    """In characters, counted from 1."""
    rule: str
    """Id of the rule, e.g. ``sql``."""
    message: str
    """What is wrong."""
    fix: str
    """What to do about it."""
    level: Level
    """How bad it is."""
    length: int = 0
    """Characters that are meant, line ends included; 0 where the rule only knows a place."""


@dataclass(frozen=True)
class Text:
    """A text of a task, as it stands in a file or in an editor."""

    kind: Kind
    """Which text."""
    path: Path
    """Where it is, or will be."""
    text: str
    """All of it."""
    asked: str | None = None
    """The instruction as an editor holds it, where that is not what is on the disk."""

    @cached_property
    def prose(self) -> str:
        """The text with `code spans` blanked out, every offset kept."""
        out = list(self.text)
        position = 0
        while (begin := self.text.find("`", position)) >= 0:
            end = self.text.find("`", begin + 1)
            newline = self.text.find("\n", begin + 1)
            if end < 0 or 0 <= newline < end:
                position = begin + 1
                continue
            out[begin : end + 1] = " " * (end + 1 - begin)
            position = end + 1
        return "".join(out)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, counted from 1."""
        line = self.text.count("\n", 0, offset)
        return line + 1, offset - (self.text.rfind("\n", 0, offset) + 1) + 1

    def offset_of(self, word: str) -> int:
        """Where a word stands first; 0 where it does not."""
        return max(self.text.find(word), 0)


class Find(NamedTuple):
    """A place in a text, before it has file and rule."""

    offset: int
    """Character of the text."""
    message: str
    """What is wrong."""
    fix: str = ""
    """What to do, where it is not the rule's usual fix."""
    length: int = 0
    """Characters that are meant, where that is known."""


@dataclass(frozen=True)
class Rule:
    """One thing that a text must keep."""

    id: str
    """Stable; written into SARIF and reviews."""
    title: str
    """What must hold, in one sentence."""
    fix: str
    """What to do where it does not."""
    kinds: frozenset[Kind]
    """The texts that it is for."""
    check: Callable[[Text, Task], Iterable[Find]]
    """Finds what is wrong."""
    level: Level = "error"
    """How bad a find is."""

    def findings(self, text: Text, task: Task) -> Iterable[Finding]:
        """What the rule finds in one text."""
        for found in self.check(text, task):
            line, column = text.place(found.offset)
            yield Finding(
                text.path,
                line,
                column,
                self.id,
                found.message,
                found.fix or self.fix,
                self.level,
                found.length,
            )
