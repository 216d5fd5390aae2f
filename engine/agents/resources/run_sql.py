"""Runs a SQL script against `database.duckdb` and writes its last SELECT to `output.csv`.

Started inside the sandbox as ``python3 run_sql.py SCRIPT``, in the work folder. The database
is opened read-only; temporary tables and views work. If the script writes `output.csv` itself
(COPY), nothing is added. Errors go to standard error with the script's line; exit code 1.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import duckdb

SPILL = ".duckdb-spill"
SHARE_OF_MEMORY = 0.6
_BLANK = re.compile(r"(\s+|--[^\n]*(\n|$)|/\*.*?\*/)*", re.DOTALL)
_LINE = re.compile(r"^LINE (\d+): ", re.MULTILINE)


def fail(name: str, line: int, error: duckdb.Error) -> NoReturn:
    """Say what is wrong and where, and end with 1."""
    # DuckDB counts lines from the start of the statement; the script's line stands in front.
    sys.stderr.write(f"{name}, line {line}: {_LINE.sub('    ', str(error))}\n")
    sys.exit(1)


def line_of(script: str, start: int, error: duckdb.Error) -> int:
    """The script's line of an error in the statement that begins at offset `start`."""
    inside = _LINE.search(str(error))
    if inside is not None:
        return script.count("\n", 0, start) + int(inside.group(1))
    blank = _BLANK.match(script, start)
    return script.count("\n", 0, blank.end() if blank else start) + 1


def without_end(query: str) -> str:
    """The statement up to its semicolon; what follows there is comments."""
    # Offsets are in bytes.
    text = query.encode()
    ends = [
        offset
        for offset, kind in duckdb.tokenize(query)
        if kind == duckdb.token_type.operator and text[offset : offset + 1] == b";"
    ]
    return text[: ends[-1]].decode() if ends else query


def open_database(path: str) -> duckdb.DuckDBPyConnection:
    """A read-only connection that stays below the sandbox's memory limit."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": SPILL,
        "autoinstall_known_extensions": "false",
    }
    limit = os.environ.get("M4_MEMORY_BYTES")
    if limit:
        config["memory_limit"] = f"{int(int(limit) * SHARE_OF_MEMORY / 2**20)}MiB"
    con = duckdb.connect(path, read_only=True, config=config)
    con.execute("SET TimeZone = 'UTC'")
    return con


def run(name: str, script: str, database: str, output: Path) -> None:
    """Run every statement in order."""
    try:
        statements = duckdb.extract_statements(script)
    except duckdb.Error as error:
        fail(name, line_of(script, 0, error), error)
    with_rows = [i for i, s in enumerate(statements) if s.type == duckdb.StatementType.SELECT]
    last = with_rows[-1] if with_rows else -1
    part = output.with_name(f".{output.name}.part")
    con = open_database(database)
    start = 0
    for index, statement in enumerate(statements):
        start = script.index(statement.query, start)
        copied = index == last and not os.path.lexists(output)
        try:
            if copied:
                con.sql(without_end(statement.query)).write_csv(
                    str(part),
                    header=True,
                    na_rep="",
                    date_format="%Y-%m-%d",
                    timestamp_format="%Y-%m-%d %H:%M:%S",
                )
            else:
                con.execute(statement)
                con.complete()
        except duckdb.Error as error:
            part.unlink(missing_ok=True)
            fail(name, line_of(script, start, error), error)
        start += len(statement.query)
    con.close()
    if os.path.lexists(part):
        if os.path.lexists(output):  # a later COPY of the script's own
            part.unlink()
        else:
            part.rename(output)
    if not os.path.lexists(output):
        sys.stderr.write(f"{name}: no statement gave rows, so there is no output.\n")


def main() -> None:
    """See the module."""
    name = sys.argv[1]
    script = Path(name).read_text(encoding="utf-8-sig")
    try:
        run(name, script, os.environ["M4_DB_PATH"], Path(os.environ["M4_OUTPUT_PATH"]))
    finally:
        shutil.rmtree(SPILL, ignore_errors=True)


if __name__ == "__main__":
    main()
