"""A diagnosis as text for people: its numbers add up, and hold no value and no key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.base.disclosure import SMALL
from engine.diagnosis import Diagnosis, Signature

_NOT_TOLD = "(not told)"
_SEGMENTS = 10
"""Groups of stays that the text shows."""
_COUNTS = (
    "mismatches", "unexplained", "missing", "extra", "duplicates", "explained", "tested", "broken",
)  # fmt: skip
"""Names of counts in the JSON."""
_NOT_THERE = ("no-output", "column-missing")
"""Signatures for which no values were held against each other."""


def report(diagnosis: Diagnosis) -> str:
    """The diagnosis as text for people; counts as they may be told outside."""
    if not diagnosis.mismatches:
        return f"{diagnosis.task}: there are no mismatches."
    told = diagnosis.as_dict()
    whole = f"{diagnosis.task}: {_number(told['mismatches'])} cells mismatch"
    left = f"the signatures below leave {_number(told['unexplained'])} of them unexplained"
    lines = [f"{whole}; {left}.", *_made_of(diagnosis, told)]
    lines += [f"FAIL  {j.name}: {j.detail}" for j in diagnosis.judged]
    lines.append("")
    listed = zip(diagnosis.ranked, _listed(told, "signatures"), strict=True)
    for number, (signature, s) in enumerate(listed, start=1):
        lines += _signature(number, signature, s, _cells(diagnosis, signature))
    if not diagnosis.ranked:
        lines.append("  No hypothesis fits.")
    lines += [*_by_key(diagnosis, told), *_by_column(told), *_segments(told)]
    if proposals := _listed(told, "proposals"):
        lines += ["", "Whose fault it may be (for you to decide)"]
        for number, p in enumerate(proposals, start=1):
            lines.append(f"{number:3}. {p['fault']}: {p['words']}")
            # As exported: an agent's SQL may name values and keys.
            lines += [f"    {c['whose']}: {c['text']} ({c['where']})" for c in p["clues"]]
    lines += ["", *(f"note  {note}" for note in diagnosis.notes)]
    if _is_held_back(told):
        lines.append(
            f"note  Counts under {SMALL} are written <{SMALL}. Others are a range, or {_NOT_TOLD}, "
            "where they would give such a count away; `m4bench score` tells the rows exactly."
        )
    return "\n".join(lines).rstrip()


def _by_key(diagnosis: Diagnosis, told: Mapping[str, Any]) -> list[str]:
    if not _rows(diagnosis):
        return []
    missing, extra, repeated, left = (
        _number(told["keys"][name]) for name in ("missing", "extra", "duplicates", "unexplained")
    )
    words = f"{missing} of the reference are missing, {extra} are extra, {repeated} repeat a key"
    unexplained = f"{left} of these rows are unexplained, each {_width(diagnosis)} cells"
    return ["", f"Rows: {words}; {unexplained}"]


def _by_column(told: Mapping[str, Any]) -> list[str]:
    lines = ["", "By column, in rows that both sides have"] if told["columns"] else []
    for column in _listed(told, "columns"):
        best = column["signatures"][0]["title"] if column["signatures"] else "nothing fits"
        lines.append(
            f"  {column['column']}: {_number(column['mismatches'])} cells mismatch; {best}"
        )
    return lines


def _segments(told: Mapping[str, Any]) -> list[str]:
    segments, hidden = _listed(told, "segments"), told["segments_suppressed"]
    lines = ["", "Where they sit"] if segments or hidden else []
    lines += [
        f"  {s['column'] or 'keys'}: {s['words']}: {s['share']:.1%} of these {s['rows']:,} "
        f"rows mismatch, elsewhere {s['base']:.1%} (p {s['p']:.2g})"
        for s in segments[:_SEGMENTS]
    ]
    if len(segments) > _SEGMENTS:
        lines.append(f"  {len(segments) - _SEGMENTS} more are in the JSON (--json)")
    if hidden:
        words = "Groups of stays that are not told, since a count of theirs is small"
        lines.append(f"  {words}: {hidden:,} (the window shows them)")
    return lines


def _rows(diagnosis: Diagnosis) -> int:
    """Missing, extra and repeated rows."""
    keys = diagnosis.keys
    return keys.missing + keys.extra + keys.duplicates


def _width(diagnosis: Diagnosis) -> int:
    """Scored columns: cells that a missing, extra or repeated row stands for."""
    return (diagnosis.mismatches - sum(c.mismatches for c in diagnosis.columns)) // _rows(diagnosis)


def _cells(diagnosis: Diagnosis, signature: Signature) -> int:
    """Mismatching cells of the columns of a signature."""
    return sum(c.mismatches for c in diagnosis.columns if c.column in signature.columns)


def _made_of(diagnosis: Diagnosis, told: Mapping[str, Any]) -> list[str]:
    """How the number of mismatching cells comes about."""
    if not _rows(diagnosis):
        return []
    width = _width(diagnosis)
    keys = told["keys"]
    cells = [c["mismatches"] for c in told["columns"]]
    there = " + ".join(_number(n) for n in cells) or "0"
    if len(cells) > 1 and all(isinstance(n, int) for n in cells):
        there += f" = {sum(cells):,}"
    kinds = (("missing", "missing"), ("extra", "extra"), ("duplicates", "repeated"))
    other = " + ".join(f"{_number(keys[name])} {word}" for name, word in kinds)
    columns = "column" if width == 1 else "columns"
    return [
        f"  in rows that both sides have: {there}",
        f"  in other rows: ({other}) × {width} {columns}",
    ]


def _is_held_back(told: object) -> bool:
    """Is a count not told as it is?"""
    if isinstance(told, list):
        return any(map(_is_held_back, told))
    if not isinstance(told, dict):
        return False
    return any(
        value is None or isinstance(value, str) if name in _COUNTS else _is_held_back(value)
        for name, value in told.items()
        if name not in ("proposals", "segments")
    )


def _listed(told: Mapping[str, object], name: str) -> list[dict[str, Any]]:
    found: Any = told[name]
    return list(found)


def _number(told: object) -> str:
    if told is None:
        return _NOT_TOLD
    return f"{told:,}" if isinstance(told, int) else str(told)


def _signature(number: int, signature: Signature, s: Mapping[str, Any], cells: int) -> list[str]:
    columns = ", ".join(s["columns"]) or "keys"
    what = "missing, extra or repeated rows"
    if s["columns"]:
        rows = f" and {what} (each counted once)" if signature.tested > cells else ""
        what = f"mismatching cells of these columns{rows}"
    fit = (
        f"{_number(s['explained'])} of the {_number(s['tested'])} {what} it was tested on are as "
        f"it predicts{_tested_by(signature)}"
    )
    lines = [f"{number:3}. {s['title']} ({columns})", f"     {s['words']}", f"     {fit}"]
    if s["broken"] == 0:
        lines.append("     no matching cell contradicts it")
    else:
        against = (
            f"     {_number(s['broken'])} matching cells contradict it: it predicts another value"
        )
        if s["counter_example"] is not None:
            against += f"; one of them is in row {s['counter_example']} of the diff"
        lines.append(against)
    lines += [
        f"     {change.query}: {change.before}  →  {change.after or 'left out'}"
        for change in signature.changes
    ]
    if s["alike"]:
        lines += ["     Just as consistent with:", *(f"       {words}" for words in s["alike"])]
    return lines


def _tested_by(signature: Signature) -> str:
    """What it was tested with, in brackets."""
    together = len(signature.changes)
    if together > 1:
        return f" (the reference computed again with these {together} changes together)"
    if signature.evidence == "source":
        return " (the reference computed again with it)"
    if signature.id in _NOT_THERE:
        return ""
    return " (both values)" if signature.columns else " (the keys of both sides)"
