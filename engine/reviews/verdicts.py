"""What a reviewer says about each item, and what makes an answer complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from engine.base.errors import BadInput
from engine.reviews.canonical import canonical, sha256
from engine.reviews.checklist import Checklist
from engine.reviews.entry import Hash
from engine.reviews.identifiers import may_name_a_person, values_name_a_person

Answer = Literal["agree", "concern", "disagree", "cannot judge"]
Severity = Literal["minor", "major", "critical"]
ANSWERS: tuple[Answer, ...] = ("agree", "concern", "disagree", "cannot judge")
SEVERITIES: tuple[Severity, ...] = ("minor", "major", "critical")
_EVIDENCE_NEEDS = ("query", "source_sha256", "date")

Text = Annotated[str, StringConstraints(max_length=20_000)]


class Anchor(BaseModel):
    """Lines of one exact version of a text."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str
    """Its name."""
    sha256: Hash
    """Of the normalised text."""
    first: int = Field(ge=1)
    """Line, counted from 1."""
    last: int = Field(ge=1)
    """Line, included."""
    quote_sha256: Hash
    """Of those lines, joined by newlines."""


class Verdict(BaseModel):
    """The answer to one item."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    item: str
    """Of the checklist."""
    verdict: Answer
    """What the reviewer says."""
    severity: Severity | None
    """Of a concern or disagreement."""
    text: Text
    """In the reviewer's words; needed for all but ``agree``."""
    anchors: list[Anchor]
    """The lines that are meant."""
    evidence: list[dict[str, Any]]
    """Checks as the evidence panel keeps them: query, source_sha256, date, and what it likes."""
    places: list[str]
    """Addresses of runs and of rows by position."""


class Decision(BaseModel):
    """What the adjudicator decides about one item."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    item: str
    """Of the checklist."""
    verdict: Literal["agree", "disagree"]
    """``agree``: the texts stand; ``disagree``: they must be changed."""
    reason: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    """Why."""


def anchor(name: str, text: str, first: int, last: int) -> Anchor:
    """An anchor to lines of a (normalised) text.

    Raises:
        BadInput: the text has no such lines.
    """
    lines = text.splitlines()
    if not 1 <= first <= last <= len(lines):
        raise BadInput(f"{name} has lines 1 to {len(lines)}; {first}-{last} is none of them.")
    quote = "\n".join(lines[first - 1 : last])
    return Anchor(
        text=name,
        sha256=sha256(text.encode()),
        first=first,
        last=last,
        quote_sha256=sha256(quote.encode()),
    )


def row_level(address: str) -> bool:
    """Does an address hold values of a row's key?"""
    query = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    return any(name.startswith("key.") for name, _ in query)


def by_item(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    """The verdicts by item.

    Raises:
        BadInput: an item is answered twice.
    """
    found: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict.item in found:
            raise BadInput(f"The review answers {verdict.item} twice.")
        found[verdict.item] = verdict
    return found


def complete(
    checklist: Checklist,
    items: Iterable[str],
    given: Mapping[str, Verdict],
    *,
    strict: bool = True,
) -> list[Verdict]:
    """The verdicts in the checklist's order, if nothing is left open.

    Args:
        checklist: what is asked.
        items: which of its items.
        given: answers by item.
        strict: also each answer must be complete; what was signed long ago is only counted.

    Raises:
        BadInput: names every item that is unanswered or incomplete.
    """
    wanted = [item for item in checklist.items if item.id in set(items)]
    problems = [
        f"{item.title} ({item.id}) is not answered" for item in wanted if item.id not in given
    ]
    for item in wanted:
        if strict and item.id in given:
            problems += [f"{item.title} ({item.id}) {what}" for what in lacks(given[item.id])]
    extra = sorted(set(given) - {item.id for item in wanted})
    problems += [f"{name} is not asked here" for name in extra]
    if problems:
        raise BadInput(
            f"The review is not complete: {'; '.join(problems)}.",
            todo="Answer each item with agree, concern, disagree or cannot judge.",
        )
    return [given[item.id] for item in wanted]


def lacks(verdict: Verdict) -> list[str]:
    """What an answer lacks to be complete, in words that follow the item's name."""
    found = []
    needs_severity = verdict.verdict in ("concern", "disagree")
    if needs_severity and verdict.severity is None:
        found.append(f"needs a severity ({', '.join(SEVERITIES)})")
    if not needs_severity and verdict.severity is not None:
        found.append(f"has a severity, which goes with concern and disagree, not {verdict.verdict}")
    if verdict.verdict != "agree" and not verdict.text.strip():
        found.append(f"needs words: why “{verdict.verdict}”")
    for number, piece in enumerate(verdict.evidence, start=1):
        lost = [name for name in _EVIDENCE_NEEDS if not isinstance(piece.get(name), str)]
        if lost:
            found.append(f"has evidence {number} without {', '.join(lost)}")
        canonical(piece)
    said = any(may_name_a_person(text) for text in (verdict.text, *verdict.places))
    if said or values_name_a_person(verdict.evidence):
        found.append(
            "holds a number that may name a patient or stay: put the address of "
            "the row into rows, which stay on this machine unless the source's policy allows it"
        )
    if any(row_level(place) for place in verdict.places):
        found.append("has the address of a row by its key among places: put it into rows")
    return found
