"""The derived tables on synthetic MIMIC-IV data: seconds, memory and growth of each concept.

    python benchmarks/bench_concepts.py [--stays 1000 10000 50000] [--keep DIR] [--json FILE]

Makes a seeded source of each size and builds all concepts on it three times with the program's
own code: each concept alone in a process of its own (its processor seconds, and the peak memory of
the process: Python's 135 MB included), all in one process one after the other, and all as a user
does it, several side by side. Growth is the factor of processor seconds from one size to the next
over the factor of stays: 1.0 is linear; wall time would tell how busy the machine is. It has a dash
where the larger size takes less than half a second: there the start of a query is most of it.

Beside it, heavy concepts in the plain way (`benchmarks/plain/NAME.sql`) on the same tables, which
must come to the same rows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.base.duck import quote
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.concepts.build import build_concepts, set_limits
from engine.concepts.graph import concept_graph
from engine.concepts.honesty import must_be_honest
from engine.concepts.tables import build_tables
from engine.sources import find_source, list_sources, open_source, writing_source

PLAIN = Path(__file__).parent / "plain"
IN_A_ROW = "all, one after the other"
AS_USERS = "all, as `concepts build` does"
WORTH = 0.5
"""Processor seconds from which growth means something."""


@dataclass
class Cost:
    """What one build took."""

    name: str
    """The concept, or what was run."""
    rows: int
    """Rows made."""
    seconds: float
    """Wall time, without the start of the process and the reading of all SQL."""
    cpu: float
    """Processor seconds of the same stretch, over all threads."""
    peak_mb: float
    """Peak resident memory of the process."""


def in_child(name: str, what: Callable[[SimpleJob], int]) -> Cost:
    """Run `what`, which returns rows, in a forked process and account for it.

    Times are from the first word of progress to the last, if there is any. This process must not
    have opened a database yet.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            marks: list[tuple[float, float]] = []

            def mark(*_: object) -> None:
                marks.append((time.perf_counter(), time.process_time()))

            rows = what(SimpleJob(on_progress=mark))
            (begun, cpu_begun), (ended, cpu_ended) = marks[0], marks[-1]
            os.write(writer, json.dumps([rows, ended - begun, cpu_ended - cpu_begun]).encode())
            os._exit(0)
        except BaseException as error:  # told by the parent
            print(f"{name}: {type(error).__name__} {error}", file=sys.stderr)
            os._exit(1)
    os.close(writer)
    _, status, used = os.wait4(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    if status:
        raise SystemExit(f"{name} failed")
    rows, seconds, cpu = json.loads(told)
    return Cost(name, rows, seconds, cpu, used.ru_maxrss / 1024)


def make_source(folder: Path, stays: int) -> None:
    """A synthetic source, unless it is there from an earlier run; nothing is built in it."""
    home, name = open_home(folder), f"s{stays}"
    if name not in {info.name for info in list_sources(home)}:
        command = [
            sys.executable,
            "-c",
            "from engine.cli.main import entry; entry()",
            "--home",
            str(folder),
            "source",
            "synth",
        ]
        command += [name, "--kind", "mimic-iv", "--stays", str(stays)]
        root = str(Path(__file__).resolve().parents[1])
        subprocess.run(command, check=True, capture_output=True, cwd=root)


def forget(folder: Path, stays: int, job: SimpleJob) -> int:
    """Take all derived tables out of the source."""
    with writing_source(open_home(folder), f"s{stays}") as con:
        con.execute("DROP SCHEMA IF EXISTS mimiciv_derived CASCADE")
        con.execute("DROP TABLE IF EXISTS m4_meta.concepts")
        con.execute("CHECKPOINT")
    job.progress("forget", 1, 1)
    return 0


def build(folder: Path, stays: int, only: str | None, job: SimpleJob) -> int:
    """Build all concepts, or one whose needs stand; the rows."""
    names = [only] if only else None
    built = build_concepts(open_home(folder), f"s{stays}", names, job=job)
    fresh = sum(each.status == "fresh" for each in built)
    assert fresh == (len(built) - 1 if only else 0)
    assert all(each.status != "left out" for each in built)
    return sum(each.rows or 0 for each in built if only in (None, each.name))


def build_in_a_row(folder: Path, stays: int, job: SimpleJob) -> int:
    """Build all concepts, one after the other; the rows."""
    graph = concept_graph()
    digest = find_source(open_home(folder), f"s{stays}").digest
    with writing_source(open_home(folder), f"s{stays}") as con:
        set_limits(con, threads=None, memory_limit=None)
        built = build_tables(con, graph, graph.order(), digest=digest, job=job)
    assert all(each.status == "built" for each in built)
    return sum(each.rows or 0 for each in built)


def run_plain(folder: Path, stays: int, name: str, job: SimpleJob) -> int:
    """Run the plain way into a table of its own; its rows."""
    with writing_source(open_home(folder), f"s{stays}") as con:
        con.execute("SET preserve_insertion_order = false")
        sql = (PLAIN / f"{name}.sql").read_text("utf-8")
        job.progress("plain", 0, 1)
        con.execute(f"CREATE OR REPLACE TABLE m4_meta.plain_{name} AS {sql}")
        row = con.execute(f"SELECT count(*) FROM m4_meta.plain_{name}").fetchone()  # noqa: S608 - ours
        job.progress("plain", 1, 1)
    return int(row[0]) if row else 0


def check_plain(folder: Path, stays: int, name: str, job: SimpleJob) -> int:
    """Rows of the plain way, by its columns, that the concept has not; none if both are right."""
    with contextlib.closing(open_source(find_source(open_home(folder), f"s{stays}"))) as con:
        columns = [str(row[0]) for row in con.execute(f"DESCRIBE m4_meta.plain_{name}").fetchall()]
        listed = ", ".join(quote(column) for column in columns)
        row = con.execute(
            f"SELECT count(*) FROM (SELECT {listed} FROM m4_meta.plain_{name} "  # noqa: S608 - ours
            f"EXCEPT ALL SELECT {listed} FROM mimiciv_derived.{name})"
        ).fetchone()
    job.progress("check", 1, 1)
    return int(row[0]) if row else 0


def measure(folder: Path, stays: int) -> dict[str, list[dict[str, object]]]:
    """All figures of one size."""
    order = concept_graph().order()
    for query in order:
        must_be_honest(query)  # remembered, so that no concept pays for the check of its header
    empty = partial(forget, folder, stays)
    in_child("forget", empty)
    concepts = [in_child(query.name, partial(build, folder, stays, query.name)) for query in order]
    plain = []
    for name in sorted(path.stem for path in PLAIN.glob("*.sql")):
        plain.append(in_child(name, partial(run_plain, folder, stays, name)))
        assert plain[-1].rows == next(each.rows for each in concepts if each.name == name)
        differing = in_child(name, partial(check_plain, folder, stays, name)).rows
        assert differing == 0, f"{name}: {differing} rows differ"
    in_child("forget", empty)
    row = in_child(IN_A_ROW, partial(build_in_a_row, folder, stays))
    in_child("forget", empty)
    whole = in_child(AS_USERS, partial(build, folder, stays, None))
    return {
        "concepts": [asdict(cost) for cost in concepts],
        "plain": [asdict(cost) for cost in plain],
        "whole": [asdict(row), asdict(whole)],
    }


def print_table(results: dict[int, dict[str, dict[str, Cost]]]) -> None:
    """Seconds, processor seconds, memory and growth; heaviest first."""
    sizes = sorted(results)
    last = results[sizes[-1]]["concepts"]
    head = "".join(f"{stays:>13,}: s {'CPU s':>7} {'MB':>6}" for stays in sizes)
    print(f"{'concept':32}{head}   growth")
    for name in [*sorted(last, key=lambda each: -last[each].cpu), IN_A_ROW, AS_USERS]:
        costs = [{**results[stays]["concepts"], **results[stays]["whole"]}[name] for stays in sizes]
        line = "".join(
            f"{cost.seconds:16.2f} {cost.cpu:7.2f} {cost.peak_mb:6.0f}" for cost in costs
        )
        print(f"{name:32}{line}   {' '.join(growths(costs, sizes))}")
    for stays in sizes:
        for name, plain in results[stays]["plain"].items():
            ours = results[stays]["concepts"][name]
            print(
                f"{stays:,} stays, {name} the plain way: {plain.seconds:.2f} s, "
                f"{plain.cpu:.2f} CPU s, {plain.peak_mb:.0f} MB; "
                f"ours takes {ours.cpu / plain.cpu:.2f} of its processor time"
            )


def growths(costs: list[Cost], sizes: list[int]) -> list[str]:
    """Growth from each size to the next; a dash where it says nothing."""
    told = []
    for (small, large), (few, many) in zip(pairwise(costs), pairwise(sizes), strict=True):
        factor = (large.cpu / small.cpu) / (many / few)
        told.append(f"{factor:.2f}" if large.cpu >= WORTH else "-")
    return told


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stays", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--keep", type=Path, help="a folder for the sources, used again")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.keep, options.one)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).absolute()
        told: dict[int, dict[str, list[dict[str, object]]]] = {}
        for stays in sorted(options.stays):
            make_source(folder, stays)
            command = [sys.executable, __file__, "--one", str(stays), "--keep", str(folder)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            told[stays] = json.loads(done.stdout)
            print(f"{stays:,} stays done, load {os.getloadavg()[0]:.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1))
    print_table(
        {
            stays: {
                part: {str(cost["name"]): Cost(**cost) for cost in costs}  # type: ignore[arg-type]
                for part, costs in parts.items()
            }
            for stays, parts in told.items()
        }
    )


if __name__ == "__main__":
    main()
