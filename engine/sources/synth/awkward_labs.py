"""Awkward laboratory results: see `awkward`."""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import DAY, HOUR
from engine.sources.synth.labs import SPECIMEN_ITEM
from engine.sources.synth.picks import Picks, Tables
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points

Result = tuple[int, float, str | None]
"""Item, number, text; text None writes the number, the empty text is null."""
_NONE = float("nan")


def _r(item: int, *numbers: float) -> tuple[Result, ...]:
    return tuple((item, number, None) for number in numbers)


def _w(item: int, *texts: str) -> tuple[Result, ...]:
    return tuple((item, _NONE, text) for text in texts)


SPECIMENS: tuple[tuple[Result, ...], ...] = (
    # Chemistry.
    _r(50862, 10, 10.1) + _r(50930, 10.1),
    _r(50862, 10.1),
    _r(50868, -2),
    _r(50868, 0) + _r(50971, 0),
    _r(50912, 0),
    _r(50912, 150.1),
    _r(50912, 150),
    _r(50912, 200, 1.2),
    _r(50983, 201) + _r(51006, 300) + _r(50971, 30),
    _w(50971, "HEMOLYZED") + _w(50983, "ERROR") + _w(50912, ""),
    _r(52546, 1.4),
    # Counts.
    _r(51301, 0),
    _r(51301, 0) + _r(51265, 112),
    _r(51300, 5),
    _r(51301, 2.7),
    _r(51301, 0.8),
    _w(51265, "<5"),
    _r(51301, 5) + _r(51300, 6) + _r(51244, 10) + _r(51245, 20),
    _r(51755, 7.5),
    _r(51301, 10) + _r(51256, 0) + _r(51244, 0),
    _r(51301, 7.3) + _r(51256, 0) + _r(51244, 40),
    _r(51301, 10.5) + _r(51146, 0.1),
    _r(52073, 0.3) + _r(51199, 400) + _r(51301, 8),
    _r(51218, 5000),
    _r(52769, 1234.5),
    _r(51256, -1),
    _r(51301, 9) + _r(51144, 12),
    _r(51265, 150, 152) + _w(51222, "") + _r(51221, 30),
    # Clotting, heart, liver, inflammation.
    _w(51237, ">15.4") + _w(51274, ">150"),
    _r(51237, 0),
    _r(51275, 150, 30) + _r(51214, -5),
    _w(51003, "<0.01"),
    _r(51003, 0) + _r(50911, -1),
    _r(51003, 0.1, 0.3) + _r(50963, 1200),
    _r(50885, 0) + _r(50861, 20),
    _r(50883, 0.5) + _r(50884, 1.0),
    _w(50889, "<0.3"),
    _r(50889, 0),
    # Gases: without oxygen tension, out of range, other type texts.
    _r(50813, 2.0) + _w(SPECIMEN_ITEM, "ART."),
    _w(50821, "ERROR") + _r(50818, 40) + _w(SPECIMEN_ITEM, "ART."),
    _r(50821, 80, 85) + _r(50817, 101) + _r(50809, 10001) + _r(50810, 101) + _r(50813, -1)
    + _w(SPECIMEN_ITEM, "ART."),
    _r(50821, 91) + _r(50818, 38) + _r(50820, 7.41) + _w(SPECIMEN_ITEM, "ART"),
    _r(50821, 88) + _r(50818, 39) + _r(50820, 7.40) + _w(50807, "VERIFIED"),
    _r(50821, 240) + _r(50818, 33) + _r(50816, 50) + _r(50801, 78) + _w(SPECIMEN_ITEM, "ART."),
    *(
        _r(50821, 90) + _r(50818, 35) + _r(50820, 7.43) + _r(50816, fio2) + _w(SPECIMEN_ITEM,
        "ART.")
        for fio2 in (0.1, 0.2, 0.21, 0.5, 1.0, 1.1, 5, 20, 20.5, 100, 101)
    ),
    *(
        _r(50821, 96) + _r(50818, carbon) + _r(50820, acid) + _w(SPECIMEN_ITEM, "ART.")
        for acid, carbon in ((7.62, 24), (7.62, 38), (7.62, 52), (7.12, 60), (7.12, 20), (7.47, 51),
                             (7.55, 44), (7.25, 27), (7.25, 34), (7.33, 20), (7.4, 22), (7.4, 46))
    ),
)  # fmt: skip
"""Results of one specimen, drawn at some hour of the first day."""


def add_results(picks: Picks, tables: Tables) -> None:
    """All recipes of the laboratory."""
    for number, results in enumerate(SPECIMENS):
        points = picks.at(picks.take(), 3 + number % 9, 37)
        _draw(tables, points, results)
    _add_twins(picks, tables)
    _add_kidneys(picks, tables)
    _add_charted_oxygen(picks, tables)


def _draw(
    tables: Tables,
    points: Points,
    results: tuple[Result, ...],
    admission: Array | int | None = None,
) -> None:
    labs = tables.labs
    cohort = labs.world.cohort
    own = cohort.stay_adm[points.stay] if admission is None else admission
    specimen = labs.specimens(len(points))
    for item, number, text in results:
        labs.rows.add(
            patient=cohort.stay_patient[points.stay],
            admission=own,
            specimen=specimen,
            item=item,
            time=points.time // 60 * 60,
            number=np.full(len(points), number),
            text=text,
        )


def _add_twins(picks: Picks, tables: Tables) -> None:
    """Two specimens at one minute, and one filed under two admissions."""
    points = picks.at(picks.take(), 5, 47)
    _draw(tables, points, _r(50821, 80) + _r(50818, 41) + _w(SPECIMEN_ITEM, "ART."))
    _draw(tables, points, _r(50821, 40) + _r(50818, 47) + _w(SPECIMEN_ITEM, "VEN."))
    points = picks.at(picks.take(), 5, 47)
    _draw(tables, points, _r(50821, 102) + _r(50818, 40) + _w(SPECIMEN_ITEM, "ART."))
    _draw(tables, points, _r(50813, 3.1))
    points = picks.at(picks.take(), 5, 47)
    cohort, labs = tables.labs.world.cohort, tables.labs
    specimen = labs.specimens(len(points))
    for item, admission in (
        (50912, np.full(len(points), -1)),
        (50983, cohort.stay_adm[points.stay]),
    ):
        labs.rows.add(
            patient=cohort.stay_patient[points.stay],
            admission=admission,
            specimen=specimen,
            item=item,
            time=points.time // 60 * 60,
            number=np.full(len(points), 1.3 if item == 50912 else 138.0),
        )


def _add_kidneys(picks: Picks, tables: Tables) -> None:
    """Creatinine on the bounds of 48 hours and 7 days, and steps that rounding decides."""
    for seconds in (-7 * DAY, -7 * DAY - 60):
        _draw(tables, picks.since(picks.take(exact=True), seconds), _r(50912, 0.4))
    stay = picks.take()
    for value in (1.4, 1.6):
        _draw(tables, picks.at(stay, 2, 51), _r(50912, value))
    for hours, low, high in (
        (48, 1.0, 1.3), (48 + 1 / 60, 1.0, 1.3), (36, 3.7, 4.0), (36, 3.8, 4.1), (36, 1.1, 1.4),
        (36, 0.4, 1.2), (72, 0.8, 1.2), (96, 2.0, 4.0),
    ):  # fmt: skip
        later = picks.at(picks.take(), 6, 53)
        before = picks.world.points(later.stay, later.time - int(hours * HOUR))
        _draw(tables, before, _r(50912, low))
        _draw(tables, later, _r(50912, high))
    stay = picks.take()
    end = picks.world.cohort.outtime[stay]
    _draw(tables, picks.world.points(stay, end), _r(50912, 1.7) + _r(50983, 141))


def _add_charted_oxygen(picks: Picks, tables: Tables) -> None:
    """Gases whose oxygen fraction was charted four hours before, exactly or a minute more."""
    gas = _r(50821, 100) + _r(50818, 40) + _r(50820, 7.38) + _w(SPECIMEN_ITEM, "ART.")
    air = np.flatnonzero((picks.world.support.fio2 == 21).all(1))
    for minutes in (240, 241, -1):
        stay = np.intersect1d(picks.take(), air)
        stay = stay if len(stay) else air[1:3]
        points = picks.at(stay, 7, 3)
        _draw(tables, points, gas)
        tables.chart.add(223835, picks.world.points(stay, points.time - minutes * 60), 40)
