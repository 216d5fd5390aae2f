"""Diff files of any size, written exactly by the layout in engine/DESIGN.md.

The rows are made up: stays with episodes, two numbers, a time and a text, with every status of
keys and cells. `make_diff` says what it planted, so that tests compare with that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

COLUMNS = (
    ("heart_rate", "number", 0.5),
    ("score", "number", 0.0),
    ("starttime", "time", 0.0),
    ("status", "text", 0.0),
)

_BASE = """
CREATE TEMP TABLE base AS
SELECT i AS row,
       30000000 + i // 3 AS k0, i % 3 + 1 AS k1,
       CASE WHEN i % 97 = 5 THEN 1 WHEN i % 89 = 7 THEN 2 WHEN i % 83 = 11 AND i % 3 > 0 THEN 3
            ELSE 0 END AS key_status,
       CASE WHEN i % 50 = 0 THEN NULL ELSE (60 + i % 41 + 0.25 * (i % 4))::DOUBLE END AS v0,
       CASE WHEN i % 50 = 0 THEN 5 WHEN i % 10 = 4 THEN 1 WHEN i % 40 = 3 THEN 2
            WHEN i % 61 = 2 THEN 4 ELSE 0 END AS c0,
       i % 25 AS v1,
       CASE WHEN i % 70 = 9 THEN 2 ELSE 0 END AS c1,
       TIMESTAMP '2180-01-01 00:00:00' + INTERVAL (i) MINUTE AS v2,
       CASE WHEN i % 120 = 30 THEN 2 ELSE 0 END AS c2,
       CASE WHEN i % 11 = 0 THEN 'None' WHEN i % 13 = 0 THEN '' ELSE 'InvasiveVent' END AS v3,
       CASE WHEN i % 44 = 21 THEN 2 WHEN i % 67 = 4 THEN 3 ELSE 0 END AS c3
FROM range(?) t(i);
"""

_CELL = """
    CASE WHEN key_status IN (2, 3) OR c{i} = 3 THEN NULL ELSE v{i} END AS r{i},
    CASE WHEN key_status = 1 OR c{i} IN (4, 5) THEN NULL
         WHEN key_status = 0 AND c{i} = 1 THEN {near}
         WHEN key_status = 0 AND c{i} = 2 THEN {other}
         ELSE v{i} END AS a{i},
    CASE WHEN key_status = 1 THEN 6 WHEN key_status IN (2, 3) THEN 7 ELSE c{i} END::UTINYINT AS s{i}
"""

_OTHERS = (
    ("v0 + 0.25", "v0 + 7"),
    ("v1", "v1 + 1"),
    ("v2", "v2 + INTERVAL 1 HOUR"),
    ("v3", "'SupplementalOxygen'"),
)


@dataclass(frozen=True)
class Made:
    """A diff file and what is in it."""

    path: Path
    rows: int
    mismatching: list[int]
    """Rows with any mismatch, ascending."""


def make_diff(path: Path, rows: int) -> Made:
    """Write a diff of `rows` rows."""
    with duckdb.connect(str(path)) as con:
        con.execute("SET threads = 2")
        con.execute(_BASE, [rows])
        cells = ", ".join(
            _CELL.format(i=i, near=near, other=other) for i, (near, other) in enumerate(_OTHERS)
        )
        bits = " | ".join(
            f"(CASE WHEN s{i} IN (0, 1, 5) THEN 0 ELSE 1 END::UBIGINT << {i})"
            for i in range(len(COLUMNS))
        )
        con.execute(
            f"CREATE TABLE diff AS SELECT row::BIGINT AS row, key_status::UTINYINT AS key_status, "
            f"{bits} AS mismatches, k0, k1, {', '.join(f'r{i}, a{i}, s{i}' for i in range(4))} "
            f"FROM (SELECT row, key_status, k0, k1, {cells} FROM base) ORDER BY row"
        )
        con.execute(
            "CREATE TABLE diff_columns (position INTEGER, name VARCHAR, role VARCHAR, "
            "compared_as VARCHAR, tolerance DOUBLE)"
        )
        for at, name in enumerate(("stay_id", "episode")):
            con.execute("INSERT INTO diff_columns VALUES (?, ?, 'key', 'number', 0)", [at, name])
        for at, (name, compared, tolerance) in enumerate(COLUMNS):
            con.execute(
                "INSERT INTO diff_columns VALUES (?, ?, 'scored', ?, ?)",
                [at, name, compared, tolerance],
            )
        con.execute(
            "CREATE TABLE diff_counts (role VARCHAR, position INTEGER, status UTINYINT, "
            "count BIGINT)"
        )
        con.execute(
            "INSERT INTO diff_counts SELECT 'key', NULL, key_status, count(*) FROM diff "
            "GROUP BY key_status"
        )
        for at in range(len(COLUMNS)):
            con.execute(
                f"INSERT INTO diff_counts SELECT 'scored', {at}, s{at}, count(*) FROM diff "
                f"GROUP BY s{at}"
            )
        con.execute("DROP TABLE base")
        wrong = con.execute("SELECT row FROM diff WHERE mismatches <> 0 ORDER BY row").fetchall()
    return Made(path, rows, [row for (row,) in wrong])
