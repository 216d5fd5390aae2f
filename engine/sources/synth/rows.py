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
            kind = self._kind(null)
            part = value if isinstance(value, np.ndarray) else np.full(length, value, dtype=kind)
            self._parts[name].append(part.astype(kind, copy=False))
        self.count += length

    @staticmethod
    def _kind(null: object) -> type:
        return object if null is None else float if isinstance(null, float) else np.int64

    def columns(self) -> dict[str, Array]:
        """All rows by column, in the order added."""
        return {
            name: np.concatenate([np.empty(0, dtype=self._kind(null)), *self._parts[name]])
            for name, null in self._null.items()
        }
