"""A target over small tables made by hand, for tests of the lineage."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from engine.concepts.query import Query
from engine.diagnosis.lineage.blocks import Columns
from engine.diagnosis.lineage.extract import Extract
from engine.diagnosis.lineage.scope import ROW
from engine.sources import SourceInfo


def made(sql: str, rows: Mapping[str, list[dict[str, object]]]) -> tuple[Query, Extract]:
    """A target over tables made by hand."""
    tables = tuple(sorted(rows))
    columns = {t: tuple(rows[t][0]) for t in tables}
    data = {
        t: pa.Table.from_pylist(
            [{**row, ROW: [(number << 40) + n]} for n, row in enumerate(rows[t])]
        )
        for number, t in enumerate(tables)
    }
    query = Query(
        name="made", area="", purpose="", grain="", key=("stay_id",), deviations="none", text=sql,
        reads=columns,
    )  # fmt: skip
    info = SourceInfo.__new__(SourceInfo)
    return query, Extract(info, query, tables, Columns(tuple(columns.items())), data)
