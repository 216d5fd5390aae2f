"""The items of a source: what they are called, where they are charted, how often."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from engine.claims.asking import Asker

ITEMS = "mimiciv_icu.d_items"
LAB_ITEMS = "mimiciv_hosp.d_labitems"
_WORD = re.compile(r"[a-z]+\d?|\d+")
_NOISE = frozenset({"of", "the", "and", "in", "s", "total", "blood", "charted", "icu", "charting"})
_STEM = 4
"""Letters at the beginning of two words that make them forms of one."""
_SHORT = {
    "fio2": "oxygen", "po2": "po2", "o2": "o2", "sys": "systolic", "art": "arterial",
    "bp": "pressure", "wbc": "white", "bun": "urea", "temp": "temperature", "cath": "catheter",
    "gas": "", "kind": "type", "fraction": "", "eyes": "eye", "cells": "cell", "bps": "pressure",
    "abp": "arterial", "nbp": "invasive", "hr": "heart",
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """One item of the source's dictionaries."""

    id: int
    """Its number."""
    label: str
    """What it is called."""
    category: str
    """The dictionary's group."""
    table: str
    """Where its rows are, ``schema.table``."""


_TABLES = {
    name: f"mimiciv_icu.{name}"
    for name in (
        "chartevents", "outputevents", "inputevents", "procedureevents", "datetimeevents",
        "ingredientevents",
    )
}  # fmt: skip


def dictionary_sql(asker: Asker) -> str:
    """The question for all items; empty where the source has no dictionary of items."""
    parts = []
    if asker.has(ITEMS, "itemid", "label", "category", "linksto"):
        parts.append(f"SELECT itemid, label, category, linksto FROM {ITEMS}")  # noqa: S608 - constants
    if asker.has(LAB_ITEMS, "itemid", "label", "category"):
        parts.append(f"SELECT itemid, label, category, 'labevents' FROM {LAB_ITEMS}")  # noqa: S608
    return " UNION ALL ".join(parts)


def read_dictionary(asker: Asker) -> dict[int, Item]:
    """Every item by its number."""
    sql = dictionary_sql(asker)
    found: dict[int, Item] = {}
    for item, label, category, links in asker.ask(sql) if sql else ():
        table = "mimiciv_hosp.labevents" if links == "labevents" else _TABLES.get(str(links), "")
        found[int(item)] = Item(int(item), str(label or ""), str(category or ""), table)
    return found


@functools.lru_cache(maxsize=1 << 14)
def words_of(label: str) -> frozenset[str]:
    """The words of a label that tell something, abbreviations written out."""
    words = {_SHORT.get(word, word) for word in _WORD.findall(label.lower())}
    return frozenset(words - _NOISE - {""})


def alike(one: str, other: str) -> float:
    """From 0 (nothing in common) to 1: how much of the shorter label stands in the other."""
    left, right = words_of(one), words_of(other)
    if not left or not right:
        return 1.0 if one.strip().lower() == other.strip().lower() else 0.0
    shared = sum(
        any(a == b or (min(len(a), len(b)) >= _STEM and a[:_STEM] == b[:_STEM]) for b in right)
        for a in left
    )
    return shared / min(len(left), len(right))


def overlap(one: str, other: str) -> float:
    """Share of the words of two labels that both have."""
    left, right = words_of(one), words_of(other)
    return len(left & right) / len(left | right) if left | right else 0.0
