"""The one object that both front ends hold.

Wires sources, references, workspaces, isolation, agents, runs and scoring; holds no rule of
any of them. Everything that it gives back is a plain frozen dataclass.
"""

from __future__ import annotations

from engine.claims.live import TextFinding
from engine.queue import Batch, Item, ItemState, Lane, QueueState, QueueWatch
from engine.queue.checks import Check
from engine.queue.estimate import Estimate, Price
from engine.runs.judge import Diagnostic
from engine.runs.records import (
    CONDITIONS,
    SCHEMAS,
    AgentDb,
    AgentResult,
    CanaryResult,
    Difference,
    LintResult,
    Recomputed,
    RunEvent,
    RunRecord,
    RunRequest,
    RunSummary,
    TestResults,
    Violation,
)
from engine.workbench.texts import StaleSignature, TextEffect, TextUser
from engine.workbench.types import BackendInfo, ImportReport, ReferenceState, SqlPart
from engine.workbench.versions import SAVED, TextVersion
from engine.workbench.workbench import Workbench

__all__ = [
    "CONDITIONS",
    "SAVED",
    "SCHEMAS",
    "AgentDb",
    "AgentResult",
    "BackendInfo",
    "Batch",
    "CanaryResult",
    "Check",
    "Diagnostic",
    "Difference",
    "Estimate",
    "ImportReport",
    "Item",
    "ItemState",
    "Lane",
    "LintResult",
    "Price",
    "QueueState",
    "QueueWatch",
    "Recomputed",
    "ReferenceState",
    "RunEvent",
    "RunRecord",
    "RunRequest",
    "RunSummary",
    "SqlPart",
    "StaleSignature",
    "TestResults",
    "TextEffect",
    "TextFinding",
    "TextUser",
    "TextVersion",
    "Violation",
    "Workbench",
]
