"""Collects charted values of one chunk and writes them as `chartevents`.

Numbers and texts of many areas come in as blocks; they leave sorted by stay, time and item, with
unit, text value and storage time filled in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.dictionaries import units
from engine.sources.synth.writer import NO_TIME, TableWriter


@dataclass
class Chart:
    """Charted events of one chunk of stays."""

    cohort: Cohort
    rng: np.random.Generator
    """Decides storage delays."""
    _stay: list[np.ndarray] = field(default_factory=list)
    _time: list[np.ndarray] = field(default_factory=list)
    _item: list[np.ndarray] = field(default_factory=list)
    _number: list[np.ndarray] = field(default_factory=list)
    _text: list[np.ndarray] = field(default_factory=list)
    _store: list[np.ndarray] = field(default_factory=list)
    _words: dict[str, int] = field(default_factory=dict)

    NUMBER = -1
    """Text code: the text is the number as written."""
    NULL = -2
    """Text code: no text."""

    def add(
        self,
        item: int | np.ndarray,
        stay: np.ndarray,
        time: np.ndarray,
        number: np.ndarray | float | None = None,
        text: np.ndarray | str | None = None,
        store: np.ndarray | int | None = None,
        repeat_number: bool = True,
    ) -> None:
        """Add events.

        Args:
            item: itemid, one or one per event.
            stay: index of the stay in the cohort.
            time: seconds since 1970; cut to whole minutes.
            number: numeric values (NaN for null), null when not given.
            text: texts (None for null); the number as text when not given.
            store: storage times; some minutes later when not given, `NO_TIME` for null.
            repeat_number: write the number as text where there is no text.
        """
        count = len(stay)
        if count == 0:
            return
        self._stay.append(np.asarray(stay, dtype=np.int64))
        self._time.append(np.asarray(time, dtype=np.int64) // 60 * 60)
        self._item.append(np.broadcast_to(np.asarray(item, dtype=np.int64), count))
        values = np.nan if number is None else number
        self._number.append(np.broadcast_to(np.asarray(values, dtype=np.float64), count))
        if text is None:
            code = self.NUMBER if repeat_number else self.NULL
            self._text.append(np.full(count, code, dtype=np.int64))
        elif isinstance(text, str):
            self._text.append(np.full(count, self._code(text), dtype=np.int64))
        else:
            self._text.append(np.array([self._code(word) for word in text], dtype=np.int64))
        late = np.full(count, -1, dtype=np.int64) if store is None else store
        self._store.append(np.broadcast_to(np.asarray(late, dtype=np.int64), count))

    def add_words(
        self,
        item: int,
        stay: np.ndarray,
        time: np.ndarray,
        words: list[str],
        which: np.ndarray,
        number: np.ndarray | float | None = None,
    ) -> None:
        """Add texts given as a short list and an index per event (fast for many rows)."""
        codes = np.array([self._code(word) for word in words], dtype=np.int64)
        self.add(item, stay, time, number)
        if len(stay):
            self._text[-1] = codes[which]

    def _code(self, word: str | None) -> int:
        return self.NULL if word is None else self._words.setdefault(word, len(self._words))

    def write(self, writer: TableWriter) -> None:
        """Sort all events and append them to `chartevents`."""
        if not self._stay:
            return
        stay, time, item, number, text, store = (
            np.concatenate(part)
            for part in (self._stay, self._time, self._item, self._number, self._text, self._store)
        )
        order = np.lexsort((item, time, stay))
        stay, time, item, number, text, store = (
            part[order] for part in (stay, time, item, number, text, store)
        )
        delay = (self.rng.gamma(1.5, 900, len(stay)).astype(np.int64) // 60) * 60
        store = np.where(store == -1, time + delay, store)
        cohort = self.cohort
        writer.write(
            "chartevents",
            {
                "subject_id": cohort.stay_subject[stay],
                "hadm_id": cohort.stay_hadm[stay],
                "stay_id": cohort.stay_id[stay],
                "caregiver_id": 1000 + (cohort.stay_id[stay] * 31 + time // (12 * 3600)) % 9000,
                "charttime": time,
                "storetime": np.where(store == NO_TIME, NO_TIME, store),
                "itemid": item,
                "value": self._values(number, text),
                "valuenum": number,
                "valueuom": units(item),
                "warning": (self.rng.random(len(stay)) < 0.01).astype(np.int64),
            },
        )

    def _values(self, number: np.ndarray, text: np.ndarray) -> pa.Array:
        words = pa.array([*self._words, None], pa.string())
        texts = words.take(pa.array(np.where(text >= 0, text, len(self._words))))
        written = text == self.NUMBER
        numbers = written_numbers(number)
        return pa.compute.if_else(pa.array(written), numbers, texts)


def written_numbers(values: np.ndarray) -> pa.Array:
    """Numbers as the shortest text that reads back equal ("98", "36.7"); NaN is null."""
    column = pa.array(values, pa.float64(), mask=np.isnan(values)).dictionary_encode()
    return column.dictionary.cast(pa.string()).take(column.indices)
