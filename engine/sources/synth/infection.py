"""Cultures and antibiotics, and what else the pharmacy gets: prescriptions of the admission."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.cohort import DAY, HOUR
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import NOTHING, Array, choose
from engine.sources.synth.world import World
from engine.sources.synth.writer import NO_TIME

NEGATIVE: Final = (90856, "NEGATIVE")
CANCELLED: Final = (90760, "CANCELLED")
SPECIMENS: Final = (
    (70012, "BLOOD CULTURE", 40),
    (70079, "URINE", 28),
    (70062, "SPUTUM", 12),
    (70091, "MRSA SCREEN", 10),
    (70021, "BRONCHOALVEOLAR LAVAGE", 3),
    (70070, "SWAB", 3),
    (70064, "STOOL", 5),
    (70023, "CATHETER TIP-IV", 1),
    (70026, "CSF;SPINAL FLUID", 1.5),
    (70076, "TISSUE", 1),
    (70054, "PLEURAL FLUID", 1),
    (70009, "PERITONEAL FLUID", 1.5),
)
"""Item, text and weight of specimen types."""
ORGANISMS: Final = (
    (80002, "ESCHERICHIA COLI", 24),
    (80004, "KLEBSIELLA PNEUMONIAE", 12),
    (80023, "STAPH AUREUS COAG +", 20),
    (80155, "STAPHYLOCOCCUS, COAGULASE NEGATIVE", 12),
    (80053, "ENTEROCOCCUS SP.", 10),
    (80026, "PSEUDOMONAS AERUGINOSA", 9),
    (80040, "YEAST", 6),
    (80168, "PROTEUS MIRABILIS", 4),
    (80293, "STREPTOCOCCUS PNEUMONIAE", 3),
)
_TESTED: Final = ("VANCOMYCIN", "CEFTRIAXONE", "CEFEPIME", "GENTAMICIN", "CIPROFLOXACIN")

CULTURE_ROWS: Final = {
    "integers": "patient admission specimen date time spec_item org_item ab_item isolate",
    "texts": "spec_text org_text ab_text verdict",
}
PRESCRIPTION_ROWS: Final = {
    "integers": "patient admission start stop",
    "texts": "kind drug route dose unit",
}

EMPIRIC: Final = (
    ("Vancomycin", "IV", 30, 3),
    ("Piperacillin-Tazobactam", "IV", 18, 3),
    ("CefePIME", "IV", 14, 3),
    ("CeftriaXONE", "IV", 16, 4),
    ("Azithromycin", "IV", 6, 3),
    ("MetRONIDAZOLE (FLagyl)", "IV", 9, 4),
    ("Meropenem", "IV", 6, 6),
    ("Levofloxacin", "IV", 6, 5),
    ("Ciprofloxacin HCl", "PO/NG", 5, 5),
    ("Ampicillin-Sulbactam", "IV", 4, 4),
    ("Linezolid", "IV", 2, 6),
    ("Tobramycin", "IV", 2, 3),
    ("Nafcillin", "IV", 2, 10),
    ("Sulfameth/Trimethoprim DS", "PO", 4, 7),
    ("Doxycycline Hyclate", "PO/NG", 2, 6),
    ("VANCOMYCIN HCL", "PO/NG", 2, 10),
    ("Daptomycin", "IV", 2, 7),
    ("Fluconazole", "IV", 2, 7),
)
"""Drug, route, weight and usual days; the last two are not on the list of antibiotics."""
OTHERS: Final = (
    ("Acetaminophen", "PO", 70), ("Heparin", "SC", 60), ("Insulin", "SC", 55), ("Pantoprazole",
    "IV", 50),
    ("Furosemide", "IV", 35), ("Potassium Chloride", "PO", 40), ("Docusate Sodium", "PO", 45),
    ("Senna", "PO", 40), ("Metoprolol Tartrate", "PO", 35), ("Aspirin", "PO", 30), ("Aspirin EC",
    "PO", 8),
    ("Lisinopril", "PO", 14), ("Captopril", "PO", 3), ("Enalaprilat", "IV", 1.5), ("Ramipril", "PO",
    0.8),
    ("Losartan Potassium", "PO", 6), ("Ibuprofen", "PO", 5), ("Ketorolac", "IV", 5), ("Naproxen",
    "PO", 1.2),
    ("Indomethacin", "PO", 0.8), ("Diclofenac Sodium Gel", "TP", 0.6), ("Atorvastatin", "PO", 35),
    ("Morphine Sulfate", "IV", 30), ("Lorazepam", "IV", 20), ("Ondansetron", "IV", 35),
    ("0.9% Sodium Chloride", "IV", 60), ("5% Dextrose", "IV", 25), ("Sodium Chloride 0.9%  Flush",
    "IV", 50),
    ("Magnesium Sulfate", "IV", 40), ("Albuterol 0.083% Neb Soln", "IH", 25),
    ("Mupirocin Ointment 2%", "NU", 4),
    ("Erythromycin 0.5% Ophth Oint", "BOTH EYES", 1), ("Neomycin Sulfate", "PO", 0.6),
)  # fmt: skip
"""Drug, route and share of admissions in percent."""


def add_infections(world: World, cultures: Rows, orders: Rows) -> None:
    """Cultures and antibiotics where the picture calls for them, and now and then elsewhere."""
    rng = world.streams.of("infection")
    cohort = world.cohort
    degree = cohort.organs[:, 6]
    suspected = rng.random(cohort.stays) < np.clip(0.12 + 1.15 * degree, 0, 0.97)
    stay = np.flatnonzero(suspected)
    # The moment of suspicion: near admission, later for what is caught in hospital.
    onset = rng.normal(-3 * HOUR, 9 * HOUR, len(stay))
    caught = rng.random(len(stay)) < 0.22
    share = rng.random(len(stay)) * cohort.hours[stay] * HOUR
    onset = cohort.intime[stay] + np.where(caught, share, onset).astype(np.int64)
    onset = np.maximum(onset, cohort.admittime[cohort.stay_adm[stay]] - 6 * HOUR)
    _add_cultures(rng, world, cultures, stay, onset)
    _add_antibiotics(rng, world, orders, stay, onset)
    # A single dose before the cut, without any culture.
    cut = np.flatnonzero(cohort.adm_surgical[cohort.stay_adm] & (rng.random(cohort.stays) < 0.6))
    begin = (cohort.intime[cut] - rng.integers(-HOUR, 6 * HOUR, len(cut))) // HOUR * HOUR
    orders.add(
        patient=cohort.stay_patient[cut],
        admission=cohort.stay_adm[cut],
        start=begin,
        stop=begin + DAY,
        kind="MAIN",
        drug="CeFAZolin",
        route="IV",
        dose="2",
        unit="g",
    )


def _add_cultures(
    rng: np.random.Generator, world: World, cultures: Rows, stay: Array, onset: Array
) -> None:
    cohort = world.cohort
    # Screening swabs of everybody, cultures around the suspicion.
    screened = np.flatnonzero(rng.random(cohort.stays) < 0.35)
    many = rng.integers(1, 5, len(stay))
    who = np.concatenate([np.repeat(stay, many), screened])
    wait = rng.normal(0, 5 * HOUR, int(many.sum())).astype(np.int64)
    time = np.repeat(onset, many) + wait
    time = np.concatenate(
        [time, cohort.intime[screened] + rng.integers(0, 20 * HOUR, len(screened))]
    )
    time = time // 60 * 60
    count = len(who)
    weights = np.array([weight for *_, weight in SPECIMENS], dtype=float)
    kind = rng.choice(len(SPECIMENS), count, p=weights / weights.sum())
    kind[len(time) - len(screened) :] = 3
    grows = rng.random(count) < np.where(kind == 3, 0.05, 0.12 + 0.22 * cohort.organs[who, 6])
    weights = np.array([weight for *_, weight in ORGANISMS], dtype=float)
    organism = rng.choice(len(ORGANISMS), count, p=weights / weights.sum())
    item = np.array([item for item, *_ in ORGANISMS])[organism]
    name = np.array([name for _, name, _ in ORGANISMS], dtype=object)[organism]
    denied = ~grows & (rng.random(count) < 0.02)
    item = np.where(grows, item, np.where(denied, CANCELLED[0], NO_TIME))
    name = np.where(grows, name, np.where(denied, CANCELLED[1], NOTHING))
    dated = rng.random(count) < 0.07
    specimen = np.arange(count)
    common = {
        "patient": cohort.stay_patient[who],
        "admission": np.where(rng.random(count) < 0.06, -1, cohort.stay_adm[who]),
        "specimen": specimen,
        "date": time // DAY * DAY,
        "time": np.where(dated, NO_TIME, time),
        "spec_item": np.array([item for item, *_ in SPECIMENS])[kind],
        "spec_text": np.array([text for _, text, _ in SPECIMENS], dtype=object)[kind],
    }
    cultures.add(**common, org_item=item, org_text=name, isolate=np.where(grows, 1, NO_TIME))
    # What the organism yields to: further rows of the specimen.
    for number, drug in enumerate(_TESTED):
        some = np.flatnonzero(grows & (rng.random(count) < 0.6))
        cultures.add(
            **{column: values[some] for column, values in common.items()},
            org_item=item[some],
            org_text=name[some],
            isolate=1,
            ab_item=90004 + number,
            ab_text=drug,
            verdict=choose(rng, ["S", "R", "I"], [7, 2, 1], len(some)),
        )
    second = np.flatnonzero(grows & (rng.random(count) < 0.06))
    cultures.add(
        **{column: values[second] for column, values in common.items()},
        org_item=80040,
        org_text="YEAST",
        isolate=2,
    )


def _add_antibiotics(
    rng: np.random.Generator, world: World, orders: Rows, stay: Array, onset: Array
) -> None:
    cohort = world.cohort
    treated = rng.random(len(stay)) < 0.88
    stay, onset = stay[treated], onset[treated]
    many = rng.choice([1, 2, 3, 4], len(stay), p=[0.28, 0.38, 0.22, 0.12])
    who = np.repeat(stay, many)
    place = np.arange(len(who)) - np.repeat(np.cumsum(many) - many, many)
    start = np.repeat(onset, many) + rng.gamma(1.3, 4 * HOUR, len(who)).astype(np.int64)
    start += np.where(place > 1, rng.gamma(2, 26 * HOUR, len(who)), 0).astype(np.int64)
    start = start // HOUR * HOUR
    weights = np.array([weight for *_, weight, _ in EMPIRIC], dtype=float)
    which = rng.choice(len(EMPIRIC), len(who), p=weights / weights.sum())
    days = np.array([days for *_, days in EMPIRIC])[which] * rng.gamma(4, 0.25, len(who))
    stop = (start + days * DAY).astype(np.int64) // HOUR * HOUR
    drug = np.array([drug for drug, *_ in EMPIRIC], dtype=object)[which]
    # Reordered with a new dose: the same drug again, later.
    again = np.flatnonzero(rng.random(len(who)) < 0.35)
    later = start[again] + rng.integers(10, 60, len(again)) * HOUR
    route = np.array([route for _, route, *_ in EMPIRIC], dtype=object)[which]
    orders.add(
        patient=cohort.stay_patient[np.append(who, who[again])],
        admission=cohort.stay_adm[np.append(who, who[again])],
        start=np.append(start, later),
        stop=np.append(stop, np.maximum(stop[again], later + DAY)),
        kind="MAIN",
        drug=np.append(drug, drug[again]),
        route=np.append(route, route[again]),
        dose="1",
        unit="g",
    )


def add_other_orders(world: World, orders: Rows) -> None:
    """The usual prescriptions of each admission."""
    rng = world.streams.of("orders")
    cohort = world.cohort
    count = len(cohort.hadm_id)
    length = cohort.dischtime - cohort.admittime
    for drug, route, share in OTHERS:
        has = np.flatnonzero(rng.random(count) < share / 100)
        begin = cohort.admittime[has] + (rng.random(len(has)) ** 2 * length[has]).astype(np.int64)
        begin = begin // HOUR * HOUR
        fluid = "Chloride" in drug or "Dextrose" in drug
        orders.add(
            patient=cohort.adm_patient[has],
            admission=has,
            start=begin,
            stop=np.maximum(cohort.dischtime[has] // HOUR * HOUR, begin),
            kind="BASE" if fluid and route == "IV" else "MAIN",
            drug=drug,
            route=route,
            dose="1",
            unit="dose",
        )
