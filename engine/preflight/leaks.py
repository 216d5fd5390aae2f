"""Rules about what a text must not tell or hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from engine.catalogue.task import Task
from engine.preflight.finding import Find, Kind, Rule, Text
from engine.preflight.names import (
    LONG_NUMBER,
    REFERENCE_CODE,
    SCHEMA,
    SQL,
    base_tables,
    derived_tables,
    dropped_tables,
    words,
)

_GIVEN: frozenset[Kind] = frozenset({"instruction", "operational-spec", "skill"})
_PLAIN: frozenset[Kind] = frozenset({"instruction", "operational-spec"})
_ALL: frozenset[Kind] = frozenset({*_GIVEN, "task", "provenance"})
_REMOTE = re.compile(
    r"!\[[^\]\n]*\]\s*[(\[]|\]\(\s*(?:javascript|data|file|ftp|vbscript):|</?[a-zA-Z][\w-]*(?:\s[^<>\n]*)?/?>"
    r"|\bhttps?://|^\s{0,3}\[[^\]\n]+\]:\s*\S+",
    re.MULTILINE | re.IGNORECASE,
)
_UNUSUAL = re.compile(r"[^\n\t\x20-\x7e]")
_CODE = re.compile(r"^\s*(?:```|~~~)[ \t]*([A-Za-z][\w+-]*)", re.MULTILINE)
_PRECOMPUTED = re.compile(
    r"^#{1,6}\s.*\b(?:pre-?computed|pre-?built|derived|existing|materiali[sz]ed)\b.*\b(?:tables?|views?)\b",
    re.MULTILINE | re.IGNORECASE,
)


def _matched(match: re.Match[str], message: str) -> Find:
    return Find(match.start(), message, length=len(match.group()))


def _characters(text: Text, _task: Task) -> Iterator[Find]:
    for found in _UNUSUAL.finditer(text.text):
        offset, character = found.start(), found.group()
        category = unicodedata.category(character)
        if category in ("Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp") or (
            category == "Zs" and character != " "
        ):
            if character == "\r" and text.text[offset + 1 : offset + 2] == "\n":
                continue
            name = unicodedata.name(character, "a control character").lower()
            yield Find(offset, f"Invisible character U+{ord(character):04X} ({name}).")


def _remote(text: Text, _task: Task) -> Iterator[Find]:
    # Code spans hold no link.
    for match in _REMOTE.finditer(text.prose):
        shown = " ".join(match.group().split())[:30]
        yield _matched(match, f"A picture, link or HTML tag: {shown}")


def _schemas(text: Text, _task: Task) -> Iterator[Find]:
    for match in SCHEMA.finditer(text.text):
        yield _matched(match, f"The schema's name {match.group()}.")


def _tables(text: Text, task: Task) -> Iterator[Find]:
    for match in words(base_tables() | derived_tables(task)).finditer(text.text):
        if text.text[match.start() - 1 : match.start()] != ".":
            yield _matched(match, f"The table's name {match.group()}.")


def _dropped(text: Text, task: Task) -> Iterator[Find]:
    gone, columns = dropped_tables(task), {*task.evaluation.required}
    clear = frozenset(name for name in gone if "_" in name and name not in columns)
    for match in words(clear).finditer(text.text):
        yield _matched(match, f"{match.group()} is a table that this task takes away.")
    # A name that is also a word gives itself away where it is written as a name.
    plain = frozenset(name for name in gone - clear if name not in columns)
    named = (
        re.compile(rf"\b(?:table|view)s?\s+`?(?:{'|'.join(sorted(plain))})\b`?") if plain else None
    )
    for match in named.finditer(text.text) if named else ():
        yield _matched(match, f"{match.group()} is a table that this task takes away.")


def _derived(text: Text, task: Task) -> Iterator[Find]:
    known = derived_tables(task) - dropped_tables(task)
    for match in words(known).finditer(text.text):
        yield _matched(match, f"{match.group()} is a derived table.")


def _sql(text: Text, _task: Task) -> Iterator[Find]:
    for match in SQL.finditer(text.text):
        yield _matched(match, f"SQL: {' '.join(match.group().split())[:40]}")


def _long_numbers(text: Text, _task: Task) -> Iterator[Find]:
    for match in LONG_NUMBER.finditer(text.text):
        yield _matched(match, f"The number {match.group()}, which may be an item's.")


def _reference_code(text: Text, _task: Task) -> Iterator[Find]:
    for match in REFERENCE_CODE.finditer(text.text):
        yield _matched(match, f"A name of the reference code: {match.group()}.")


def _code(text: Text, _task: Task) -> Iterator[Find]:
    for match in _CODE.finditer(text.text):
        if match.group(1).lower() not in ("sql", "text", "txt", "csv"):
            yield Find(match.start(1), f"A block of {match.group(1)} code.")


def _precomputed(text: Text, _task: Task) -> Iterator[Find]:
    for match in _PRECOMPUTED.finditer(text.text):
        yield _matched(match, "A section about tables that are computed already.")


RULES = (
    Rule(
        "invisible-character",
        "Texts hold no invisible, bidirectional or control characters.",
        "Delete the character, or write an ordinary space.",
        _ALL,
        _characters,
    ),
    Rule(
        "remote-content",
        "Texts for an agent hold no pictures, links or HTML.",
        "Leave it out; sources belong into PROVENANCE.yaml.",
        _GIVEN,
        _remote,
    ),
    Rule(
        "schema-name",
        "Texts for an agent name no schema of the database.",
        "Say in clinical words what the data is.",
        _GIVEN,
        _schemas,
    ),
    Rule(
        "table-name",
        "Instruction and operational specification name no table.",
        "Say in clinical words what the data is.",
        _PLAIN,
        _tables,
    ),
    Rule(
        "dropped-table",
        "A skill names no table that the task takes away.",
        "Describe the rule itself.",
        frozenset({"skill"}),
        _dropped,
    ),
    Rule(
        "derived-table",
        "A skill does not rest on derived tables.",
        "Describe how the values come from what was charted.",
        frozenset({"skill"}),
        _derived,
    ),
    Rule(
        "sql",
        "Texts for an agent hold no SQL.",
        "Say the rule in words.",
        _GIVEN,
        _sql,
    ),
    Rule(
        "long-number",
        "Instruction and operational specification hold no item id and no number of five digits.",
        "Name the item in words, or write the number in words.",
        _PLAIN,
        _long_numbers,
    ),
    Rule(
        "reference-code",
        "Texts for an agent do not point to the reference code.",
        "Cite the publication instead.",
        _GIVEN,
        _reference_code,
    ),
    Rule(
        "code-block",
        "Texts for an agent hold no program.",
        "Say the rule in words.",
        _GIVEN,
        _code,
    ),
    Rule(
        "precomputed-section",
        "A skill has no section about computed tables.",
        "Delete the section.",
        frozenset({"skill"}),
        _precomputed,
    ),
)
"""The rules of this module."""
