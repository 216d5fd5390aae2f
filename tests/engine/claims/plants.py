# ruff: noqa: E501 - one defect is one line
"""Defects that are planted into copies of our own texts: by hand, and by a seeded generator."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import NamedTuple

from engine.catalogue.task import Task, find_task
from engine.claims.reading import read_document
from engine.preflight.finding import Kind


class Plant(NamedTuple):
    """One defect: in a text of a task `old` becomes `new`, at its first place."""

    sort: str
    """Wrong item, wrong unit, window, band, sibling, spelling, stale number."""
    task: str
    kind: Kind
    old: str
    new: str


SKILL, SPEC, ASK = "skill", "operational-spec", "instruction"
VENT, KDIGO, SOFA, SAPS = (
    "mimic-ventilation",
    "mimic-kdigo-48h",
    "mimic-sofa-24h",
    "mimic-sapsii-24h",
)
MELD, OASIS, UO, SUSP = (
    "mimic-meld-24h",
    "mimic-oasis-24h",
    "mimic-urine-output-rate",
    "mimic-suspicion-infection",
)
SIRS, CHARLSON, EOASIS, EGCS = "mimic-sirs-24h-raw", "mimic-charlson-raw", "eicu-oasis", "eicu-gcs"
VASO, APS, SEPSIS, GCS = (
    "mimic-vasopressor-equivalents",
    "mimic-apsiii-24h",
    "mimic-sepsis3-raw",
    "mimic-gcs-24h-raw",
)

BY_HAND = (
    # wrong item: another one that the reference reads too
    Plant("item", SAPS, SKILL, "| 50971 | Potassium", "| 50983 | Potassium"),
    Plant("item", MELD, SKILL, "| 50885 | Bilirubin, Total", "| 50882 | Bilirubin, Total"),
    Plant("item", VASO, SKILL, "| 221289 | Epinephrine", "| 221906 | Epinephrine"),
    Plant("item", GCS, SKILL, "| 223900 |", "| 223901 |"),
    Plant("item", KDIGO, SKILL, "| 226559 | Foley |", "| 226560 | Foley |"),
    Plant("item", SIRS, SKILL, "| 224690 |", "| 224689 |"),
    # wrong unit
    Plant("unit", SAPS, SKILL, "| 50983 | Sodium | mEq/L |", "| 50983 | Sodium | mg/dL |"),
    Plant("unit", APS, SKILL, "| 51221 | Hematocrit | % |", "| 51221 | Hematocrit | g/dL |"),
    Plant("unit", OASIS, SKILL, "| 220045 | Heart Rate | heart rate, /min |", "| 220045 | Heart Rate | heart rate, mmHg |"),
    Plant("unit", VASO, SKILL, "| 221289 | Epinephrine | unchanged (mcg/kg/min)", "| 221289 | Epinephrine | unchanged (mcg/min)"),
    Plant("unit", SIRS, SKILL, "| 223762 | Temperature Celsius | temperature, °C |", "| 223762 | Temperature Celsius | temperature, °F |"),
    # a window that disagrees
    Plant("window", MELD, SKILL, "From 6 hours before to 24 hours after", "From 24 hours before to 6 hours after"),
    Plant("window", EGCS, SPEC, "From 360 minutes before", "From 360 minutes after"),
    Plant("window", KDIGO, SKILL, "48 hours after ICU admission", "7 days after ICU admission"),
    Plant("window", SUSP, SKILL, "time + 72 hours", "time + 24 hours"),
    Plant("window", OASIS, SPEC, "24 hours", "48 hours"),
    Plant("window", SEPSIS, ASK, "48 hours", "36 hours"),
    # a band off by one
    Plant("band", SAPS, SKILL, "< 60: 7; < 70: 12", "< 61: 7; < 70: 12"),
    Plant("band", SAPS, SKILL, "highest ≥ 145: 1", "highest ≥ 145: 2"),
    Plant("band", APS, SPEC, "< 1.95: 4", "< 1.96: 4"),
    Plant("band", OASIS, SKILL, "< 24: 0", "< 23: 0"),
    Plant("band", EOASIS, SKILL, "highest 107 to 125: 3", "highest 107 to 125: 6"),
    Plant("band", CHARLSON, SKILL, "60 < age ≤ 70", "60 < age ≤ 71"),
    Plant("band", SOFA, SKILL, "GCS < 6", "GCS < 7"),
    # a missing sibling item
    Plant("sibling", SAPS, SKILL, "| 225309 | ART BP Systolic | systolic pressure, mmHg | 0 < v < 400 |\n", ""),
    Plant("sibling", UO, SKILL, "| 226558 | L Ureteral Stent |\n", ""),
    Plant("sibling", MELD, SKILL, "| 224404 | ART Lumen Volume |", "| 224153 | Replacement Rate |"),
    Plant("sibling", SOFA, SKILL, "| 220052 |", "| 220181 |"),
    # a spelling missing from the list
    Plant("spelling", VENT, SKILL, "`Ultrasonic neb`, ", ""),
    Plant("spelling", EOASIS, SKILL, "`Condom cath`, ".replace("Condom cath", "condom cath"), ""),
    Plant("spelling", SUSP, SKILL, "`cefepime`, ", ""),
    Plant("spelling", SEPSIS, SKILL, "`CMV/AutoFlow`, ", ""),
    Plant("spelling", VENT, SKILL, "`Venti mask␠`", "`Venti mask`"),
    Plant("spelling", VENT, SPEC, "Vapomist", "Vapormist"),
    Plant("spelling", CHARLSON, SKILL, "M32, ", ""),
    Plant("spelling", SAPS, SPEC, "238.6, ", ""),
    # a number that an edit left behind
    Plant("stale", VENT, SKILL, "The 37 standard modes", "The 38 standard modes"),
    Plant("stale", MELD, SKILL, "one of these 48 items", "one of these 46 items"),
    Plant("stale", SUSP, SKILL, "before (72 hours)", "before (48 hours)"),
    Plant("stale", MELD, SPEC, "0.957", "0.975"),
    Plant("stale", SAPS, SPEC, "365.242", "365.25"),
    Plant("stale", EGCS, SKILL, "1440 minutes (24 hours)", "1440 minutes (12 hours)"),
)  # fmt: skip
"""Written with the checks."""

HELD_OUT = (
    Plant("item", APS, SKILL, "| 51221 |", "| 51301 |"),
    Plant("item", UO, SKILL, "| 226567 | Straight Cath |", "| 226563 | Straight Cath |"),
    Plant("item", SOFA, SKILL, "| 51265 | Platelet Count", "| 51256 | Platelet Count"),
    Plant("unit", SOFA, SKILL, "| 51265 | Platelet Count | K/µL |", "| 51265 | Platelet Count | g/L |"),
    Plant("unit", MELD, SKILL, "| 50885 | Bilirubin, Total | mg/dL |", "| 50885 | Bilirubin, Total | µmol/L |"),
    Plant("window", GCS, SKILL, "6 hours", "8 hours"),
    Plant("window", SIRS, SPEC, "24 hours", "12 hours"),
    Plant("window", KDIGO, ASK, "48 hours", "72 hours"),
    Plant("window", UO, SKILL, "2 hours", "3 hours"),
    Plant("band", EOASIS, SPEC, "54 to 77: 6", "55 to 77: 6"),
    Plant("band", SAPS, SKILL, "< 9: 13", "< 10: 13"),
    Plant("band", OASIS, SPEC, "< 24: 0", "< 25: 0"),
    Plant("band", KDIGO, SKILL, "| 3 | v ≥ 2.0 × low7 | 2 |", "| 3 | v ≥ 2.5 × low7 | 2 |"),
    Plant("sibling", GCS, SKILL, "| 220739 |", "| 223900 |"),
    Plant("sibling", SEPSIS, SKILL, "| 227489 | GU Irrigant/Urine Volume Out |\n", ""),
    Plant("spelling", VENT, SKILL, "`Face tent`, ", ""),
    Plant("spelling", SUSP, SKILL, "`zosyn`", "`zozyn`"),
    Plant("spelling", CHARLSON, SPEC, "K71.3, ", ""),
    Plant("spelling", EGCS, SKILL, "`Score (Glasgow Coma Scale)`", "`Glasgow coma score`"),
    Plant("stale", SAPS, SKILL, "| 51006 | Urea Nitrogen | mg/dL | 0 < v ≤ 300 |", "| 51006 | Urea Nitrogen | mg/dL | 0 < v ≤ 30 |"),
    Plant("stale", VASO, SKILL, "| 221662 | Dopamine | unchanged (mcg/kg/min) | rate / 100 |", "| 221662 | Dopamine | unchanged (mcg/kg/min) | rate / 10 |"),
    Plant("stale", EOASIS, SKILL, "The 125 texts", "The 124 texts"),
    Plant("stale", CHARLSON, SKILL, "I43, I50 |", "I43, I51 |"),
    Plant("stale", EGCS, SKILL, "missing ones as motor 6, verbal 5, eyes 4", "missing ones as motor 5, verbal 5, eyes 4"),
)  # fmt: skip
"""Written after the checks were done; no check was changed for one of these."""


def path_of(task: Task, kind: Kind) -> Path:
    """The file of a text."""
    names = {"instruction": "instruction.md", "operational-spec": "operational-spec.md"}
    return task.skill_folders[0] / "SKILL.md" if kind == "skill" else task.folder / names[kind]


def generated(seed: int, number: int) -> list[Plant]:
    """Defects at random places of skills and specifications, the same for the same seed."""
    chance = random.Random(seed)
    tasks = (
        KDIGO,
        SOFA,
        SAPS,
        MELD,
        OASIS,
        UO,
        SIRS,
        CHARLSON,
        EOASIS,
        EGCS,
        VASO,
        APS,
        SEPSIS,
        GCS,
        SUSP,
        VENT,
    )
    makers = (_item, _unit, _window, _band, _sibling, _spelling)
    found: list[Plant] = []
    while len(found) < number:
        maker = makers[len(found) % len(makers)]
        task = find_task(chance.choice(tasks))
        kind: Kind = (
            "skill"
            if maker in (_item, _unit, _sibling)
            else chance.choice(("skill", "operational-spec"))
        )
        text = path_of(task, kind).read_text(encoding="utf-8")
        change = maker(text, chance)
        if change is not None and text.count(change[0]) == 1:
            found.append(Plant(maker.__name__.strip("_"), task.name, kind, *change))
    return found


def _rows(text: str) -> list[str]:
    lines = text.split("\n")
    return [
        lines[row.cells[0].line - 1]
        for row in read_document("skill", text).rows
        if not row.aside and row.cells
    ]


def _item(text: str, chance: random.Random) -> tuple[str, str] | None:
    rows = [row for row in _rows(text) if re.match(r"\| \d{5,6} \| [A-Z]", row)]
    if len(rows) < 2:
        return None
    one, other = chance.sample(rows, 2)
    return one, "| " + other[2:8].strip(" |") + one[one.index(" |", 2) :]


def _unit(text: str, chance: random.Random) -> tuple[str, str] | None:
    rows = [
        row
        for row in _rows(text)
        if re.match(r"\| \d{5,6} ", row) and re.search(r"mg/dL|mEq/L|mmHg|/min \|", row)
    ]
    if not rows:
        return None
    row = chance.choice(rows)
    return row, re.sub(
        r"mg/dL|mEq/L|mmHg|(?<= )/min(?= \|)",
        lambda m: {"mg/dL": "mmol/L", "mEq/L": "g/dL", "mmHg": "kPa", "/min": "mmHg"}[m.group()],
        row,
        count=1,
    )


def _window(text: str, chance: random.Random) -> tuple[str, str] | None:
    body = text.partition("## Worked")[0].partition("## Pitfalls")[0]
    places = list(re.finditer(r"\b\w+ \w+ (\d+) hours \w+ \w+", body))
    if not places:
        return None
    place = chance.choice(places)
    number = int(place.group(1))
    other = chance.choice([n for n in (6, 12, 24, 48, 72, number + 1) if n != number])
    return place.group(), re.sub(r"(\d+)(?= hours)", str(other), place.group(), count=1)


def _band(text: str, chance: random.Random) -> tuple[str, str] | None:
    rows = [row for row in _rows(text) if len(re.findall(r"\d: \d+[;|]?", row)) > 1]
    if not rows:
        return None
    row = chance.choice(rows)
    place = chance.choice(list(re.finditer(r"\d+(?=: \d)|(?<=\d: )\d+", row)))
    number = int(place.group()) + 1
    return row, row[: place.start()] + str(number) + row[place.end() :]


def _sibling(text: str, chance: random.Random) -> tuple[str, str] | None:
    rows = [
        row
        for row in _rows(text)
        if re.match(r"\| \d{5,6} \| [A-Z]", row) and len(row.split("|")) < 7
    ]
    return (chance.choice(rows) + "\n", "") if rows else None


def _spelling(text: str, chance: random.Random) -> tuple[str, str] | None:
    body = text.partition("## Output")[0]
    places = list(
        re.finditer(r"(?<=, )`[^`]{4,}`, |(?<=; )[A-Z][\w/+]{3,}; |(?<=, )[A-Z]?\d{3,4}, ", body)
    )
    if not places:
        return None
    place = chance.choice(places)
    begin = text.rfind("\n", 0, place.start()) + 1
    end = text.find("\n", place.end())
    return text[begin:end], text[begin : place.start()] + text[place.end() : end]
