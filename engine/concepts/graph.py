"""Which derived tables there are, and the order in which they can be built."""

from __future__ import annotations

import difflib
import functools
import graphlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import HarnessFault, UsageError
from engine.concepts.query import Query, read_query

SQL_FOLDER = Path(__file__).parent / "sql" / "mimic_iv"


@dataclass(frozen=True)
class Graph:
    """The derived tables by name, with what each reads."""

    concepts: Mapping[str, Query]
    """Sorted by name."""

    def order(self, names: Iterable[str] | None = None) -> tuple[Query, ...]:
        """The named concepts with all that they need (all when None), needed ones first.

        The order is the same at every call.

        Raises:
            UsageError: a name is unknown; offers the nearest.
            HarnessFault: a concept needs itself, or one that does not exist.
        """
        wanted = sorted(self.concepts) if names is None else list(names)
        for name in wanted:
            self._must_know(name)
        closure: dict[str, tuple[str, ...]] = {}
        stack = list(wanted)
        while stack:
            name = stack.pop()
            if name in closure:
                continue
            if name not in self.concepts:
                raise HarnessFault(f"A concept needs {name}, which does not exist.")
            closure[name] = self.concepts[name].concepts
            stack += closure[name]
        sorter = graphlib.TopologicalSorter(closure)
        try:
            sorter.prepare()
        except graphlib.CycleError as error:
            raise HarnessFault(f"Concepts need each other: {' → '.join(error.args[1])}.") from error
        done: list[str] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            done += ready
            sorter.done(*ready)
        return tuple(self.concepts[name] for name in done)

    def base_tables(self, query: Query) -> dict[str, set[str]]:
        """Source tables and columns that `query` needs, also through other concepts."""
        needed: dict[str, set[str]] = {}
        for part in (*self.order(query.concepts), query):
            for table in part.base_tables:
                needed.setdefault(table, set()).update(part.reads[table])
        return needed

    def _must_know(self, name: str) -> None:
        if name not in self.concepts:
            near = difflib.get_close_matches(name, self.concepts, n=1)
            raise UsageError(
                f"There is no concept called {name}.",
                todo=f"Did you mean {near[0]}?" if near else "Leave out --only to build all.",
            )


@functools.cache
def concept_graph(folder: Path = SQL_FOLDER) -> Graph:
    """All concepts below `folder`, read once.

    Raises:
        HarnessFault: a header is wrong, or two files bear one name.
    """
    found: dict[str, Query] = {}
    for path in sorted(folder.glob("*/*.sql")):
        query = read_query(path)
        if query.name in found:
            raise HarnessFault(f"Two concepts are called {query.name}.")
        found[query.name] = query
    return Graph(concepts=dict(sorted(found.items())))
