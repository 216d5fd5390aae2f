"""Rules about the form of instruction and skill: place-holders, columns, front matter, files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.base.errors import BadInput
from engine.catalogue.skill import parse_skill
from engine.catalogue.task import Task
from engine.preflight.finding import Find, Rule, Text

PLACE_HOLDERS = ("{db_path}", "{output_path}")
_HEADER = re.compile(r"^\|\s*column\s*\|.*$", re.MULTILINE | re.IGNORECASE)
_FIRST_CELL = re.compile(r"^\|\s*`?([^|`]+?)`?\s*\|", re.MULTILINE)


def _place_holders(text: Text, _task: Task) -> Iterator[Find]:
    for name in PLACE_HOLDERS:
        if name not in text.text:
            yield Find(0, f"The place-holder {name} is missing.")
    for match in re.finditer(r"\{(\w*)\}", text.text):
        if match.group() not in PLACE_HOLDERS:
            yield Find(match.start(), f"{match.group()} is no place-holder.")


def _columns(text: Text, task: Task) -> Iterator[Find]:
    """The table of columns, or where there is none the names anywhere."""
    required = task.evaluation.required
    listed = _listed_columns(text)
    if not listed:
        for column in required:
            if not re.search(rf"\b{re.escape(column)}\b", text.text):
                yield Find(0, f"The required column {column} is not named.")
        return
    begin = next(iter(listed.values()))
    for column in required:
        if column not in listed:
            yield Find(begin, f"The required column {column} is missing in the table of columns.")
    for column, offset in listed.items():
        if column not in required:
            yield Find(
                offset,
                f"The column {column} is asked for but not required.",
                "Take it out, or add it to required_columns in task.toml.",
            )
    order = [column for column in listed if column in required]
    if order != [column for column in required if column in listed]:
        yield Find(
            begin,
            "The columns are in another order than in task.toml.",
            "Write them in the order of required_columns.",
        )


def _listed_columns(text: Text) -> dict[str, int]:
    """Column names of the table that is headed "column", with their places."""
    header = _HEADER.search(text.text)
    if header is None:
        return {}
    found: dict[str, int] = {}
    position = header.end() + 1
    while text.text.startswith("|", position):
        end = text.text.find("\n", position)
        end = len(text.text) if end < 0 else end
        cell = _FIRST_CELL.match(text.text, position, end)
        if cell and not set(cell.group(1)) <= set("-: "):
            found.setdefault(cell.group(1), cell.start(1))
        position = end + 1
    return found


def _front_matter(text: Text, _task: Task) -> Iterator[Find]:
    try:
        skill = parse_skill(text.text, text.path.parent)
    except BadInput as error:
        line = error.place.line if error.place and error.place.line else 1
        offset = sum(len(row) for row in text.text.splitlines(keepends=True)[: line - 1])
        yield Find(offset, error.text, error.todo or "")
        return
    if skill.name != text.path.parent.name:
        yield Find(
            text.offset_of("name:"),
            f"The skill is called {skill.name}, its folder {text.path.parent.name}.",
            "Give both the same name.",
        )
    if not skill.body.strip():
        yield Find(len(text.text), "The skill has no text.", "Write its rules below.")


RULES = (
    Rule(
        "place-holder",
        "An instruction names database and output by their place-holders.",
        "Write {db_path} for the database and {output_path} for the output.",
        frozenset({"instruction"}),
        _place_holders,
    ),
    Rule(
        "columns",
        "An instruction asks for exactly the required columns, in their order.",
        "Name it in the table of columns.",
        frozenset({"instruction"}),
        _columns,
    ),
    Rule(
        "front-matter",
        "A skill begins with exactly name, description, tier and category.",
        "Write name, description, tier (validated, expert, community) and category "
        "(clinical, system).",
        frozenset({"skill"}),
        _front_matter,
    ),
)
"""The rules of this module."""
