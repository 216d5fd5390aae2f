"""What a diagnosis says: plain frozen values that both front ends show.

Conditions select rows of the table ``diff`` of the diff file and may name keys: they, and
`local_words`, are for the machine that holds the data. `Diagnosis.as_dict` leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Evidence = Literal["values", "source"]
Fault = Literal["agent", "skill", "instruction", "reference", "undecided"]
Parameter = str | int | float | bool | None

BESIDES = "besides"
"""Parameter of a signature that makes several changes of the SQL together: the last one's words."""
_AND = "; "
"""Between what several changes are made of."""
_SPEC = "operational-spec.md"


@dataclass(frozen=True)
class Rows:
    """A choice of rows of the diff."""

    condition: str
    """SQL condition over the table ``diff``, for a WHERE clause; ``false`` where there is none."""
    count: int
    """How many rows it chooses."""


NO_ROWS = Rows("false", 0)


@dataclass(frozen=True)
class Change:
    """One change of the reference's own SQL that was tried."""

    query: str
    """The concept, or the target, that was changed."""
    before: str
    """The piece of its SQL as it is."""
    after: str
    """The piece as it was tried; empty where it was left out."""


@dataclass(frozen=True)
class Signature:
    """A hypothesis that was tested, and how well it fits."""

    id: str
    """Which hypothesis, e.g. ``constant-factor``; stable."""
    title: str
    """Its short name for a list."""
    words: str
    """One sentence, "Consistent with …"; holds no cell value."""
    predicts: str
    """What the agent's value would be in every row if it held."""
    columns: tuple[str, ...]
    """The scored columns it was tested on; none where it speaks of keys alone."""
    evidence: Evidence
    """Tested on the two values alone, or by computing again from the source."""
    parameters: Mapping[str, Parameter]
    """Factor, offset (seconds for times), window, item, …"""
    explained: int
    """Mismatching cells (for keys: rows) that are as it predicts."""
    tested: int
    """Mismatching cells (rows) it was tested on; fewer than there are where a sample was taken."""
    gained: int
    """Those explained by no signature that stands before it."""
    broken: int
    """Cells that match though it predicts otherwise: what speaks against it."""
    rows: Rows
    """The rows it explains."""
    against: Rows
    """Mismatching rows it was tested on and does not explain."""
    counter_example: int | None
    """``row`` of a matching cell for which it predicts another value; None where there is none."""
    change: Change | None = None
    """For `source`: the change of the reference's SQL."""
    alike: tuple[str, ...] = ()
    """Words of other hypotheses that explain just the same cells."""
    local_words: str = ""
    """More words, which may hold values; only for this machine."""

    @property
    def share(self) -> float:
        """Explained per tested, 0 to 1."""
        return self.explained / self.tested if self.tested else 0.0

    @property
    def changes(self) -> tuple[Change, ...]:
        """Its change of the SQL; where several mistakes were tried together, each of them."""
        if self.change is None:
            return ()
        before, after = self.change.before.split(_AND), self.change.after.split(_AND)
        if BESIDES not in self.parameters or len(before) != len(after):
            return (self.change,)
        pairs = zip(before, after, strict=True)
        return tuple(Change(self.change.query, one, other) for one, other in pairs)


@dataclass(frozen=True)
class ColumnDiagnosis:
    """The signatures of one scored column."""

    column: str
    """Its name."""
    position: int
    """Its number in the diff file."""
    mismatches: int
    """Mismatching cells in rows whose key both sides have."""
    signatures: tuple[Signature, ...]
    """Best first; together they cover each row once (`gained`)."""
    residual: Rows
    """Mismatching rows that none of them explains."""


@dataclass(frozen=True)
class KeyDiagnosis:
    """The signatures of missing, extra and repeated keys."""

    missing: int
    """Rows of the reference that the agent lacks."""
    extra: int
    """Keys that the reference does not have."""
    duplicates: int
    """Further rows of a key."""
    signatures: tuple[Signature, ...]
    """Best first."""
    residual: Rows
    """Rows with such a key that none of them explains."""


@dataclass(frozen=True)
class Segment:
    """A group of stays in which a column mismatches more often than elsewhere."""

    column: str | None
    """The scored column; None for rows whose key is missing, extra or repeated."""
    features: tuple[str, ...]
    """What it is defined by, one or two, e.g. ``unit``, ``age``."""
    levels: tuple[str, ...]
    """The level of each feature, e.g. ``65–79``."""
    words: str
    """E.g. "age 65–79 and ventilated"."""
    rows: Rows
    """All rows of the group."""
    mismatches: Rows
    """Those of them that mismatch."""
    share: float
    """Mismatching rows per row of the group."""
    base: float
    """Mismatching rows per row outside the group."""
    ratio: float | None
    """Share by base; None where the base is 0."""
    covered: float
    """Which part of all mismatching rows lies in the group."""
    difference: tuple[float, float]
    """95 % interval of share minus base, corrected for the number of groups tested and for rows
    of one patient being alike."""
    p: float
    """Adjusted two-sided p (Benjamini–Yekutieli over all groups tested)."""
    people: tuple[int, int, int, int]
    """Patients with rows in the group, with mismatches in it, and the same outside it."""


@dataclass(frozen=True)
class Clue:
    """One piece of evidence of a proposal."""

    about: Literal["reference", "agent", "skill", "instruction", "audit"]
    """Whose words or doings."""
    text: str
    """What it says or does."""
    where: str
    """File and line, or concept; empty where there is none."""

    @property
    def whose(self) -> str:
        """Who says it, in words: the operational specification is no instruction to a reader."""
        is_spec = self.about == "instruction" and self.where.startswith(_SPEC)
        return "operational specification" if is_spec else self.about


@dataclass(frozen=True)
class Proposal:
    """Whose fault a signature may be; the reviewer decides."""

    fault: Fault
    """Who departs from what."""
    words: str
    """Why, in one or two sentences."""
    columns: tuple[str, ...]
    """The columns it is about; none for keys."""
    signature: str | None
    """`id` of the signature it rests on."""
    clues: tuple[Clue, ...]
    """What the skill, the instruction, the agent and the reference say."""
    rows: Rows
    """The rows it is about."""
    title: str = ""
    """`title` of that signature."""


@dataclass(frozen=True)
class Judged:
    """A condition without which an output can hardly be compared, and which it does not meet."""

    name: str
    """``output_exists``, ``has_rows`` or ``required_columns``."""
    detail: str
    """The judge's own reason: sentences; names columns and lines, holds no value."""


@dataclass(frozen=True)
class Diagnosis:
    """Everything that was found out about one diff."""

    task: str
    """Name of the task."""
    mismatches: int
    """Mismatching cells, those of missing, extra and repeated keys included."""
    ranked: tuple[Signature, ...]
    """Signatures over the whole table, best first, without counting a cell twice."""
    unexplained: int
    """Mismatching cells that none of `ranked` explains."""
    columns: tuple[ColumnDiagnosis, ...]
    """Every scored column with a mismatch, in order."""
    keys: KeyDiagnosis
    """Missing, extra and repeated keys."""
    segments: tuple[Segment, ...]
    """Strongest first."""
    proposals: tuple[Proposal, ...]
    """One per leading signature."""
    notes: tuple[str, ...] = field(default=())
    """What could not be tested, and why."""
    complete: bool = True
    """False while more is being looked for."""
    cut_short: bool = False
    """The time was over before every change of the reference's SQL was tried."""
    judged: tuple[Judged, ...] = ()
    """Why the output could not be read or lacks columns; empty where nothing of the kind."""

    def as_dict(self) -> dict[str, object]:
        """JSON-ready for exports: no condition, no local words, small counts as ``"<11"``."""
        from engine.diagnosis.exporting import exported  # noqa: PLC0415 - it knows this module

        return exported(self)
