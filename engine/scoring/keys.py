"""Keys: what each side's key columns are, whether they can meet, which rows are one too many.

Makes the relations ``reference_keyed`` and ``agent_keyed`` (the side's columns and, normalised,
``k0``, ``k1`` …), ``later_rows`` (further agent rows of a key) and ``agent_kept`` (the first ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from engine.base.jobs import Job
from engine.scoring.score import Comparison, Notice
from engine.scoring.sides import Column, Side
from engine.scoring.values import fetch_row, parse_times

_EXACT = 2**53
"""Below it, every whole number is a double."""


@dataclass(frozen=True)
class Keys:
    """How the two sides' keys meet."""

    names: tuple[str, ...]
    """Key columns, in the task's order."""
    kinds: tuple[Comparison, ...]
    """What they are compared as; ``text`` where the sides differ."""
    condition: str
    """Join condition between ``r`` and ``a``."""
    mixed: bool
    """Is a key column of another kind on each side?"""
    notices: tuple[Notice, ...]
    """Why they are not."""

    @property
    def columns(self) -> str:
        """``k0, k1, …``."""
        return ", ".join(f"k{i}" for i in range(len(self.names)))


@dataclass(frozen=True)
class _Part:
    kind: Comparison | None
    """None where the column holds nothing."""
    sql: str
    join: str


def prepare_keys(
    con: duckdb.DuckDBPyConnection,
    reference: Side,
    agent: Side,
    names: Sequence[str],
    *,
    job: Job | None,
) -> Keys:
    """Normalise each side's key columns over the whole column, separately."""
    left = [_part(con, reference, name, job) for name in names]
    # A side without the columns is an output that could not be read: no rows at all.
    right = [
        _part(con, agent, name, job) if name in agent.columns else _Part(None, "NULL", "")
        for name in names
    ]
    kinds: list[Comparison] = []
    conditions = []
    notices = []
    shown: list[tuple[str, str]] = []
    for i, name in enumerate(names):
        r, a = left[i], right[i]
        if r.kind is not None and a.kind is not None and r.kind != a.kind:
            kinds.append("text")
            # No value of one kind equals one of the other; an absent one equals an absent one.
            conditions.append(f"{_marked('r', i)} IS NOT DISTINCT FROM {_marked('a', i)}")
            columns = (reference.columns[name].sql, agent.columns[name].sql)
            shown.append((f"s.{columns[0]}::VARCHAR", f"s.{columns[1]}::VARCHAR"))
            notices.append(_differ(con, name, r.kind, a.kind, agent.columns[name]))
            continue
        kind = r.kind or a.kind or "text"
        kinds.append(kind)
        target = _target(con, kind, reference, agent, name)
        shown.append((_cast(r, target), _cast(a, target)))
        nulls = all(
            name in side.columns and side.columns[name].count < side.rows
            for side in (reference, agent)
        )
        conditions.append(f"r.k{i} IS NOT DISTINCT FROM a.k{i}" if nulls else f"r.k{i} = a.k{i}")
    for side, parts, place in ((reference, left, 0), (agent, right, 1)):
        keys = ", ".join(f"{pair[place]} AS k{i}" for i, pair in enumerate(shown))
        joins = " ".join(part.join for part in parts)
        query = f"SELECT s.*, {keys} FROM {side.name} s {joins}"  # noqa: S608  (our own names)
        con.execute(f"CREATE OR REPLACE VIEW {side.name}_keyed AS {query}")
    return Keys(
        names=tuple(names),
        kinds=tuple(kinds),
        condition=" AND ".join(conditions),
        mixed=bool(notices),
        notices=tuple(notices),
    )


def count_distinct(con: duckdb.DuckDBPyConnection, relation: str, keys: Keys) -> int:
    """Distinct keys of a relation; nulls are one value."""
    groups = f"SELECT 1 FROM {relation} GROUP BY {keys.columns}"  # noqa: S608  (our own names)
    return int(fetch_row(con, f"SELECT count(*) FROM ({groups})")[0])  # noqa: S608  (our own names)


def keep_first(con: duckdb.DuckDBPyConnection, keys: Keys) -> int:
    """Make ``later_rows`` and ``agent_kept``; returns the number of later rows."""
    con.execute(
        "CREATE OR REPLACE TABLE repeated AS "  # noqa: S608  (our own names)
        f"SELECT {keys.columns}, min(rn) AS first_rn, count(*) AS times FROM agent_keyed "
        "GROUP BY ALL HAVING count(*) > 1"
    )
    duplicates = int(fetch_row(con, "SELECT coalesce(sum(times - 1), 0) FROM repeated")[0])
    if not duplicates:
        con.execute("CREATE OR REPLACE TABLE later_rows (rn BIGINT)")
        con.execute("CREATE OR REPLACE VIEW agent_kept AS FROM agent_keyed")
        return 0
    same = " AND ".join(f"a.k{i} IS NOT DISTINCT FROM b.k{i}" for i in range(len(keys.names)))
    con.execute(
        "CREATE OR REPLACE TABLE later_rows AS SELECT a.rn FROM agent_keyed a "  # noqa: S608  (our own names)
        f"JOIN repeated b ON {same} WHERE a.rn <> b.first_rn"
    )
    con.execute(
        "CREATE OR REPLACE VIEW agent_kept AS "
        "SELECT * FROM agent_keyed ANTI JOIN later_rows USING (rn)"
    )
    return duplicates


def _part(con: duckdb.DuckDBPyConnection, side: Side, name: str, job: Job | None) -> _Part:
    column = side.columns[name]
    here = f"s.{column.sql}"
    if not column.count:
        return _Part(None, "NULL", "")
    if column.numeric:
        return _Part("number", f"{here}::BIGINT" if column.stored == "bool" else here, "")
    if column.stored == "time":
        return _Part("time", here, "")
    table = f"key_times_{side.name}_{column.sql}"
    if parse_times(
        con,
        table=table,
        relation=side.name,
        column=column.sql,
        order="rn",
        job=job,
        enough_failures=1,
    ):
        return _Part("time", f"{table}.stamp", f"LEFT JOIN {table} ON {table}.text = {here}")
    return _Part("text", here, "")


def _marked(side: str, i: int) -> str:
    return f"('{side}' || {side}.k{i})"


def _cast(part: _Part, target: str) -> str:
    value = f"{part.sql}::{target}"
    return f"({value} + 0)" if target == "DOUBLE" else value  # -0 and 0 are one key


def _target(
    con: duckdb.DuckDBPyConnection, kind: Comparison, reference: Side, agent: Side, name: str
) -> str:
    """The type in which the keys meet: whole numbers as BIGINT, exact beyond 2**53."""
    if kind != "number":
        return "TIMESTAMP" if kind == "time" else "VARCHAR"
    for side in (reference, agent):
        column = side.columns.get(name)
        if column is None or column.stored != "float":
            continue
        c = column.sql
        odd = f"NOT (abs({c}) < {_EXACT} AND {c} = trunc({c}))"
        if fetch_row(con, f"SELECT 1 FROM {side.name} WHERE {odd} LIMIT 1"):  # noqa: S608  (our own names)
            return "DOUBLE"
    return "BIGINT"


def _differ(
    con: duckdb.DuckDBPyConnection, name: str, wanted: Comparison, found: Comparison, column: Column
) -> Notice:
    """The agent's key column is of another kind than the reference's: nothing can meet."""
    c = column.sql
    bad = {
        "number": f"NOT is_number({c}::VARCHAR)",
        "time": f"TRY_CAST({c}::VARCHAR AS TIMESTAMP) IS NULL",
        "text": "true",
    }[wanted]
    some = f"FROM agent WHERE {c} IS NOT NULL AND ({bad})"
    count, first = fetch_row(con, f"SELECT count(*), min(rn) {some}")
    words = {"number": "numbers", "time": "timestamps", "text": "texts"}
    return Notice(
        code="key_kind",
        column=name,
        count=int(count),
        first_row=None if first is None else int(first) + 1,
        text=f"The key column {name} holds {words[wanted]} in the reference, but {words[found]} in "
        f"the output: a key column is compared as one kind over the whole column, so no key "
        f"meets. {count} values of the output are no {words[wanted]} "
        f"of the reference's kind, the first in data row {0 if first is None else first + 1}.",
    )
