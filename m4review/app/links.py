"""Addresses of things in the app: what the user types, clicks, or sends to a colleague."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from engine.base.errors import UsageError

Screen = Literal["worklist", "task", "launch", "runs", "run", "diff", "data"]
SCHEME = "m4review"


@dataclass(frozen=True)
class Place:
    """One place in the app."""

    screen: Screen
    """Which screen."""
    name: str = ""
    """Task name (task, launch) or run id (run, diff)."""
    row: int | None = None
    """Row of the diff, counted from 0."""

    @property
    def link(self) -> str:
        """The address as text."""
        name = quote(self.name, safe="")
        match self.screen:
            case "diff":
                tail = f"row/{self.row}" if self.row is not None else "diff"
                return f"{SCHEME}://run/{name}/{tail}"
            case "run" | "task" | "launch":
                return f"{SCHEME}://{self.screen}/{name}"
            case other:
                return f"{SCHEME}://{other}"


WORKLIST = Place("worklist")
DATA = Place("data")
RUNS = Place("runs")


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
    match path:
        case ["worklist" | "runs" | "data" as screen]:
            return Place(screen)
        case ["task" | "launch" | "run" as screen, name]:
            return Place(screen, name)
        case ["run", name, "diff"]:
            return Place("diff", name)
        case ["run", name, "row", row] if row.isdecimal():
            return Place("diff", name, int(row))
        case _:
            raise UsageError(
                "This address names nothing in this program.",
                todo="Addresses look like m4review://task/NAME, m4review://run/RUN_ID or "
                "m4review://run/RUN_ID/row/12.",
            )
