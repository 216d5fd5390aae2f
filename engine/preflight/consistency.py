"""Rules that hold the texts against the reference's SQL, and against each other."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Literal

from engine.catalogue.task import Task
from engine.preflight import claims
from engine.preflight.facts import LARGE, SECONDS, ReferenceFacts, reference_facts
from engine.preflight.finding import Find, Kind, Rule, Text
from engine.references import list_targets

_RULES_TEXTS: frozenset[Kind] = frozenset({"skill", "operational-spec"})
_ALL_TEXTS: frozenset[Kind] = frozenset({*_RULES_TEXTS, "instruction"})
# Minutes, hours and days, of seconds and of microseconds.
_PARTS = (60, 3600, 86400, 60_000_000, 3_600_000_000, 86_400_000_000)
_KEPT = 1 << 12
"""Numbers that are kept with what the SQL says of them: they are asked for at every keystroke."""
_SAME_UNIT = {"mmhg": "mm hg", "/min": "bpm", "k/µl": "k/ul", "°c": "c", "ratio": ""}


def _with_facts(
    check: Callable[[Text, ReferenceFacts], Iterator[Find]],
) -> Callable[[Text, Task], Iterator[Find]]:
    """A rule over a text and what the SQL says; silent where there is no such target."""

    def over_task(text: Text, task: Task) -> Iterator[Find]:
        if task.target in list_targets():
            yield from check(text, reference_facts(task.target))

    return over_task


@functools.lru_cache(maxsize=_KEPT)
def _known(
    value: float, shown: str, facts: ReferenceFacts, where: Literal["bounds", "numbers"]
) -> bool:
    """Is it a number of the SQL, or a length of time of it in another unit?"""
    numbers = facts.bounds if where == "bounds" else facts.numbers
    decimals = len(re.sub(r"[^\d.]", "", shown).strip(".").partition(".")[2])
    return value in numbers or any(
        round(number / part, decimals) == value
        for number in numbers
        if number >= LARGE or number % 1
        for part in _PARTS
    )


@_with_facts
def _numbers(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    for claim in claims.bounds(text):
        if not _known(claim.value, claim.shown, facts, "bounds"):
            yield Find(claim.offset, f"The reference has no bound as in “{claim.shown}”.")
    for claim in claims.factors(text):
        if not _known(claim.value, claim.shown, facts, "numbers"):
            yield Find(claim.offset, f"The reference does not know the factor {claim.shown}.")


@_with_facts
def _bounds(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    for claim in claims.bounds(text):
        sides = facts.bounds.get(claim.value)
        if sides and claim.side not in sides:
            there = "< or ≥" if "low" in sides else "≤ or >"
            yield Find(
                claim.offset,
                f"“{claim.shown}”: in the reference this bound is {there}.",
                "Say on which side the bound itself falls.",
            )


@_with_facts
def _ranges(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    for item, offset, cells in claims.item_rows(text):
        known = facts.item_bounds.get(item, frozenset())
        for claim in claims.bounds_in(cells, offset) if known else ():
            if claim.value not in known:
                told = ", ".join(f"{number:g}" for number in sorted(known))
                yield Find(
                    claim.offset,
                    f"“{claim.shown}”: the reference compares item {item} with {told}.",
                )


@_with_facts
def _bands(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    for claim in claims.bands(text):
        known = _given(claim.value, claim.side, claim.shown, facts)
        if claim.result not in known:
            told = " or ".join(f"{result:g}" for result in sorted(known)) or "nothing"
            yield Find(claim.offset, f"“{claim.shown}”: in the reference this gives {told}.")


@functools.lru_cache(maxsize=_KEPT)
def _given(value: float, side: str, shown: str, facts: ReferenceFacts) -> frozenset[float]:
    """What the SQL gives where a band ends at this number.

    The last whole number of a band ("8 to 13") is one less than a bound with <, its first one
    more than one with ≤.
    """
    whole = side != "exact" and value % 1 == 0
    decimals = len(re.sub(r":.*", "", shown).partition(".")[2])
    return frozenset(
        result
        for number, result in facts.bands
        if abs(value - number) <= whole
        or (number >= LARGE and any(round(number / p, decimals) == value for p in _PARTS))
    )


@_with_facts
def _windows(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    for claim in claims.durations(text):
        plain = claim.value / SECONDS[claim.unit]
        same = plain in facts.numbers and (plain >= LARGE or plain % 1 > 0)
        if claim.value not in facts.durations and not same:
            yield Find(claim.offset, f"The reference has no length of time of {claim.shown}.")


def _told_windows(text: Text, task: Task) -> Iterator[Find]:
    """What the instruction says of time must stand in the rules too."""
    asked = _instruction(task) if text.asked is None else text.asked
    for claim in unsaid(text, asked, task):
        yield Find(0, f"The instruction speaks of {claim.shown}, and this text never does.")


def unsaid(text: Text, asked: str, task: Task) -> Iterator[claims.Claim]:
    """Lengths of time of an instruction that a text of rules never names, each once.

    Their places are those in the instruction.
    """
    request = Text("instruction", task.folder / "instruction.md", asked)
    here = {claim.value for claim in claims.durations(text)}
    if text.kind == "skill" and len(task.skill_folders) > 1:
        return  # several skills share the rules
    seen: set[float] = set()
    for claim in claims.durations(request):
        if claim.value not in here | seen:
            seen.add(claim.value)
            yield claim


def _instruction(task: Task) -> str:
    try:
        return task.instruction
    except (OSError, UnicodeDecodeError):
        return ""  # said by another rule


@_with_facts
def _unknown_items(text: Text, facts: ReferenceFacts) -> Iterator[Find]:
    seen: set[int] = set()
    for claim in claims.items(text):
        item = int(claim.value)
        if item not in facts.items and claim.offset not in seen:
            seen.add(claim.offset)
            yield Find(claim.offset, f"The reference does not read item {item}.")


def _missing_items(text: Text, task: Task) -> Iterator[Find]:
    if task.target not in list_targets():
        return
    named = claims.named_items(text)
    for path in (folder / "SKILL.md" for folder in task.skill_folders):
        if path != text.path and path.is_file():  # several skills share the items
            other = path.read_text(encoding="utf-8", errors="replace")
            named |= claims.named_items(Text("skill", path, other))
    for item in sorted(reference_facts(task.target).needed_items - named):
        yield Find(0, f"The reference reads item {item}, which the skill does not name.")


def _units(text: Text, _task: Task) -> Iterator[Find]:
    """The unit column of a table of items."""
    known = _recorded_units()
    offset = 0
    header: list[str] = []
    for line in text.text.splitlines(keepends=True):
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif "item" in header and "unit" in header and len(cells) == len(header):
            item, unit = cells[header.index("item")], cells[header.index("unit")]
            wanted = known.get(int(item)) if item.isdigit() else None
            if wanted and _plain_unit(unit) not in ("", _plain_unit(wanted)):
                yield Find(
                    offset + line.index(unit, line.index(item) + len(item)),
                    f"Item {item} is recorded in {wanted}, not in {unit}.",
                )
        offset += len(line)


@functools.cache
def _recorded_units() -> Mapping[int, str]:
    """Unit of each laboratory item, as the public dictionary has it."""
    table = resources.files("engine.sources.synth").joinpath("labitems.csv")
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return {int(row["itemid"]): row["unit"] for row in rows}


def _plain_unit(unit: str) -> str:
    lower = unit.lower().replace("μ", "µ")
    return _SAME_UNIT.get(lower, lower)


RULES = (
    Rule(
        "number-differs",
        "Bounds and factors in the texts are those of the reference.",
        "Compare with the reference's SQL and mend the number.",
        _ALL_TEXTS,
        _numbers,
        "warning",
    ),
    Rule(
        "bound-differs",
        "A bound itself falls on the same side in texts and reference.",
        "Compare with the reference's SQL.",
        _RULES_TEXTS,
        _bounds,
        "warning",
    ),
    Rule(
        "range-differs",
        "An item's range is the one that the reference keeps.",
        "Compare with the reference's SQL and mend the range.",
        frozenset({"skill"}),
        _ranges,
        "warning",
    ),
    Rule(
        "points-differ",
        "A band gives the points that the reference gives.",
        "Compare with the reference's SQL and mend the points or the bound.",
        _RULES_TEXTS,
        _bands,
        "warning",
    ),
    Rule(
        "window-differs",
        "Windows and other lengths of time are those of the reference.",
        "Compare with the reference's SQL and mend the window.",
        _ALL_TEXTS,
        _windows,
        "warning",
    ),
    Rule(
        "window-missing",
        "What the instruction says of time stands in skill and operational specification.",
        "Say the window with both of its ends.",
        _RULES_TEXTS,
        _told_windows,
        "warning",
    ),
    Rule(
        "item-unknown",
        "A skill names no item that the reference does not read.",
        "Mend the number, or say that the item does not count.",
        frozenset({"skill"}),
        _unknown_items,
        "warning",
    ),
    Rule(
        "item-missing",
        "A skill names every item that reaches the result.",
        "Add the item with its label, unit and range.",
        frozenset({"skill"}),
        _missing_items,
        "warning",
    ),
    Rule(
        "unit-differs",
        "An item's unit is the one that it is recorded in.",
        "Write the recorded unit, or say how it is converted.",
        frozenset({"skill"}),
        _units,
        "warning",
    ),
)
"""The rules of this module."""
