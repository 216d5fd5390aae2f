"""The audit log: everything that touched a source, append-only and hash-chained."""

from engine.audit.chain import Problem
from engine.audit.entry import Entry, Fact, Facts, Stage
from engine.audit.log import note, recorded
from engine.audit.verify import Verdict, begun, export_log, read_log, unfinished, verify

__all__ = [
    "Entry",
    "Fact",
    "Facts",
    "Problem",
    "Stage",
    "Verdict",
    "begun",
    "export_log",
    "note",
    "read_log",
    "recorded",
    "unfinished",
    "verify",
]
