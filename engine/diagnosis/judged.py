"""What the judge of an output says where it could not be read, or lacks columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from engine.diagnosis.model import Judged
from engine.diagnosis.signatures.candidate import Candidate

NO_OUTPUT = "no-output"
"""The signature of an output of which no row can be compared."""
LACKING = "column-missing"
"""The signature of a column that is not there."""
_NAMES = ("output_exists", "has_rows", "required_columns")
_NOT_JUDGED = "Not judged."
_ASKS = re.compile(r"\{output_path\}|\bCSV\b")


class _Diagnostic(Protocol):
    """A condition of a strict pass, of a score or of a run's record."""

    @property
    def name(self) -> str: ...

    @property
    def passed(self) -> bool: ...

    @property
    def detail(self) -> str: ...


def unmet(diagnostics: Iterable[_Diagnostic]) -> tuple[Judged, ...]:
    """Of all conditions of a strict pass those that say why nothing, or not all, is compared."""
    return tuple(
        Judged(d.name, d.detail)
        for d in diagnostics
        if d.name in _NAMES and not d.passed and d.detail != _NOT_JUDGED
    )


def with_reason(candidates: Iterable[Candidate], judged: Sequence[Judged]) -> list[Candidate]:
    """The candidates, the one of an output without rows in the judge's words."""
    if not judged:
        return list(candidates)
    words = f"Consistent with an output of which no row can be compared. {reason(judged)}"
    return [replace(c, words=words) if c.id == NO_OUTPUT else c for c in candidates]


def reason(judged: Sequence[Judged]) -> str:
    """The reasons as sentences."""
    return " ".join(item.detail for item in judged)


def asking(lines: Sequence[str], names: Sequence[str]) -> list[tuple[int, str]]:
    """The numbered lines of a text that ask for columns, or for a file where none are named."""
    if not names:
        wanted = [_ASKS]
    else:
        wanted = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in names]
    found: list[tuple[int, str]] = []
    for one in wanted:
        hits = [(number, line) for number, line in enumerate(lines, start=1) if one.search(line)]
        # A table that lists the columns says more than a sentence in which the name comes up.
        hits.sort(key=lambda hit: not hit[1].lstrip().startswith("|"))
        found += [hit for hit in hits[:1] if hit not in found]
    return found
