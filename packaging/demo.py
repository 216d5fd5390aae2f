"""The whole way once: data, references, two agents on three tasks, scores, the window.

    .venv/bin/python packaging/demo.py [--data FOLDER] [--fresh]

Only the words that every user has are used (`m4bench`, `m4review`); each is shown before it runs.
Everything is kept in `.demo/`, so that a second time is quick.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from engine.base.duck import connect
from engine.base.paths import Home

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".demo"
HOME = Home(DEMO / "home")
SAMPLES = ROOT / "resources" / "samples"
BIN = Path(sys.executable).parent
STAYS = 400
HEARTBEAT = 5.0
"""Seconds between lines of progress where there is no terminal to draw a bar on."""
console = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Part:
    """One task of the demo."""

    task: str
    """Its name."""
    kind: str
    """The kind of source that it needs."""
    target: str
    """Key of its reference."""
    scripts: tuple[str, str]
    """The two agents: file names in resources/samples, a right one and a flawed one."""


PARTS = (
    Part("mimic-charlson-raw", "mimic-iv", "charlson", ("charlson.sql", "charlson-flawed.sql")),
    Part("mimic-ventilation", "mimic-iv", "ventilation",
         ("ventilation.sql", "ventilation-flawed.sql")),
    Part("eicu-gcs", "eicu", "eicu-gcs", ("eicu-gcs.sql", "eicu-gcs-flawed.sql")),
)  # fmt: skip
SHOWN = "mimic-ventilation"
"""The task whose flawed run is opened."""


def say(text: str) -> None:
    """A heading."""
    console.print(f"\n{text}", style="bold", markup=False)


def call(*words: str) -> Any:
    """Run one m4bench command; shows its progress, returns its JSON document.

    Ends the demo with the command's own exit code when it fails, after saying why.
    """
    shown = [os.path.relpath(w) if Path(w).is_relative_to(ROOT) else w for w in words]
    console.print(f"$ m4bench {' '.join(shown)}", style="cyan", markup=False)
    command = [str(BIN / "m4bench"), "--home", str(HOME.root), "--json", "--events", "ndjson"]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdout,
        subprocess.Popen(
            [*command, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process,
        Progress(
            TextColumn("  {task.description}"), BarColumn(), TimeElapsedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        ) as progress,
    ):  # fmt: skip
        teller = Teller(progress)
        for line in process.stderr or ():
            teller.tell(line)
        if process.wait() != 0:
            console.print(f"The demo stops here: exit code {process.returncode}.", style="red")
            sys.exit(process.returncode)
        stdout.seek(0)
        return json.load(stdout)


class Teller:
    """Turns the events of one command into a bar, or into a line now and then."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task("", total=1.0)
        self._told = time.monotonic()

    def tell(self, line: str) -> None:
        """One line of the command's stderr."""
        try:
            event = json.loads(line)
        except ValueError:  # not an event: a crash
            console.print(line.rstrip(), markup=False)
            return
        if event["event"] == "error":
            words = (event["title"] + ":", event["text"], event["todo"], event["details"])
            console.print(" ".join(word for word in words if word), style="red", markup=False)
        elif event["event"] == "progress":
            text = (event["text"] or event["stage"])[:60]
            self._progress.update(
                self._bar, completed=event["done"], total=event["total"] or 1, description=text
            )
            self._now_and_then(text)
        elif event["event"] == "message":
            self._now_and_then(event["text"])

    def _now_and_then(self, text: str) -> None:
        if not console.is_terminal and time.monotonic() - self._told > HEARTBEAT:
            console.print(f"  … {text}", style="dim", markup=False)
            self._told = time.monotonic()


# --- Sources ----------------------------------------------------------------------------------


def have_sources(data: Path | None) -> dict[str, str]:
    """Kind -> name of the source to use; registers or makes what is not there yet."""
    known = {each["name"]: each for each in call("source", "list")}
    chosen: dict[str, str] = {}
    if data is not None:
        name = "".join(c if c.isalnum() else "-" for c in data.name.lower()).strip("-") or "data"
        info = known.get(name)
        if info is None or info["state"] != "ready":
            info = call("source", "add", name, str(data))
        else:
            console.print(
                f"  {name} was read before; make demo FRESH=1 reads it again", style="dim"
            )
        chosen[info["kind"]] = name
    for kind in dict.fromkeys(part.kind for part in PARTS):
        if kind not in chosen:
            name = f"synthetic-{kind}"
            if name not in known or known[name]["state"] != "ready":
                call("source", "synth", name, "--kind", kind, "--stays", str(STAYS))
            chosen[kind] = name
    for kind, name in chosen.items():
        console.print(f"{kind}: {name}", markup=False)
    return chosen


def build_references(sources: dict[str, str]) -> None:
    """The references of the demo's tasks, with the concepts that they need."""
    for kind, source in sources.items():
        targets = [part.target for part in PARTS if part.kind == kind]
        wanted = [word for target in targets for word in ("--target", target)]
        call("references", "build", source, *wanted)


# --- Runs -------------------------------------------------------------------------------------


def departing_rows(run_id: str) -> int:
    """Rows of the run's diff in which anything departs from the reference."""
    diff = HOME.runs / run_id / "diff.duckdb"
    if not diff.is_file():
        return 0
    with connect(diff, read_only=True) as connection:
        found = connection.execute("SELECT count(*) FROM diff WHERE mismatches <> 0").fetchone()
    return int(found[0]) if found else 0


def run_agents(sources: dict[str, str]) -> tuple[Table, str]:
    """Run both agents on every task; returns the report and the flawed run to show."""
    report = Table(box=None, pad_edge=False)
    for column in ("task", "agent"):
        report.add_column(column, no_wrap=True)
    for column in ("reward", "strict", "differ", "seconds"):
        report.add_column(column, justify="right", no_wrap=True)
    shown = ""
    for part in PARTS:
        for script in part.scripts:
            source = sources[part.kind]
            record = call(
                "run", part.task, source, "--agent", "script",
                "--script", str(SAMPLES / script),
            )  # fmt: skip
            results = record["test_results"]
            if part.task == SHOWN and script == part.scripts[1]:
                shown = record["run_id"]
            report.add_row(
                part.task,
                script,
                f"{results['reward']:.4f}",
                "yes" if results["strict_pass"] else "no",
                f"{departing_rows(record['run_id']):,}",
                f"{record['agent_result']['elapsed_seconds']:.1f}",
            )
    return report, shown


# --- The window ---------------------------------------------------------------------------------


def display_works() -> bool:
    """Can Qt open a window here? A display may be named and not be reachable."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    probe = "from PySide6.QtGui import QGuiApplication; QGuiApplication([])"
    try:
        done = subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, timeout=30, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def show(run_id: str) -> int:
    """Open the diff of a run, or save pictures of the screens where there is no display."""
    link = f"m4review://run/{run_id}/diff"
    if display_works():
        say("Opening the window on the flawed run; close it to end the demo.")
        console.print(f"$ m4review --home {os.path.relpath(HOME.root)} {link}", style="cyan")
        return subprocess.run([BIN / "m4review", "--home", HOME.root, link], check=False).returncode
    say("There is no display: pictures of the screens are saved instead.")
    pictures = DEMO / "pictures"
    done = subprocess.run(
        [BIN / "m4review", "--home", HOME.root, "--screenshot", pictures, link],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        check=False,
    )
    if done.returncode == 0:
        for picture in sorted(pictures.glob("*.png")):
            console.print(str(picture), markup=False)
    return done.returncode


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a MIMIC-IV or eICU folder to use")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier demos made")
    options = parser.parse_args()
    started = time.monotonic()
    if options.fresh:
        shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir(mode=0o700, exist_ok=True)
    say("1  Data")
    sources = have_sources(options.data.resolve() if options.data else None)
    say("2  References")
    build_references(sources)
    say("3  Agents in the sandbox")
    report, shown = run_agents(sources)
    say("4  Report")
    console.print(report)
    console.print("(strict: passes every check; differ: rows that depart from the reference)")
    console.print(f"\nDone in {time.monotonic() - started:.0f} s. Everything is in {DEMO}")
    return show(shown)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(5)
