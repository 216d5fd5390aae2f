"""`m4bench tasks list|show`."""

from __future__ import annotations

import click

from engine.catalogue.skill import load_skill
from engine.catalogue.task import Task, find_task, list_tasks
from engine.cli.context import CliContext, pass_context


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
