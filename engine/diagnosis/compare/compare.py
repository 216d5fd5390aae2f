"""Aligns the diffs of several runs by key and says what changed from the first to each other.

The aligned rows are written to a file of their own, table ``compare``, one row per reference row
that at least one run has wrong (what all have right is only counted):

=================  =====================================================================
``row``            0, 1, 2 …, in the order of the keys
``k0``, ``k1`` …   key columns
``r{i}``           the reference's value in scored column i
``a{i}_{j}``       run j's value in column i; j counts from 0
``s{i}_{j}``       its cell status, as in the diff file
``c{i}_{j}``       for j > 0: number of the change in `CHANGES`, against run 0
``c_{j}``          for j > 0: the same for the whole row
=================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from engine.base.duck import connect, in_words, interruptible, quote_text
from engine.base.errors import UsageError, bad_file
from engine.base.files import writing
from engine.base.jobs import Job
from engine.diagnosis.compare.model import CHANGES, Change, ColumnChanges, Comparison, RunChanges

MOST = 8
"""Runs that can be compared at once."""
_OK = "(0, 1, 5)"
_MISSING, _EXTRA, _DUPLICATE = 1, 2, 3
_RIGHT, _MENDED, _BROKEN, _WRONG, _OTHERWISE = range(5)


def compare(
    diffs: Mapping[str, Path], to: Path, *, job: Job | None = None, scratch: Path | None = None
) -> Comparison:
    """Compare runs of one task on one reference.

    Args:
        diffs: name of each run to its diff file, the one that the others are held against first.
        to: where the aligned rows are written, whole or not at all.
        job: progress and cancel.
        scratch: where to spill.

    Raises:
        UsageError: fewer than two runs or more than eight, or runs of different tables.
        BadInput: a file is no diff.
        Cancelled, StorageFull.
    """
    names = tuple(diffs)
    if not 2 <= len(names) <= MOST:  # noqa: PLR2004 - two is a comparison
        raise UsageError(f"Two to {MOST} runs can be compared, not {len(names)}.")
    con = connect(scratch=scratch)
    try:
        with interruptible(con, job), writing(to, "writing the comparison") as part:
            keys, columns = _attach(con, diffs)
            for number in range(1, len(names)):
                _same_rows(con, number, len(keys))
            part.unlink()
            con.execute(f"ATTACH {quote_text(str(part))} AS out")
            try:
                if job is not None:
                    job.progress("compare", 0, 2, "Aligning the runs")
                con.execute(f"CREATE TABLE out.compare AS {_rows(len(names), len(keys), columns)}")
                _describe(con, names, keys, columns)
                if job is not None:
                    job.progress("compare", 1, 2, "Counting")
                comparison = _count(con, names, keys, columns)
            finally:
                con.execute("DETACH out")
        if job is not None:
            job.progress("compare", 2, 2, "Done")
    except duckdb.Error as error:
        raise in_words(error, "comparing runs") from error
    finally:
        con.close()
    return comparison


def open_comparison(path: Path, *, scratch: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A connection for reading the table ``compare``; the caller closes it."""
    return connect(path, read_only=True, scratch=scratch)


def _attach(
    con: duckdb.DuckDBPyConnection, diffs: Mapping[str, Path]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Attach the diffs as d0, d1 …; their key and scored columns.

    Raises:
        UsageError: they are not of one table.
    """
    shapes = []
    for number, path in enumerate(diffs.values()):
        try:
            con.execute(f"ATTACH {quote_text(str(path))} AS d{number} (READ_ONLY)")
            rows = con.execute(
                f"SELECT role, name FROM d{number}.diff_columns "  # noqa: S608
                "ORDER BY role, position"
            ).fetchall()
        except duckdb.Error as error:
            raise bad_file(path, "This is no diff file.", todo="Score the run again.") from error
        shapes.append(
            (
                tuple(name for role, name in rows if role == "key"),
                tuple(name for role, name in rows if role == "scored"),
                _reference_rows(con, number),
            )
        )
    if len(set(shapes)) != 1:
        raise _not_one_reference()
    return shapes[0][0], shapes[0][1]


def _not_one_reference() -> UsageError:
    return UsageError(
        "These runs were not scored against one reference.",
        todo="Compare runs of one task on one source.",
    )


def _same_rows(con: duckdb.DuckDBPyConnection, number: int, keys: int) -> None:
    """References of as many rows may still be of other stays: these would be left out unsaid."""
    on = " AND ".join(f"x.k{n} IS NOT DISTINCT FROM y.k{n}" for n in range(keys))
    kept = f"key_status <= {_MISSING}"
    shared = _one(
        con,
        f"SELECT count(*) FROM (SELECT * FROM d{number}.diff WHERE {kept}) AS x "  # noqa: S608
        f"SEMI JOIN (SELECT * FROM d0.diff WHERE {kept}) AS y ON {on}",
    )
    if shared != _reference_rows(con, number):
        raise _not_one_reference()


def _reference_rows(con: duckdb.DuckDBPyConnection, number: int) -> int:
    row = con.execute(
        f"SELECT count(*) FROM d{number}.diff WHERE key_status <= {_MISSING}"  # noqa: S608
    ).fetchone()
    return int(row[0]) if row is not None else 0


def _rows(runs: int, keys: int, columns: Sequence[str]) -> str:
    """SQL of the table; the reference rows of every diff are the same ones."""
    on = " AND ".join(f"x.k{n} IS NOT DISTINCT FROM d0.k{n}" for n in range(keys))
    joins = " ".join(
        f"JOIN (SELECT * FROM d{j}.diff WHERE key_status <= {_MISSING}) AS x{j} "  # noqa: S608
        f"ON {on.replace('x.', f'x{j}.')}"
        for j in range(1, runs)
    )
    sides = ["d0", *(f"x{j}" for j in range(1, runs))]
    shown = [f"d0.k{n}" for n in range(keys)]
    for i in range(len(columns)):
        shown.append(f"d0.r{i}")
        for j, side in enumerate(sides):
            shown += [f"{side}.a{i} AS a{i}_{j}", f"{side}.s{i} AS s{i}_{j}"]
            if j:
                shown.append(f"{_cell(i, side)}::UTINYINT AS c{i}_{j}")
    for j, side in enumerate(sides[1:], start=1):
        same = " AND ".join(
            f"d0.a{i} IS NOT DISTINCT FROM {side}.a{i}" for i in range(len(columns))
        )
        shown.append(
            f"{_change('d0.mismatches = 0', f'{side}.mismatches = 0', same)}::UTINYINT AS c_{j}"
        )
    wrong = " OR ".join(f"{side}.mismatches <> 0" for side in sides)
    order = ", ".join(f"d0.k{n} NULLS LAST" for n in range(keys))
    return (
        f"SELECT row_number() OVER () - 1 AS row, * FROM (SELECT {', '.join(shown)} "  # noqa: S608
        f"FROM (SELECT * FROM d0.diff WHERE key_status <= {_MISSING}) AS d0 {joins} "
        f"WHERE {wrong} ORDER BY {order})"
    )


def _cell(i: int, side: str) -> str:
    same = f"d0.a{i} IS NOT DISTINCT FROM {side}.a{i} AND (d0.s{i} = 6) = ({side}.s{i} = 6)"
    return _change(f"d0.s{i} IN {_OK}", f"{side}.s{i} IN {_OK}", same)


def _change(before: str, now: str, same: str) -> str:
    return (
        f"CASE WHEN ({before}) AND ({now}) THEN {_RIGHT} WHEN {now} THEN {_MENDED} "
        f"WHEN {before} THEN {_BROKEN} WHEN {same} THEN {_WRONG} ELSE {_OTHERWISE} END"
    )


def _describe(
    con: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    keys: Sequence[str],
    columns: Sequence[str],
) -> None:
    con.execute("CREATE TABLE out.compare_names (role VARCHAR, position INTEGER, name VARCHAR)")
    rows = [
        *(("run", n, name) for n, name in enumerate(names)),
        *(("key", n, name) for n, name in enumerate(keys)),
        *(("scored", n, name) for n, name in enumerate(columns)),
    ]
    con.executemany("INSERT INTO out.compare_names VALUES (?, ?, ?)", rows)


def _count(
    con: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    keys: Sequence[str],
    columns: Sequence[str],
) -> Comparison:
    total = _reference_rows(con, 0)
    kept = _one(con, "SELECT count(*) FROM out.compare")
    wrong = [f"NOT ({' AND '.join(f's{i}_{j} IN {_OK}' for i in range(len(columns)))})"
             for j in range(len(names))]  # fmt: skip
    others = []
    for j in range(1, len(names)):
        rows = _changes(con, f"c_{j}", total - kept)
        cells = tuple(
            ColumnChanges(name, _changes(con, f"c{i}_{j}", total - kept))
            for i, name in enumerate(columns)
        )
        others.append(RunChanges(names[j], rows, cells, **_extras(con, j, len(keys))))
    return Comparison(
        runs=tuple(names),
        reference_rows=total,
        columns=tuple(columns),
        keys=tuple(keys),
        first_wrong=_one(con, f"SELECT count(*) FROM out.compare WHERE {wrong[0]}"),  # noqa: S608
        others=tuple(others),
        always_wrong=_one(
            con,
            f"SELECT count(*) FROM out.compare WHERE {' AND '.join(wrong)}",  # noqa: S608
        ),
        first_extra=_by_status(con, 0, _EXTRA),
        first_duplicates=_by_status(con, 0, _DUPLICATE),
    )


def _changes(
    con: duckdb.DuckDBPyConnection, column: str, right_everywhere: int
) -> dict[Change, int]:
    found = dict(
        con.execute(f"SELECT {column}, count(*) FROM out.compare GROUP BY 1").fetchall()  # noqa: S608
    )
    counts = {name: int(found.get(number, 0)) for number, name in enumerate(CHANGES)}
    counts["right"] += right_everywhere
    return counts


def _extras(con: duckdb.DuckDBPyConnection, j: int, keys: int) -> dict[str, int]:
    on = " AND ".join(f"a.k{n} IS NOT DISTINCT FROM b.k{n}" for n in range(keys))
    extra = "(SELECT * FROM d{} .diff WHERE key_status = {})".replace(" .", ".")
    mine, first = extra.format(j, _EXTRA), extra.format(0, _EXTRA)
    return {
        "extra": _one(con, f"SELECT count(*) FROM {mine}"),  # noqa: S608
        "duplicates": _by_status(con, j, _DUPLICATE),
        "new_extra": _one(con, f"SELECT count(*) FROM {mine} AS a ANTI JOIN {first} AS b ON {on}"),  # noqa: S608
        "gone_extra": _one(con, f"SELECT count(*) FROM {first} AS a ANTI JOIN {mine} AS b ON {on}"),  # noqa: S608
    }


def _by_status(con: duckdb.DuckDBPyConnection, j: int, status: int) -> int:
    return _one(con, f"SELECT count(*) FROM d{j}.diff WHERE key_status = {status}")  # noqa: S608


def _one(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = con.execute(sql).fetchone()
    return int(row[0]) if row is not None else 0
