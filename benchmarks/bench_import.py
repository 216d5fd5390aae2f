"""Importing one large chartevents: this program against the plain pandas way, in one run.

    python benchmarks/bench_import.py [--rows 2000000]

Makes a seeded chartevents.csv.gz of whole numbers, times, texts and reals; imports it each way in
a process of its own; prints seconds, CPU seconds, peak memory of the process, and the ratio. Ours
checks every cell and reads the file twice (checksum, row count), in memory that does not grow with
the file; the plain way does neither.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

NULLS = ["", "NULL", "NA", "N/A", "___"]


def make(folder: Path, rows: int) -> None:
    """Write chartevents.csv.gz and a small icustays.csv."""
    con = duckdb.connect(config={"memory_limit": "1GB", "threads": 1})
    con.execute("SELECT setseed(0.42)")
    con.execute(
        "COPY (SELECT 10000000 + i % 300 AS subject_id, 20000000 + i % 500 AS hadm_id, "  # noqa: S608 - our own
        "30000000 + i % 500 AS stay_id, 40000 + i % 90 AS caregiver_id, "
        "TIMESTAMP '2150-01-01' + to_seconds(i * 37 % 90000000) AS charttime, "
        "TIMESTAMP '2150-01-01' + to_seconds(i * 37 % 90000000 + 600) AS storetime, "
        "220000 + i * 7 % 1900 AS itemid, round(random() * 200, 1)::VARCHAR AS value, "
        "round(random() * 200, 1) AS valuenum, 'mmHg' AS valueuom, 0 AS warning "
        f"FROM range({rows}) t(i)) TO '{folder / 'chartevents.csv.gz'}' (HEADER)"
    )
    con.close()
    (folder / "icustays.csv").write_text(
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los\n"
    )


def ours(folder: Path) -> int:
    """Import with this program; the rows."""
    from engine.base.paths import open_home  # noqa: PLC0415 - the other way does not pay for it
    from engine.sources import add_source  # noqa: PLC0415

    info = add_source(open_home(folder / "home"), "bench", folder)
    return sum(table.rows for table in info.tables)


def plain(folder: Path) -> int:
    """Read with pandas, store with DuckDB; the rows."""
    import pandas as pd  # noqa: PLC0415 - see above

    frame = pd.read_csv(
        folder / "chartevents.csv.gz",
        na_values=NULLS,
        keep_default_na=False,
        parse_dates=["charttime", "storetime"],
        dtype={"value": str, "valueuom": str},
    )
    con = duckdb.connect(str(folder / "plain.duckdb"))
    con.register("frame", frame)
    con.execute("CREATE TABLE chartevents AS SELECT * FROM frame")
    con.close()
    return len(frame)


def measured(way: str, folder: Path) -> dict[str, float]:
    """Run one way in a process of its own."""
    root = str(Path(__file__).resolve().parents[1])
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": root}
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--way", choices=["ours", "plain"])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.way:
        start = time.perf_counter()
        rows = (ours if options.way == "ours" else plain)(options.folder)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_SELF)
        result = {"rows": rows, "seconds": seconds, "cpu": used.ru_utime + used.ru_stime}
        print(json.dumps({**result, "peak_mb": used.ru_maxrss / 1024}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, options.rows)
        size = (folder / "chartevents.csv.gz").stat().st_size / 1e6
        print(f"{options.rows:,} rows, {size:.0f} MB compressed")
        results = {way: measured(way, folder) for way in ("plain", "ours")}
        for way, result in results.items():
            seconds, cpu, peak = result["seconds"], result["cpu"], result["peak_mb"]
            print(f"{way:6} {seconds:7.2f} s  {cpu:7.2f} CPU s  {peak:7.0f} MB")
            assert result["rows"] == options.rows
        ratio = results["plain"]["seconds"] / results["ours"]["seconds"]
        print(f"ours is {ratio:.1f} times as fast as the plain way")


if __name__ == "__main__":
    main()
