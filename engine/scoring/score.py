"""The score of one output: every figure, every diagnostic, from counts. Pure arithmetic.

No file, no database and no rounding in here, except in `Score.as_dict`, the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.catalogue.task import TableEvaluation

PROFILE = "m4bench-1.1"
"""The scoring contract that these figures follow."""

DECIMALS = 8
"""Reported figures are rounded to this many decimals; nothing else is."""

Comparison = Literal["number", "time", "text"]


@dataclass(frozen=True)
class Diagnostic:
    """One condition of a strict pass."""

    name: str
    """``output_exists``, ``has_rows``, ``required_columns``, ``key_recall``, ``accuracy:…``."""
    passed: bool
    """Does it hold?"""
    detail: str
    """A sentence for people; holds no cell value."""

    def as_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {"name": self.name, "passed": self.passed, "detail": self.detail}


@dataclass(frozen=True)
class Notice:
    """A harsh rule that took hold: not a condition, but what an agent's author must know."""

    code: str
    """``key_kind`` (the keys cannot meet) or ``compared_as_text``."""
    column: str
    """The column that it is about."""
    count: int
    """How many of the agent's values brought it about."""
    first_row: int | None
    """The first of them: data row of the output, counted from 1 below the header."""
    text: str
    """The rule in a sentence; holds no cell value."""

    def as_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "code": self.code,
            "column": self.column,
            "count": self.count,
            "first_row": self.first_row,
            "text": self.text,
        }


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What was counted when reference and output were laid side by side."""

    reference_rows: int
    """Rows of the reference (its keys are unique)."""
    agent_rows: int
    """Data rows of the output."""
    found_keys: int
    """Reference keys that the agent supplied."""
    duplicates: int
    """Further agent rows of a key that came before."""
    matched: Mapping[str, int]
    """Per scored column: reference rows whose cells match."""
    missing_columns: Sequence[str]
    """Required columns that the output lacks."""
    compared_as: Mapping[str, Comparison] = field(default_factory=dict)
    """Per scored column that the output has: how its cells were compared."""
    ordered_errors: Mapping[str, float] | None = None
    """Per ordered value column: its normalised mean absolute error; None where no key is shared."""
    notices: Sequence[Notice] = ()
    """Harsh rules that took hold."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """All figures of one output, unrounded."""

    reward: float
    """Mean of the match rates over the scored columns, 0 to 1."""
    match_rates: Mapping[str, float]
    """Per scored column: matched / total."""
    matched: Mapping[str, int]
    """Per scored column: matching reference rows."""
    total: int
    """Reference rows + extra keys + duplicates."""
    reference_rows: int
    """Rows of the reference."""
    agent_rows: int
    """Data rows of the output."""
    key_precision: float
    """Agent keys in the reference / distinct agent keys (0 if none)."""
    key_recall: float
    """Agent keys in the reference / reference rows."""
    key_f1: float
    """Harmonic mean of the two (0 if both are 0)."""
    extra_keys: int
    """Distinct agent keys that the reference does not have."""
    duplicate_keys: int
    """Further agent rows of a key."""
    missing_keys: int
    """Reference keys that the agent lacks."""
    ordered_nmae: float | None
    """Mean normalised absolute error over ordered value columns; None where there is none."""
    ordered_columns: int
    """Over how many columns that mean is."""
    compared_as: Mapping[str, Comparison]
    """Per scored column that the output has: number, time or text."""
    diagnostics: Sequence[Diagnostic]
    """4 + one per scored column."""
    warnings: Sequence[Notice]
    """Harsh rules that took hold."""

    @property
    def strict_pass(self) -> bool:
        """Do all diagnostics hold?"""
        return all(diagnostic.passed for diagnostic in self.diagnostics)

    def as_dict(self) -> dict[str, Any]:
        """The report, JSON-ready, figures rounded to 8 decimals."""
        return {
            "profile": PROFILE,
            "reward": round(self.reward, DECIMALS),
            "match_rates": {k: round(v, DECIMALS) for k, v in self.match_rates.items()},
            "matched": dict(self.matched),
            "total": self.total,
            "reference_rows": self.reference_rows,
            "agent_rows": self.agent_rows,
            "key_precision": round(self.key_precision, DECIMALS),
            "key_recall": round(self.key_recall, DECIMALS),
            "key_f1": round(self.key_f1, DECIMALS),
            "extra_keys": self.extra_keys,
            "duplicate_keys": self.duplicate_keys,
            "missing_keys": self.missing_keys,
            "ordered_nmae": None
            if self.ordered_nmae is None
            else round(self.ordered_nmae, DECIMALS),
            "ordered_columns": self.ordered_columns,
            "compared_as": dict(self.compared_as),
            "strict_pass": self.strict_pass,
            "diagnostics": [item.as_dict() for item in self.diagnostics],
            "warnings": [item.as_dict() for item in self.warnings],
        }


def score_of(evaluation: TableEvaluation, tally: Tally) -> Score:
    """The figures and diagnostics of an output that could be read."""
    distinct = tally.agent_rows - tally.duplicates
    extra = distinct - tally.found_keys
    total = tally.reference_rows + extra + tally.duplicates
    rates = {name: tally.matched[name] / total for name in evaluation.scored_columns}
    precision = tally.found_keys / distinct if distinct else 0.0
    recall = tally.found_keys / tally.reference_rows
    both = precision + recall
    errors = tally.ordered_errors or {}
    missing = ", ".join(tally.missing_columns)
    diagnostics = [
        Diagnostic("output_exists", True, "The output is there."),
        Diagnostic("has_rows", tally.agent_rows > 0, f"{tally.agent_rows} data rows."),
        Diagnostic(
            "required_columns",
            not tally.missing_columns,
            f"Missing: {missing}." if missing else "All required columns are there.",
        ),
        Diagnostic(
            "key_recall",
            recall >= evaluation.row_coverage_threshold,
            f"{tally.found_keys} of {tally.reference_rows} reference keys found "
            f"({_percent(recall)}; at least {_percent(evaluation.row_coverage_threshold)} needed).",
        ),
        *(
            Diagnostic(
                f"accuracy:{name}",
                rate >= evaluation.accuracy_threshold,
                f"{tally.matched[name]} of {total} rows match "
                f"({_percent(rate)}; at least {_percent(evaluation.accuracy_threshold)} needed).",
            )
            for name, rate in rates.items()
        ),
    ]
    return Score(
        reward=sum(rates.values()) / len(rates),
        match_rates=rates,
        matched=dict(tally.matched),
        total=total,
        reference_rows=tally.reference_rows,
        agent_rows=tally.agent_rows,
        key_precision=precision,
        key_recall=recall,
        key_f1=2 * precision * recall / both if both else 0.0,
        extra_keys=extra,
        duplicate_keys=tally.duplicates,
        missing_keys=tally.reference_rows - tally.found_keys,
        ordered_nmae=sum(errors.values()) / len(errors) if errors else None,
        ordered_columns=len(errors),
        compared_as=dict(tally.compared_as),
        diagnostics=tuple(diagnostics),
        warnings=tuple(tally.notices),
    )


def zero_score(
    evaluation: TableEvaluation,
    *,
    reference_rows: int,
    failed: str,
    reason: str,
    agent_rows: int | None = None,
    missing_columns: Sequence[str] | None = None,
) -> Score:
    """The score of an output that cannot be judged: reward 0, nothing guessed.

    Args:
        evaluation: the task's rules.
        reference_rows: rows of the reference.
        failed: the diagnostic that says why; empty where only columns or rows are missing.
        reason: its detail.
        agent_rows: whether the output has rows, where that is known.
        missing_columns: the required columns that it lacks, where that is known.
    """
    passed = {
        "output_exists": failed != "output_exists",
        "has_rows": bool(agent_rows),
        "required_columns": missing_columns is not None and not missing_columns,
    }
    details = dict.fromkeys(passed, "Not judged.")
    if passed["output_exists"]:
        details["output_exists"] = "The output is there."
    if agent_rows is not None:
        details["has_rows"] = "There are data rows." if agent_rows else "There are no data rows."
    if missing_columns:
        details["required_columns"] = f"Missing: {', '.join(missing_columns)}."
    elif missing_columns is not None:
        details["required_columns"] = "All required columns are there."
    if failed:
        passed[failed] = False
        details[failed] = reason
    names = evaluation.scored_columns
    diagnostics = [Diagnostic(name, passed[name], details[name]) for name in passed]
    diagnostics.append(Diagnostic("key_recall", False, "Not judged."))
    diagnostics += [Diagnostic(f"accuracy:{name}", False, "Not judged.") for name in names]
    return Score(
        reward=0.0,
        match_rates=dict.fromkeys(names, 0.0),
        matched=dict.fromkeys(names, 0),
        total=reference_rows,
        reference_rows=reference_rows,
        agent_rows=agent_rows or 0,
        key_precision=0.0,
        key_recall=0.0,
        key_f1=0.0,
        extra_keys=0,
        duplicate_keys=0,
        missing_keys=reference_rows,
        ordered_nmae=None,
        ordered_columns=0,
        compared_as={},
        diagnostics=tuple(diagnostics),
        warnings=(),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
