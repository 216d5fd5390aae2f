"""What the mismatches of an output are consistent with, where they sit, whose fault they may be."""

from engine.diagnosis.diagnosing import diagnose
from engine.diagnosis.judged import unmet
from engine.diagnosis.model import (
    Change,
    Clue,
    ColumnDiagnosis,
    Diagnosis,
    Judged,
    KeyDiagnosis,
    Proposal,
    Rows,
    Segment,
    Signature,
)
from engine.diagnosis.recompute.cache import Cache

__all__ = [
    "Cache",
    "Change",
    "Clue",
    "ColumnDiagnosis",
    "Diagnosis",
    "Judged",
    "KeyDiagnosis",
    "Proposal",
    "Rows",
    "Segment",
    "Signature",
    "diagnose",
    "unmet",
]
