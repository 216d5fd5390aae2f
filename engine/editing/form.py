"""The fields of a text's head as a form: the front matter of a skill, the keys of a task.toml.

Only the value that was changed is written; every other letter, comments and unknown fields
included, stays.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import tomlkit
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from tomlkit.exceptions import TOMLKitError

from engine.base.errors import BadInput
from engine.catalogue.skill import Category, Tier
from engine.catalogue.task import Mode
from engine.editing.outline import front_end

Value = str | float | tuple[str, ...] | None
Shape = Literal["line", "words", "choice", "list", "share", "locked"]
"""One line; several lines; one of some; names with commas; a share from 0 to 1; only shown."""


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    name: str
    """Its key; with its table, ``evaluation.accuracy_threshold``."""
    label: str
    """For people."""
    shape: Shape
    """How it is filled in."""
    value: Value
    """What stands in the text; None where it is not there."""
    help: str
    """What it is for."""
    choices: tuple[str, ...] = ()
    """Of a choice."""


_SKILL: tuple[tuple[str, str, Shape, str, tuple[str, ...]], ...] = (
    ("name", "Name", "line", "The name of the skill's folder.", ()),
    ("description", "Description", "words", "When to use it: an agent reads this first.", ()),
    ("tier", "Tier", "locked", "Written from the ledger of reviews, not by hand.", get_args(Tier)),
    ("category", "Category", "choice", "What it is about.", get_args(Category)),
)
_TASK: tuple[tuple[str, str, Shape, str, tuple[str, ...]], ...] = (
    ("metadata.name", "Name", "locked", "Runs and reviews name the task by it.", ()),
    ("metadata.description", "Description", "words", "One sentence: what is asked.", ()),
    (
        "metadata.difficulty",
        "Difficulty",
        "choice",
        "For reports.",
        ("medium", "hard", "expert"),
    ),
    ("metadata.mode", "Mode", "choice", "raw: no derived tables are there.", get_args(Mode)),
    ("metadata.category", "Category", "line", "For reports.", ()),
    ("metadata.tags", "Tags", "list", "Words, with commas between.", ()),
    ("database.drop_tables", "Tables taken out", "list", "schema.table, with commas between.", ()),
    ("skills.names", "Skills", "list", "Folders under skills/, with commas between.", ()),
    (
        "evaluation.row_coverage_threshold",
        "Rows needed",
        "share",
        "Share of the reference's keys that a strict pass needs.",
        (),
    ),
    (
        "evaluation.accuracy_threshold",
        "Matches needed",
        "share",
        "Share of matches that a strict pass needs in every scored column.",
        (),
    ),
)


def skill_form(text: str) -> tuple[Field, ...]:
    """The front matter of a skill.

    Raises:
        BadInput: there is none, or it is no YAML.
    """
    data = _front(text)
    unknown = [name for name in data if name not in {row[0] for row in _SKILL}]
    fields = [
        Field(name, label, shape, _text_of(data.get(name)), tip, choices)
        for name, label, shape, tip, choices in _SKILL
    ]
    fields += [
        Field(name, name, "locked", _text_of(data[name]), "Kept as it is.") for name in unknown
    ]
    return tuple(fields)


def task_form(text: str) -> tuple[Field, ...]:
    """The keys of a task.toml that people set.

    Raises:
        BadInput: it is no TOML.
    """
    data = _toml(text).unwrap()
    fields = []
    for name, label, shape, tip, choices in _TASK:
        table, key = name.split(".")
        value = data.get(table, {}).get(key) if isinstance(data.get(table), dict) else None
        fields.append(Field(name, label, shape, _toml_value(shape, value), tip, choices))
    return tuple(fields)


def with_skill_field(text: str, name: str, value: str) -> str:
    """The text with another value of one field of its front matter.

    Raises:
        BadInput: there is no front matter that could be read, before or after.
    """
    before = _front(text)
    lines = text.split("\n")
    end = front_end(lines) - 1
    head = "\n".join(lines[1:end]) + "\n"
    node = YAML(typ="rt", pure=True).compose(io.StringIO(head))
    key = next((pair for pair in cast("MappingNode", node).value if pair[0].value == name), None)
    more = f"{head}{name}: {_scalar(value)}\n"
    head = more if key is None else _replaced(head, key[1], value)
    changed = "\n".join([lines[0], head.removesuffix("\n"), *lines[end:]])
    after = _front(changed)
    if after != {**before, name: value} or list(after)[: len(before)] != list(before):
        raise BadInput(
            "This field cannot be changed in the form.", todo="Change it in the text itself."
        )
    return changed


def with_task_field(text: str, name: str, value: Value) -> str:
    """The text of a task.toml with another value of one key.

    Raises:
        BadInput: it is no TOML.
    """
    document = cast("Any", _toml(text))
    table, key = name.split(".")
    if table not in document:
        document[table] = tomlkit.table()
    old = document[table].get(key)
    if isinstance(value, tuple):
        document[table][key] = _array(old, value)
    else:
        document[table][key] = value
    return tomlkit.dumps(document)


def _array(old: Any, names: tuple[str, ...]) -> Any:
    """A list of names; one that was written in several lines stays so."""
    array = tomlkit.array()
    array.extend(names)
    if old is not None and "\n" in old.as_string():
        array.multiline(True)
    return array


def _front(text: str) -> Mapping[str, Any]:
    lines = text.split("\n")
    end = front_end(lines)
    if not end:
        raise BadInput(
            "The text does not begin with front matter between two lines `---`.",
            todo="Write it in the text; the form shows it then.",
        )
    try:
        data = YAML(typ="safe", pure=True).load(io.StringIO("\n".join(lines[1 : end - 1]) + "\n"))
    except YAMLError as error:
        raise BadInput(
            "The front matter is not valid YAML.", todo="Mend it in the text."
        ) from error
    if not isinstance(data, dict):
        raise BadInput("The front matter is not a list of `name: value`.")
    return data


def _replaced(head: str, node: Any, value: str) -> str:
    begin, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, ScalarNode):
        raise BadInput("This field is a list or a table.", todo="Change it in the text itself.")
    if node.style in ("|", ">"):  # their end is the beginning of the next line
        return f"{head[:begin]}{_scalar(value)}\n{head[end:]}"
    return head[:begin] + (" " if head[begin - 1] == ":" else "") + _scalar(value) + head[end:]


def _scalar(value: str) -> str:
    """A text as YAML in one line: bare where that is safe, else in quotes."""
    try:
        bare = YAML(typ="safe", pure=True).load(f"x: {value}\n")
    except YAMLError:
        bare = None
    if bare == {"x": value} and "\n" not in value and " #" not in value:
        return value
    out = io.StringIO()
    yaml = YAML(typ="rt", pure=True)
    yaml.width = cast("Any", math.inf)
    yaml.default_style = cast("Any", '"')
    yaml.dump(value, out)
    return out.getvalue().removesuffix("...\n").rstrip("\n")


def _toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise BadInput("This is not valid TOML.", todo="Mend it in the text.") from error


def _toml_value(shape: Shape, value: object) -> Value:
    if value is None:
        return None
    if shape == "list":
        return tuple(str(item) for item in value) if isinstance(value, list) else None
    if shape == "share":
        return float(value) if isinstance(value, int | float) else None
    return str(value)


def _text_of(value: object) -> str | None:
    return None if value is None else str(value)
