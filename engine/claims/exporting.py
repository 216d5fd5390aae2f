"""Evidence as a JSON document; small counts left out unless it stays on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

from engine.claims.model import Check, Evidence, Verdict

SMALL = 11
"""Counts from 1 to one less are left out of what may leave the machine."""
_COUNTED = frozenset(
    {
        "rows", "stays", "missing", "below", "above", "on_low", "on_high", "units", "near",
        "texts", "missing_rows", "keys",
    }
)  # fmt: skip
"""Members of a result that are counts of rows or stays, or mappings to such."""
_EXTREME = frozenset({"low", "high"})
"""Members that are the value of a single row."""
_TAILS = {"0.01": 100, "0.05": 20, "0.25": 4, "0.5": 2, "0.75": 4, "0.95": 20, "0.99": 100}
"""Of how many rows one lies beyond a quantile."""
SUPPRESSED = "suppressed"
"""What stands for a small count."""


def evidence_document(evidence: Evidence, *, local: bool = False) -> dict[str, Any]:
    """The evidence as plain JSON values.

    Args:
        evidence: what was found.
        local: with every count, for this machine only; else counts below `SMALL`, smallest and
            largest values, and quantiles with few rows beyond them are left out.
    """
    document: dict[str, Any] = dataclasses.asdict(evidence)
    document["small_counts"] = "shown" if local else f"counts below {SMALL} are left out"
    document["verdicts"] = {verdict: len(evidence.of(verdict)) for verdict in get_args(Verdict)}
    for claim, plain in zip(evidence.claims, document["claims"], strict=True):
        plain["id"] = claim.id
    if not local:
        for check in document["checks"]:
            check["result"] = _suppressed(check["result"] or {})
    return document


def attachment(evidence: Evidence, check: Check) -> dict[str, Any]:
    """A check as a verdict keeps it (`engine.reviews.verdicts`): small counts are left out.

    It bears ``query``, ``source_sha256`` and ``date``, what was checked where, and the outcome.
    """
    where = {"text": check.text, "line": check.line, "shown": check.shown}
    return {
        "name": check.name,
        "verdict": check.verdict,
        "words": check.words,
        **({"skill": check.skill} if check.skill else {}),
        **where,
        "query": check.query,
        "source": evidence.source,
        "source_sha256": evidence.source_digest,
        "sql_sha256": evidence.sql_sha256,
        "date": evidence.made_at,
        "result": _signable(_suppressed(check.result or {})),
    }


def _signable(value: Any) -> Any:
    """Numbers with a fraction as texts: a signature knows whole numbers only."""
    if isinstance(value, Mapping):
        return {str(name): _signable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_signable(part) for part in value]
    return f"{value:.6g}" if isinstance(value, float) else value


def _suppressed(result: Mapping[str, Any]) -> dict[str, Any]:
    rows = result.get("rows")
    number = rows if isinstance(rows, int) else 0
    few = _few(result.get("stays")) or _few(rows)
    out: dict[str, Any] = {}
    for name, value in result.items():
        if name in _EXTREME and "quantiles" in result:
            continue
        if name == "quantiles":
            out[name] = {q: v for q, v in value.items() if not few and number / _TAILS[q] >= SMALL}
        elif name == "histogram":
            out[name] = None if few or number / _TAILS["0.01"] < SMALL else _counts(value)
        elif name == "missing_share" and _few(result.get("missing")):
            out[name] = SUPPRESSED
        elif name in _COUNTED or name in ("siblings",):
            out[name] = _counts(value)
        else:
            out[name] = value
    return out


def _counts(value: Any) -> Any:
    """Small whole numbers replaced, at any depth; items keep theirs."""
    if isinstance(value, Mapping):
        return {
            name: part if name in ("item", "from", "to") else _counts(part)
            for name, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_counts(part) for part in value]
    return SUPPRESSED if _few(value) else value


def _few(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < SMALL
