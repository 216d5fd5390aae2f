"""`m4bench tasks list|show|lint`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.base.content import content_folder
from engine.base.errors import JudgedFailed
from engine.base.files import write_json
from engine.catalogue.skill import load_skill
from engine.catalogue.task import Task, find_task, list_tasks
from engine.cli.context import CliContext, existing, pass_context

if TYPE_CHECKING:
    from engine.preflight import Finding


@click.group()
def command() -> None:
    """The catalogue of tasks."""


@command.command("list")
@pass_context
def list_(context: CliContext) -> None:
    """All tasks, by name."""
    tasks = list_tasks()
    context.result(
        {"tasks": [_short(task) for task in tasks]},
        rows=[
            {
                "task": task.name,
                "family": task.family,
                "mode": task.mode,
                "difficulty": task.difficulty,
                "source": task.source_kind,
                "target": task.target,
            }
            for task in tasks
        ],
    )


@command.command()
@click.argument("task")
@pass_context
def show(context: CliContext, task: str) -> None:
    """One task: its facts, instruction and skills."""
    found = find_task(task)
    rules = found.evaluation
    skills = [load_skill(folder) for folder in found.skill_folders]
    document = {
        **_short(found),
        "category": found.category,
        "tags": list(found.tags),
        "drop_tables": list(found.drop_tables),
        "artefacts": list(found.artefacts),
        "evaluation": {
            "key_columns": list(rules.key_columns),
            "value_columns": list(rules.value_columns),
            "required_columns": list(rules.required),
            "scored_columns": list(rules.scored_columns),
            "row_coverage_threshold": rules.row_coverage_threshold,
            "accuracy_threshold": rules.accuracy_threshold,
            "tolerance": dict(rules.tolerance),
        },
        "skills": [
            {"name": s.name, "tier": s.tier, "category": s.category, "description": s.description}
            for s in skills
        ],
        "has_operational_spec": found.operational_spec is not None,
        "instruction": found.instruction,
    }
    context.result(document, text=_text(found, [skill.name for skill in skills]))


@command.command()
@click.argument("tasks", nargs=-1, metavar="[TASK…]")
@click.option("--sarif", "to", metavar="FILE", help="Also write the findings as SARIF 2.1.0.")
@pass_context
@click.pass_context
def lint(ctx: click.Context, context: CliContext, *, tasks: Sequence[str], to: str | None) -> None:
    """Check texts, skills and facts of TASKs (default: all) against the preflight's rules.

    Leaves with 1 when there are findings.
    """
    from engine.preflight import lint_folder, sarif  # noqa: PLC0415 - reads all the SQL, only here

    folders = [_folder(name) for name in tasks] if tasks else _all_folders()
    by_folder = {folder: lint_folder(folder) for folder in folders}
    # Tasks of a family share files.
    findings = sorted({finding for found in by_folder.values() for finding in found})
    root = content_folder("tasks").parent
    if to is not None:
        write_json(existing(to), sarif(findings, root), "writing the findings")
    context.result(
        {
            "passed": not findings,
            "tasks": {folder.name: len(found) for folder, found in by_folder.items()},
            "findings": [
                {
                    "file": str(item.path),
                    "line": item.line,
                    "column": item.column,
                    "rule": item.rule,
                    "level": item.level,
                    "message": item.message,
                    "fix": item.fix,
                }
                for item in findings
            ],
        },
        text="\n".join(_line(item, root) for item in findings) or "No findings.",
    )
    context.say(
        f"{len(folders)} {'task' if len(folders) == 1 else 'tasks'}, "
        f"{len(findings)} {'finding' if len(findings) == 1 else 'findings'}."
    )
    if findings:
        ctx.exit(JudgedFailed.exit_code)


def _all_folders() -> list[Path]:
    return sorted(path.parent for path in content_folder("tasks").glob("*/*/task.toml"))


def _folder(name: str) -> Path:
    """The folder of a task, also where this or another task.toml cannot be read."""
    if (Path(name) / "task.toml").is_file():
        return Path(name).absolute()
    named = [folder for folder in _all_folders() if folder.name == name]
    return named[0] if named else find_task(name).folder


def _line(item: Finding, root: Path) -> str:
    path = item.path.relative_to(root) if item.path.is_relative_to(root) else item.path
    return f"{path}:{item.line}:{item.column}: {item.rule}: {item.message} {item.fix}"


def _short(task: Task) -> dict[str, object]:
    return {
        "name": task.name,
        "family": task.family,
        "description": task.description,
        "mode": task.mode,
        "difficulty": task.difficulty,
        "source_kind": task.source_kind,
        "target": task.target,
    }


def _text(task: Task, skills: list[str]) -> str:
    rules = task.evaluation
    facts = {
        "family": task.family,
        "mode": f"{task.mode}, {task.difficulty}",
        "source": task.source_kind,
        "target": task.target,
        "key": ", ".join(rules.key_columns),
        "scored": ", ".join(rules.scored_columns),
        "strict pass": f"key recall ≥ {rules.row_coverage_threshold:g}, "
        f"each column ≥ {rules.accuracy_threshold:g}",
        "taken away": ", ".join(task.drop_tables) or "nothing",
        "skills": ", ".join(skills) or "none",
    }
    width = max(map(len, facts))
    lines = [f"{name:<{width}}  {value}" for name, value in facts.items()]
    return "\n".join([f"{task.name}: {task.description}", "", *lines, "", task.instruction])
