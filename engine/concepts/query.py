"""An SQL file with its header: what it is for, what a row is, what it reads.

The header is the run of comment lines at the top::

    -- purpose: Age of the patient, in fractional years, at each hospital admission.
    -- grain: one row per hospital admission whose patient is known
    -- key: hadm_id
    -- reads:
    --   mimiciv_hosp.admissions (subject_id, hadm_id, admittime)
    --   mimiciv_hosp.patients (subject_id, anchor_age, anchor_year)
    -- deviations: none

A field goes on in lines that are indented after the dashes. Concepts and reference targets
share the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import HarnessFault

DERIVED = "mimiciv_derived"
"""Schema of the derived tables."""

_FIELDS = ("purpose", "grain", "key", "reads", "deviations")
_FIELD = re.compile(r"^--\s?([a-z]+):\s*(.*)$")
_READ = re.compile(r"\s*([a-z0-9_]+\.[a-z0-9_]+)\s*\(([^()]*)\)", re.IGNORECASE)
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")


@dataclass(frozen=True)
class Query:
    """One SELECT with its header."""

    name: str
    """File name without its ending: the table's name, or the target's key."""
    area: str
    """Folder that it lies in, e.g. ``measurement``."""
    purpose: str
    """One sentence."""
    grain: str
    """What one row is."""
    key: tuple[str, ...]
    """Columns that together name a row; none where rows may repeat (``key: none``)."""
    reads: Mapping[str, tuple[str, ...]]
    """Table (``schema.table``) to the columns that are read from it."""
    deviations: str
    """Where the result is ours to fix (ties) or departs from the public code; or "none"."""
    text: str
    """The whole file."""

    @property
    def sql(self) -> str:
        """The SELECT, without the header."""
        lines = self.text.splitlines(keepends=True)
        while lines and lines[0].startswith("--"):
            del lines[0]
        return "".join(lines).strip().removesuffix(";")

    @property
    def base_tables(self) -> tuple[str, ...]:
        """Source tables that are read, as ``schema.table``, sorted."""
        return tuple(sorted(t for t in self.reads if not t.startswith(f"{DERIVED}.")))

    @property
    def concepts(self) -> tuple[str, ...]:
        """Names of the derived tables that are read, sorted."""
        start = f"{DERIVED}."
        return tuple(sorted(t.removeprefix(start) for t in self.reads if t.startswith(start)))


def read_query(path: Path) -> Query:
    """Read an SQL file and its header.

    Raises:
        HarnessFault: the file is ours, so a wrong header is our fault; names file and line.
    """
    text = path.read_text(encoding="utf-8")
    fields = _fields(path, text)
    missing = [name for name in _FIELDS if not fields.get(name)]
    if missing:
        raise HarnessFault(f"{path.name}: the header lacks {', '.join(missing)}.")
    named = fields["key"].split(",") if fields["key"] != "none" else []
    key = tuple(part.strip() for part in named)
    if not all(_NAME.match(part) for part in key):
        raise HarnessFault(f"{path.name}: the key is not a list of column names.")
    return Query(
        name=path.stem,
        area=path.parent.name,
        purpose=fields["purpose"],
        grain=fields["grain"],
        key=key,
        reads=_reads(path, fields["reads"]),
        deviations=fields["deviations"],
        text=text,
    )


def _fields(path: Path, text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    current: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("--"):
            break
        if match := _FIELD.match(line):
            current = match.group(1)
            if current not in _FIELDS:
                raise HarnessFault(
                    f"{path.name}, line {number}: the header has no field {current!r}; it has "
                    f"{', '.join(_FIELDS)}."
                )
            if current in fields:
                raise HarnessFault(f"{path.name}, line {number}: {current} is given twice.")
            fields[current] = match.group(2).strip()
        elif current and line.startswith("--  "):
            fields[current] = f"{fields[current]} {line[2:].strip()}".strip()
        else:
            raise HarnessFault(
                f"{path.name}, line {number}: a header line is `-- field: …` or goes on indented."
            )
    return fields


def _reads(path: Path, text: str) -> dict[str, tuple[str, ...]]:
    reads: dict[str, tuple[str, ...]] = {}
    at = 0
    while match := _READ.match(text, at):
        table = match.group(1)
        columns = tuple(part.strip() for part in match.group(2).split(","))
        if table in reads or not all(_NAME.match(column) for column in columns):
            raise HarnessFault(f"{path.name}: `reads` is wrong at {table}.")
        reads[table] = columns
        at = match.end()
    if text[at:].strip():
        raise HarnessFault(
            f"{path.name}: `reads` is a list of `schema.table (column, column)`; "
            f"not understood: {text[at:].strip()[:60]}"
        )
    return reads
