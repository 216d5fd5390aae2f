"""A diagnosis for outside: no condition, no cell value, no key, no small count."""

from __future__ import annotations

from engine.diagnosis.model import (
    SMALL,
    ColumnDiagnosis,
    Diagnosis,
    KeyDiagnosis,
    Proposal,
    Segment,
    Signature,
)


def count(number: int) -> int | str:
    """The number, or ``"<11"`` where it is from 1 to 10."""
    return f"<{SMALL}" if 0 < number < SMALL else number


def exported(diagnosis: Diagnosis) -> dict[str, object]:
    """See `Diagnosis.as_dict`."""
    return {
        "task": diagnosis.task,
        "mismatches": count(diagnosis.mismatches),
        "unexplained": count(diagnosis.unexplained),
        "signatures": [_signature(s) for s in diagnosis.ranked],
        "columns": [_column(c) for c in diagnosis.columns],
        "keys": _keys(diagnosis.keys),
        "segments": [_segment(s) for s in diagnosis.segments if _tellable(s)],
        "segments_suppressed": sum(not _tellable(s) for s in diagnosis.segments),
        "proposals": [_proposal(p) for p in diagnosis.proposals],
        "notes": list(diagnosis.notes),
    }


def _signature(s: Signature) -> dict[str, object]:
    return {
        "id": s.id,
        "title": s.title,
        "words": s.words,
        "predicts": s.predicts,
        "columns": list(s.columns),
        "evidence": s.evidence,
        "parameters": dict(s.parameters),
        "explained": count(s.explained),
        "tested": count(s.tested),
        "share": _share(s.explained, s.tested),
        "gained": count(s.gained),
        "broken": count(s.broken),
        "counter_example": s.counter_example,
        "change": None
        if s.change is None
        else {"query": s.change.query, "before": s.change.before, "after": s.change.after},
        "alike": list(s.alike),
    }


def _share(part: int, whole: int) -> float | None:
    """A share whose parts may both be told; one of a small count would give it away."""
    if whole == 0 or 0 < part < SMALL or 0 < whole - part < SMALL or whole < SMALL:
        return None
    return round(part / whole, 4)


def _column(c: ColumnDiagnosis) -> dict[str, object]:
    return {
        "column": c.column,
        "mismatches": count(c.mismatches),
        "signatures": [_signature(s) for s in c.signatures],
        "unexplained": count(c.residual.count),
    }


def _keys(k: KeyDiagnosis) -> dict[str, object]:
    return {
        "missing": count(k.missing),
        "extra": count(k.extra),
        "duplicates": count(k.duplicates),
        "signatures": [_signature(s) for s in k.signatures],
        "unexplained": count(k.residual.count),
    }


def _tellable(s: Segment) -> bool:
    counts = (s.rows.count, s.mismatches.count, s.rows.count - s.mismatches.count)
    return all(n == 0 or n >= SMALL for n in counts)


def _segment(s: Segment) -> dict[str, object]:
    return {
        "column": s.column,
        "features": list(s.features),
        "levels": list(s.levels),
        "words": s.words,
        "rows": s.rows.count,
        "mismatches": s.mismatches.count,
        "share": round(s.share, 4),
        "base": round(s.base, 4),
        "ratio": None if s.ratio is None else round(s.ratio, 3),
        "covered": round(s.covered, 4),
        "difference": [round(bound, 4) for bound in s.difference],
        "p": s.p,
    }


def _proposal(p: Proposal) -> dict[str, object]:
    return {
        "fault": p.fault,
        "words": p.words,
        "columns": list(p.columns),
        "signature": p.signature,
        "clues": [{"about": c.about, "text": c.text, "where": c.where} for c in p.clues],
        "rows": count(p.rows.count),
    }
