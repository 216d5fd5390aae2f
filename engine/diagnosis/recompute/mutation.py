"""One change of the SQL behind a target, before it is tried."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from engine.diagnosis.model import Parameter


@dataclass(frozen=True)
class Edit:
    """One node replaced in one query."""

    query: str
    number: int
    """The node's place in the query's walk."""
    new: exp.Expr
    """What stands there instead."""

    @functools.cached_property
    def sql(self) -> str:
        """`new` as SQL."""
        return written(self.new)


@dataclass(frozen=True)
class Mutation:
    """Edits that make one change, perhaps at several places."""

    id: str
    """Name of the hypothesis (`engine.diagnosis.signatures.names`)."""
    words: str
    """What the agent would have done, to follow "Consistent with "."""
    edits: tuple[Edit, ...]
    before: str
    after: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    rare: bool = False
    """One of very many of its kind: tried later."""
    about: frozenset[str] = frozenset()
    """Texts in the row of a list of which a part changes; a column's name may be among them."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that change."""
        return tuple(dict.fromkeys(edit.query for edit in self.edits))

    @functools.cached_property
    def key(self) -> str:
        """Hash of the change; the same in every process."""
        parts = [f"{e.query}\0{e.number}\0{e.sql}" for e in self.edits]
        return hashlib.sha256("\0\0".join(parts).encode()).hexdigest()


def written(node: exp.Expr) -> str:
    """A node's SQL. A copy is written: writing gives some pieces (an IF, say) another parent."""
    return node.sql("duckdb")


def short(node: exp.Expr, most: int = 120) -> str:
    """A node's SQL on one line, for people."""
    return _cut(line(written(node)), most)


def both_short(one: str, other: str, most: int = 120) -> tuple[str, str]:
    """Two pieces of SQL on one line each, cut so that what differs is seen."""
    if one == other or one[: most - 1] != other[: most - 1]:
        return _cut(one, most), _cut(other, most)
    same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
                min(len(one), len(other)))  # fmt: skip
    start = same - most // 3

    def cut(text: str) -> str:
        tail = text[start : start + most - 2]
        return f"…{tail}{'…' if start + most - 2 < len(text) else ''}"

    return cut(one), cut(other)


def line(sql: str) -> str:
    """SQL on one line."""
    return " ".join(sql.split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
