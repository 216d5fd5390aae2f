"""How often items are charted and what their values are: one scan per table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from engine.claims.asking import Asker
from engine.claims.dictionary import Item

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Which quantiles are told."""
BINS = 20
"""Bins of a histogram, from the first to the last of the quantiles."""
# Table: column of the number, of the unit, of what counts as a stay.
_COLUMNS = {
    "mimiciv_icu.chartevents": ("valuenum", "valueuom", "stay_id"),
    "mimiciv_icu.outputevents": ("value", "valueuom", "stay_id"),
    "mimiciv_icu.inputevents": ("rate", "rateuom", "stay_id"),
    "mimiciv_icu.procedureevents": ("value", "valueuom", "stay_id"),
    "mimiciv_icu.datetimeevents": ("", "", "stay_id"),
    "mimiciv_icu.ingredientevents": ("rate", "rateuom", "stay_id"),
    "mimiciv_hosp.labevents": ("valuenum", "valueuom", "subject_id"),
}


@dataclass(frozen=True)
class Values:
    """The rows of one item."""

    rows: int
    """How many."""
    stays: int = 0
    """Stays with one (patients, for laboratory items)."""
    missing: int = 0
    """Rows without a number."""
    low: float | None = None
    """The smallest number."""
    high: float | None = None
    """The largest."""
    quantiles: tuple[float, ...] = ()
    """As `QUANTILES`; none without numbers."""
    units: Mapping[str, int] = field(default_factory=dict)
    """Unit to rows; the empty text for no unit."""
    query: str = ""
    """What was asked."""
    unit_query: str = ""
    """What was asked about the units."""


def read_values(
    asker: Asker, items: Mapping[int, Item], wanted: Collection[int]
) -> dict[int, Values]:
    """Of every item with rows; numbers and units only of those that are `wanted`."""
    found: dict[int, Values] = {}
    tables = sorted({items[i].table for i in wanted if i in items} - {""})
    for table in tables:
        number, unit, stay = _COLUMNS[table]
        if not asker.has(table, "itemid", stay):
            continue
        sql = f"SELECT itemid, count(*) FROM {table} GROUP BY itemid ORDER BY itemid"  # noqa: S608 - ours
        for item, rows in asker.ask(sql):
            found[int(item)] = Values(int(rows), query=sql)
        mine = sorted(i for i in wanted if i in items and items[i].table == table and i in found)
        if mine:
            found |= dict(_measured(asker, table, number, unit, stay, mine))
    return found


def _measured(  # noqa: PLR0917
    asker: Asker, table: str, number: str, unit: str, stay: str, mine: list[int]
) -> Iterator[tuple[int, Values]]:
    listed = ", ".join(map(str, mine))
    value = number or "NULL::DOUBLE"
    sql = (
        f"SELECT itemid, count(*), count(DISTINCT {stay}), count(*) - count({value}), "  # noqa: S608
        f"min({value})::DOUBLE, max({value})::DOUBLE, quantile_cont({value}, {list(QUANTILES)}) "
        f"FROM {table} WHERE itemid IN ({listed}) GROUP BY itemid ORDER BY itemid"
    )
    units: dict[int, dict[str, int]] = {}
    unit_sql = ""
    if unit:
        unit_sql = (
            f"SELECT itemid, coalesce({unit}, ''), count(*) FROM {table} "  # noqa: S608
            f"WHERE itemid IN ({listed}) GROUP BY ALL ORDER BY ALL"
        )
        for item, name, rows in asker.ask(unit_sql):
            units.setdefault(int(item), {})[str(name)] = int(rows)
    for item, rows, stays, missing, low, high, quantiles in asker.ask(sql):
        yield (
            int(item),
            Values(
                int(rows), int(stays), int(missing), low, high,
                tuple(float(q) for q in quantiles or () if q is not None),
                units.get(int(item), {}), sql, unit_sql,
            ),
        )  # fmt: skip


def histogram_sql(table: str, item: int, low: float, high: float) -> str:
    """Rows by bin from `low` to `high`; what lies outside is in the first and the last bin."""
    number = _COLUMNS[table][0]
    width = (high - low) / BINS or 1
    return (
        f"SELECT greatest(0, least({BINS - 1}, floor(({number} - ({low!r})) / {width!r})))::INT "  # noqa: S608
        f"AS bin, count(*) FROM {table} WHERE itemid = {item} AND {number} IS NOT NULL "
        "GROUP BY bin ORDER BY bin"
    )


def bounds_sql(table: str, ranges: Collection[tuple[int, float | None, float | None]]) -> str:
    """Item, rows below and above its range, and rows exactly on each bound."""
    number = _COLUMNS[table][0]
    rows = ", ".join(
        f"({item}, {_double(low)}, {_double(high)})" for item, low, high in sorted(ranges)
    )
    return (
        f"SELECT itemid, count(*) FILTER ({number} < low), count(*) FILTER ({number} > high), "  # noqa: S608
        f"count(*) FILTER ({number} = low), count(*) FILTER ({number} = high), count({number}) "
        f"FROM {table} INNER JOIN (VALUES {rows}) AS range (item, low, high) "
        "ON itemid = range.item GROUP BY itemid ORDER BY itemid"
    )


def _double(number: float | None) -> str:
    return "NULL::DOUBLE" if number is None else f"{number!r}::DOUBLE"
