"""Numbers in the rules that no claim holds: listed, so that a reader knows what was not checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.claims.model import Claim, Unread
from engine.claims.reading import Document

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_ORDINAL = re.compile(r"^\d+\.\s")
_REFERS = re.compile(r"\b(?:steps?|points?|parts?|case|cases|line|lines|order)\s*$", re.IGNORECASE)
_NEAR = 40


def unread_numbers(document: Document, claims: Iterable[Claim]) -> Iterator[Unread]:
    """By place; numbers of lists and references to steps are no claims."""
    taken: dict[int, list[tuple[int, int]]] = {}
    for claim in claims:
        if claim.kind not in ("missing", "grain"):
            taken.setdefault(claim.line, []).append((claim.column, claim.column + len(claim.shown)))
        elif claim.facts and claim.facts.get("defaults"):
            taken.setdefault(claim.line, []).append((1, 1 << 20))
    for cell in document.rules:
        skip = _ORDINAL.match(cell.text)
        words = re.sub(r"`[^`]*`", lambda m: " " * len(m.group()), cell.text)
        for match in _NUMBER.finditer(words, skip.end() if skip else 0):
            place = cell.column + match.start()
            read = any(begin <= place < end for begin, end in taken.get(cell.line, ()))
            if not read and not _REFERS.search(words[: match.start()]):
                around = cell.text[max(match.start() - _NEAR, 0) : match.end() + _NEAR]
                yield Unread(cell.line, place, match.group(), around)
