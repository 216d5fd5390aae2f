"""Hypotheses about tables of intervals: merged, split, off at an end."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagnosis.signatures.candidate import KEYS, Candidate, ask, joined
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Table

_START, _END = "starttime", "endtime"


@dataclass(frozen=True)
class Ends:
    """Where a table has the two ends of its intervals, in SQL."""

    start_r: str
    start_a: str
    end_r: str
    end_a: str


def ends_of(table: Table) -> Ends | None:
    """The ends, where the table is one of intervals; they may be keys or scored columns."""
    found: dict[str, tuple[str, str]] = {}
    for name in (_START, _END):
        column = table.column(name)
        if column is not None and column.is_time and not column.lacking:
            found[name] = (column.r, column.a)
        elif name in table.keys[1:]:
            number = table.keys.index(name)
            if "TIMESTAMP" in table.key_types[number]:
                found[name] = (f"k{number}", f"k{number}")
    if len(found) != len((_START, _END)):
        return None
    return Ends(*found[_START], *found[_END])


def interval_candidates(table: Table) -> list[Candidate]:
    """Merged, split and shortened or lengthened intervals."""
    ends = ends_of(table)
    if ends is None:
        return []
    relation = _relation(ends)
    positions = [c.position for c in table.columns if c.wrong] + [KEYS]
    found: list[Candidate] = []
    for position in positions:
        if position == KEYS and not any(table.by_key[1:]):
            continue
        for name, flag, words in (
            ("interval-merged", "merged", "neighbouring intervals merged into one"),
            ("interval-split", "split", "an interval split into several"),
        ):
            found += ask(
                table,
                position,
                [
                    Hypothesis(
                        id=name,
                        words=f"Consistent with {words}.",
                        predicts="the same time covered by "
                        f"{'fewer' if flag == 'merged' else 'more'} intervals; later ones of the "
                        "stay are numbered anew",
                        column=None,
                        explains=flag,
                        loose=True,
                    )
                ],
                relation,
            )
    end, start = table.column(_END), table.column(_START)
    for column, other in ((end, start), (start, end)):
        if column is None or not column.wrong or column.lacking:
            continue
        i = column.position
        rest = other.right_here if other is not None else "key_status = 0"
        found += ask(
            table,
            i,
            [
                Hypothesis(
                    id="interval-end",
                    words=f"Consistent with intervals whose {column.name} alone is off.",
                    predicts=f"the reference's interval but for its {column.name}",
                    column=column.name,
                    explains=f"s{i} = 2 AND {rest} AND {sign}",
                    parameters={"end": column.name, "side": side},
                    loose=True,
                )
                for side, sign in (
                    ("later", f"{column.a} > {column.r}"),
                    ("earlier", f"{column.a} < {column.r}"),
                )
            ],
        )
    return joined(found)


def _relation(ends: Ends) -> str:
    """The diff with two flags: the row's interval takes part in a merge or a split.

    An agent's interval that begins and ends with those of several of the reference's has merged
    them; the reverse is a split. In tables with a running number later rows of the stay follow.
    """
    reference = (
        f"SELECT k0 AS g, row AS ref, {ends.start_r} AS b, {ends.end_r} AS e FROM diff "  # noqa: S608 - our own SQL
        "WHERE key_status < 2"
    )
    agent = (
        f"SELECT k0 AS g, row AS agt, {ends.start_a} AS b, {ends.end_a} AS e FROM diff "  # noqa: S608 - our own SQL
        "WHERE key_status <> 1"
    )
    inside = "s.g IS NOT DISTINCT FROM w.g AND s.b >= w.b AND s.e <= w.e"

    def covered(wide: str, small: str) -> str:
        return (
            "SELECT w.*, min(s.b) AS first_b, max(s.e) AS last_e, count(*) AS n "  # noqa: S608 - our own SQL
            f"FROM ({wide}) w JOIN ({small}) s ON {inside} GROUP BY ALL "
            "HAVING n >= 2 AND first_b = w.b AND last_e = w.e"
        )

    # Rows of the diff at or after the place where a group's first merge (split) lies.
    def begins(wide: str, small: str) -> str:
        return f"SELECT g, min(b) AS since FROM ({covered(wide, small)}) GROUP BY g"  # noqa: S608 - our own SQL

    here = "coalesce(d_end_r, d_end_a) >= {x}.since"
    return (
        f"SELECT d.*, m.since IS NOT NULL AND {here.format(x='m')} AS merged, "  # noqa: S608 - our own SQL
        f"p.since IS NOT NULL AND {here.format(x='p')} AS split FROM "
        f"(SELECT *, {ends.end_r} AS d_end_r, {ends.end_a} AS d_end_a FROM diff) d "
        f"LEFT JOIN ({begins(agent, reference)}) m ON d.k0 IS NOT DISTINCT FROM m.g "
        f"LEFT JOIN ({begins(reference, agent)}) p ON d.k0 IS NOT DISTINCT FROM p.g"
    )
