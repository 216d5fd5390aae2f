"""Findings in words."""

from __future__ import annotations

from collections.abc import Mapping

from engine.diagnosis.model import Diagnosis, Fault, Segment, Signature
from m4review.diff.layout import percent

FAULTS: Mapping[Fault, str] = {
    "agent": "May lie with the agent",
    "skill": "May lie with the skill",
    "instruction": "May lie with the instruction",
    "reference": "May lie with the reference",
    "undecided": "Cannot be told from here",
}
"""What a proposal says; never more than "may"."""
ABOUT: Mapping[str, str] = {
    "reference": "The reference",
    "agent": "The agent",
    "skill": "The skill",
    "instruction": "The instruction",
    "audit": "The audit of the source",
}
EVIDENCE_ABOUT: Mapping[str, str] = {
    "values": "Tested on the reference's and the agent's values alone.",
    "source": "The reference was computed again from the source with that one change.",
}


NOTHING_DEPARTS = (
    "Nothing departs from the reference",
    "Each of its keys is there once and no other, and every cell is equal or within its tolerance.",
)
"""Title and text where a run's output is all right."""
NOTHING_FITS = (
    "Nothing that was tested explains enough of these mismatches to be named. The rows in the "
    "diff, and where single values come from, may show what they have in common."
)
NOTHING_YET = "Nothing fits so far; more is being tested."
_NAMED = 2
"""Columns that a list names."""
_TOLD = {"way", "places", "query"}
"""Parameters that the words, or the change of the SQL, tell better."""


def count_words(number: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def columns_words(signature: Signature) -> str:
    """What a signature speaks of."""
    return ", ".join(signature.columns) or "keys"


def finding_words(signature: Signature) -> str:
    """Where, and what it looks like, for a list under the head "Consistent with"."""
    named = signature.columns[:_NAMED]
    more = len(signature.columns) - len(named)
    where = ", ".join(named) or "keys"
    if more:
        where += f" and {more} more"
    return f"{where}: {what_words(signature)}"


def what_words(signature: Signature) -> str:
    """What it looks like, without the "Consistent with" that stands above it."""
    return signature.words.removeprefix("Consistent with ").removesuffix(".")


def explained_words(signature: Signature) -> str:
    """How much it explains, as a sentence."""
    noun = "mismatching cell" if signature.columns else "row"
    tested = count_words(signature.tested, noun)
    share = percent(signature.share)
    return f"explains {signature.explained:,} of {tested} it was tested on ({share})"


def against_words(signature: Signature) -> str:
    """What speaks against it."""
    if not signature.broken:
        return "No matching cell contradicts it."
    verb = "contradicts" if signature.broken == 1 else "contradict"
    cells = count_words(signature.broken, "matching cell")
    return f"{cells} {verb} it: it predicts another value there."


def parameter_words(signature: Signature) -> str:
    """Its parameters in a line."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else
        f"{name.replace('_', ' ')} {value}"
        for name, value in signature.parameters.items()
        if name not in _TOLD
    )  # fmt: skip


def ratio_words(segment: Segment) -> str:
    """How many times as often."""
    return "only here" if segment.ratio is None else f"{segment.ratio:.3g} ×"


def interval_words(segment: Segment) -> str:
    """The interval of share − base in percentage points."""
    low, high = segment.difference
    return f"{100 * low:+.1f} to {100 * high:+.1f}".replace("-", "−")


def p_words(p: float) -> str:
    """An adjusted p."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004 - the usual bound


def nothing_departs(found: Diagnosis) -> bool:
    """Is the output all right? Known only where nothing more is being looked for."""
    keys = found.keys
    return found.complete and not (
        found.mismatches or keys.missing or keys.extra or keys.duplicates
    )


def summary_words(found: Diagnosis) -> str:
    """A diagnosis in two sentences."""
    if not found.mismatches:
        return "Every cell matches: there is nothing to explain."
    cells = count_words(found.mismatches, "mismatching cell")
    number = len(found.ranked)
    if not found.complete:
        first = f"So far: {found.ranked[0].words}" if number else "Nothing fits so far."
        return f"{cells}; still looking. {first}"
    if not number:
        return f"{cells}; no signature explains enough of them to be named."
    explained = found.mismatches - found.unexplained
    which = "the one signature" if number == 1 else f"one of {number} signatures"
    return (
        f"{cells}; {explained:,} of them are as {which} predicts (no cell counts twice). A "
        "signature says what the mismatches are consistent with, not what caused them."
    )
