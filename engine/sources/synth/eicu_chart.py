"""Nurses' charts of an eICU-shaped source: vital signs and Glasgow Coma Scale as texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from engine.sources.synth.chart import written_numbers
from engine.sources.synth.seeds import Array
from engine.sources.synth.ventilation import TUBE
from engine.sources.synth.world import Points, World
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

    unit_stay: Array
    """patientunitstayid by index of the stay."""
    _blocks: list[tuple[Cell, Array, Array, pa.Array]] = field(default_factory=list)

    def add(
        self,
        cell: Cell,
        stay: Array,
        offset: Array,
        values: Array | list[str | None],
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


def chart_nurses(world: World, chart: NurseChart) -> None:
    """Hourly vital signs and the coma scale every few hours."""
    rng = world.streams.of("nurses")
    cohort, body, stays = world.cohort, world.body, world.cohort.stays
    # Some hospitals send no nurses' charts for a stay at all.
    blank: Array = (rng.random(stays) < 0.025) | cohort.blank | cohort.scripted
    told = ~blank[:, None]
    points = world.hourly((rng.random(world.course.valid.shape) > 0.04) & told, rng, odd=0)
    offset = (points.time - cohort.intime[points.stay]) // 60
    strays = rng.random(len(points)) < 0.1
    offset = offset + np.where(strays, rng.integers(-20, 20, len(points)), 0)

    def add(cell: Cell, values: Array, wanted: Array, share: float, decimals: int = 0) -> None:
        mine = wanted & (rng.random(len(points)) < share)
        some = points[mine]
        chart.add(cell, some.stay, offset[mine], np.round(some.of(values), decimals))

    always = np.ones(len(points), dtype=bool)
    add(HEART_RATE, body.heart_rate, always, 0.98)
    add(BREATHS, body.breaths, always, 0.97)
    add(SATURATION, body.saturation, always, 0.95)
    sick = 1.5 * cohort.organs[:, 0] + 0.5 * world.support.tube.any(1)
    lined = (sick + rng.normal(0, 0.25, stays) > 0.95)[points.stay]
    parts = (body.systolic, body.diastolic, body.mean)
    for cells, wanted, share in (
        (LINE, lined, 0.93),
        (CUFF, ~lined | (points.at % 4 == 0), 0.9),
    ):
        for cell, values in zip(cells, parts, strict=True):
            add(cell, values + rng.normal(0, 2.5, values.shape), wanted, share)
    other: Array = rng.random(stays)
    add(MEAN_LINE, body.mean, lined & (other < 0.25)[points.stay], 0.5)
    add(MEAN_ARTERY, body.mean, lined & (other > 0.85)[points.stay], 0.5)
    warm = (points.at + points.stay) % 4 == 0
    add(CELSIUS, body.temperature, warm, 0.9, 1)
    add(FAHRENHEIT, body.temperature * 1.8 + 32, warm, 0.9, 1)
    _chart_coma(rng, world, chart, told)


def _chart_coma(rng: np.random.Generator, world: World, chart: NurseChart, told: Array) -> None:
    """Hospitals differ: total and components, only components, only a total, nothing."""
    cohort, body = world.cohort, world.body
    way: Array = rng.choice(5, cohort.stays, p=[0.5, 0.16, 0.14, 0.1, 0.1])
    told = told & (way != 4)[:, None]
    every = rng.choice([2, 4, 6], cohort.stays, p=[0.2, 0.6, 0.2])[:, None]
    hour = np.arange(world.course.valid.shape[1])[None, :]
    points = world.hourly(((hour + np.arange(cohort.stays)[:, None]) % every == 0) & told, rng, 0)
    # Before the unit: the emergency room's score, within six hours and longer ago.
    early = np.flatnonzero((rng.random(cohort.stays) < 0.12) & told[:, 0])
    ago = world.points(early, cohort.intime[early] - rng.integers(20, 560, len(early)) * 60)
    points = Points(
        *(np.append(getattr(points, n), getattr(ago, n)) for n in ("stay", "at", "time"))
    )
    offset = (points.time - cohort.intime[points.stay]) // 60 + rng.integers(0, 12, len(points))
    tube = points.of(world.support.kind) == TUBE
    eyes, motor = points.of(body.eyes), points.of(body.motor)
    verbal = np.where(tube, 1, points.of(body.verbal))
    for ways, cell, values in (
        ((0, 2), GCS_TOTAL, eyes + motor + verbal),
        ((3,), GCS_VALUE, eyes + motor + verbal),
        ((0, 1), GCS_MOTOR, motor),
        ((0, 1), GCS_VERBAL, verbal),
        ((0, 1), GCS_EYES, eyes),
    ):
        mine = np.isin(way[points.stay], ways) & (rng.random(len(points)) < 0.97)
        chart.add(cell, points.stay[mine], offset[mine], values[mine])
