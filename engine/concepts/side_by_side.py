"""The order of work: several derived tables at once, none before what it needs."""

from __future__ import annotations

import contextlib
import graphlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeVar

import duckdb

from engine.base.duck import quote_text
from engine.concepts.query import Query

T = TypeVar("T")
Work = Callable[[duckdb.DuckDBPyConnection, Query], T]


def in_order(
    con: duckdb.DuckDBPyConnection,
    todo: Sequence[Query],
    work: Work[T],
    *,
    at_once: int,
    started: Callable[[Query], object],
) -> Iterator[tuple[Query, T]]:
    """Do `work` for each query of `todo`, up to `at_once` at a time; yield what is finished.

    The connections share `con`'s database, memory limit and worker threads. Work that does not
    fit into the memory beside others is done once more, alone.

    Args:
        con: used when one thing is done at a time, in the calling thread.
        todo: in order; what a query needs and is not in here counts as done.
        work: called in other threads, each with a connection of its own.
        at_once: how many; with 1 the order of `todo` is kept.
        started: called in this thread before each; what it raises ends all.

    Raises:
        Whatever `work` or `started` raise; what runs is interrupted, and waited for.
    """
    plan = _Plan({query.name: query for query in todo})
    running: dict[Future[T], tuple[Query, duckdb.DuckDBPyConnection]] = {}
    with _connections(con, at_once if at_once > 1 else 0) as free, _pool(free, running) as pool:
        while plan.is_active():
            while free and (query := plan.next_beside_others()):
                started(query)
                other = free.pop()
                running[pool.submit(work, other, query)] = query, other
            if not running:
                query = plan.next_alone()
                started(query)
                yield query, work(con, query)
                plan.finished(query)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                query, other = running.pop(future)
                free.append(other)
                if _no_room(future.exception()):
                    plan.must_be_alone(query)
                    continue
                yield query, future.result()
                plan.finished(query)


@contextlib.contextmanager
def _pool(
    connections: Sequence[duckdb.DuckDBPyConnection],
    running: Mapping[Future[T], tuple[Query, duckdb.DuckDBPyConnection]],
) -> Iterator[ThreadPoolExecutor]:
    """A thread for each connection; what still runs at the end is interrupted and waited for."""
    with ThreadPoolExecutor(max(1, len(connections)), "concepts") as pool:
        try:
            yield pool
        finally:
            for future, (_, connection) in running.items():
                while not future.done():  # an interrupt between two statements is lost
                    connection.interrupt()
                    wait([future], timeout=0.05)


@dataclass
class _Plan:
    """What can be begun now."""

    todo: dict[str, Query]
    """By name, in order."""
    ready: list[Query] = field(default_factory=list)
    """Needs nothing that is not there."""
    alone: list[Query] = field(default_factory=list)
    """Found no room beside others."""

    def __post_init__(self) -> None:
        self._place = {name: place for place, name in enumerate(self.todo)}
        self._sorter = graphlib.TopologicalSorter(
            {
                name: [needed for needed in query.concepts if needed in self.todo]
                for name, query in self.todo.items()
            }
        )
        self._sorter.prepare()

    def is_active(self) -> bool:
        """Is anything left? Takes in what has become possible."""
        self.ready += [self.todo[name] for name in self._sorter.get_ready()]
        self.ready.sort(key=lambda query: self._place[query.name])
        return self._sorter.is_active()

    def next_beside_others(self) -> Query | None:
        """The next one; None while something waits for being alone."""
        return self.ready.pop(0) if self.ready and not self.alone else None

    def next_alone(self) -> Query:
        """The next one when nothing else runs."""
        return (self.alone or self.ready).pop(0)

    def must_be_alone(self, query: Query) -> None:
        """It found no room."""
        self.alone.append(query)

    def finished(self, query: Query) -> None:
        """It is there."""
        self._sorter.done(query.name)


def _no_room(error: BaseException | None) -> bool:
    return isinstance(error, duckdb.OutOfMemoryException) or (
        error is not None and isinstance(error.__cause__, duckdb.OutOfMemoryException)
    )


@contextlib.contextmanager
def _connections(
    con: duckdb.DuckDBPyConnection, count: int
) -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """More connections to the same database, with the same time zone (which is not inherited)."""
    zone = con.execute("SELECT current_setting('TimeZone')").fetchone()
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(con.cursor()) for _ in range(count)]
        for each in made:
            each.execute(f"SET TimeZone = {quote_text(zone[0] if zone else 'UTC')}")
        yield list(made)
