"""`m4bench lineage`: from a value of a reference to the rows that made it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from engine.base.errors import UsageError
from engine.catalogue.task import find_task
from engine.cli.context import CliContext, pass_context
from engine.diagnosis.lineage import CellLineage, Value
from engine.workbench import Workbench

_TINY = 0.01


@click.command()
@click.argument("task")
@click.argument("source")
@click.option(
    "--key",
    "keys",
    multiple=True,
    required=True,
    metavar="COLUMN=VALUE",
    help="The row; once for each key column.",
)
@click.option("--column", required=True, metavar="COLUMN", help="The reference's column.")
@pass_context
def command(
    context: CliContext, *, task: str, source: str, keys: tuple[str, ...], column: str
) -> None:
    """Show the rows of SOURCE that one value of TASK's reference was made of.

    What is printed holds rows of patients: it is for this machine only.
    """
    found = find_task(task)
    with context.job() as job:
        lineage = Workbench(context.home).trace_value(
            found, source, dict(map(_key, keys)), column, job=job
        )
    context.result(_as_json(lineage), text=_text(lineage))


def _key(text: str) -> tuple[str, Value]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(
            f"{text} does not name a key column.", todo="Write it like stay_id=30000000."
        )
    try:
        return name, int(value)
    except ValueError:
        pass
    try:
        return name, datetime.fromisoformat(value)
    except ValueError:
        return name, value


def _as_json(lineage: CellLineage) -> dict[str, Any]:
    def plain(value: object) -> object:
        if isinstance(value, datetime):
            return value.isoformat(sep=" ")
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(part) for part in value]
        if value is None or isinstance(value, (str, int, float, bool)):
            return value
        return str(value)

    result = plain(asdict(lineage))
    if not isinstance(result, dict):
        raise TypeError  # asdict of a dataclass is a dict
    return result


def _short(value: object) -> object:
    """A number without the digits that only a division made."""
    if not isinstance(value, float):
        return value
    return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) >= _TINY else f"{value:.4g}"


def _text(lineage: CellLineage) -> str:
    lines = [f"{lineage.column} = {lineage.value}"]
    lines += [f"  window {w.start or '…'} to {w.end or '…'}: {w.rule}" for w in lineage.windows]
    for step in lineage.steps:
        given = ", ".join(f"{name} = {value}" for name, value in step.inputs.items())
        lines.append(
            f"  {'  ' * step.depth}{step.name} = {step.value}{f'  ({given})' if given else ''}"
        )
    for event in lineage.events:
        if event.role == "decisive":
            when = event.start.isoformat(sep=" ") if event.start else "no time"
            lines.append(
                f"  used: {when}  {event.item} {_short(event.value)} {event.unit}".rstrip()
            )
    roles = Counter(event.role for event in lineage.events)
    lines.append("  rows: " + ", ".join(f"{number} {role}" for role, number in roles.items()))
    lines += [
        "  computed again from the rows used: " + ("the same" if lineage.verified else "different"),
        *(f"  {note}" for note in lineage.notes),
    ]
    return "\n".join(lines)
