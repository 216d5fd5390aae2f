"""Which reference tables there are: one SQL file per target, as concepts have."""

from __future__ import annotations

import difflib
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from engine.base.errors import UsageError
from engine.concepts.graph import concept_graph
from engine.concepts.query import Query, read_query

TARGETS_FOLDER = Path(__file__).parent / "targets"

SourceKind = Literal["mimic-iv", "eicu"]


@functools.cache
def list_targets() -> Mapping[str, Query]:
    """All targets by key (``charlson``, ``eicu-gcs``, …), sorted."""
    return {path.stem: read_query(path) for path in sorted(TARGETS_FOLDER.glob("*.sql"))}


def find_target(key: str) -> Query:
    """The target called `key`.

    Raises:
        UsageError: there is none; offers the nearest.
    """
    targets = list_targets()
    if key not in targets:
        near = difflib.get_close_matches(key, targets, n=1)
        raise UsageError(
            f"There is no reference target called {key}.",
            todo=f"Did you mean {near[0]}?" if near else f"There are {', '.join(targets)}.",
        )
    return targets[key]


def kind_of(target: Query) -> SourceKind:
    """Which kind of source the target is built from."""
    return "eicu" if any(t.startswith("eicu_crd.") for t in target.reads) else "mimic-iv"


def sql_sha256(target: Query) -> str:
    """Hash of the target's SQL and of every concept's that goes into it."""
    parts = [q.sql for q in concept_graph().order(target.concepts)]
    return hashlib.sha256("\0".join([*parts, target.sql]).encode()).hexdigest()
