"""Awkward infusions, outputs, procedures, cultures and orders: see `awkward`."""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import DAY, HOUR
from engine.sources.synth.drugs import (
    CISATRACURIUM,
    DOBUTAMINE,
    DOPAMINE,
    EPINEPHRINE,
    MILRINONE,
    NOREPINEPHRINE,
    PHENYLEPHRINE,
    VASOPRESSIN,
    VECURONIUM,
)
from engine.sources.synth.infection import CANCELLED, NEGATIVE
from engine.sources.synth.lines import RARE_LINES
from engine.sources.synth.picks import Picks, Tables
from engine.sources.synth.renal import URINE
from engine.sources.synth.seeds import Array
from engine.sources.synth.writer import NO_TIME

Infusion = tuple[int, float, float, float | None, str | None, float | None]
"""Drug, first and last hour, rate (None for a bolus), unit, weight (None for the patient's own)."""
_MCG = "mcg/kg/min"

INFUSIONS: tuple[tuple[Infusion, ...], ...] = (
    ((NOREPINEPHRINE, 2, 4, 0.2, "mg/kg/min", 1.0),),
    ((NOREPINEPHRINE, 2, 4, 0.0002, "mg/kg/min", 80.0),),
    ((NOREPINEPHRINE, 2, 4, 0.1, None, None),),
    ((PHENYLEPHRINE, 2, 4, 80.0, "mcg/min", 80.0), (PHENYLEPHRINE, 5, 6, 80.0, "mcg/min", 0.0)),
    ((PHENYLEPHRINE, 2, 4, 80.0, "mcg/min", float("inf")), (NOREPINEPHRINE, 3, 5, 0.1, _MCG, None)),
    ((NOREPINEPHRINE, 2, 6, 0.1, _MCG, None), (PHENYLEPHRINE, 3, 4, 40.0, "mcg/min", 0.0)),
    ((VASOPRESSIN, 2, 4, 0.04, "units/min", None), (VASOPRESSIN, 5, 7, 240.0, "units/hour", None)),
    ((NOREPINEPHRINE, 2, 6, 0.1, _MCG, None), (NOREPINEPHRINE, 4, 6, 0.3, _MCG, None),
     (EPINEPHRINE, 2, 6, 0.05, _MCG, None), (EPINEPHRINE, 2, 6, 0.05, _MCG, None)),
    ((NOREPINEPHRINE, 2, 6, 0.1, _MCG, None), (NOREPINEPHRINE, 3, 4, None, None, None),
     (EPINEPHRINE, 3, 4, 0.2, _MCG, None)),
    ((NOREPINEPHRINE, 2, 3, None, None, None), (NOREPINEPHRINE, 4, 4, 0.5, _MCG, None),
     (NOREPINEPHRINE, 5, 7, 0.5, _MCG, None)),
    ((NOREPINEPHRINE, 6, 4, 0.3, _MCG, None), (NOREPINEPHRINE, 3, 5, 0.1, _MCG, None)),
    ((EPINEPHRINE, 2, 4, 0.0, _MCG, None),),
    ((NOREPINEPHRINE, 2, 4, 0.0, _MCG, None),),
    ((DOPAMINE, 2, 4, 0.0, _MCG, None), (DOBUTAMINE, 5, 7, 0.0, _MCG, None)),
    ((NOREPINEPHRINE, 3.2, 3.8, 0.05, _MCG, None),),
    ((NOREPINEPHRINE, 2, 3, 0.1235, _MCG, None), (NOREPINEPHRINE, 3, 4, 0.0005, _MCG, None),
     (NOREPINEPHRINE, 4, 5, 0.5005, _MCG, None)),
    ((NOREPINEPHRINE, 2, 6, 0.1, _MCG, None), (MILRINONE, 3, 4, 0.25, _MCG, None),
     (DOBUTAMINE, 4, 5, 5.0, _MCG, None), (VASOPRESSIN, 4, 8, 2.4, "units/hour", None)),
    ((DOPAMINE, 2, 4, 5.0, _MCG, None), (DOPAMINE, 2, 4, 5.0, _MCG, None)),
    ((DOPAMINE, 2, 4, 15.5, _MCG, None),),
    ((DOPAMINE, 2, 4, 4.0, _MCG, None),),
    ((DOBUTAMINE, 2, 9, 5.0, _MCG, None),),
    ((VECURONIUM, 2, 4, 1.0, "mg/hour", None), (VECURONIUM, 1, 1.02, None, None, None),
     (CISATRACURIUM, 5, 6, 0.0, "mg/kg/hour", None)),
    ((NOREPINEPHRINE, -6.5, 3, 0.2, _MCG, None),),
)  # fmt: skip
"""Recipes for `inputevents`; an infinite weight stands for a missing one."""

Order = tuple[str | None, str | None, str]
"""Drug, route, type."""
ORDERS: tuple[tuple[Order, ...], ...] = (
    (("Vancomycin", "IV", "BASE"),),
    (("Ticarcillin-Clavulanate", "IV", "BASE"),),
    (("CeFAZolin", "IV", "ADDITIVE"),),
    (("Meropenem", None, "MAIN"),),
    (("Ofloxacin 0.3% Ophth Soln.", "OU", "MAIN"), ("Ofloxacin 0.3% Ophth Soln.", "ou", "MAIN")),
    (("Ciprofloxacin 0.3% Ophth Soln", "BOTH EYES", "MAIN"),),
    (("Ciprofloxacin 0.3% Otic Susp.", "LEFT EAR", "MAIN"),),
    (("MetroNIDAZOLE Topical 1 % Gel", "TP", "MAIN"), ("Metronidazole Gel 0.75%-Vaginal", "VG",
    "MAIN")),
    (("Silver Sulfadiazine 1% Cream", "TP", "MAIN"), ("Mupirocin Cream 2%", "NU", "MAIN")),
    (("Erythromycin 0.5% Ophth Oint", "PO", "MAIN"), ("Erythromycin 0.5% Ophth  Oint", "PO",
    "MAIN")),
    (("Mupirocin Ointment 2%", "NU", "MAIN"), ("AMPHOTERICIN B LIPOSOME", "IV", "MAIN")),
    (("Ampicillin Desensitization", "IV", "MAIN"), ("Imipenem-Cilastatin", "IV", "MAIN")),
    (("Tobramycin Inhalation Soln", "IH", "MAIN"), ("SMZ-TMP DS", "PO", "MAIN"), ("Unasyn", "IV",
    "MAIN")),
    ((None, "IV", "MAIN"),),
    (("Aspirin", "PO", "MAIN"), ("Aspirin", "PO", "MAIN"), ("Ibuprofen-Diphenhydramine", "PO",
    "MAIN")),
    (("Lisinopril-Hydrochlorothiazide", "PO", "MAIN"), ("lisinopril", None, "MAIN"),
     ("Enalaprilat", "IV", "BASE"), ("Diclofenac Sodium Gel", "TP", "MAIN")),
)  # fmt: skip
"""Orders given together."""


def add_events(picks: Picks, tables: Tables) -> None:
    """All recipes of these tables."""
    for recipe in INFUSIONS:
        stay = picks.take()
        for infusion in recipe:
            _infuse(picks, tables, stay, infusion)
    _add_replacement(picks, tables)
    _add_outputs(picks, tables)
    _add_lines(picks, tables)
    for number, orders in enumerate(ORDERS):
        stay = picks.take()
        for drug, route, kind in orders:
            _order(picks, tables, stay, drug, route, kind=kind, hours=2 + number % 12)
    _add_orders(picks, tables)
    _add_cultures(picks, tables)


def _infuse(picks: Picks, tables: Tables, stay: Array, infusion: Infusion) -> None:
    item, begin, end, rate, unit, weight = infusion
    start, stop = picks.at(stay, begin, 4).time, picks.at(stay, end, 4).time
    hours = max(end - begin, 0.02)
    tables.inputs.add(
        stay=stay,
        item=item,
        start=start,
        stop=np.where(stop == start, start, stop),
        rate=np.full(len(stay), np.nan if rate is None else rate),
        amount=5.0 if rate is None else round(rate * hours * 4 + 0.1, 3),
        weight=np.nan if weight is None else weight,
        category=0 if rate is None else 1,
        amountuom="mg",
        rateuom=unit,
        status="Rewritten" if begin > end else "FinishedRunning",
    )


def _add_replacement(picks: Picks, tables: Tables) -> None:
    """Dialysis salts with amount 0 or none, procedures without a value, overlapping ranges."""
    for item, amount in ((227525, 0.0), (227536, np.nan), (227525, 5.0)):
        stay = picks.take()
        start = picks.at(stay, 5).time
        tables.inputs.add(stay=stay, item=item, start=start, stop=start + 2 * HOUR,
                          amount=np.full(len(stay), amount), category=1,
                          amountuom="mg")  # fmt: skip
        if amount == 5.0:
            tables.inputs.add(stay=stay, item=227536, start=start, stop=start + 2 * HOUR,
                              amount=np.full(len(stay), 5.0), category=1,
                              amountuom="mEq")  # fmt: skip
    stay = picks.take()
    start = picks.at(stay, 4).time

    def add(item: int, first: int, last: int, value: float = 600.0) -> None:
        tables.procedures.add(stay=stay, item=item, start=start + first * HOUR,
                              stop=start + last * HOUR, value=np.full(len(stay),
                              value))  # fmt: skip

    add(225809, 0, 10)
    add(224270, 0, 10)
    tables.chart.add(226499, picks.at(stay, 14), 1800)
    stay = picks.take()
    start = picks.at(stay, 4).time
    add(224270, 0, 10)
    tables.chart.add(226499, picks.at(stay, 6), 1500)
    stay = picks.take()
    start = picks.at(stay, 4).time
    add(225441, 0, 4, np.nan)
    stay = picks.take()
    start = picks.at(stay, 4).time
    add(225803, 0, 6)
    add(225805, 7, 8)
    add(225436, 6, 7)
    add(225955, 8, 10)
    stay = picks.take(exact=True)
    tables.chart.add(227290, picks.since(stay, 2 * DAY), text="CVVHDF")
    stay = picks.take(exact=True)
    tables.chart.add(227290, picks.since(stay, 2 * DAY + 60), text="CVVHDF")


def _add_outputs(picks: Picks, tables: Tables) -> None:
    """Irrigation, several ways at one time, seconds, urine outside the stay."""

    def add(stay: Array, item: int, time: Array, value: float) -> None:
        tables.outputs.add(stay=stay, time=time, item=item, value=value)

    stay = picks.take()
    time = picks.at(stay, 4, 2).time
    for item, value in ((226559, 100.0), (226560, 50.0), (226627, 99.0)):
        add(stay, item, time, value)
    for item in URINE:
        stay = picks.take()
        add(stay, item, picks.at(stay, 6, 12).time, 65.0)
    stay = picks.take()
    time = picks.at(stay, 4, 2).time
    add(stay, 227488, time, 1500.0)
    add(stay, 227489, time, 1600.0)
    for value in (300.0, -30.0, 0.0, 4200.0):
        stay = picks.take()
        add(stay, 227488, picks.at(stay, 5, 2).time, value)
    stay = picks.take()
    for hour in (3, 9, 15):
        add(stay, 226559, picks.at(stay, hour, 7).time + 53, 60.0)
    stay = picks.take()
    add(stay, 226559, picks.since(stay, -2 * HOUR).time // 60 * 60, 120.0)
    stay = picks.take(exact=True)
    for seconds in (0, DAY, DAY + 60):
        add(stay, 226559, picks.since(stay, seconds).time, 75.0)


def _add_lines(picks: Picks, tables: Tables) -> None:
    """Every rare line; sites with a full stop, none, in small letters; the same line twice."""
    for item in RARE_LINES:
        stay = picks.take()
        start = picks.at(stay, 1).time
        tables.procedures.add(
            stay=stay,
            item=item,
            start=start,
            stop=start + 11 * HOUR,
            location="RIJ",
            value=np.full(len(stay), 660.0),
        )
    for item, sites in (
        (225752, ("Left Femoral.", "Left Femoral")),
        (224270, (None,)),
        (224263, ("left femoral.",)),
        (225205, ("Right Antecube", "Left Antecub")),
        (224264, ("Left Axilla.", "Right Axilla.", "Right Brachial.", "Left Brachial.")),
    ):
        stay = picks.take()
        start = picks.at(stay, 2).time
        for site in sites:
            tables.procedures.add(
                stay=stay,
                item=item,
                start=start,
                stop=start + 9 * HOUR,
                location=site,
                value=np.full(len(stay), np.nan if item == 224263 else 540.0),
            )


def _order(
    picks: Picks,
    tables: Tables,
    stay: Array,
    drug: str | None,
    route: str | None,
    *,
    kind: str = "MAIN",
    hours: float = 5,
    start: Array | None = None,
) -> Array:
    cohort = picks.world.cohort
    begin = picks.at(stay, hours).time if start is None else start
    tables.orders.add(
        patient=cohort.stay_patient[stay],
        admission=cohort.stay_adm[stay],
        start=begin,
        stop=np.where(begin == NO_TIME, NO_TIME, begin + 2 * DAY),
        kind=kind,
        drug=drug,
        route=route,
        dose="1",
        unit="g",
    )
    return begin


def _add_orders(picks: Picks, tables: Tables) -> None:
    """Orders without a start, at the bounds of a stay, and the same order twice."""
    stay = picks.take()
    _order(picks, tables, stay, "VANCOMYCIN HCL", "PO/NG", start=np.full(len(stay), NO_TIME))
    cohort = picks.world.cohort
    stay = picks.take(exact=True)
    _order(picks, tables, stay, "Vancomycin", "IV", start=cohort.intime[stay])
    stay = picks.take(exact=True)
    _order(picks, tables, stay, "Vancomycin", "IV", start=cohort.outtime[stay] // 60 * 60)
    stay = picks.take()
    for route in ("IV", "IV", "PO/NG"):
        _order(picks, tables, stay, "Linezolid", route)
    _order(picks, tables, stay, "LINEZOLID", "IV")


def _culture(
    picks: Picks,
    tables: Tables,
    stay: Array,
    time: Array,
    *rows: Organism,
    dated: bool = False,
    kind: str | None = "BLOOD CULTURE",
) -> None:
    """Add one specimen per stay.

    Args:
        picks: the stays' world.
        tables: gets the rows.
        stay: stays.
        time: when it was taken.
        *rows: organisms, one row each; one row without any when none is given.
        dated: only the date is known.
        kind: type of specimen.
    """
    cohort = picks.world.cohort
    specimen = picks.specimens(len(stay))
    for item, name in rows or ((None, None),):
        tables.cultures.add(
            patient=cohort.stay_patient[stay],
            admission=cohort.stay_adm[stay],
            specimen=specimen,
            date=time // DAY * DAY,
            time=np.full(len(stay), NO_TIME) if dated else time,
            spec_item=NO_TIME if kind is None else 70012,
            spec_text=kind,
            org_item=NO_TIME if item is None else item,
            org_text=name,
        )


Organism = tuple[int | None, str | None]
"""Item and name."""
_COLI: Organism = (80002, "ESCHERICHIA COLI")


def _add_cultures(picks: Picks, tables: Tables) -> None:
    """Cultures at telling distances from an order, and odd organisms."""
    for hours in (0, -72, -72 - 1 / 60, 24, 24 + 1 / 60, -1, 3):
        stay = picks.take()
        start = _order(picks, tables, stay, "Tobramycin", "IV", hours=8)
        _culture(picks, tables, stay, start + int(hours * HOUR))
    for days in (0, -3, -4, 1, 2):
        stay = picks.take()
        start = _order(picks, tables, stay, "Tobramycin", "IV", hours=8)
        _culture(picks, tables, stay, start + days * DAY, dated=True)
    for kind, rows in (
        (None, ()),
        ("BLOOD CULTURE", (NEGATIVE,)),
        ("BLOOD CULTURE", (NEGATIVE, _COLI)),
        ("BLOOD CULTURE", (CANCELLED,)),
        ("BLOOD CULTURE", ((None, "PROBABLE ENTEROCOCCUS"),)),
    ):
        stay = picks.take()
        start = _order(picks, tables, stay, "Meropenem", "IV", hours=9)
        _culture(picks, tables, stay, start - 2 * HOUR, *rows, kind=kind)
    # No type on the first, a second an hour later; two at one time; dated and timed on one day.
    stay = picks.take()
    start = _order(picks, tables, stay, "Meropenem", "IV", hours=9)
    _culture(picks, tables, stay, start - 3 * HOUR, kind=None)
    _culture(picks, tables, stay, start - 2 * HOUR, _COLI, kind="URINE")
    stay = picks.take()
    start = _order(picks, tables, stay, "Meropenem", "IV", hours=9)
    _culture(picks, tables, stay, start - 3 * HOUR, _COLI, kind="URINE")
    _culture(picks, tables, stay, start - 3 * HOUR)
    stay = picks.take()
    start = _order(picks, tables, stay, "Meropenem", "IV", hours=9)
    _culture(picks, tables, stay, start - HOUR)
    _culture(picks, tables, stay, start - HOUR, dated=True, kind="SPUTUM")
