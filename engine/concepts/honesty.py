"""Does a query read what its header says? Asked of the SQL itself, by sqlglot.

So the dependency graph, the list of missing tables and the staleness of a result are
never built on a header that lies.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from engine.base.errors import HarnessFault
from engine.concepts.query import Query


def lies(query: Query) -> tuple[str, ...]:
    """Every difference between `query`'s header and its SQL, in words; none if it is honest."""
    return _lies(query.name, query.sql, tuple(query.reads.items()), query.key)


def must_be_honest(query: Query) -> None:
    """Refuse to build from a header that lies.

    Raises:
        HarnessFault: with every difference.
    """
    if found := lies(query):
        raise HarnessFault(f"The header of {query.name} is wrong: {' '.join(found)}")


@functools.lru_cache(maxsize=512)
def _lies(
    name: str,
    sql: str,
    reads: tuple[tuple[str, tuple[str, ...]], ...],
    key: tuple[str, ...],
) -> tuple[str, ...]:
    try:
        statements = [tree for tree in parse(sql, dialect="duckdb") if tree is not None]
    except SqlglotError as error:
        return (f"The SQL of {name} cannot be parsed: {error}.",)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ("The file must hold one SELECT and nothing else.",)
    tree = statements[0]
    return (*_shape(tree, key), *_tables_and_columns(tree, dict(reads)))


def _shape(tree: exp.Query, key: tuple[str, ...]) -> Iterator[str]:
    if any(isinstance(column, exp.Star) for column in tree.selects):
        yield "The outermost SELECT must name its columns."
        return
    output = [name.lower() for name in tree.named_selects]
    if lost := [column for column in key if column not in output]:
        yield f"The key names {', '.join(lost)}, which is not put out."
    if len(set(output)) < len(output):
        yield "An output column's name occurs twice."


def _tables_and_columns(tree: exp.Query, declared: dict[str, tuple[str, ...]]) -> Iterator[str]:
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    read: set[str] = set()
    for table in tree.find_all(exp.Table):
        if table.db:
            read.add(f"{table.db}.{table.name}".lower())
        elif table.name and table.name.lower() not in ctes:
            yield f"Table {table.name} must be named with its schema."
    for table_name in sorted(read - set(declared)):
        yield f"It reads {table_name}, which `reads` does not list."
    for table_name in sorted(set(declared) - read):
        yield f"`reads` lists {table_name}, which it does not read."
    try:
        used, unclear = _columns(tree, declared)
    except _Untraceable as error:
        yield f"A column cannot be traced to a listed one: {error}."
        return
    for table_name in sorted(read & set(declared)):
        listed = set(declared[table_name])
        found = used.get(table_name, set())
        if more := sorted(found - listed):
            yield f"It reads {', '.join(more)} of {table_name}, which `reads` does not list."
        if less := sorted(listed - found - unclear):
            yield f"`reads` lists {', '.join(less)} of {table_name}, which it does not read."


class _Untraceable(Exception):
    """sqlglot finds no table for a column."""


def _columns(
    tree: exp.Query, declared: dict[str, tuple[str, ...]]
) -> tuple[dict[str, set[str]], set[str]]:
    """Columns by table, and the names that could not be traced to one table."""
    schema: dict[str, object] = {}
    for table, columns in declared.items():
        db, name = table.split(".")
        tables = schema.setdefault(db, {})
        assert isinstance(tables, dict)  # noqa: S101 - for the type checker
        tables[name] = dict.fromkeys(columns, "VARCHAR")
    try:
        qualified = qualify(
            tree.copy(),
            dialect="duckdb",
            schema=schema,
            validate_qualify_columns=False,
            allow_partial_qualification=True,
            identify=False,
        )
    except SqlglotError as error:
        raise _Untraceable(str(error)) from error
    used: dict[str, set[str]] = {}
    unclear: set[str] = set()
    for scope in traverse_scope(qualified):
        real = {
            alias: f"{source.db}.{source.name}".lower()
            for alias, source in scope.sources.items()
            if isinstance(source, exp.Table) and source.db
        }
        for column in scope.columns:
            name = column.name.lower()
            if column.table in real:
                used.setdefault(real[column.table], set()).add(name)
            elif isinstance(inner := scope.sources.get(column.table), Scope):
                query = inner.expression
                put_out = set(query.named_selects) if isinstance(query, exp.Query) else set()
                if put_out and "*" not in put_out and name not in map(str.lower, put_out):
                    raise _Untraceable(f"{column.table}.{name}")
            elif not column.table:
                if len(real) == 1 and len(scope.sources) == 1:
                    used.setdefault(next(iter(real.values())), set()).add(name)
                else:
                    unclear.add(name)
    return used, unclear
