"""A trace of 50,000 steps in the real window: first steps, all steps, pauses, a filter, again.

    python benchmarks/trace_window.py [--steps 50000] [--keep DIR]

Makes a seeded trace of codex (commands with SQL, Python programs, listings, thoughts, words),
opens it in the program's own trace pane under Qt's offscreen platform, and measures how long the
window was away from its events (a beat every five milliseconds), and how much processor time its
thread spent meanwhile: other work on the machine makes the one longer, not the other. Processor
time in all is that of the window's process and of those that it started. The plain way beside it
reads the same file in one go and looks into every step, as the run itself does. Each figure stands
beside what is aimed at; nothing fails when it is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from PySide6.QtCore import QEventLoop, Qt, QTimer

from engine.agents.traces.open import read_trace
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from m4review.app.application import make_application
from m4review.app.interaction import Interaction
from m4review.app.start import make_window, spare_what_stays
from m4review.trace.view import TracePane
from m4review.trace.viewmodel import TraceViewModel

RUN = "mimic-sofa_no-skill_codex_m_t1_20260101_000000"
AIMS = {"first steps": 1000, "pause": 50, "cpu": 8000}
"""What is aimed at, in milliseconds."""
_QUERY = (
    "SELECT c.stay_id, MAX(c.valuenum) AS hr_{i} FROM mimiciv_icu.chartevents c JOIN "
    "mimiciv_icu.icustays i ON i.stay_id = c.stay_id WHERE c.itemid IN (220045, {i}) AND "
    "c.charttime BETWEEN i.intime AND i.intime + INTERVAL 24 HOUR GROUP BY 1 ORDER BY 1"
)
_PROGRAM = """/bin/bash -lc 'python3 - <<EOF
import duckdb
con = duckdb.connect("/job/database.duckdb", read_only=True)
df = con.execute(\"\"\"{query}\"\"\").df()
print(df.describe())
df.to_csv("/job/part_{i}.csv")
EOF'"""


def events(steps: int) -> Iterator[dict[str, Any]]:
    """The events of a run with about so many steps."""
    dice = random.Random(1)
    yield {"type": "thread.started", "thread_id": "x"}
    for i in range(steps - 3):
        query = _QUERY.format(i=i)
        match i % 5:
            case 0:
                command = f'duckdb /job/database.duckdb -c "{query}"'
            case 1:
                command = _PROGRAM.format(query=query, i=i)
            case 2:
                command = f"/bin/bash -lc 'ls -la /job && head -n 20 /job/part_{i - 1}.csv'"
            case kind:
                text = "Now I look at the charted values again. " * 8
                item = {"id": f"t{i}", "type": "reasoning" if kind == 3 else "agent_message"}
                yield {"type": "item.completed", "item": item | {"text": text}}
                continue
        rows = "".join(f"{30_000_000 + n}\t{dice.random() * 200:.2f}\n" for n in range(60))
        item = {"id": f"c{i}", "type": "command_execution", "command": command}
        yield {"type": "item.started", "item": item | {"status": "in_progress"}}
        done = {"aggregated_output": rows, "exit_code": 0, "status": "completed"}
        yield {"type": "item.completed", "item": item | done}
    yield {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 10}}


def make(folder: Path, steps: int) -> None:
    """A results folder with one run."""
    place = folder / "results" / RUN
    if (place / "trace.jsonl").is_file():
        return
    place.mkdir(parents=True)
    record = {
        "task": "mimic-sofa", "agent": "codex", "model": "m", "condition": "no-skill", "trial": 1,
        "timestamp": "2026-01-01T00:00:00", "run_id": RUN,
    }  # fmt: skip
    (place / "result.json").write_text(json.dumps(record))
    with (place / "trace.jsonl").open("w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events(steps))


def cpu() -> float:
    """Processor milliseconds of this process and of those that it started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(1000 * (one.ru_utime + one.ru_stime) for one in used)


def cpu_of_window() -> float:
    """Of these, the window's own process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (used.ru_utime + used.ru_stime)


class Beat:
    """The window's events, and how long it was away from them."""

    EVERY = 5
    """Milliseconds between two beats."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.work: list[float] = []

    def words(self) -> str:
        """The longest pause, and the most work of the window's thread between two beats."""
        above = sum(one > AIMS["pause"] for one in self.pauses)
        return (f"longest pause {verdict('pause', max(self.pauses))}, {above} above; most work of "
                f"its thread {verdict('pause', max(self.work))}")  # fmt: skip

    def clear(self) -> None:
        """Forget what was measured."""
        self.pauses.clear()
        self.work.clear()

    def until(self, holds: Callable[[], bool]) -> float:
        """Run the window until something holds; milliseconds."""
        loop, timer = QEventLoop(), QTimer()
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        start = last = time.perf_counter()
        busy = time.thread_time()

        def look() -> None:
            nonlocal last, busy
            now = time.perf_counter()
            self.pauses.append(max(0.0, 1000 * (now - last) - self.EVERY))
            self.work.append(1000 * (time.thread_time() - busy))
            last, busy = now, time.thread_time()
            if holds():
                loop.quit()

        timer.timeout.connect(look)
        timer.start(self.EVERY)
        loop.exec()
        return 1000 * (last - start)


def verdict(name: str, value: float) -> str:
    """A figure beside what is aimed at."""
    return f"{value:,.0f} ms (aim {AIMS[name]:,}: {'held' if value <= AIMS[name] else 'MISSED'})"


def opened(title: str, pane: TracePane, model: TraceViewModel, beat: Beat, steps: int) -> None:
    """Open the trace and tell how it went."""
    before, own = cpu(), cpu_of_window()
    beat.clear()
    model.show(RUN)
    first = beat.until(lambda: pane.table.rowCount() > 0)
    rest = beat.until(lambda: not model.reading)
    assert len(pane.table.steps) == steps, len(pane.table.steps)
    print(f"{title:18} first steps {verdict('first steps', first)}; all {first + rest:,.0f} ms; "
          f"cpu {verdict('cpu', cpu() - before)}, {cpu_of_window() - own:,.0f} of it the window's; "
          f"{beat.words()}")  # fmt: skip


def asked(title: str, pane: TracePane, model: TraceViewModel, beat: Beat, chip: str) -> None:
    """Ask for other steps and tell how it went."""
    before, rows = cpu(), pane.table.rowCount()
    beat.clear()
    pane.chips[chip].click()
    runner = pane.context.runner
    took = beat.until(
        lambda: not model.looks and not runner.live and pane.table.rowCount() not in (0, rows)
    )
    print(f"{title:18} {took:,.0f} ms, {pane.table.rowCount():,} rows; cpu {cpu() - before:,.0f} "
          f"ms; {beat.words()}")  # fmt: skip


def drive(folder: Path, steps: int) -> None:
    """Open the trace in the window and measure."""
    make_application([])
    window = make_window(open_home(folder / "home"), interaction=Interaction())
    window.context.workbench.import_runs(folder / "results", job=SimpleJob())
    spare_what_stays()
    beat = Beat()
    end = time.perf_counter() + 5
    beat.until(lambda: time.perf_counter() > end)
    print(f"nothing to do      5 s; {beat.words()}")
    for title in ("opened first", "opened again"):
        model = TraceViewModel(window.context.workbench, window.context.runner, window)
        pane = TracePane(window.context, model)
        pane.resize(1400, 800)
        pane.show()
        beat.until(lambda: not window.context.runner.live)
        opened(title, pane, model, beat, steps)
        asked("only commands", pane, model, beat, "commands")
        asked("only SQL", pane, model, beat, "sql")
        pane.close_down()
        pane.close()
        pane.deleteLater()
    window.close()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--keep", type=Path, help="folder for trace and home, used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, options.steps)
        trace = folder / "results" / RUN / "trace.jsonl"
        load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
        print(f"{options.steps:,} steps, {trace.stat().st_size >> 20} MiB; "
              f"{os.cpu_count()} cores, load before {load}")  # fmt: skip
        drive(folder, options.steps)
        before = cpu()
        read_trace(trace, "codex")
        print(f"plain way          read at once and looked into: cpu {cpu() - before:,.0f} ms")


if __name__ == "__main__":
    main()
