"""Which patients a change of the reference's SQL is tried on: a few first, then many."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.signatures.candidate import KEYS, RowList
from engine.diagnosis.table import Table

ENOUGH = 12
"""Mismatches of a column that the first round's sample must hold, if there are as many."""
FEW = (3, 8)
"""Patients with mismatches in it, at least and at most."""
OTHERS = 4
"""Patients without any in it: what must stay as it is."""
MOST_PATIENTS = 2500
"""In the second round."""


def few(
    table: Table, positions: Sequence[int], who: int, left: RowList | None = None
) -> tuple[str, ...]:
    """A few patients with mismatches of each of the columns, and a few without any.

    Only the mismatches in the rows `left` count, where these are given.
    """
    least, most = FEW
    chosen: set[str] = set()
    bad: set[str] = set()
    everybody: list[str] = []
    for position in positions:
        counts = _ranked(table, position, who, left)
        everybody = everybody or list(counts)
        bad.update(patient for patient, count in counts.items() if count)
        cells = sum(counts[patient] for patient in chosen)
        mine = sum(counts[patient] > 0 for patient in chosen)
        for patient, count in counts.items():
            wanted = mine < least or (cells < ENOUGH and mine < most)
            if count and wanted and patient not in chosen:
                chosen.add(patient)
                cells += count
                mine += 1
    if not chosen:
        return ()
    others = [patient for patient in everybody if patient not in bad][:OTHERS]
    return tuple(sorted([*chosen, *others]))


def many(table: Table, who: int) -> tuple[str, ...] | None:
    """The patients of the second round: all, or some, half of them with mismatches."""
    counts = _ranked(table, None, who)
    if len(counts) <= MOST_PATIENTS:
        return None
    with_some = [patient for patient, count in counts.items() if count]
    without = [patient for patient, count in counts.items() if not count]
    half = max(MOST_PATIENTS // 2, MOST_PATIENTS - len(without))
    chosen = with_some[:half]
    return tuple(sorted([*chosen, *without[: MOST_PATIENTS - len(chosen)]]))


def _ranked(
    table: Table, position: int | None, who: int, left: RowList | None = None
) -> dict[str, int]:
    """Mismatches of a column by patient, in an order that is none, but always the same."""
    if position is None:
        wrong = "mismatches <> 0"
    elif position == KEYS:
        wrong = "key_status > 0"
    else:
        wrong = f"s{position} IN (2, 3, 4) AND key_status = 0"
    if left is not None:
        table.con.execute(
            "CREATE OR REPLACE TABLE memory.left_over AS SELECT unnest(?::BIGINT[]) AS row",
            [left.tolist()],
        )
        wrong = f"{wrong} AND row IN (FROM memory.left_over)"
    rows = table.con.execute(
        f"SELECT patient, count(*) FILTER (WHERE {wrong}) FROM diff d "  # noqa: S608 - our own SQL
        f"JOIN memory.owners o ON d.k{who} = o.key GROUP BY patient "
        "ORDER BY hash(patient), patient"
    ).fetchall()
    return {str(patient): int(count) for patient, count in rows}
