"""Collects rows of one table from many areas."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.sources.synth.seeds import Array
from engine.sources.synth.writer import NO_TIME


class Rows:
    """Rows of one table: columns given as arrays or single values, absent ones null.

    Args:
        numbers: columns of floating-point numbers.
        integers: columns of identifiers, counts and times in seconds.
        texts: columns of text.
    """

    def __init__(self, *, numbers: str = "", integers: str = "", texts: str = "") -> None:
        self._null: dict[str, Any] = dict.fromkeys(numbers.split(), np.nan)
        self._null |= dict.fromkeys(integers.split(), NO_TIME)
        self._null |= dict.fromkeys(texts.split())
        self._parts: dict[str, list[Array]] = {name: [] for name in self._null}
        self.count = 0
        """Rows so far."""

    def add(self, **columns: Any) -> None:
        """Add rows; at least one column is an array, all arrays have one length."""
        unknown = set(columns) - set(self._null)
        if unknown:
            raise KeyError(f"no columns {sorted(unknown)}")
        length = max((len(v) for v in columns.values() if isinstance(v, np.ndarray)), default=1)
        if length == 0:
            return
        for name, null in self._null.items():
            value = columns.get(name, null)
            if isinstance(value, np.ndarray):
                part = value
            else:
                kind = object if null is None else type(null) if null != NO_TIME else np.int64
                part = np.full(length, value, dtype=kind)
            if null is None and part.dtype != object:
                part = part.astype(object)
            self._parts[name].append(part)
        self.count += length

    def columns(self) -> dict[str, Array]:
        """All rows by column, in the order added."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items() if parts}
