"""Rules about task.toml and PROVENANCE.yaml."""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from engine.base.content import content_folder
from engine.base.errors import BadInput
from engine.catalogue.task import Task, parse_task
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED
from engine.preflight.facts import output_columns, reference_facts
from engine.preflight.finding import Find, Rule, Text
from engine.references import list_targets

_REQUIRED = ("family", "applies_to", "sources", "created", "reviews", "references", "changelog")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "sources": ("url", "description", "licence"),
    "created": ("by", "role", "date"),
    "reviews": ("by", "date", "scope", "notes"),
    "changelog": ("version", "date", "summary"),
}


def _task_file(text: Text, task: Task) -> Iterator[Find]:
    try:
        parsed = parse_task(text.text, task.folder)
    except BadInput as error:
        line = re.search(r"line (\d+)", error.text)
        rows = text.text.splitlines(keepends=True)
        yield Find(sum(map(len, rows[: int(line[1]) - 1])) if line else 0, error.text)
        return
    if parsed.name != task.folder.name:
        yield Find(
            text.offset_of(parsed.name),
            f"The task is called {parsed.name}, its folder {task.folder.name}.",
            "Give both the same name.",
        )


def _columns(text: Text, task: Task) -> Iterator[Find]:
    rules = task.evaluation
    for column in dict.fromkeys((*rules.key_columns, *rules.value_columns)):
        if column not in rules.required:
            yield Find(
                text.offset_of(f'"{column}"'),
                f"{column} is a key or value column but not required.",
                "Add it to required_columns.",
            )
    for column in rules.tolerance:
        if column not in rules.scored_columns:
            yield Find(
                text.offset_of(f"{column} ="),
                f"There is a tolerance for {column}, which is not scored.",
                "Take it out, or mend its name.",
            )
    for column in (*rules.non_scoring_columns, *rules.scored_columns_given):
        if column not in rules.required:
            yield Find(text.offset_of(f'"{column}"'), f"{column} is not among required_columns.")


def _target(text: Text, task: Task) -> Iterator[Find]:
    if task.target not in list_targets():
        yield Find(
            text.offset_of("alias"),
            f"There is no reference target called {task.target}.",
            "Name one of `m4bench references build --help` as alias.",
        )
        return
    facts = reference_facts(task.target)
    rules = task.evaluation
    for column in rules.required:
        if column not in facts.columns:
            yield Find(
                text.offset_of(f'"{column}"'), f"The reference has no column {column}.", "Mend it."
            )
    for column in facts.columns:
        if column not in rules.required:
            yield Find(
                text.offset_of("required_columns"),
                f"The reference has the column {column}, which is not required.",
                "Add it to required_columns.",
            )
    if set(rules.key_columns) != set(facts.key):
        yield Find(
            text.offset_of("key_columns"),
            f"The reference's key is {', '.join(facts.key)}.",
            "Make key_columns the same.",
        )


def _drop_tables(text: Text, task: Task) -> Iterator[Find]:
    known = {f"{DERIVED}.{name}" for name in concept_graph().concepts}
    for name in task.drop_tables:
        if task.source_kind == "mimic-iv" and name not in known:
            yield Find(
                text.offset_of(f'"{name}"'),
                f"{name} is no derived table.",
                "Mend the name, or take it out.",
            )
    if task.source_kind != "mimic-iv" or task.target not in list_targets():
        return
    wanted = set(task.evaluation.value_columns)
    for name in concept_graph().concepts:
        holds = wanted <= set(output_columns(name))
        if holds and f"{DERIVED}.{name}" not in task.drop_tables:
            yield Find(
                text.offset_of("drop_tables"),
                f"The derived table {name} holds every value column and is not taken away.",
                f'Add "{DERIVED}.{name}" to drop_tables.',
            )


def _skills(text: Text, task: Task) -> Iterator[Find]:
    folders = task.skill_folders
    if not (
        task.folder / "skills"
    ).is_dir():  # named in this text, which may be newer than the file
        names = tomllib.loads(text.text).get("skills", {}).get("names", [])
        folders = tuple(content_folder("skills") / str(name) for name in names)
    for folder in folders:
        if not (folder / "SKILL.md").is_file():
            yield Find(
                text.offset_of(f'"{folder.name}"'),
                f"There is no skill called {folder.name}.",
                f"Mend the name, or write {content_folder('skills').name}/{folder.name}/SKILL.md.",
            )


def _provenance(text: Text, task: Task) -> Iterator[Find]:
    try:
        data = _loaded(text)
    except YAMLError as error:
        mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
        yield Find(mark.index if mark else 0, "This is not valid YAML.", "Mend the line.")
        return
    if not isinstance(data, Mapping):
        yield Find(0, "This is not a list of `name: value`.")
        return
    for name in _REQUIRED:
        if data.get(name) is None:
            yield Find(0, f"{name} is missing.", f"Add {name}:.")
    named = data.get("applies_to")
    if isinstance(named, Sequence) and task.name not in named:
        yield Find(
            text.offset_of("applies_to"), f"{task.name} is not named.", "Add it to applies_to."
        )
    for name, keys in _PARTS.items():
        yield from _entries(text, name, data.get(name), keys)


def _loaded(text: Text) -> Any:
    """The document.

    Raises:
        YAMLError: it is none, or holds a date that does not exist, or is nested too deep.
    """
    try:
        return YAML(typ="safe", pure=True).load(io.StringIO(text.text))
    except (ValueError, RecursionError) as error:
        raise YAMLError(str(error)) from error


def _entries(text: Text, name: str, value: Any, keys: tuple[str, ...]) -> Iterator[Find]:
    if value is None:
        return
    at = text.offset_of(f"{name}:")
    for entry in [value] if name == "created" else value if isinstance(value, list) else [None]:
        lost = [k for k in keys if not (isinstance(entry, Mapping) and entry.get(k))]
        if lost:
            yield Find(at, f"An entry of {name} lacks {', '.join(lost)}.", "Write it.")


def _reviews(text: Text, task: Task) -> Iterator[Find]:
    if (task.folder / "skills").is_dir():
        return  # a published folder: its reviews are those of its authors
    try:
        data = _loaded(text)
    except YAMLError:
        return  # said by another rule
    reviews = data.get("reviews") if isinstance(data, Mapping) else None
    for review in reviews if isinstance(reviews, list) else []:
        if not (isinstance(review, Mapping) and review.get("ledger")):
            yield Find(text.offset_of("reviews:"), "A review that stands in no ledger.")


RULES = (
    Rule(
        "task-file",
        "task.toml can be read and is called like its folder.",
        "Mend the keys that are named.",
        frozenset({"task"}),
        _task_file,
    ),
    Rule(
        "task-columns",
        "Key, value, tolerance and scored columns are among the required ones.",
        "Add it to required_columns.",
        frozenset({"task"}),
        _columns,
    ),
    Rule(
        "target",
        "The target exists, with the required columns and the key of the task.",
        "Mend task.toml.",
        frozenset({"task"}),
        _target,
    ),
    Rule(
        "drop-tables",
        "What is taken away exists, and no derived table with the answer is left.",
        "Mend drop_tables.",
        frozenset({"task"}),
        _drop_tables,
    ),
    Rule(
        "skill-missing",
        "The skills that a task names exist.",
        "Mend [skills] names.",
        frozenset({"task"}),
        _skills,
    ),
    Rule(
        "provenance",
        "PROVENANCE.yaml has all its parts and names the task.",
        "Add what is missing.",
        frozenset({"provenance"}),
        _provenance,
    ),
    Rule(
        "review-without-ledger",
        "Reviews are written from the ledger, never by hand.",
        "Delete the entry; sign reviews in the app, which writes them here.",
        frozenset({"provenance"}),
        _reviews,
    ),
)
"""The rules of this module."""
