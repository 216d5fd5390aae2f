"""A diagnosis for outside: no condition, no cell value, no key, and no small count to be found.

Which counts are told is decided for all of them together (`engine.base.disclosure`): here the
sums between them are said.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Sequence

from engine.base.disclosure import SMALL, Ledger
from engine.concepts import concept_graph
from engine.diagnosis.model import (
    Change,
    Clue,
    ColumnDiagnosis,
    Diagnosis,
    Proposal,
    Segment,
    Signature,
)
from engine.references import list_targets

_COHORT = ("inner-join", "filtered-cohort")
"""Signatures whose words say what missing stays have in common."""
_COUNTS = ("repeated",)
"""Parameters of signatures that are counts of rows."""


def count(number: int) -> int | str:
    """A number that stands alone, or ``"<11"`` where it is from 1 to 10."""
    return f"<{SMALL}" if 0 < number < SMALL else number


def exported(diagnosis: Diagnosis) -> dict[str, object]:
    """See `Diagnosis.as_dict`."""
    ledger = Ledger()
    counts = DiagnosisCounts(ledger, diagnosis)
    ledger.settle()
    return counts.told()


class DiagnosisCounts:
    """The counts of a diagnosis in a ledger, and the diagnosis as the ledger lets it be told.

    The ledger's names are ``c:COLUMN`` (mismatches of a column), ``missing``, ``extra``,
    ``duplicates`` and ``keys`` (their sum, which is not told); whoever tells more of the same run
    builds on them.

    Args:
        ledger: where the counts are entered; settled by the caller.
        diagnosis: what is to be told.
    """

    def __init__(self, ledger: Ledger, diagnosis: Diagnosis) -> None:
        self._ledger, self._diagnosis = ledger, diagnosis
        self._groups = [s for s in diagnosis.segments if self._is_large(s)]
        """Segments that are told, unless they give something away together."""
        self._enter_columns()
        self._enter_signatures("all", diagnosis.ranked, "mismatches", "unexplained")
        for c in diagnosis.columns:
            name = f"c:{c.column}"
            self._enter_signatures(name, c.signatures, name, f"{name}:left")
        self._enter_signatures("keys", diagnosis.keys.signatures, "keys", "keys:left")
        self._enter_whole_signatures()
        for number, proposal in enumerate(diagnosis.proposals):
            ledger.count(f"p:{number}", proposal.rows.count, keep=0)
            if number < len(diagnosis.ranked):
                ledger.total(f"all:{number}:explained", [f"p:{number}"], rest=f"p:{number}:rest")
        self._enter_segments()

    def _enter_columns(self) -> None:
        ledger, found = self._ledger, self._diagnosis
        keys = found.keys
        for name, number in (
            ("missing", keys.missing),
            ("extra", keys.extra),
            ("duplicates", keys.duplicates),
        ):
            ledger.count(name, number, keep=5)
        rows = keys.missing + keys.extra + keys.duplicates
        ledger.count("keys", rows, told=False)
        ledger.total("keys", ["missing", "extra", "duplicates"])
        ledger.count("keys:left", keys.residual.count)
        ledger.total("keys", ["keys:left"], rest="keys:explained")
        for c in found.columns:
            name = ledger.count(f"c:{c.column}", c.mismatches, keep=4)
            ledger.count(f"{name}:left", c.residual.count)
            ledger.total(name, [f"{name}:left"], rest=f"{name}:explained")
        ledger.count("mismatches", found.mismatches, keep=2)
        ledger.count("unexplained", found.unexplained)
        ledger.total("mismatches", ["unexplained"], rest="explained")
        cells = found.mismatches - sum(c.mismatches for c in found.columns)
        weights = dict.fromkeys((f"c:{c.column}" for c in found.columns), 1)
        if rows:
            weights["keys"] = cells // rows  # a row without its key is wrong in every column
        ledger.total("mismatches", weights, rest="mismatches:rest")

    def _enter_signatures(
        self, scope: str, signatures: Sequence[Signature], whole: str, left: str
    ) -> None:
        ledger = self._ledger
        for number, s in enumerate(signatures):
            name = f"{scope}:{number}"
            ledger.count(f"{name}:explained", s.explained)
            ledger.count(f"{name}:tested", s.tested, keep=3)
            ledger.count(f"{name}:broken", s.broken, keep=2)
            ledger.count(f"{name}:gained", s.gained, told=False)
            ledger.total(f"{name}:explained", [f"{name}:gained"], rest=f"{name}:shared")
            ledger.total(f"{name}:tested", [f"{name}:explained"], rest=f"{name}:not")
            asked = [f"c:{c.column}" for c in self._diagnosis.columns if c.column in s.columns]
            cells = sum(c.mismatches for c in self._diagnosis.columns if c.column in s.columns)
            if not asked or s.tested > cells:
                asked.append("keys")
                cells += sum(self._by_key())
            ledger.count(f"{name}:asked", cells, told=False)
            ledger.total(f"{name}:asked", asked)
            ledger.total(f"{name}:asked", [f"{name}:tested"], rest=f"{name}:untested")

        gained = [f"{scope}:{number}:gained" for number in range(len(signatures))]
        ledger.total(whole, [*gained, left], rest=f"{scope}:rest")

    def _by_key(self) -> tuple[int, int, int]:
        keys = self._diagnosis.keys
        return keys.missing, keys.extra, keys.duplicates

    def _enter_whole_signatures(self) -> None:
        """What is said of the whole table is the sum of what is said of its columns."""
        found = self._diagnosis
        lists = [(f"c:{c.column}", c.signatures) for c in found.columns]
        lists.append(("keys", found.keys.signatures))
        for number, s in enumerate(found.ranked):
            same = [
                f"{scope}:{at}"
                for scope, signatures in lists
                for at, other in enumerate(signatures)
                if (other.id, other.words) == (s.id, s.words)
            ]
            for what in ("explained", "tested", "broken"):
                self._ledger.total(
                    f"all:{number}:{what}",
                    [f"{one}:{what}" for one in same],
                    rest=f"all:{number}:{what}:elsewhere",
                )

    def _enter_segments(self) -> None:
        for number, s in enumerate(self._groups):
            self._enter_segment(number, s)
        ledger = self._ledger
        for (parent, feature), numbers in self._siblings().items():
            for what in ("rows", "wrong", "right"):
                is_column = not parent.startswith("s:") and what == "wrong"
                whole = parent if is_column else f"{parent}:{what}"
                if ledger.has(whole):
                    parts = [f"s:{n}:{what}" for n in dict.fromkeys(numbers)]
                    ledger.total(whole, parts, rest=f"{whole}:{feature}:rest")

    def _enter_segment(self, number: int, s: Segment) -> None:
        ledger = self._ledger
        whole = "keys" if s.column is None else f"c:{s.column}"
        rows = ledger.count(f"s:{number}:rows", s.rows.count, keep=-1, ranged=False)
        bad = ledger.count(f"s:{number}:wrong", s.mismatches.count, keep=-1, ranged=False)
        ledger.total(rows, [bad], rest=f"s:{number}:right")
        ledger.total(whole, [bad], rest=f"s:{number}:wrong:out")
        if s.base > 0:  # the share outside tells how many rows there are outside
            outside = round(self._wrong_outside(s) / s.base)
            everything = ledger.count(f"{whole}:rows", s.rows.count + outside, public=True)
            ledger.total(everything, [rows], rest=f"s:{number}:rows:out")
            ledger.total(everything, [whole], rest=f"{whole}:right")
            ledger.total(f"{whole}:right", [f"s:{number}:right"], rest=f"s:{number}:right:out")

    def _siblings(self) -> dict[tuple[str, str], list[int]]:
        """Groups that exclude each other: the levels of one feature, of all or within a group."""
        found = self._groups
        singles = {
            (s.column, s.features[0], s.levels[0]): number
            for number, s in enumerate(found)
            if len(s.features) == 1
        }
        siblings: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, s in enumerate(found):
            if len(s.features) == 1:
                whole = "keys" if s.column is None else f"c:{s.column}"
                siblings[whole, s.features[0]].append(number)
                continue
            for at in (0, 1):
                parent = singles.get((s.column, s.features[at], s.levels[at]))
                if parent is not None:
                    siblings[f"s:{parent}", s.features[1 - at]].append(number)
        return siblings

    def _is_large(self, s: Segment) -> bool:
        """No count of rows or patients of the group, or of what is outside it, is small."""
        bad, outside = s.mismatches.count, self._wrong_outside(s)
        right = round(outside / s.base) - outside if s.base > 0 else 0
        counts = (s.rows.count, bad, s.rows.count - bad, outside, right, *s.people)
        return all(n == 0 or n >= SMALL for n in counts)

    def _wrong_outside(self, s: Segment) -> int:
        if s.column is None:
            return sum(self._by_key()) - s.mismatches.count
        whole = next((c.mismatches for c in self._diagnosis.columns if c.column == s.column), 0)
        return whole - s.mismatches.count

    # --- telling

    def told(self, *, rows: bool = True) -> dict[str, object]:
        """JSON-ready, after the ledger was settled.

        Args:
            rows: with the number of a row that contradicts a signature.
        """
        found, tell = self._diagnosis, self._ledger.told
        segments = [
            (number, s)
            for number, s in enumerate(self._groups)
            if all(self._ledger.is_exact(f"s:{number}:{what}") for what in ("rows", "wrong"))
        ]
        return {
            "task": found.task,
            "mismatches": tell("mismatches"),
            "unexplained": tell("unexplained"),
            "signatures": self._signatures("all", found.ranked, rows),
            "columns": [self._column(c, rows) for c in found.columns],
            "keys": {
                "missing": tell("missing"),
                "extra": tell("extra"),
                "duplicates": tell("duplicates"),
                "signatures": self._signatures("keys", found.keys.signatures, rows),
                "unexplained": tell("keys:left"),
            },
            "segments": [_segment(s) for _, s in segments],
            "segments_suppressed": len(found.segments) - len(segments),
            "proposals": [
                _proposal(p, tell(f"p:{number}")) for number, p in enumerate(found.proposals)
            ],
            "notes": list(found.notes),
            "cut_short": found.cut_short,
            "judged": [{"name": j.name, "detail": j.detail} for j in found.judged],
        }

    def _column(self, c: ColumnDiagnosis, rows: bool) -> dict[str, object]:
        name = f"c:{c.column}"
        return {
            "column": c.column,
            "mismatches": self._ledger.told(name),
            "signatures": self._signatures(name, c.signatures, rows),
            "unexplained": self._ledger.told(f"{name}:left"),
        }

    def _signatures(
        self, scope: str, signatures: Sequence[Signature], rows: bool
    ) -> list[dict[str, object]]:
        return [self._signature(f"{scope}:{n}", s, rows) for n, s in enumerate(signatures)]

    def _signature(self, name: str, s: Signature, rows: bool) -> dict[str, object]:
        explained, tested, broken = (
            self._ledger.told(f"{name}:{what}") for what in ("explained", "tested", "broken")
        )
        exact = isinstance(explained, int) and isinstance(tested, int) and tested > 0
        return {
            "id": s.id,
            "title": s.title,
            **_words(s),
            "columns": list(s.columns),
            "evidence": s.evidence,
            "parameters": {n: v for n, v in s.parameters.items() if n not in _COUNTS},
            "explained": explained,
            "tested": tested,
            "share": round(s.share, 4) if exact else None,
            "broken": broken,
            **({"counter_example": s.counter_example} if rows else {}),
            "change": _change(s.change),
            "changes": [_change(change) for change in s.changes],
            "alike": [] if _is_of_few(s) else list(s.alike),
        }


def _is_of_few(s: Signature) -> bool:
    return s.id in _COHORT and s.rows.count < SMALL


def _words(s: Signature) -> dict[str, str]:
    """What it says; of a few missing stays not what they have in common, which is theirs."""
    if _is_of_few(s):
        feature = s.parameters.get("feature", "")
        return {
            "words": f"Consistent with stays left out by “{feature}”.",
            "predicts": f"no row for some stays, by “{feature}”",
        }
    return {"words": s.words, "predicts": s.predicts}


def _change(change: Change | None) -> dict[str, str] | None:
    if change is None:
        return None
    return {"query": change.query, "before": change.before, "after": change.after}


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


_DATA = re.compile(r"[\s\d.,;:()'\"+-]*")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T]\d\d?:\d\d(?::\d\d)?)?")
_LONG = re.compile(r"\d{5,}(?:-\d+)?|\d+-\d{4,}")


def _clue(clue: Clue) -> str:
    """A clue for outside; what an agent wrote may hold rows of data, identifiers and dates."""
    if clue.about != "agent":
        return clue.text
    if _DATA.fullmatch(clue.text):
        return "(A line of data, which is not told.)"
    text = _DATE.sub("…", clue.text)
    return _LONG.sub(lambda n: n[0] if n[0] in _known_numbers() else "…", text)


@functools.cache
def _known_numbers() -> frozenset[str]:
    """Items and the like that our own SQL names: these are of the database, not of a patient."""
    queries = (*concept_graph().concepts.values(), *list_targets().values())
    return frozenset(n for query in queries for n in re.findall(r"\d{5,}", query.sql))


def _proposal(p: Proposal, rows: object) -> dict[str, object]:
    return {
        "fault": p.fault,
        "words": p.words,
        "columns": list(p.columns),
        "signature": p.signature,
        "title": p.title,
        "clues": [
            {"about": c.about, "whose": c.whose, "text": _clue(c), "where": c.where}
            for c in p.clues
        ],
        "rows": rows,
    }
