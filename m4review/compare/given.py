"""What two runs were given to read: instruction and skills, and how they differ."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.errors import M4Error
from engine.base.text import neutralise
from engine.controls.rawsql import GeneratedSkill
from engine.runs.folder import given_skill, skills_for
from engine.workbench import RunRecord

if TYPE_CHECKING:
    from engine.catalogue.task import Task

_LONGEST = 400_000
"""Bytes of a text that are looked at."""
_LINES = 4_000
"""Lines of a difference that are shown."""
UNKNOWN = "(The text that this run was given is not kept, and the present one is another.)\n"


@dataclass(frozen=True)
class GivenText:
    """A text before the agent, in one or both runs."""

    name: str
    """File name, e.g. ``instruction.md``, ``NAME/SKILL.md``."""
    first: str | None
    """As the first of the two runs had it; None where it had none."""
    second: str | None
    """As the second had it."""

    @property
    def same(self) -> bool:
        """Is it the same text?"""
        return self.first == self.second

    def difference(self) -> list[str]:
        """Lines with " ", "-" or "+" before them; long stretches that are alike are left out."""
        before, after = ((text or "").splitlines() for text in (self.first, self.second))
        lines = list(difflib.unified_diff(before, after, "first", "second", lineterm="", n=3))
        kept = lines[2:]
        if len(kept) > _LINES:
            kept = [*kept[:_LINES], f"@@ {len(kept) - _LINES:,} more lines @@"]
        return kept


def texts_of(record: RunRecord, task: Task | None) -> Mapping[str, str]:
    """The texts that a run was given, by name, as far as they are known for sure."""
    found: dict[str, str] = {}
    instruction = record.folder / "instruction.md"
    if instruction.is_file() and not instruction.is_symlink():
        with instruction.open("rb") as file:
            found["instruction.md"] = neutralise(file.read(_LONGEST).decode("utf-8", "replace"))
    given = record.raw.get("given_files")
    hashes = given if isinstance(given, Mapping) else {}
    now = _present(task, record.summary.condition)
    for name in record.raw.get("skills") or ():
        recorded = {str(v) for k, v in hashes.items() if str(k).endswith(f"/{name}/SKILL.md")}
        text = given_skill(record.folder, str(name), recorded)
        if text is None:  # a run of before such texts were kept, or of the published harness
            text = now.get(str(name))
            if text is not None and hashlib.sha256(text.encode()).hexdigest() not in recorded:
                text = None
        found[f"{name}/SKILL.md"] = UNKNOWN if text is None else neutralise(text[:_LONGEST])
    return found


def _present(task: Task | None, condition: str) -> dict[str, str]:
    """The skills' texts as they are now."""
    if task is None:
        return {}
    try:
        skills: Iterable[Path | GeneratedSkill] = skills_for(task, condition)
        return {
            skill.name: skill.text
            if isinstance(skill, GeneratedSkill)
            else (skill / "SKILL.md").read_text(encoding="utf-8")
            for skill in skills
        }
    except (M4Error, OSError, UnicodeDecodeError):
        return {}


def given_to(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[GivenText, ...]:
    """Texts of two runs beside each other; those that differ come first."""
    names = dict.fromkeys((*first, *second))
    pairs = [GivenText(name, first.get(name), second.get(name)) for name in names]
    return tuple(sorted(pairs, key=lambda pair: pair.same))
