"""The diff file: aligned rows with a status per key and per cell, sorted by key.

Layout: see `engine/DESIGN.md`, "The diff file", and DESIGN.md here for the two small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from engine.base import duck
from engine.base.duck import quote, quote_text
from engine.base.errors import BadInput, UsageError, bad_file
from engine.base.files import writing
from engine.base.jobs import Job
from engine.scoring.aligned import Aligned
from engine.scoring.cells import MATCHES, NO_REFERENCE

MATCHED, MISSING, EXTRA, DUPLICATE = range(4)
"""Key statuses."""
KEY_WORDS = ("matched", "missing", "extra", "duplicate")
"""Key statuses in words."""
CELL_WORDS = (
    "equal",
    "within tolerance",
    "different",
    "reference null",
    "agent null",
    "both null",
    "no agent value",
    "no reference value",
)
"""Cell statuses in words."""
_FORMS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER"}


def write_diff(aligned: Aligned, path: Path, *, job: Job | None) -> None:
    """Write the aligned rows into a DuckDB file, whole or not at all."""
    con = aligned.con
    with writing(path, "writing the diff") as part:
        part.unlink()  # the database makes the file itself
        con.execute(f"ATTACH {quote_text(str(part))} AS out")
        try:
            con.execute(f"CREATE TABLE out.diff AS {_rows(aligned)}")
            if job is not None:
                job.check()
            _write_columns(aligned)
            _write_counts(aligned)
        except BaseException:
            con.execute("DETACH out")
            part.with_name(part.name + ".wal").unlink(missing_ok=True)
            raise
        con.execute("DETACH out")


def _rows(aligned: Aligned) -> str:
    """SQL of the table: reference rows, extra keys, duplicates; then sorted and numbered."""
    keys, cells = aligned.keys, aligned.cells
    reference, agent = aligned.reference, aligned.agent
    count = len(keys.names)
    own = ", ".join(f"k{i}" for i in range(count))
    left = [f"rc_{c.sql}" for c in reference.columns.values()]
    nothing = [f"NULL::{c.type} AS rc_{c.sql}" for c in reference.columns.values()]
    right = [f"ac_{c.sql}" for c in agent.columns.values()]
    theirs = [f"a.{c.sql} AS ac_{c.sql}" for c in agent.columns.values()]
    their_keys = ", ".join(f"a.k{i}" for i in range(count))
    alone = ", ".join(["NULL::BIGINT AS rrn", "a.rn AS arn", their_keys, *nothing, *theirs])
    everything = (
        f"SELECT CASE WHEN arn IS NULL THEN {MISSING} ELSE {MATCHED} END AS key_status, "  # noqa: S608  (our own names)
        f"{', '.join(['rrn', 'arn', own, *left, *right])} FROM pairs "
        f"UNION ALL SELECT {EXTRA}, {alone} FROM agent_kept a "
        f"ANTI JOIN reference_keyed r ON {keys.condition} "
        f"UNION ALL SELECT {DUPLICATE}, {alone} "
        "FROM agent_keyed a SEMI JOIN later_rows d ON a.rn = d.rn"
    )
    shown = []
    for i, cell in enumerate(cells):
        status = (
            f"CASE WHEN key_status >= {EXTRA} THEN {NO_REFERENCE}::UTINYINT ELSE {cell.status} END"
        )
        shown += [
            f"{cell.reference_cell} AS r{i}",
            f"{cell.agent_cell} AS a{i}",
            f"({status})::UTINYINT AS s{i}",
        ]
    good = ", ".join(str(status) for status in MATCHES)
    bits = " | ".join(
        f"CASE WHEN s{i} IN ({good}) THEN 0::UBIGINT ELSE {1 << i}::UBIGINT END"
        for i in range(len(cells))
    )
    order = ", ".join(f"k{i} NULLS LAST" for i in range(count))
    if keys.mixed:  # numbers and texts in one column
        order = ", ".join(
            f"TRY_CAST(k{i} AS DOUBLE) NULLS LAST, k{i} NULLS LAST" for i in range(count)
        )
    values = ", ".join(f"r{i}, a{i}, s{i}" for i in range(len(cells)))
    return (
        f"SELECT row_number() OVER () - 1 AS row, key_status::UTINYINT AS key_status, "  # noqa: S608  (our own names)
        f"{bits} AS mismatches, {own}, {values} FROM "
        f"(SELECT key_status, arn, {own}, {', '.join(shown)} FROM ({everything}) {aligned.joins} "
        f"ORDER BY {order}, key_status, arn)"
    )


def _write_columns(aligned: Aligned) -> None:
    con, keys, cells = aligned.con, aligned.keys, aligned.cells
    con.execute(
        "CREATE TABLE out.diff_columns (position INTEGER, name VARCHAR, role VARCHAR, "
        "compared_as VARCHAR, tolerance DOUBLE)"
    )
    rows: list[tuple[object, ...]] = [
        (i, name, "key", kind, 0.0)
        for i, (name, kind) in enumerate(zip(keys.names, keys.kinds, strict=True))
    ]
    rows += [(i, c.name, "scored", c.compared_as, c.tolerance) for i, c in enumerate(cells)]
    con.executemany("INSERT INTO out.diff_columns VALUES (?, ?, ?, ?, ?)", rows)


def _write_counts(aligned: Aligned) -> None:
    con = aligned.con
    con.execute(
        "CREATE TABLE out.diff_counts "
        "(role VARCHAR, position INTEGER, status UTINYINT, count BIGINT)"
    )
    con.execute(
        "INSERT INTO out.diff_counts SELECT 'key', NULL, key_status, count(*) "
        "FROM out.diff GROUP BY key_status ORDER BY key_status"
    )
    for i in range(len(aligned.cells)):
        con.execute(
            f"INSERT INTO out.diff_counts SELECT 'scored', {i}, s{i}, count(*) "  # noqa: S608  (our own names)
            f"FROM out.diff GROUP BY s{i} ORDER BY s{i}"
        )


def export_diff(
    diff: Path,
    out: Path,
    *,
    only_mismatches: bool = False,
    job: Job | None = None,
    memory_limit: str = duck.MEMORY_LIMIT,
    scratch: Path | None = None,
) -> int:
    """Write a diff file's rows with readable names; returns the number of rows.

    Columns: ``row``, ``key_status`` (a word), ``mismatching_columns`` (names), the key columns,
    and per scored column ``NAME__reference``, ``NAME__agent``, ``NAME__status`` (a word).

    Args:
        diff: a diff file.
        out: the file to write, whole or not at all; its ending, .csv or .parquet, is its form. In
            CSV null is an empty field, an empty text is ``""``.
        only_mismatches: leave out rows in which everything matches.
        job: cancel.
        memory_limit: of the database, in DuckDB's words.
        scratch: where to spill.

    Raises:
        BadInput: `diff` is no diff file.
        UsageError: two columns would bear one name, or the ending is another.
    """
    form = export_form(out)
    if not diff.is_file():
        raise bad_file(diff, "There is no diff file.")
    con = duck.connect(diff, read_only=True, memory_limit=memory_limit, scratch=scratch)
    try:
        with duck.interruptible(con, job), writing(out, "writing the aligned rows") as part:
            query = _readable(con, as_text=form == "csv")
            where = "WHERE mismatches <> 0" if only_mismatches else ""
            con.execute(
                f"COPY ({query} {where} ORDER BY row) TO {quote_text(str(part))} ({_FORMS[form]})"
            )
            row = con.execute(f"SELECT count(*) FROM diff {where}").fetchone()  # noqa: S608  (our own words)
            return int(row[0]) if row else 0
    except duckdb.CatalogException as error:
        raise BadInput("This file is not a diff.", todo="Make it again.") from error
    except duckdb.Error as error:
        raise duck.in_words(error, "writing the aligned rows") from error
    finally:
        con.close()


def export_form(out: Path) -> str:
    """What a file of aligned rows is written as: ``csv`` or ``parquet``, by its ending.

    Raises:
        UsageError: it ends otherwise.
    """
    form = out.suffix.casefold().removeprefix(".")
    if form not in _FORMS:
        raise UsageError(
            "The file's name must end in .csv or .parquet.", todo="Give it one of these endings."
        )
    return form


def readable_columns(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What an export shows, in order: SQL over ``diff`` by readable name.

    Raises:
        UsageError: two columns would bear one name.
    """
    columns = con.execute(
        "SELECT role, position, name FROM diff_columns ORDER BY role, position"
    ).fetchall()
    keys = [(position, name) for role, position, name in columns if role == "key"]
    scored = [(position, name) for role, position, name in columns if role == "scored"]
    names = [f"{quote_text(name)}" for _, name in scored]
    flags = ", ".join(
        f"CASE WHEN (mismatches & {1 << i}::UBIGINT) <> 0 THEN {name} END"
        for (i, _), name in zip(scored, names, strict=True)
    )
    shown = {
        "row": "diff.row",
        "key_status": _words("key_status", KEY_WORDS),
        "mismatching_columns": f"list_filter([{flags}], lambda x: x IS NOT NULL)",
    }
    for prefix, items in (("k", keys), ("", scored)):
        for i, name in items:
            new = (
                {name: f"k{i}"}
                if prefix
                else {
                    f"{name}__reference": f"r{i}",
                    f"{name}__agent": f"a{i}",
                    f"{name}__status": _words(f"s{i}", CELL_WORDS),
                }
            )
            if clash := shown.keys() & new.keys():
                raise UsageError(f"Two columns would be called {sorted(clash)[0]}.")
            shown |= new
    return shown


def _readable(con: duckdb.DuckDBPyConnection, *, as_text: bool) -> str:
    columns = readable_columns(con)
    if as_text:  # a CSV has no lists
        columns["mismatching_columns"] = f"array_to_string({columns['mismatching_columns']}, ' ')"
    columns_sql = ", ".join(f"{sql} AS {quote(n)}" for n, sql in columns.items())
    return f"SELECT {columns_sql} FROM diff"  # noqa: S608  (names are quoted)


def _words(column: str, words: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {i} THEN {quote_text(word)}" for i, word in enumerate(words))
    return f"CASE {column} {cases} END"
