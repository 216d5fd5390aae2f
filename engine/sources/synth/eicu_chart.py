"""Nurses' charts of an eICU-shaped source: vital signs and Glasgow Coma Scale as texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from engine.sources.synth.body import Body
from engine.sources.synth.chart import written_numbers
from engine.sources.synth.cohort import Cohort
from engine.sources.synth.course import Course
from engine.sources.synth.seeds import stream
from engine.sources.synth.ventilation import TUBE, Support
from engine.sources.synth.writer import TableWriter

Cell = tuple[str, str, str]
"""Category, label and name of a charted cell."""
SIGNS, SCORES, OTHER = "Vital Signs", "Scores", "Other Vital Signs and Infusions"
HEART_RATE: Final[Cell] = (SIGNS, "Heart Rate", "Heart Rate")
BREATHS: Final[Cell] = (SIGNS, "Respiratory Rate", "Respiratory Rate")
SATURATION: Final[Cell] = (SIGNS, "O2 Saturation", "O2 Saturation")
CELSIUS: Final[Cell] = (SIGNS, "Temperature", "Temperature (C)")
FAHRENHEIT: Final[Cell] = (SIGNS, "Temperature", "Temperature (F)")
CUFF: Final = tuple(
    (SIGNS, "Non-Invasive BP", f"Non-Invasive BP {part}")
    for part in ("Systolic", "Diastolic", "Mean")
)
LINE: Final = tuple(
    (SIGNS, "Invasive BP", f"Invasive BP {part}") for part in ("Systolic", "Diastolic", "Mean")
)
MEAN_LINE: Final[Cell] = (OTHER, "MAP (mmHg)", "Value")
MEAN_ARTERY: Final[Cell] = (OTHER, "Arterial Line MAP (mmHg)", "Value")
GCS_TOTAL: Final[Cell] = (SCORES, "Glasgow coma score", "GCS Total")
GCS_VALUE: Final[Cell] = (OTHER, "Score (Glasgow Coma Scale)", "Value")
GCS_MOTOR: Final[Cell] = (SCORES, "Glasgow coma score", "Motor")
GCS_VERBAL: Final[Cell] = (SCORES, "Glasgow coma score", "Verbal")
GCS_EYES: Final[Cell] = (SCORES, "Glasgow coma score", "Eyes")


@dataclass
class NurseChart:
    """Charted cells of one chunk; they leave sorted by stay and offset."""

    unit_stay: np.ndarray
    """patientunitstayid by index of the stay."""
    _blocks: list[tuple[Cell, np.ndarray, np.ndarray, pa.Array]] = field(default_factory=list)

    def add(
        self,
        cell: Cell,
        stay: np.ndarray,
        offset: np.ndarray,
        values: np.ndarray | list[str | None],
    ) -> None:
        """Add events: index of the stay, minutes from unit admission, numbers or texts."""
        if not len(stay):
            return
        texts = (
            written_numbers(np.asarray(values, dtype=np.float64))
            if isinstance(values, np.ndarray)
            else pa.array(values, pa.string())
        )
        self._blocks.append((cell, np.asarray(stay), np.asarray(offset, dtype=np.int64), texts))

    def write(self, writer: TableWriter) -> None:
        """Append all events to nurseCharting."""
        if not self._blocks:
            return
        cells = sorted({cell for cell, *_ in self._blocks})
        kind = np.concatenate(
            [np.full(len(stay), cells.index(cell)) for cell, stay, *_ in self._blocks]
        )
        stay = np.concatenate([stay for _, stay, *_ in self._blocks])
        offset = np.concatenate([offset for _, _, offset, _ in self._blocks])
        texts = pa.chunked_array([texts for *_, texts in self._blocks])
        order = np.lexsort((kind, offset, stay))
        first = writer.rows["nurseCharting"] + 200_000_000
        labels = [
            pa.array([cell[part] for cell in cells], pa.string()).take(pa.array(kind[order]))
            for part in range(3)
        ]
        writer.write(
            "nurseCharting",
            {
                "nursingchartid": first + np.arange(len(order)),
                "patientunitstayid": self.unit_stay[stay[order]],
                "nursingchartoffset": offset[order],
                "nursingchartentryoffset": offset[order] + (kind[order] * 7 + offset[order]) % 11,
                "nursingchartcelltypecat": labels[0],
                "nursingchartcelltypevallabel": labels[1],
                "nursingchartcelltypevalname": labels[2],
                "nursingchartvalue": texts.take(pa.array(order)),
            },
        )


def chart_nurses(
    seed: int, cohort: Cohort, course: Course, support: Support, body: Body, chart: NurseChart
) -> None:
    """Hourly vital signs and the coma scale every few hours."""
    rng = stream(seed, "eicu", cohort.number, "nurses")
    # Some hospitals send no nurses' charts for a stay at all.
    blank = rng.random(cohort.stays) < 0.025
    points = course.valid & (rng.random(course.valid.shape) > 0.04) & ~blank[:, None]
    stay, at = np.nonzero(points)
    first = (course.first - cohort.intime) // 60
    offset = first[stay] + at * 60
    offset = offset + np.where(rng.random(len(stay)) < 0.1, rng.integers(-20, 20, len(stay)), 0)

    def add(
        cell: Cell, values: np.ndarray, wanted: np.ndarray, share: float, decimals: int = 0
    ) -> None:
        mine = np.flatnonzero(wanted & (rng.random(len(stay)) < share))
        chart.add(cell, stay[mine], offset[mine], np.round(values[stay[mine], at[mine]], decimals))

    everywhere = np.ones(len(stay), dtype=bool)
    add(HEART_RATE, body.heart_rate, everywhere, 0.98)
    add(BREATHS, body.breaths, everywhere, 0.97)
    add(SATURATION, body.saturation, everywhere, 0.95)
    sick = 1.5 * cohort.organs[:, 0] + 0.5 * support.tube.any(1) + rng.normal(0, 0.25, cohort.stays)
    lined = (sick > 0.95)[stay]
    for cells, wanted, share in (
        (LINE, lined, 0.93),
        (CUFF, np.where(lined, at % 4 == 0, True), 0.9),
    ):
        for cell, values in zip(cells, (body.systolic, body.diastolic, body.mean), strict=True):
            add(cell, values + rng.normal(0, 2.5, values.shape), wanted, share)
    other = rng.random(cohort.stays)
    add(MEAN_LINE, body.mean, lined & (other < 0.25)[stay], 0.5)
    add(MEAN_ARTERY, body.mean, lined & (other > 0.85)[stay], 0.5)
    warm = (at + stay) % 4 == 0
    add(CELSIUS, body.temperature, warm, 0.9, 1)
    add(FAHRENHEIT, body.temperature * 1.8 + 32, warm, 0.9, 1)
    _chart_coma(rng, cohort, course, support, body, chart, blank, first)


def _chart_coma(
    rng: np.random.Generator, cohort: Cohort, course: Course, support: Support, body: Body,
    chart: NurseChart, blank: np.ndarray, first: np.ndarray,
) -> None:  # fmt: skip
    """Hospitals differ: total and components, only components, only a total."""
    way = rng.choice(5, cohort.stays, p=[0.5, 0.16, 0.14, 0.1, 0.1])
    every = rng.choice([2, 4, 6], cohort.stays, p=[0.2, 0.6, 0.2])
    hour = np.arange(course.valid.shape[1])[None, :]
    due = (
        course.valid
        & ((hour + np.arange(cohort.stays)[:, None]) % every[:, None] == 0)
        & ~blank[:, None]
    )
    due &= (way != 4)[:, None]
    stay, at = np.nonzero(due)
    offset = first[stay] + at * 60 + rng.integers(0, 12, len(stay))
    tube = support.kind[stay, at] == TUBE
    eyes, motor = body.eyes[stay, at], body.motor[stay, at]
    verbal = np.where(tube, 1, body.verbal[stay, at])
    total = eyes + motor + verbal
    # Before the unit: the emergency room's score, within six hours and longer ago.
    early = np.flatnonzero((rng.random(cohort.stays) < 0.12) & ~blank & (way != 4))
    ago = -rng.integers(20, 560, len(early))
    stay, offset = np.append(stay, early), np.append(offset, ago)
    eyes, motor = np.append(eyes, body.eyes[early, 0]), np.append(motor, body.motor[early, 0])
    verbal = np.append(verbal, body.verbal[early, 0])
    total = np.append(total, body.eyes[early, 0] + body.motor[early, 0] + body.verbal[early, 0])
    who = way[stay]
    for ways, cell, values in (
        ((0, 2), GCS_TOTAL, total),
        ((3,), GCS_VALUE, total),
        ((0, 1), GCS_MOTOR, motor),
        ((0, 1), GCS_VERBAL, verbal),
        ((0, 1), GCS_EYES, eyes),
    ):
        mine = np.flatnonzero(np.isin(who, ways) & (rng.random(len(stay)) < 0.97))
        chart.add(cell, stay[mine], offset[mine], values[mine])
