"""Evidence as a JSON document; small counts left out unless it stays on this machine."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, get_args

from engine.base.disclosure import SMALL
from engine.claims.disclosing import SUPPRESSED, Counts, few, related
from engine.claims.model import Check, Evidence, Verdict

_COUNTED = frozenset(
    {
        "rows", "stays", "missing", "below", "above", "on_low", "on_high", "units", "near",
        "texts", "missing_rows", "keys", "outside", "siblings",
    }
)  # fmt: skip
"""Members of a result that are counts of rows or stays, or mappings to such."""
_SCANNED = _COUNTED | {"histogram"}
_NO_COUNTS = frozenset({"item", "from", "to", "label"})
"""Members inside of those that are none."""
_EXTREME = frozenset({"low", "high"})
"""Members that are the value of a single row."""
_TAILS = {"0.01": 100, "0.05": 20, "0.25": 4, "0.5": 2, "0.75": 4, "0.95": 20, "0.99": 100}
"""Of how many numbers one lies beyond a quantile."""
_BINS = re.compile(r"floor\(\((\w+) - \([^()]*\)\) / [^()]*\)")
"""The ends of a histogram in its query, which are quantiles."""
_SHARE = re.compile(r"\d+\.\d % lie")


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
        counts = Counts(evidence.checks, _histogram_told)
        for check, plain in zip(evidence.checks, document["checks"], strict=True):
            plain.update(_told(check, counts))
    return document


def attachment(evidence: Evidence, check: Check, *, whole: bool = False) -> dict[str, Any]:
    """A check as a verdict keeps it (`engine.reviews.verdicts`).

    It bears ``query``, ``source_sha256`` and ``date``, what was checked where, and the outcome.
    What it tells of counts is the same as in the whole of the evidence: checks that are attached
    one after the other tell no more. It takes some time.

    Args:
        evidence: what was found.
        check: one of its checks.
        whole: with every count; only where the source's policy is free.
    """
    told: dict[str, Any] = {"words": check.words, "query": check.query, "result": check.result}
    if not whole:
        told = _told(check, Counts(related(evidence.checks, check), _histogram_told))
    return {
        "name": check.name,
        "verdict": check.verdict,
        "words": told["words"],
        **({"skill": check.skill} if check.skill else {}),
        "text": check.text,
        "line": check.line,
        "shown": check.shown,
        "query": told["query"],
        "source": evidence.source,
        "source_sha256": evidence.source_digest,
        "sql_sha256": evidence.sql_sha256,
        "date": evidence.made_at,
        "small_counts": "shown" if whole else "left out",
        "result": _signable(told["result"] or {}),
    }


def tells_small_counts(piece: Mapping[str, Any]) -> bool:
    """Does a piece of evidence hold what `attachment` leaves out?"""
    result = piece.get("result")
    if not isinstance(result, Mapping):
        return False
    if _EXTREME & result.keys() and "quantiles" in result:
        return True
    return any(_small_inside(part) for name, part in result.items() if name in _SCANNED)


def _small_inside(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_small_inside(part) for name, part in value.items() if name not in _NO_COUNTS)
    if isinstance(value, (list, tuple)):
        return any(map(_small_inside, value))
    return few(value)


def _signable(value: Any) -> Any:
    """Numbers with a fraction as texts: a signature knows whole numbers only."""
    if isinstance(value, Mapping):
        return {str(name): _signable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_signable(part) for part in value]
    return f"{value:.6g}" if isinstance(value, float) else value


def _told(check: Check, counts: Counts) -> dict[str, Any]:
    """Words, query and result of a check without what is not told."""
    result = check.result or {}
    out: dict[str, Any] = {}
    for name, value in result.items():
        if name in _EXTREME and "quantiles" in result:
            continue
        if name == "quantiles":
            out[name] = {q: v for q, v in value.items() if _has_tail(result, q)}
        elif name == "histogram" and not _histogram_told(result):
            out[name] = None
        elif name == "missing_share":
            exact = all(counts.told(check, (n,)) == result.get(n) for n in ("rows", "missing"))
            out[name] = value if exact else SUPPRESSED
        elif name == "near":
            often = {text: n for text, n in value.items() if not few(n)}
            out[name] = _counted(check, counts, often, (name,))
        elif name in _SCANNED:
            out[name] = _counted(check, counts, value, (name,))
        else:
            out[name] = value
    query = check.query if out.get("histogram") else _BINS.sub(r"floor(\1)", check.query)
    return {"words": _words(check, counts, out), "query": query, "result": out}


def _words(check: Check, counts: Counts, told: Mapping[str, Any]) -> str:
    result = check.result or {}
    if check.name == "range" and counts.told(check, ("outside",)) != result.get("outside"):
        return _SHARE.sub("some lie", check.words, count=1)
    rare = len(result.get("near", ())) - len(told.get("near", ()))
    if check.name == "spellings" and rare:
        # A text of a few rows is a value of theirs.
        named = ", ".join(f"“{text}”" for text in told["near"])
        listed = f": {named}, and others" if named else ""
        return (
            f"In {result['column']} there are texts that neither skill nor reference name"
            f"{listed}; those of fewer than {SMALL} rows are left out."
        )
    return check.words


def _counted(check: Check, counts: Counts, value: Any, path: tuple[str, ...]) -> Any:
    """Counts as they are told, at any depth; one that hangs together with nothing by itself."""
    if isinstance(value, Mapping):
        return {
            name: part if name in _NO_COUNTS else _counted(check, counts, part, (*path, str(name)))
            for name, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_counted(check, counts, p, (*path, str(at))) for at, p in enumerate(value)]
    told = counts.told(check, path)
    if told is not None:
        return told
    return SUPPRESSED if few(value) else value


def _is_few(result: Mapping[str, Any]) -> bool:
    return few(result.get("stays")) or few(result.get("rows"))


def _has_tail(result: Mapping[str, Any], quantile: str) -> bool:
    rows = result.get("rows")
    number = rows - int(result.get("missing") or 0) if isinstance(rows, int) else 0
    return not _is_few(result) and number / _TAILS[quantile] >= SMALL


def _histogram_told(result: Mapping[str, Any]) -> bool:
    return _has_tail(result, "0.01")
