"""A tested hypothesis: which cells it explains, which it contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from engine.diagnosis.model import NO_ROWS, Change, Evidence, Parameter, Rows
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Table

RowList = npt.NDArray[np.int64]
"""Row numbers of the diff, ascending."""

KEYS = -1
"""The place of the keys among the positions of scored columns."""

_NONE: RowList = np.empty(0, dtype=np.int64)
_AT_ONCE = 24
"""Hypotheses of one column whose rows are fetched: those that explain most."""


@dataclass(frozen=True)
class Candidate:
    """One hypothesis with its outcome."""

    id: str
    words: str
    predicts: str
    evidence: Evidence
    parameters: Mapping[str, Parameter]
    cells: Mapping[int, RowList]
    """Column position (or `KEYS`) to the mismatching rows that are as predicted."""
    tested: Mapping[int, int]
    """Column position to the mismatching cells it was asked of."""
    broken: int
    """Matching cells that contradict it."""
    counter_example: int | None
    """Row of one."""
    condition: str | None = None
    """SQL of the explained rows, where that is shorter than their numbers."""
    change: Change | None = None
    local_words: str = ""
    free: bool = False
    strict: bool = False
    loose: bool = False
    untested: Mapping[int, RowList] = field(default_factory=dict)
    """Column position to mismatching rows that it was not asked of (outside a sample)."""

    @property
    def net(self) -> int:
        """Explained cells less those that contradict it."""
        return sum(int(rows.size) for rows in self.cells.values()) - self.broken


def ranges(rows: RowList) -> Rows:
    """Row numbers as a condition on ``row``."""
    if rows.size == 0:
        return NO_ROWS
    breaks = np.flatnonzero(np.diff(rows) > 1)
    starts = rows[np.concatenate(([0], breaks + 1))]
    ends = rows[np.concatenate((breaks, [rows.size - 1]))]
    single = [str(int(s)) for s, e in zip(starts, ends, strict=True) if s == e]
    wide = [
        f"row BETWEEN {int(s)} AND {int(e)}" for s, e in zip(starts, ends, strict=True) if s != e
    ]
    parts = [f"row IN ({', '.join(single)})"] if single else []
    return Rows("(" + " OR ".join([*parts, *wide]) + ")", int(rows.size))


def ask(
    table: Table, position: int, hypotheses: Sequence[Hypothesis], relation: str = "diff"
) -> list[Candidate]:
    """Ask every mismatching and every matching cell of a column.

    Args:
        table: the diff.
        position: the column's, or `KEYS` for rows whose key is missing, extra or repeated.
        hypotheses: all about this column.
        relation: what the hypotheses' SQL is over; has all columns of ``diff``.
    """
    if not hypotheses:
        return []
    wrong, right = (
        ("key_status > 0", "key_status = 0")
        if position == KEYS
        else (f"s{position} IN (2, 3, 4, 6) AND key_status = 0", f"s{position} IN (0, 1, 5)")
    )
    source = relation if relation == "diff" else f"({relation})"
    asked = ", ".join(f"count(*) FILTER (WHERE {h.explains})" for h in hypotheses)
    row = table.con.execute(
        f"SELECT count(*), {asked} FROM {source} t WHERE {wrong}"  # noqa: S608 - our own SQL
    ).fetchone()
    if row is None:
        return []
    total = int(row[0])
    fitting = [(h, int(count)) for h, count in zip(hypotheses, row[1:], strict=True) if count]
    fitting = sorted(fitting, key=lambda pair: -pair[1])[:_AT_ONCE]
    if not fitting:
        return []
    against = ", ".join(
        f"count(*) FILTER (WHERE {h.contradicts}), min(row) FILTER (WHERE {h.contradicts})"
        for h, _ in fitting
    )
    row = table.con.execute(
        f"SELECT {against} FROM {source} t WHERE {right}"  # noqa: S608 - our own SQL
    ).fetchone()
    if row is None:
        return []
    kept = [(h, count, int(row[2 * n]), row[2 * n + 1]) for n, (h, count) in enumerate(fitting)]
    columns = ", ".join(f"coalesce({h.explains}, false) AS h{n}" for n, (h, *_) in enumerate(kept))
    fetched = table.con.execute(
        f"SELECT row, {columns} FROM {source} t WHERE {wrong} ORDER BY row"  # noqa: S608 - our own SQL
    ).fetchnumpy()
    rows = np.asarray(fetched["row"], dtype=np.int64)
    found = []
    for n, (h, _, broken, counter) in enumerate(kept):
        hit = rows[np.asarray(fetched[f"h{n}"], dtype=bool)]
        found.append(
            Candidate(
                id=h.id,
                words=h.words,
                predicts=h.predicts,
                evidence="values",
                parameters=h.parameters,
                cells={position: hit},
                tested={position: total},
                broken=broken,
                counter_example=None if counter is None else int(counter),
                condition=f"({wrong}) AND ({h.explains})" if relation == "diff" else None,
                local_words=h.local_words,
                free=h.free,
                strict=h.strict,
                loose=h.loose,
            )
        )
    return found


def mismatching(table: Table) -> dict[int, RowList]:
    """Per column position (and `KEYS`) the mismatching rows."""
    found: dict[int, RowList] = {}
    for column in table.columns:
        found[column.position] = _rows(
            table, f"s{column.position} IN (2, 3, 4, 6) AND key_status = 0"
        )
    found[KEYS] = _rows(table, "key_status > 0")
    return {position: rows for position, rows in found.items() if rows.size}


def _rows(table: Table, condition: str) -> RowList:
    fetched = table.con.execute(
        f"SELECT row FROM diff WHERE {condition} ORDER BY row"  # noqa: S608 - our own SQL
    ).fetchnumpy()
    return np.asarray(fetched["row"], dtype=np.int64)


def joined(found: Sequence[Candidate]) -> list[Candidate]:
    """One candidate per hypothesis, over all columns and the keys."""
    by_words: dict[str, Candidate] = {}
    for candidate in found:
        name = candidate.words + str(candidate.parameters)
        before = by_words.get(name)
        by_words[name] = (
            candidate
            if before is None
            else replace(
                before,
                cells={**before.cells, **candidate.cells},
                tested={**before.tested, **candidate.tested},
                broken=before.broken + candidate.broken,
                counter_example=candidate.counter_example
                if before.counter_example is None
                else before.counter_example,
                condition=None,
            )
        )
    return list(by_words.values())
