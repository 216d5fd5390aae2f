"""The dictionary tables and what other areas look up in them: labels and units by item.

Labels and units of items are facts of the public item dictionaries; see `items.csv` and
`labitems.csv` beside this module.
"""

from __future__ import annotations

import csv
import functools
from importlib import resources

import numpy as np
import pyarrow as pa

from engine.sources.synth.seeds import Array
from engine.sources.synth.writer import TableWriter

PROVIDERS = tuple(f"P{number:02d}{letter}" for number in range(100) for letter in "ABCDEFGH")
"""Identifiers of ordering providers."""


@functools.cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a CSV beside this module, by column."""
    return _table(name)


def units(item: Array) -> pa.Array:
    """Unit text of each event's ICU item, null where it has none."""
    return _looked_up(item, {int(row["itemid"]): row["unitname"] for row in _table("items.csv")})


def lab_units(item: Array) -> pa.Array:
    """Unit text of each result's laboratory item, null where it has none."""
    return _looked_up(item, {int(row["itemid"]): row["unit"] for row in _table("labitems.csv")})


def lab_ranges(item: Array) -> tuple[Array, Array]:
    """Reference range of each result's laboratory item, NaN where none is given."""
    known, place = np.unique(item, return_inverse=True)
    rows_of = {int(row["itemid"]): row for row in _table("labitems.csv")}
    low, high = (
        np.array([float(rows_of[int(code)][bound] or "nan") for code in known])[place]
        for bound in ("low", "high")
    )
    return low, high


def _looked_up(item: Array, by_item: dict[int, str]) -> pa.Array:
    known, place = np.unique(item, return_inverse=True)
    words = pa.array([by_item.get(int(code)) or None for code in known], pa.string())
    return words.take(pa.array(place))


def _texts(table: tuple[dict[str, str], ...], column: str) -> list[str | None]:
    return [row[column] or None for row in table]


def write_dictionaries(writer: TableWriter) -> None:
    """d_items, d_labitems, d_icd_diagnoses, d_icd_procedures and d_hcpcs."""
    items = _table("items.csv")
    writer.write(
        "d_items",
        {
            "itemid": [int(row["itemid"]) for row in items],
            "label": _texts(items, "label"),
            "abbreviation": _texts(items, "label"),
            "linksto": _texts(items, "linksto"),
            "category": _texts(items, "category"),
            "unitname": _texts(items, "unitname"),
            "param_type": _texts(items, "param_type"),
        },
    )
    labs = _table("labitems.csv")
    writer.write(
        "d_labitems",
        {"itemid": [int(row["itemid"]) for row in labs]}
        | {column: _texts(labs, column) for column in ("label", "fluid", "category")},
    )
    codes = _table("icd.csv")
    writer.write(
        "d_icd_diagnoses",
        {
            "icd_code": _texts(codes, "code"),
            "icd_version": [int(row["version"]) for row in codes],
            "long_title": _texts(codes, "title"),
        },
    )
    writer.write(
        "d_icd_procedures",
        {
            "icd_code": ["9604", "9672", "3995", "5A1945Z", "0BH17EZ", "5A1D90Z"],
            "icd_version": [9, 9, 9, 10, 10, 10],
            "long_title": [
                "Insertion of endotracheal tube",
                "Continuous invasive mechanical ventilation for 96 consecutive hours or more",
                "Hemodialysis",
                "Respiratory Ventilation, 24-96 Consecutive Hours",
                "Insertion of Endotracheal Airway into Trachea, Via Natural or Artificial Opening",
                "Performance of Urinary Filtration, Continuous, Greater than 18 hours Per Day",
            ],
        },
    )
    # Who charted and who ordered: the identifiers that the other tables draw from.
    writer.write("caregiver", {"caregiver_id": np.arange(1000, 10_000)})
    writer.write("provider", {"provider_id": list(PROVIDERS)})
    writer.write(
        "d_hcpcs",
        {
            "code": ["99291", "99292", "G0378"],
            "long_description": [None, None, "Hospital observation service, per hour"],
            "short_description": [
                "Critical care first hour",
                "Critical care addl 30 min",
                "Hospital observation per hr",
            ],
        },
    )
