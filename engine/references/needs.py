"""What cannot be built without a source table: also through other derived tables."""

from __future__ import annotations

import functools
from dataclasses import replace

from engine.concepts.graph import concept_graph
from engine.references.targets import list_targets
from engine.sources import SourceInfo


@functools.cache
def needed_for(table: str) -> tuple[str, ...]:
    """The concepts and targets that rest on `table` (``schema.table``), directly or not.

    Returns:
        Like ``("concept bg", …, "target sofa-24h", …)``; concepts first, each part by name.
    """
    graph = concept_graph()
    concepts = [
        f"concept {name}"
        for name, query in graph.concepts.items()
        if table in graph.base_tables(query)
    ]
    targets = [
        f"target {key}"
        for key, query in list_targets().items()
        if table in graph.base_tables(query)
    ]
    return (*concepts, *targets)


def with_needs(info: SourceInfo) -> SourceInfo:
    """`info`, whose missing tables name everything that cannot be built without them."""
    missing = tuple(replace(table, needed_for=needed_for(table.name)) for table in info.missing)
    return replace(info, missing=missing)
