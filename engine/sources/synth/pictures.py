"""Clinical pictures: why a patient is in intensive care, and what that does to the body.

Each stay has one. A picture sets how far each organ is off at the start (0 well, 1 failing) and the
set points that are typical for it; everything charted follows from the course of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ORGANS: Final = ("shock", "lung", "brain", "kidney", "liver", "clotting", "infection")


@dataclass(frozen=True)
class Picture:
    """One reason for intensive care."""

    name: str
    """Stable name, used by the areas to ask for special findings."""
    share: float
    """Relative frequency."""
    organs: tuple[float, float, float, float, float, float, float]
    """Typical start values of `ORGANS`."""
    support: str
    """Usual course of respiratory support, a name of `ventilation.COURSES`."""
    surgical: float = 0.0
    """Probability of a surgical service."""
    elective: float = 0.0
    """Probability of a planned admission."""
    age: tuple[float, float] = (65.0, 15.0)
    """Mean and spread of the age in years."""
    death: float = 0.05
    """Probability of death in hospital."""
    hours: float = 46.0
    """Median length of the ICU stay."""
    shifts: dict[str, float] = field(default_factory=dict)
    """Offsets of set points by quantity (see `labs` and `vitals`)."""
    codes: tuple[str, ...] = ()
    """ICD code pairs "9/10" of the reason itself."""


PICTURES: Final = (
    Picture("observation", 13, (0.1, 0.1, 0.05, 0.08, 0.03, 0.05, 0.05), "room air",
            age=(58, 19), death=0.01, hours=30, codes=("78650/R0789", "7802/R55")),
    Picture("planned surgery", 11, (0.22, 0.2, 0.1, 0.1, 0.05, 0.15, 0.05), "short tube",
            surgical=0.95, elective=0.8, death=0.015, hours=32,
            shifts={"hemoglobin": -1.5}, codes=("1623/C3490", "1539/C189", "4414/I714")),
    Picture("cardiac surgery", 8, (0.45, 0.3, 0.12, 0.18, 0.08, 0.35, 0.05), "short tube",
            surgical=0.97, elective=0.6, age=(67, 11), death=0.03, hours=40,
            shifts={"temperature": -0.7, "hemoglobin": -2.5}, codes=("41401/I2510", "4241/I350")),
    Picture("pneumonia", 10, (0.3, 0.6, 0.15, 0.2, 0.08, 0.15, 0.7), "mask",
            death=0.12, hours=60, shifts={"temperature": 0.7, "wbc": 5}, codes=("486/J189",)),
    Picture("septic shock", 11, (0.8, 0.5, 0.3, 0.5, 0.25, 0.4, 0.9), "tube later",
            death=0.3, hours=80, shifts={"temperature": 0.8, "wbc": 9, "albumin": -0.8},
            codes=("78552/R6521", "0389/A419")),
    Picture("heart failure", 8, (0.4, 0.45, 0.08, 0.4, 0.12, 0.15, 0.08), "nasal",
            age=(73, 12), death=0.08, hours=52, codes=("42823/I5023",)),
    Picture("cardiogenic shock", 3, (0.9, 0.5, 0.25, 0.5, 0.3, 0.25, 0.12), "tube later",
            age=(68, 12), death=0.4, hours=75, codes=("78551/R570", "41071/I214")),
    Picture("gastrointestinal bleed", 6, (0.45, 0.12, 0.08, 0.2, 0.2, 0.35, 0.1), "room air",
            death=0.06, hours=36, shifts={"hemoglobin": -4.5, "bun": 22}, codes=("5789/K922",)),
    Picture("stroke", 6, (0.12, 0.2, 0.65, 0.08, 0.03, 0.1, 0.12), "nasal",
            age=(68, 15), death=0.2, hours=70, shifts={"map": 16}, codes=("431/I619",
            "43491/I639")),
    Picture("head injury", 4, (0.25, 0.4, 0.75, 0.08, 0.05, 0.25, 0.15), "tube",
            surgical=0.6, age=(47, 21), death=0.18, hours=90, shifts={"temperature": 0.4},
            codes=("85221/S065X0A",)),
    Picture("trauma", 4, (0.4, 0.3, 0.2, 0.12, 0.1, 0.4, 0.12), "short tube",
            surgical=0.85, age=(44, 20), death=0.05, hours=50, shifts={"hemoglobin": -3},
            codes=("80709/S2249XA",)),
    Picture("chronic lung disease", 5, (0.15, 0.6, 0.15, 0.1, 0.03, 0.08, 0.35), "niv",
            age=(69, 10), death=0.08, hours=56, shifts={"pco2": 22, "bicarbonate": 7},
            codes=("49121/J441",)),
    Picture("liver failure", 4, (0.5, 0.25, 0.4, 0.5, 0.9, 0.8, 0.3), "nasal",
            age=(55, 12), death=0.3, hours=70,
            shifts={"sodium": -6, "albumin": -1.2, "platelet": -90, "inr": 0.6},
            codes=("5712/K7031", "5722/K7290")),
    Picture("cardiac arrest", 3, (0.75, 0.55, 0.95, 0.5, 0.5, 0.3, 0.2), "tube",
            death=0.55, hours=85, shifts={"temperature": -3.2, "ph": -0.12, "glucose": 60},
            codes=("4275/I469",)),
    Picture("overdose", 3, (0.25, 0.35, 0.8, 0.15, 0.15, 0.05, 0.1), "short tube",
            age=(41, 14), death=0.03, hours=34, shifts={"temperature": -0.7},
            codes=("9654/T391X2A",)),
    Picture("ketoacidosis", 3, (0.25, 0.1, 0.25, 0.3, 0.03, 0.05, 0.2), "room air",
            age=(42, 16), death=0.01, hours=30,
            shifts={"glucose": 380, "bicarbonate": -13, "ph": -0.17, "pco2": -14, "potassium": 0.9,
                    "gap": 12}, codes=("25013/E1010",)),
    Picture("acute respiratory distress", 3, (0.55, 0.95, 0.4, 0.4, 0.2, 0.35, 0.7), "long tube",
            age=(57, 15), death=0.35, hours=150, shifts={"temperature": 0.8, "pco2": 9},
            codes=("51882/J80",)),
    Picture("dialysis patient", 3, (0.25, 0.25, 0.1, 0.95, 0.06, 0.15, 0.2), "nasal",
            age=(63, 13), death=0.06, hours=44, shifts={"map": 6, "potassium": 0.8},
            codes=("5856/N186",)),
    Picture("renal failure", 3, (0.5, 0.35, 0.2, 0.95, 0.15, 0.25, 0.4), "tube later",
            death=0.25, hours=110, shifts={"potassium": 0.8, "bicarbonate": -5},
            codes=("5845/N170",)),
    Picture("neutropenic sepsis", 2, (0.65, 0.4, 0.15, 0.3, 0.2, 0.9, 0.85), "mask",
            age=(56, 15), death=0.25, hours=64,
            shifts={"temperature": 1.4, "wbc": -12, "platelet": -175}, codes=("28803/D701",)),
    Picture("hypertensive emergency", 2, (0.0, 0.2, 0.2, 0.25, 0.02, 0.03, 0.03), "room air",
            age=(56, 14), death=0.01, hours=34, shifts={"map": 52}, codes=("4010/I161",)),
    Picture("tracheostomy", 2, (0.2, 0.5, 0.35, 0.2, 0.06, 0.1, 0.4), "trach",
            age=(60, 16), death=0.12, hours=100, codes=("51884/J9621", "V440/Z930")),
    Picture("hypothermia", 1, (0.45, 0.25, 0.6, 0.3, 0.15, 0.25, 0.1), "short tube",
            age=(54, 17), death=0.15, hours=48, shifts={"temperature": -5.5, "heart_rate": -30},
            codes=("9916/T68XXXA",)),
    Picture("low sodium", 1.5, (0.05, 0.05, 0.35, 0.08, 0.03, 0.03, 0.06), "room air",
            age=(64, 15), death=0.01, hours=44, shifts={"sodium": -23}, codes=("2761/E871",)),
    Picture("hyperosmolar state", 1.5, (0.3, 0.1, 0.45, 0.5, 0.04, 0.1, 0.3), "room air",
            age=(66, 13), death=0.06, hours=52, shifts={"sodium": 19, "glucose": 520, "bun": 30},
            codes=("25022/E1100",)),
    Picture("bradycardia", 1.5, (0.3, 0.1, 0.08, 0.15, 0.03, 0.03, 0.03), "room air",
            age=(76, 10), death=0.02, hours=34, shifts={"heart_rate": -42}, codes=("4260/I442",)),
    Picture("fast arrhythmia", 2, (0.35, 0.15, 0.05, 0.12, 0.03, 0.05, 0.08), "nasal",
            age=(68, 13), death=0.02, hours=34, shifts={"heart_rate": 72}, codes=("42731/I4891",)),
    Picture("blood disease", 1.5, (0.35, 0.3, 0.1, 0.25, 0.12, 0.4, 0.4), "nasal",
            age=(60, 16), death=0.2, hours=52, shifts={"wbc": 45, "hemoglobin": -3,
            "platelet": -60},
            codes=("20500/C9200",)),
    Picture("thick blood", 1, (0.05, 0.35, 0.05, 0.08, 0.02, 0.05, 0.05), "nasal",
            age=(49, 14), death=0.01, hours=30,
            shifts={"hemoglobin": 5.5, "albumin": 0.9, "bicarbonate": 9, "ph": 0.12},
            codes=("2890/D751",)),
)  # fmt: skip
"""Shares sum to about one hundred and twenty; only their ratios count."""
