"""The diff of millions of rows in the real window: first paint, jumps, filter, sort, memory.

    python benchmarks/diff_window.py [--rows 4126485] [--jumps 500] [--keep DIR] [--offscreen]

Makes a seeded diff file (two keys, 11 scored columns: 13 in all), starts Xvfb, opens the file in
the program's own diff screen and drives it with a scripted scroll. Without Xvfb, or without a
library that Qt needs for it (or with --offscreen), Qt's offscreen platform is used, and the outcome
says so. The plain way beside it fetches the same rows with ORDER BY … LIMIT … OFFSET on one
connection, as a paging table does. Times are wall times in milliseconds; "painted" is until the
frame stands, "filled" until no place-holder is left in it. Each figure stands beside what is aimed
at; nothing fails when it is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import duckdb
import psutil
import PySide6
from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication

from engine.base.paths import open_home
from m4review.app.application import make_application
from m4review.app.interaction import Interaction
from m4review.app.start import make_window, spare_what_stays
from m4review.diff.grid import DiffGrid
from m4review.diff.query import Query, Sort
from m4review.diff.view import DiffScreen

SCORED = 11
AIMS = {
    "first paint": 300,
    "jump painted": 50,
    "jump filled": 150,
    "filter": 300,
    "sort": 2_000,
    "memory": 1_024,
}
"""What is aimed at: milliseconds, and MiB for the memory."""


def make(path: Path, rows: int) -> None:
    """Write a diff file of `rows` rows."""
    with duckdb.connect(str(path), config={"memory_limit": "1GB", "threads": 2}) as con:
        cells = []
        for i in range(SCORED):
            value = f"round((i * {i + 3} % 4001) / 8.0, 2)"
            status = (
                f"CASE WHEN i * {2 * i + 7} % 101 = 3 THEN 2 WHEN i % 29 = {i} THEN 1 ELSE 0 END"
            )
            cells.append(
                f"CASE WHEN ks = 2 THEN NULL ELSE {value} END AS r{i}, "
                f"CASE WHEN ks = 1 THEN NULL ELSE {value} + ({status}) END AS a{i}, "
                f"CASE WHEN ks = 1 THEN 6 WHEN ks = 2 THEN 7 ELSE {status} END::UTINYINT AS s{i}"
            )
        bits = " | ".join(
            f"(CASE WHEN s{i} IN (0, 1, 5) THEN 0 ELSE 1 END::UBIGINT << {i})"
            for i in range(SCORED)
        )
        named = ", ".join(f"r{i}, a{i}, s{i}" for i in range(SCORED))
        con.execute(
            "CREATE TABLE diff AS SELECT i AS row, ks::UTINYINT AS key_status, "  # noqa: S608 - ours
            f"{bits} AS mismatches, k0, k1, {named} FROM (SELECT i, ks, 30000000 + i // 50 AS k0, "
            f"TIMESTAMP '2150-01-01' + to_hours(i % 50) AS k1, {', '.join(cells)} FROM "
            f"(SELECT i, CASE WHEN i % 997 = 5 THEN 1 WHEN i % 991 = 7 THEN 2 ELSE 0 END AS ks "
            f"FROM range({rows}) t(i))) ORDER BY row"
        )
        con.execute(
            "CREATE TABLE diff_columns (position INTEGER, name VARCHAR, role VARCHAR, "
            "compared_as VARCHAR, tolerance DOUBLE)"
        )
        con.execute("INSERT INTO diff_columns VALUES (0, 'stay_id', 'key', 'number', 0)")
        con.execute("INSERT INTO diff_columns VALUES (1, 'charttime', 'key', 'time', 0)")
        con.execute(
            "CREATE TABLE diff_counts (role VARCHAR, position INTEGER, status UTINYINT, "
            "count BIGINT)"
        )
        con.execute(
            "INSERT INTO diff_counts SELECT 'key', NULL, key_status, count(*) FROM diff GROUP BY 3"
        )
        for i in range(SCORED):
            con.execute(
                "INSERT INTO diff_columns VALUES (?, ?, 'scored', 'number', 1)", [i, f"rate_{i}"]
            )
            con.execute(
                f"INSERT INTO diff_counts SELECT 'scored', {i}, s{i}, count(*) "  # noqa: S608 - ours
                "FROM diff GROUP BY 3"
            )


def wait(until: Callable[[], bool]) -> None:
    """Run the event loop until something holds."""
    loop = QEventLoop()
    while not until():
        QTimer.singleShot(1, loop.quit)
        loop.exec()


def filled(grid: DiffGrid) -> bool:
    """Is every visible row loaded?"""
    first, last = grid.values.visible_rows()
    last = min(last, grid.model.rowCount() - 1)
    return all(grid.model.record(row) is not None for row in (first, last))


def ms(start: float) -> float:
    """Milliseconds since `start`."""
    return (time.perf_counter() - start) * 1000


def paint(grid: DiffGrid) -> None:
    """Paint what is due now."""
    grid.keys.viewport().repaint()
    grid.values.viewport().repaint()


def verdict(name: str, value: float) -> str:
    """A figure beside what is aimed at."""
    aim = AIMS[name]
    return f"aim {aim:,}: {'held' if value <= aim else 'MISSED'}"


class Painted(QObject):
    """Has the table been painted with rows in it?"""

    def __init__(self, screen: DiffScreen) -> None:
        super().__init__()
        self._screen = screen
        self.seen = False
        QApplication.instance().installEventFilter(self)

    def eventFilter(self, about: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Look at what is painted, and let it pass."""
        grid = self._screen.grid
        if event.type() == QEvent.Type.Paint and grid is not None:
            self.seen |= about is grid.values.viewport()
        return False

    def stop(self) -> None:
        """Watch no more."""
        QApplication.instance().removeEventFilter(self)


def rss() -> float:
    """MiB that the process holds now."""
    return float(psutil.Process().memory_info().rss) / 2**20


def lacking() -> list[str]:
    """Shared libraries that Qt's X plugin asks for and this machine lacks.

    Asked of the system's linker: Qt ends the process where one is missing, and names another.
    """
    plugin = Path(PySide6.__file__).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    done = subprocess.run(["ldd", str(plugin)], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"(\S+) => not found", done.stdout)))


@contextlib.contextmanager
def display(*, offscreen: bool) -> Iterator[str]:
    """A display of our own; says which."""
    program = shutil.which("Xvfb")
    missing = [] if offscreen else lacking()
    if offscreen or program is None or missing:
        why = "" if offscreen else " (Xvfb is not installed)"
        if missing:
            why = f" (Qt's X plugin lacks {', '.join(missing)}: see packaging/system-packages.txt)"
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        yield f"Qt's offscreen platform{why}"
        return
    read, write = os.pipe()
    # Ended by the system however this process ends, crashes included.
    start = f"setpriv --pdeathsig TERM {program} -displayfd {write} -nolisten tcp"
    with subprocess.Popen(
        [*start.split(), "-screen", "0", "1920x1200x24"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            os.close(write)
            with os.fdopen(read) as pipe:
                number = pipe.readline().strip()
            if not number:
                sys.exit("Xvfb did not start. Try it by hand, or measure with --offscreen.")
            os.environ["DISPLAY"] = f":{number}"
            os.environ["QT_QPA_PLATFORM"] = "xcb"
            yield "Xvfb"
        finally:
            server.terminate()


def jumps(grid: DiffGrid, count: int) -> None:
    """Jump to random rows with the scroll bar."""
    dice = random.Random(7)
    painted, complete, work = [], [], []
    for _ in range(count):
        start, busy = time.perf_counter(), time.thread_time()
        grid.values.verticalScrollBar().setValue(dice.randrange(grid.model.rowCount()))
        paint(grid)
        painted.append(ms(start))
        work.append(1000 * (time.thread_time() - busy))
        wait(lambda: filled(grid))
        paint(grid)
        complete.append(ms(start))
    for name, times in (("painted", painted), ("filled", complete)):
        cuts = statistics.quantiles(times, n=20)
        print(f"  {name:8} median {statistics.median(times):7.1f}  p95 {cuts[18]:7.1f}  "
              f"worst {max(times):7.1f} ms   p95 {verdict(f'jump {name}', cuts[18])}; "
              f"{sum(t > AIMS[f'jump {name}'] for t in times)} of {count} above")  # fmt: skip
    cuts = statistics.quantiles(work, n=20)
    print(f"  work of the window's thread until painted: median {statistics.median(work):.1f}  "
          f"p95 {cuts[18]:.1f}  worst {max(work):.1f} ms of processor time")  # fmt: skip


def steps(screen: DiffScreen, count: int) -> None:
    """Go from mismatch to mismatch; how long the window was away from its events each time."""
    away, work = [], []
    for _ in range(count):
        last, busy = time.perf_counter(), time.thread_time()
        worst = 0.0
        end = last + 0.1  # the row panel and the rows around follow a moment later
        screen.next.click()
        while last < end:
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 1)
            worst, last = max(worst, ms(last)), time.perf_counter()
        away.append(worst)
        work.append(1000 * (time.thread_time() - busy))
    print(f"  next mismatch: away from its events median {statistics.median(away):.0f}  worst "
          f"{max(away):.0f} ms; work of its thread in a step, panel and all, median "
          f"{statistics.median(work):.0f}  worst {max(work):.0f} ms")  # fmt: skip


def changed(screen: DiffScreen, what: Callable[[], object]) -> tuple[float, float]:
    """Change the query.

    Returns:
        Milliseconds until the new view is filled and painted; the longest in which the window
        did not come to its events.
    """
    grid = screen.grid
    assert grid is not None
    pauses: list[float] = []
    last = start = time.perf_counter()

    def beat() -> bool:
        nonlocal last
        pauses.append(ms(last))
        last = time.perf_counter()
        return screen.model.view is not before and filled(grid)

    before = screen.model.view
    what()
    wait(beat)
    paint(grid)
    pauses.append(ms(last))
    return ms(start), max(pauses)


def sort_by_three(screen: DiffScreen) -> None:
    """Sort by three columns, in one change."""
    screen.model.show_query(Query(sort=(Sort("r1", True), Sort("a2"), Sort("k1"))))


def plain(path: Path, rows: int) -> float:
    """A page by ORDER BY and OFFSET; median milliseconds of three."""
    dice = random.Random(7)
    times = []
    with duckdb.connect(
        str(path), read_only=True, config={"memory_limit": "1GB", "threads": 2}
    ) as con:
        for _ in range(3):
            start = time.perf_counter()
            con.execute(
                "SELECT * FROM diff ORDER BY k0, k1, row LIMIT 256 OFFSET ?", [dice.randrange(rows)]
            ).fetchall()
            times.append(ms(start))
    return statistics.median(times)


def say(name: str, aim: str, took: tuple[float, float]) -> None:
    """One line of the outcome."""
    print(f"{name:26} {took[0]:5.0f} ms   {verdict(aim, took[0])}   longest pause of the window "
          f"{took[1]:4.0f} ms")  # fmt: skip


def study(screen: DiffScreen) -> None:
    """The page of a column, from the wish to its charts."""
    screen.show_page(3)
    for column in (4, 5):  # the first one also loads the library that draws
        start = last = time.perf_counter()
        pauses = []
        assert screen.page is not None
        screen.page.choose(column)
        while screen.columns.study is None:
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 1)
            pauses.append(ms(last))
            last = time.perf_counter()
        QApplication.processEvents()
        pauses.append(ms(last))
        print(f"column page                {ms(start):5.0f} ms   longest pause of the window "
              f"{max(pauses):4.0f} ms")  # fmt: skip
    screen.toggle_page()


def opening(screen: DiffScreen, path: Path) -> DiffGrid:
    """Open the file, until its mismatches are found."""
    painted = Painted(screen)
    start = time.perf_counter()
    screen.open_file(path)
    wait(lambda: painted.seen)
    grid = screen.grid
    assert grid is not None
    first = ms(start)
    wait(lambda: filled(grid))
    full = ms(start)
    painted.stop()
    wait(lambda: screen.model.view is not None and screen.model.view.sought)
    print(f"first paint                {first:5.0f} ms   {verdict('first paint', first)}   "
          f"filled {full:.0f} ms, mismatches found {ms(start):.0f} ms")  # fmt: skip
    return grid


def drive(path: Path, home: Path, count: int) -> None:
    """Open the file in the window and measure."""
    make_application([])
    window = make_window(open_home(home), interaction=Interaction())
    window.resize(1600, 1000)
    window.show()
    spare_what_stays()
    screen = window.screens["diff"]
    assert isinstance(screen, DiffScreen)
    window.stack.setCurrentWidget(screen)
    for _ in range(5):
        QApplication.processEvents()
    empty = rss()
    grid = opening(screen, path)
    wait(lambda: not window.context.runner.live)
    print("jumps in the whole file")
    jumps(grid, count)
    model = screen.model
    say("only mismatches", "filter", changed(screen, lambda: model.set_only_mismatches(True)))
    print("jumps in the filtered view")
    jumps(grid, count)
    say("key contains 0012", "filter", changed(screen, lambda: model.set_text("0012")))
    condition = "rate_3__agent > 300 AND rate_3__status = 'different'"
    say("a condition in SQL", "filter", changed(screen, lambda: model.show_typed(condition)))
    say("all rows again", "filter", changed(screen, model.clear))
    say("what if of one column", "filter", changed(screen, lambda: model.set_tolerance(3, 2.5)))
    say("as scored again", "filter", changed(screen, model.drop_tolerances))
    say("sort by one value", "sort", changed(screen, lambda: model.toggle_sort("a3", add=False)))
    print("jumps in the sorted view")
    jumps(grid, count)
    steps(screen, count // 10)
    say("sort by three", "sort", changed(screen, lambda: sort_by_three(screen)))
    print("jumps in the view sorted by three")
    jumps(grid, count // 4)
    model.clear()
    wait(lambda: not window.context.runner.live)
    now = rss()
    study(screen)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory: {empty:.0f} MiB before the diff, {now:.0f} after the scrolling, "
          f"peak {peak:.0f} MiB   {verdict('memory', peak)}; "
          f"blocks held {grid.model.blocks_held}")  # fmt: skip
    window.close()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_126_485)
    parser.add_argument("--jumps", type=int, default=500)
    parser.add_argument("--keep", type=Path, help="folder for the diff file, used again")
    parser.add_argument("--offscreen", action="store_true", help="without Xvfb")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"diff-{options.rows}.duckdb"
        if not path.exists():  # in a process of its own: its memory is not the window's
            maker = multiprocessing.get_context("spawn").Process(
                target=make, args=(path, options.rows)
            )
            maker.start()
            maker.join()
        print(f"{options.rows:,} rows x {SCORED + 2} columns, {path.stat().st_size >> 20} MiB")
        with display(offscreen=options.offscreen) as where:
            load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
            print(f"{where}; {os.cpu_count()} cores, load before {load}")
            drive(path, Path(temporary) / "home", options.jumps)
        print(f"plain way: one page by OFFSET {plain(path, options.rows):.0f} ms")


if __name__ == "__main__":
    main()
