"""Addresses of things in the app: what the user types, clicks, or sends to a colleague."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from engine.base.errors import UsageError

Screen = Literal[
    "worklist",
    "reviews",
    "review",
    "adjudicate",
    "task",
    "edit",
    "evidence",
    "launch",
    "plan",
    "queue",
    "runs",
    "run",
    "diff",
    "diagnosis",
    "timeline",
    "compare",
    "data",
    "models",
]
SCHEME = "m4review"


@dataclass(frozen=True)
class Place:
    """One place in the app."""

    screen: Screen
    """Which screen."""
    name: str = ""
    """Task name (task, launch, plan: the one that is chosen first) or run id (run, diff,
    diagnosis); of the reviews the part that is shown; of a timeline the run where it has a row,
    else the task."""
    row: int | None = None
    """Row of the diff, counted from 0."""
    step: int | None = None
    """Step of the run's trace, counted from 1."""
    source: str = ""
    """Of a timeline without a run: the source of the reference; of evidence the data."""
    key: tuple[tuple[str, str], ...] = ()
    """Of a timeline without a run: key columns and their values as text."""
    column: str = ""
    """Of a timeline: the scored column."""
    text: str = ""
    """Of the editor: the text's name within the task (``skill:NAME``); the first one if empty."""
    line: int | None = None
    """Of the editor: line of the text, counted from 1."""
    runs: tuple[str, ...] = ()
    """Of a comparison: run ids, the one that the others are held against first."""

    @property
    def link(self) -> str:
        """The address as text."""
        name = quote(self.name, safe="")
        match self.screen:
            case "diff":
                tail = f"row/{self.row}" if self.row is not None else "diff"
                return f"{SCHEME}://run/{name}/{tail}"
            case "diagnosis":
                return f"{SCHEME}://run/{name}/diagnosis"
            case "timeline":
                return self._timeline(name)
            case "edit" | "evidence":
                return self._of_task(name)
            case "compare":
                return f"{SCHEME}://compare?{urlencode([('run', run) for run in self.runs])}"
            case "run" if self.step is not None:
                return f"{SCHEME}://run/{name}/step/{self.step}"
            case "plan" if not name:
                return f"{SCHEME}://plan"
            case "reviews" if not name:
                return f"{SCHEME}://reviews"
            case "run" | "task" | "launch" | "plan" | "reviews" | "review" | "adjudicate":
                return f"{SCHEME}://{self.screen}/{name}"
            case other:
                return f"{SCHEME}://{other}"

    def _of_task(self, name: str) -> str:
        if self.screen == "evidence":
            asked = f"?{urlencode([('source', self.source)])}" if self.source else ""
            return f"{SCHEME}://task/{name}/evidence{asked}"
        line = f"/line/{self.line}" if self.line is not None else ""
        return f"{SCHEME}://task/{name}/edit/{quote(self.text, safe=':')}{line}"

    def _timeline(self, name: str) -> str:
        if self.row is not None:
            column = quote(self.column, safe="")
            return f"{SCHEME}://run/{name}/row/{self.row}/column/{column}"
        cell = [*((f"key.{column}", value) for column, value in self.key)]
        if self.column:
            cell.append(("column", self.column))
        if not self.source:
            return f"{SCHEME}://task/{name}/cell"
        where = f"{SCHEME}://task/{name}/source/{quote(self.source, safe='')}/cell"
        return f"{where}?{urlencode(cell)}" if cell else where


WORKLIST = Place("worklist")
DATA = Place("data")
RUNS = Place("runs")
QUEUE = Place("queue")
PLAN = Place("plan")
MODELS = Place("models")
REVIEWS = Place("reviews")


def parse(text: str) -> Place:
    """The place that an address, a run id or a run folder names.

    Raises:
        UsageError: it names none; the text says which forms there are.
    """
    given = text.strip()
    if given.startswith(f"{SCHEME}:"):
        return _parse_link(given)
    path = Path(given)
    if path.is_dir() and (path / "result.json").is_file():
        return Place("run", path.resolve().name)
    if path.name == "diff.duckdb" and path.is_file():
        return Place("diff", path.resolve().parent.name)
    if given and "/" not in given and "\\" not in given:
        return Place("run", given)
    raise UsageError(
        "This is neither a run's folder, nor a run's id, nor an address of this program.",
        todo="Addresses look like m4review://run/RUN_ID or m4review://run/RUN_ID/row/12.",
    )


def _parse_link(text: str) -> Place:
    parts = urlsplit(text)
    path = [unquote(piece) for piece in (parts.netloc + parts.path).strip("/").split("/") if piece]
    asked = parse_qsl(parts.query, keep_blank_values=True)
    match path:
        case ["worklist" | "runs" | "data" | "queue" | "plan" | "models" | "reviews" as screen]:
            return Place(screen)
        case [
            "task" | "launch" | "run" | "plan" | "reviews" | "review" | "adjudicate" as screen,
            name,
        ]:
            return Place(screen, name)
        case ["compare"]:
            return Place("compare", runs=tuple(value for name, value in asked if name == "run"))
        case ["task", name, "edit", *rest] if (edited := _of_text(name, rest)) is not None:
            return edited
        case ["task", name, "evidence"]:
            chosen = next((value for key, value in asked if key == "source"), "")
            return Place("evidence", name, source=chosen)
        case ["task", name, "cell"]:
            return Place("timeline", name)
        case ["task", name, "source", source, "cell"]:
            return _cell(name, source, asked)
        case ["run", name, *rest] if (found := _of_run(name, rest)) is not None:
            return found
        case _:
            raise UsageError(
                "This address names nothing in this program.",
                todo="Addresses look like m4review://task/NAME, m4review://run/RUN_ID or "
                "m4review://run/RUN_ID/row/12.",
            )


def _of_text(task: str, rest: list[str]) -> Place | None:
    match rest:
        case []:
            return Place("edit", task)
        case [text]:
            return Place("edit", task, text=text)
        case [text, "line", line] if line.isdecimal():
            return Place("edit", task, text=text, line=int(line))
        case _:
            return None


def _of_run(name: str, rest: list[str]) -> Place | None:
    match rest:
        case ["diff"]:
            return Place("diff", name)
        case ["row", row] if row.isdecimal():
            return Place("diff", name, int(row))
        case ["diagnosis"]:
            return Place("diagnosis", name)
        case ["row", row, "column", column] if row.isdecimal():
            return Place("timeline", name, int(row), column=column)
        case ["step", step] if step.isdecimal():
            return Place("run", name, step=int(step))
        case _:
            return None


def _cell(task: str, source: str, asked: list[tuple[str, str]]) -> Place:
    key = tuple((n.removeprefix("key."), v) for n, v in asked if n.startswith("key."))
    column = next((value for name, value in asked if name == "column"), "")
    return Place("timeline", task, source=source, key=key, column=column)
