"""What MIMIC-IV and eICU look like: tables, columns, types, and who reads them.

The facts are data (``schemas/*.toml``); nothing here touches a file of the user's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal, cast, get_args

Kind = Literal["mimic-iv", "eicu"]
"""The kinds of source."""

KINDS: tuple[Kind, ...] = get_args(Kind)

NULL_STRINGS = ("", "NULL", "NA", "N/A", "___")
"""These texts are null on reading, quoted or not."""


@dataclass(frozen=True)
class Table:
    """One table of a kind."""

    schema: str
    """mimiciv_hosp, mimiciv_icu or eicu_crd."""
    name: str
    """In lower case, e.g. ``chartevents``."""
    columns: Mapping[str, str]
    """Column -> DuckDB type, in order; empty when the types are to be detected."""
    required: frozenset[str]
    """Columns that a concept or target reads: without one of these the file is refused."""
    concepts: tuple[str, ...]
    """Derived tables that read it directly."""
    targets: tuple[str, ...]
    """Reference targets that read it directly."""

    @property
    def full_name(self) -> str:
        """``schema.table``."""
        return f"{self.schema}.{self.name}"

    @property
    def needed_for(self) -> tuple[str, ...]:
        """What cannot be built without it: concepts, then targets."""
        return (*(f"concept {c}" for c in self.concepts), *(f"target {t}" for t in self.targets))


@dataclass(frozen=True)
class KindFacts:
    """All tables of a kind."""

    kind: Kind
    """Which one."""
    title: str
    """As people write it."""
    tables: Mapping[str, Table]
    """By table name (without schema; names are unique within a kind)."""
    stays: str
    """The table with one row per ICU stay."""

    @property
    def schemas(self) -> tuple[str, ...]:
        """The data schemas in order."""
        return tuple(dict.fromkeys(table.schema for table in self.tables.values()))

    @property
    def indispensable(self) -> Table | None:
        """The table of stays, when no target at all can be built without it."""
        every = {t for table in self.tables.values() for t in table.targets}
        stays = self.tables[self.stays]
        return stays if every <= set(stays.targets) else None


_TITLES: dict[Kind, tuple[str, str]] = {
    "mimic-iv": ("MIMIC-IV", "icustays"),
    "eicu": ("eICU", "patient"),
}


@cache
def facts(kind: Kind) -> KindFacts:
    """The facts of one kind."""
    text = resources.files("engine.sources").joinpath("schemas", f"{kind}.toml").read_text("utf-8")
    tables = {
        name: Table(
            schema=schema,
            name=name,
            columns=MappingProxyType(dict(entry.get("columns", {}))),
            required=frozenset(entry.get("required", ())),
            concepts=tuple(entry.get("concepts", ())),
            targets=tuple(entry.get("targets", ())),
        )
        for schema, entries in tomllib.loads(text).items()
        for name, entry in cast("dict[str, dict[str, dict[str, str]]]", entries).items()
    }
    title, stays = _TITLES[kind]
    return KindFacts(kind=kind, title=title, tables=MappingProxyType(tables), stays=stays)
