"""Collects charted values of one chunk and writes them as `chartevents`.

Numbers and texts of many areas come in as blocks; they leave sorted by stay, time and item, with
unit, text value and storage time filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.dictionaries import units
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points
from engine.sources.synth.writer import TableWriter

_NUMBER, _NULL = -1, -2
_SOON = -1


@dataclass
class Chart:
    """Charted events of one chunk of stays."""

    cohort: Cohort
    rng: np.random.Generator
    """Decides storage delays."""
    _parts: dict[str, list[Array]] = field(
        default_factory=lambda: {n: [] for n in ("stay", "time", "item", "number", "text", "store")}
    )
    _words: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        item: int,
        points: Points,
        number: Array | float = np.nan,
        *,
        text: str | None = None,
        words: Sequence[str | None] | None = None,
        which: Array | None = None,
        store: Array | int = _SOON,
    ) -> None:
        """Add events of one item.

        Args:
            item: itemid.
            points: when; cut to whole minutes.
            number: valuenum, NaN for null.
            text: one text for all. Without texts the number is written as text.
            words: texts, of which `which` has an index per event (one each when not given).
            which: indices into `words`.
            store: storage time in seconds, `NO_TIME` for null; some minutes later by default.
        """
        count = len(points)
        if count == 0:
            return
        if words is not None:
            codes = np.array([self._code(word) for word in words], dtype=np.int64)
            code = codes if which is None else codes[which]
        else:
            code = np.array(_NUMBER if text is None else self._code(text))
        values = {
            "stay": points.stay,
            "time": points.time // 60 * 60,
            "item": np.array(item),
            "number": np.asarray(number, dtype=np.float64),
            "text": code,
            "store": np.asarray(store, dtype=np.int64),
        }
        for name, part in values.items():
            self._parts[name].append(np.broadcast_to(part, count))

    def _code(self, word: str | None) -> int:
        return _NULL if word is None else self._words.setdefault(word, len(self._words))

    def write(self, writer: TableWriter) -> None:
        """Sort all events and append them to `chartevents`."""
        if not self._parts["stay"]:
            return
        parts = {name: np.concatenate(blocks) for name, blocks in self._parts.items()}
        order = np.lexsort((parts["item"], parts["time"], parts["stay"]))
        order = order[~self.cohort.blank[parts["stay"][order]]]
        parts = {name: part[order] for name, part in parts.items()}
        stay, time, item = parts["stay"], parts["time"], parts["item"]
        delay = self.rng.gamma(1.5, 900, len(stay)).astype(np.int64) // 60 * 60
        cohort = self.cohort
        writer.write(
            "chartevents",
            {
                "subject_id": cohort.stay_subject[stay],
                "hadm_id": cohort.stay_hadm[stay],
                "stay_id": cohort.stay_id[stay],
                "caregiver_id": 1000 + (cohort.stay_id[stay] * 31 + time // (12 * 3600)) % 9000,
                "charttime": time,
                "storetime": np.where(parts["store"] == _SOON, time + delay, parts["store"]),
                "itemid": item,
                "value": self._values(parts["number"], parts["text"]),
                "valuenum": parts["number"],
                "valueuom": units(item),
                "warning": (self.rng.random(len(stay)) < 0.01).astype(np.int64),
            },
        )

    def _values(self, number: Array, text: Array) -> pa.Array:
        words = pa.array([*self._words, None], pa.string())
        texts = words.take(pa.array(np.where(text >= 0, text, len(self._words))))
        return pa.compute.if_else(pa.array(text == _NUMBER), written_numbers(number), texts)


def written_numbers(values: Array) -> pa.Array:
    """Numbers as the shortest text that reads back equal ("98", "36.7"); NaN is null."""
    column = pa.array(values, pa.float64(), mask=np.isnan(values)).dictionary_encode()
    return column.dictionary.cast(pa.string()).take(column.indices)
