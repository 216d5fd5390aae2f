"""Who says how good a run's artefacts are: the protocol that every kind of task fills.

The run machine knows no scorer; it is given a `Judge` and keeps its `Verdict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from engine.base.jobs import Job
from engine.catalogue.task import Task


@dataclass(frozen=True)
class Diagnostic:
    """One named check of a strict pass."""

    name: str
    """Machine name, e.g. ``output_exists`` or ``accuracy:starttime``."""
    passed: bool
    """Did it hold?"""
    detail: str = ""
    """Words for people; no cell value."""


@dataclass(frozen=True)
class Verdict:
    """What a judge found. `figures` is JSON-ready and kept whole in the record."""

    reward: float | None
    """0 to 1, rounded to 8 decimals; None when nothing could be judged through our fault."""
    strict_pass: bool
    """Every diagnostic holds."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Named figures of this kind of task (match_rates, key_precision, extra_keys …)."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The named checks, in order."""
    warnings: tuple[str, ...] = ()
    """What the reader must know about the figures."""


class Judge(Protocol):
    """Judges the artefacts of one run."""

    def judge(
        self,
        task: Task,
        reference: Path,
        artefacts: Mapping[str, Path],
        folder: Path,
        *,
        job: Job,
    ) -> Verdict:
        """Judge what a run left.

        Args:
            task: the task with its evaluation.
            reference: the reference file.
            artefacts: artefact name (``output.csv``) to a regular file that we own; its
                content is hostile. Absent when the agent left none.
            folder: where the judge may write (``score.json``, ``diff.duckdb``); writing
                again after a crash must give the same.
            job: progress and cancel.

        Raises:
            Cancelled, StorageFull, BadInput (of the reference), HarnessFault: no verdict. A
            bad artefact is a verdict with reward 0, never an error.
        """
