"""What the checks are given: the texts of a task, read, with the rules of its reference."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.base.errors import BadInput, bad_file
from engine.catalogue.task import Task
from engine.claims.extracting import claims_of
from engine.claims.model import Against, Check, Claim, ClaimKind, Verdict
from engine.claims.reading import Document, read_document
from engine.claims.reference import ReferenceRules, reference_rules
from engine.preflight.finding import Kind


@dataclass(frozen=True)
class Read:
    """One text of the task."""

    kind: Kind
    """Which."""
    name: str
    """Of the skill; empty for other texts."""
    path: Path
    """The file."""
    document: Document
    """Lines and rows."""
    claims: tuple[Claim, ...]
    """What it says."""

    def of(self, *kinds: ClaimKind) -> Iterator[Claim]:
        """The claims of some kinds."""
        return (claim for claim in self.claims if claim.kind in kinds)


@dataclass(frozen=True)
class Material:
    """A task with its texts and the rules of its reference."""

    task: Task
    """The task."""
    skills: tuple[Read, ...]
    """Its skills."""
    spec: Read | None
    """Its operational specification."""
    instruction: Read
    """The request to the agent."""
    rules: ReferenceRules
    """What the SQL says."""
    only: Path | None = None
    """Where only the checks with a place in one text are wanted: its file."""

    def wanted(self, text: Read) -> bool:
        """Are the checks with a place in this text wanted?"""
        return self.only is None or text.path == self.only

    @property
    def texts(self) -> tuple[Read, ...]:
        """All of them, the skills first."""
        more = (self.spec,) if self.spec else ()
        return (*self.skills, *more, self.instruction)

    @property
    def ruled(self) -> tuple[Read, ...]:
        """Those that state all the rules and are wanted: skills, operational specification."""
        return tuple(text for text in self.texts[:-1] if self.wanted(text))

    @cached_property
    def named_items(self) -> frozenset[int]:
        """Every item that a skill names, used or denied."""
        return frozenset(int(c.facts["item"]) for s in self.skills for c in s.of("item") if c.facts)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each text."""
        return {
            f"{text.kind}/{text.name}" if text.name else text.kind: hashlib.sha256(
                text.document.text.encode()
            ).hexdigest()
            for text in self.texts
        }


@functools.lru_cache(maxsize=64)
def _understood(kind: Kind, text: str) -> tuple[Document, tuple[Claim, ...]]:
    """Kept by text: of a task's texts only one changes while somebody types."""
    document = read_document(kind, text)
    return document, claims_of(document)


def read_material(
    task: Task, texts: Mapping[Path, str] | None = None, *, only: Path | None = None
) -> Material:
    """Read a task's texts.

    Args:
        task: the task.
        texts: what an editor holds instead of what is on disk, by path.
        only: as of `Material`.

    Raises:
        BadInput: a text is missing, or no UTF-8.
        UsageError: there is no reference of that name.
    """
    given = texts or {}

    def read(kind: Kind, path: Path, name: str = "") -> Read:
        document, claims = _understood(kind, given[path] if path in given else _text(path))
        return Read(kind, name, path, document, claims)

    spec = task.operational_spec
    return Material(
        task,
        tuple(read("skill", f / "SKILL.md", f.name) for f in task.skill_folders),
        read("operational-spec", spec) if spec else None,
        read("instruction", task.folder / "instruction.md"),
        reference_rules(task.target),
        only,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise bad_file(path, "There is no such text.", todo="Write it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} cannot be read as UTF-8 text.", todo="Save it so.") from error


def checked(
    text: Read,
    name: str,
    verdict: Verdict,
    words: str,
    against: Against,
    *,
    claim: Claim | None = None,
    line: int = 1,
    column: int = 1,
    query: str = "",
    result: Mapping[str, object] | None = None,
    shown: str = "",
) -> Check:
    """A check at the place of `claim`, or of `shown` at `line` and `column`."""
    return Check(
        name,
        verdict,
        words,
        against,
        text.kind,
        claim.line if claim else line,
        claim.column if claim else column,
        (claim.id,) if claim else (),
        query,
        result,
        text.name,
        claim.shown if claim else shown,
    )
