"""The evidence by section and line, filtered; numbers and words only, no widget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.claims import Check, Claim, Evidence
from engine.prose import read_units
from m4review.evidence.words import ORDER, Outcome, kind_of, rank, text_of, title_of

WHOLE = "The text as a whole"


@dataclass(frozen=True)
class Group:
    """One line of a text with all that was checked of it."""

    text: str
    """Name of the text, e.g. ``skill/sofa``."""
    line: int
    """Counted from 1."""
    column: int
    """Of the first place."""
    section: str
    """The heading that it stands under."""
    shown: str
    """The line, without marks of a table."""
    checks: tuple[Check, ...]
    """What needs attention first."""
    claims: tuple[Claim, ...]
    """What the line says."""

    @property
    def outcome(self) -> Outcome:
        """The one of its checks that needs attention most."""
        return min((c.verdict for c in self.checks), key=rank, default="read")

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of claim."""
        return frozenset({*(c.kind for c in self.claims), *(kind_of(c) for c in self.checks)})

    @property
    def words(self) -> str:
        """Everything that can be searched for, in lower case."""
        parts = [self.shown, self.section, *(f"{title_of(c)} {c.words}" for c in self.checks)]
        return " ".join(parts).lower()


@dataclass(frozen=True)
class Section:
    """The groups under one heading of one text."""

    text: str
    """Name of the text."""
    title: str
    """The heading."""
    groups: tuple[Group, ...]
    """By line."""


@dataclass(frozen=True)
class Filter:
    """What is looked for."""

    outcomes: frozenset[Outcome] = field(default_factory=lambda: frozenset(ORDER))
    """Outcomes that are shown."""
    kind: str = ""
    """Kind of claim; empty for all."""
    text: str = ""
    """Words that must all occur."""

    def passes(self, group: Group) -> bool:
        """Is it shown?"""
        if not any(c.verdict in self.outcomes for c in group.checks) and not (
            group.outcome == "read" and "read" in self.outcomes
        ):
            return False
        if self.kind and self.kind not in group.kinds:
            return False
        return all(word in group.words for word in self.text.lower().split())


def sections_of(evidence: Evidence, texts: Mapping[str, str]) -> tuple[Section, ...]:
    """Everything by text, heading and line.

    Args:
        evidence: what was found.
        texts: the texts by name, as they are shown.
    """
    lines = {name: re.split(r"\r\n?|\n", text) for name, text in texts.items()}
    heads = {name: _headings(text) for name, text in texts.items()}
    checks: dict[tuple[str, int], list[Check]] = {}
    claims: dict[tuple[str, int], list[Claim]] = {}
    skills = [name for name in texts if name.startswith("skill/")]
    for check in evidence.checks:
        checks.setdefault((text_of(check), check.line), []).append(check)
    for claim in evidence.claims:
        if len(skills) == 1:  # a claim does not say of which skill it is
            claims.setdefault((skills[0], claim.line), []).append(claim)
    found: dict[tuple[str, str], list[Group]] = {}
    order = [*texts, *(name for name, _ in checks if name not in texts)]
    for name, line in sorted({*checks, *claims}, key=lambda k: (order.index(k[0]), k[1])):
        mine = sorted(checks.get((name, line), ()), key=lambda c: (rank(c.verdict), c.column))
        said = claims.get((name, line), [])
        own = lines.get(name, [])
        whole = line == 1 and all(c.column == 1 for c in mine)
        group = Group(
            name,
            line,
            min([*(c.column for c in mine), *(c.column for c in said)], default=1),
            WHOLE if whole else heads.get(name, {}).get(line, ""),
            WHOLE if whole else _plain(own[line - 1]) if line <= len(own) else "",
            tuple(mine),
            tuple(said),
        )
        found.setdefault((name, group.section), []).append(group)
    return tuple(
        Section(name, title or "Before the first heading", tuple(groups))
        for (name, title), groups in found.items()
    )


def filtered(sections: tuple[Section, ...], wanted: Filter) -> Iterator[Section]:
    """The sections with the groups that pass; without empty ones."""
    for section in sections:
        groups = tuple(group for group in section.groups if wanted.passes(group))
        if groups:
            yield Section(section.text, section.title, groups)


def counts(sections: tuple[Section, ...]) -> dict[Outcome, int]:
    """Checks by outcome, and lines that were read only."""
    found: dict[Outcome, int] = dict.fromkeys(ORDER, 0)
    for section in sections:
        for group in section.groups:
            for check in group.checks:
                found[check.verdict] += 1
            found["read"] += not group.checks
    return found


def range_of(evidence: Evidence, group: Group, item: int) -> tuple[float | None, float | None, str]:
    """The range that the text states for an item, and how it is written.

    The line's own, else the first one of the same item; (None, None, "") without one.
    """
    for claim in (*group.claims, *evidence.claims):
        facts: Mapping[str, Any] = claim.facts or {}
        if claim.kind == "range" and facts.get("item") == item and "low" in facts:
            return facts["low"], facts["high"], claim.shown
    return None, None, ""


def _headings(text: str) -> dict[int, str]:
    """The heading of every line that a unit begins in, and of those that go on with it."""
    found: dict[int, str] = {}
    section, units = "", {unit.line: unit.section for unit in read_units(text)}
    for line in range(1, text.count("\n") + 2):
        section = units.get(line, section)
        found[line] = section
    return found


def _plain(line: str) -> str:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return re.sub(r"[`*]", "", " · ".join(cell for cell in cells if cell)).strip()
