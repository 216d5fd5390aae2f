"""The raw-SQL skill: the task's reference query, so that it runs in the task's own database.

A derived table that the task's database lacks becomes a common table expression, with
all that it needs in turn. The query's text is kept as it is written; only names of tables are
replaced, found by the tokenizer and never by a search in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import TokenType, tokenize

from engine.catalogue.task import Task
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.references import find_target
from engine.workspaces.contents import lacks_derived

_INDENT = "    "
# A text in quotes, a quoted name, or a comment (group 1): only comments are taken out.
_COMMENT = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|([ \t]*(?:--[^\n]*|/\*.*?\*/))", re.DOTALL
)


@dataclass(frozen=True)
class GeneratedSkill:
    """A skill that lies in no folder."""

    name: str
    """Name of the folder that it gets in front of an agent."""
    text: str
    """Its SKILL.md."""


def raw_sql_skill(task: Task) -> GeneratedSkill:
    """The skill of the condition ``with-skill-rawsql``: a heading and the query.

    Raises:
        UsageError: the task's target is unknown.
    """
    text = (
        f"---\nname: {task.name}\n"
        f"description: SQL query for the task {task.name}.\n"
        "tier: community\ncategory: clinical\n---\n\n"
        f"# Query for {task.name}\n\n```sql\n{raw_sql(task)}\n```\n"
    )
    return GeneratedSkill(task.name, text)


def raw_sql(task: Task) -> str:
    """The reference query with what the task's database lacks written out, without comments.

    Raises:
        UsageError: the task's target is unknown.
    """
    target = find_target(task.target)
    order = concept_graph().order(target.concepts)
    lacking = _needed(target, order, {q.name for q in order if lacks_derived(task, q.name)})
    names = _names(lacking, target)
    parts = [f"{names[q.name]} AS (\n{_indented(_renamed(q.sql, names))}\n)" for q in lacking]
    sql = _renamed(target.sql, names)
    if not parts:
        return sql
    own = re.match(r"WITH\s+", sql, re.IGNORECASE)
    rest = f",\n\n{sql[own.end() :]}" if own else f"\n\n{sql}"
    return "WITH " + ",\n\n".join(parts) + rest


def _needed(target: Query, order: tuple[Query, ...], lacking: set[str]) -> tuple[Query, ...]:
    """The lacking tables that the query reads, also through other lacking ones, needed first."""
    needed = set(target.concepts)
    for query in reversed(order):
        if query.name in needed & lacking:
            needed.update(query.concepts)
    return tuple(query for query in order if query.name in needed & lacking)


def _names(lacking: tuple[Query, ...], target: Query) -> dict[str, str]:
    """A name for each written-out table that no query uses for anything else."""
    used = {
        token.text.lower()
        for query in (*lacking, target)
        for token in tokenize(query.sql, dialect="duckdb")
    }
    prefix = "derived_"
    while any(f"{prefix}{query.name}" in used for query in lacking):
        prefix += "x_"
    return {query.name: f"{prefix}{query.name}" for query in lacking}


def _renamed(sql: str, names: dict[str, str]) -> str:
    """The query without comments, with `names` in place of derived tables."""
    sql = _without_comments(sql)
    tokens = tokenize(sql, dialect="duckdb")
    out, at = "", 0
    for position in range(len(tokens) - 2):
        schema, dot, table = tokens[position : position + 3]
        if schema.text.lower() != DERIVED or dot.token_type is not TokenType.DOT:
            continue
        new = names.get(table.text.lower())
        if new is None:
            continue
        # Columns may be named by the table: keep that name where no other is given.
        following = tokens[position + 3] if position + 3 < len(tokens) else None
        aliased = following is not None and following.token_type in (TokenType.ALIAS, TokenType.VAR)
        out += sql[at : schema.start] + (new if aliased else f"{new} AS {table.text}")
        at = table.end + 1
    return out + sql[at:]


def _without_comments(sql: str) -> str:
    kept = _COMMENT.sub(lambda match: "" if match.group(1) else match.group(0), sql)
    lines = zip(sql.splitlines(), kept.splitlines(), strict=False)
    if kept.count("\n") != sql.count("\n"):  # a comment went over lines
        return "\n".join(line for line in kept.splitlines() if line.strip())
    # A line that was only a comment goes; lines that were empty stay.
    return "\n".join(new.rstrip() for old, new in lines if new.strip() or not old.strip())


def _indented(sql: str) -> str:
    return "\n".join(f"{_INDENT}{line}" if line else line for line in sql.splitlines())
