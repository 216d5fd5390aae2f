"""Writes a PhysioNet-style folder of Parquet files table by table, chunk by chunk.

Every table has all its declared columns in order; what a caller does not give is null. Memory
stays that of one chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.base.files import os_error

_DOING = "writing the synthetic source"


class TableWriter:
    """Open Parquet files of one source; used as a context manager.

    Args:
        folder: where the source goes; tables of a group lie in a sub-folder named like it
            (``hosp``, ``icu``), those of the group ``""`` in the folder itself.
        groups: schemas by table name, by group.
    """

    def __init__(self, folder: Path, groups: Mapping[str, Mapping[str, pa.Schema]]) -> None:
        self._schemas = {
            name: schema for group in groups.values() for name, schema in group.items()
        }
        self._paths = {
            name: (folder / group if group else folder) / f"{name}.parquet"
            for group, tables in groups.items()
            for name in tables
        }
        self._files: list[pa.OSFile] = []
        self._open: dict[str, pq.ParquetWriter] = {}
        self.rows: dict[str, int] = dict.fromkeys(self._schemas, 0)
        """Rows written so far, by table."""

    def __enter__(self) -> TableWriter:
        try:
            for path in self._paths.values():
                path.parent.mkdir(parents=True, exist_ok=True)
            for name, path in self._paths.items():
                # The file is ours, so that it is closed even where its end cannot be written.
                self._files.append(pa.OSFile(str(path), "wb"))
                self._open[name] = pq.ParquetWriter(
                    self._files[-1], self._schemas[name], compression="zstd", compression_level=1
                )
        except OSError as error:
            self._close(quietly=True)
            raise os_error(error, _DOING) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close(quietly=kind is not None)

    def _close(self, *, quietly: bool = False) -> None:
        fault: OSError | None = None
        for file in (*self._open.values(), *self._files):
            try:
                file.close()
            except OSError as error:
                fault = error
        self._open.clear()
        self._files.clear()
        if fault is not None and not quietly:
            raise os_error(fault, _DOING) from fault

    def write(self, table: str, columns: Mapping[str, Any]) -> None:
        """Append rows to a table.

        Args:
            table: its name.
            columns: values by column, all of one length: numpy arrays (integers, floats with NaN
                for null, seconds since 1970 as integers for times, days for dates, objects or
                lists for text) or Arrow arrays.

        Raises:
            StorageFull, MissingPrerequisite: the disk refuses.
        """
        schema = self._schemas[table]
        unknown = set(columns) - set(schema.names)
        if unknown:
            raise KeyError(f"{table} has no column {sorted(unknown)}")
        length = len(next(iter(columns.values())))
        if length == 0:
            return
        arrays = [
            arrow(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(length, field.type)
            for field in schema
        ]
        try:
            self._open[table].write_table(pa.table(arrays, schema=schema), row_group_size=1 << 20)
        except OSError as error:
            raise os_error(error, _DOING) from error
        self.rows[table] += length


NO_TIME = np.iinfo(np.int64).min
"""Stands for null in integer columns (ids, counts) and in times given as seconds."""


def arrow(values: Any, kind: pa.DataType) -> pa.Array:
    """Values as an Arrow array of the column's type; NaN, None and `NO_TIME` become null."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    array = np.asarray(values)
    if pa.types.is_string(kind):
        return pa.array(array.tolist() if array.dtype.kind == "U" else array, kind)
    if pa.types.is_floating(kind):
        array = array.astype(np.float64)
        return pa.array(array, kind, mask=np.isnan(array))
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        array = np.where(missing, 0, array).astype(np.int64)
    else:
        missing = array == NO_TIME
        array = np.where(missing, 0, array).astype(np.int64)
    if pa.types.is_timestamp(kind):
        return pa.array((array * 1_000_000).view("datetime64[us]"), kind, mask=missing)
    if pa.types.is_date(kind):
        return pa.array(array.astype(np.int32), pa.int32(), mask=missing).cast(kind)
    return pa.array(array, kind, mask=missing)


__all__ = ["NO_TIME", "TableWriter", "arrow"]
