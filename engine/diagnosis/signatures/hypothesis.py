"""A hypothesis before it is tested: what it says, and the SQL that tests it on a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.diagnosis.model import Parameter


@dataclass(frozen=True)
class Hypothesis:
    """One idea about one column (or about the keys)."""

    id: str
    """See `engine.diagnosis.signatures.names`."""
    words: str
    """One sentence, "Consistent with …"; no cell value."""
    predicts: str
    """The agent's value if it held."""
    column: str | None
    """The scored column; None where it is about keys."""
    explains: str
    """SQL over ``diff``: asked of mismatching rows only."""
    contradicts: str = "false"
    """SQL over ``diff``: asked of matching rows only; true where it predicts a mismatch."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    local_words: str = ""
    """More words, which may hold cell values."""
    free: bool = False
    """Its parameter was taken from the mismatches, so that a few chance fits are to be expected."""
    strict: bool = False
    """It holds for the whole table or not at all: every contradiction weighs whole."""
    loose: bool = False
    """It says of what kind the differences are, but not which value the agent would have."""
