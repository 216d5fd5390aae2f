"""Scoring 4.1 million rows: this program's scorer against the plain pandas way, in one run.

    python benchmarks/score_4m.py [--rows 4100000] [--keep DIR] [--no-pandas]

Makes a seeded reference (a stay and a chart time as the key, 11 scored columns) and an output with
missing, extra and repeated keys, nulls and wrong values; runs each way in a process of its own;
prints seconds, processor seconds, peak memory of the process, and the ratios. All must come to the
same figures. Two pandas ways: one with whole columns throughout, one that makes each row's key a
tuple and works with sets of them, as a scorer that was written to be read does.
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
from dataclasses import dataclass
from pathlib import Path

import duckdb

KEYS = ("stay_id", "charttime")
COUNTS = ("hours", "readings", "items")
VALUES = COUNTS + tuple(f"rate_{i}" for i in range(8))
TOLERANCE = {name: 0.01 for name in VALUES if name.startswith("rate")}


def make(folder: Path, rows: int) -> None:
    """Write reference.parquet, reference.csv and output.csv."""
    con = duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(folder / "spill")})
    con.execute("SET threads = 1")  # the same numbers every time
    con.execute("SELECT setseed(0.42)")
    whole = ", ".join(f"(random() * 24)::INTEGER AS {name}" for name in COUNTS)
    rates = ", ".join(
        f"CASE WHEN random() > 0.05 THEN round(random() * 400, {3 + i % 3}) END AS {name}"
        for i, name in enumerate(VALUES[len(COUNTS) :])
    )
    con.execute(
        "CREATE TABLE reference AS SELECT 30000000 + i // 50 AS stay_id, "  # noqa: S608  (our own)
        "TIMESTAMP '2150-01-01' + INTERVAL 1 HOUR * (i % 50) + INTERVAL 1 MINUTE * (i % 7) "
        f"AS charttime, {whole}, {rates} FROM range({rows}) t(i)"
    )
    wrong = ", ".join(
        f"CASE WHEN random() < 0.03 THEN {name} + 1 ELSE {name} END AS {name}" for name in VALUES
    )
    con.execute(
        f"CREATE TABLE output AS SELECT stay_id, charttime, {wrong} FROM reference "  # noqa: S608  (our own)
        "WHERE random() > 0.01 ORDER BY hash(stay_id, charttime)"
    )
    con.execute("INSERT INTO output SELECT * FROM output USING SAMPLE 0.2 PERCENT (bernoulli, 7)")
    con.execute(
        "INSERT INTO output SELECT * REPLACE (stay_id + 90000000 AS stay_id) FROM output "
        "USING SAMPLE 0.2 PERCENT (bernoulli, 8)"
    )
    con.execute(f"COPY reference TO '{folder}/reference.parquet'")
    con.execute(f"COPY reference TO '{folder}/reference.csv'")
    con.execute(f"COPY output TO '{folder}/output.csv'")


def ours(folder: Path, reference: str, diff: bool) -> dict[str, object]:
    """Score with the program's scorer."""
    from engine.catalogue.task import TableEvaluation  # noqa: PLC0415  (not in the other way's time)
    from engine.scoring import judge_table  # noqa: PLC0415

    evaluation = TableEvaluation(key_columns=KEYS, value_columns=VALUES, tolerance=TOLERANCE)
    score = judge_table(
        evaluation,
        folder / "output.csv",
        folder / reference,
        diff=folder / "diff.duckdb" if diff else None,
        scratch=folder,
    ).as_dict()
    return {name: score[name] for name in ("reward", "total", "matched", "key_f1", "ordered_nmae")}


def plain_pandas(folder: Path, *, tuples: bool = False) -> dict[str, object]:
    """Score with pandas as one would write it down from the contract."""
    import pandas as pd  # noqa: PLC0415  (not in the other way's time)

    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(folder / name, keep_default_na=False, na_values=[""])

    def key(column: pd.Series) -> pd.Series:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().all():
            return numbers
        times = pd.to_datetime(column, errors="coerce")
        return times if times.notna().all() else column.astype(str)

    truth, agent = read("reference.csv"), read("output.csv")
    for side in (truth, agent):
        for name in KEYS:
            side[name] = key(side[name])
    keys = list(KEYS)
    if tuples:
        for side in (truth, agent):
            side["key"] = side[keys].apply(tuple, axis=1)
        keys = ["key"]
    assert not truth.duplicated(keys).any()
    repeated = int(agent.duplicated(keys).sum())
    agent = agent.drop_duplicates(keys, keep="first")
    merged = truth.merge(
        agent, on=keys, how="left", suffixes=("_truth", "_agent"), indicator="where"
    )
    there = merged["where"] == "both"
    known = len(set(truth["key"]) & set(agent["key"])) if tuples else int(there.sum())
    total = len(truth) + len(agent) - known + repeated
    matched, errors = {}, []
    for name in VALUES:
        a, b = merged[f"{name}_truth"], merged[f"{name}_agent"]
        x, y = pd.to_numeric(a, errors="coerce"), pd.to_numeric(b, errors="coerce")
        assert x[a.notna()].notna().all()
        assert y[a.notna() & b.notna()].notna().all()
        same = ((x - y).abs() <= TOLERANCE.get(name, 0)) | (a.isna() & b.isna() & there)
        matched[name] = int(same.sum())
        scale = (x.max() - x.min()) or 1.0
        error = ((x - y).abs() / scale).clip(upper=1)
        error = error.mask(x.isna() & y.isna(), 0.0).mask(x.isna() ^ y.isna(), 1.0)
        errors.append(float(error[there].mean()))
    precision, recall = known / len(agent), known / len(truth)
    rates = [count / total for count in matched.values()]
    return {
        "reward": round(sum(rates) / len(rates), 8),
        "total": total,
        "matched": matched,
        "key_f1": round(2 * precision * recall / (precision + recall), 8),
        "ordered_nmae": round(sum(errors) / len(errors), 8),
    }


@dataclass
class Cost:
    """What one way took."""

    seconds: float
    processor: float
    peak: float
    figures: dict[str, object]


def measured(folder: Path, way: str) -> Cost:
    """One way in a process of its own: seconds, processor seconds, peak GB, figures."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--keep", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    answer = json.loads(done.stdout)
    return Cost(seconds, answer["processor"], answer["peak"] / 1e6, answer["figures"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_100_000)
    parser.add_argument("--keep", type=Path, help="folder for the tables (made if not there)")
    parser.add_argument("--no-pandas", action="store_true")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    ways = {
        "ours": lambda f: ours(f, "reference.parquet", False),
        "ours, reference as CSV": lambda f: ours(f, "reference.csv", False),
        "ours, with the diff": lambda f: ours(f, "reference.parquet", True),
        "pandas, columns": plain_pandas,
        "pandas, tuples": lambda f: plain_pandas(f, tuples=True),
    }
    if arguments.way:
        figures = ways[arguments.way](arguments.keep)
        used = resource.getrusage(resource.RUSAGE_SELF)
        answer = {"peak": used.ru_maxrss, "processor": used.ru_utime + used.ru_stime}
        print(json.dumps({**answer, "figures": figures}))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "output.csv").exists():
            make(folder, arguments.rows)
        size = (folder / "output.csv").stat().st_size / 1e6
        columns = len(KEYS) + len(VALUES)
        print(f"{arguments.rows:,} rows, {columns} columns, {size:.0f} MB, {os.cpu_count()} cores")
        results = {}
        for way in ways:
            if way.startswith("pandas") and arguments.no_pandas:
                continue
            results[way] = cost = measured(folder, way)
            print(
                f"{way:24} {cost.seconds:7.1f} s {cost.processor:7.1f} processor s "
                f"{cost.peak:5.2f} GB   (load {os.getloadavg()[0]:.1f})",
                flush=True,
            )
        first = results["ours"]
        for way, cost in results.items():
            assert cost.figures == first.figures, way
            if way.startswith("pandas"):
                print(
                    f"{way}: {cost.seconds / first.seconds:.1f} times our seconds, "
                    f"{cost.peak / first.peak:.1f} times our memory"
                )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
