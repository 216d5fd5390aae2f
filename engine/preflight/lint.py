"""All rules over a task's texts, or over one text that is being edited."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from engine.base.errors import BadInput
from engine.catalogue.task import Task, load_task, parse_task
from engine.preflight import consistency, forms, leaks, manifests
from engine.preflight.finding import Finding, Kind, Rule, Text

_SCRIPTS = frozenset({".py", ".sql", ".sh", ".r", ".ipynb", ".js", ".pl", ".jl", ".bat", ".ps1"})
_FILES_RULE = "skill-files"
_READ_RULE = "unreadable"

RULES: tuple[Rule, ...] = (*leaks.RULES, *forms.RULES, *manifests.RULES, *consistency.RULES)
"""Every rule over one text."""

TITLES = {rule.id: rule.title for rule in RULES} | {
    _FILES_RULE: "A skill folder holds no scripts and no links.",
    _READ_RULE: "Every text of a task is there and is UTF-8.",
}
"""Id of every rule to what must hold, in one sentence."""


def lint_text(
    kind: Kind, text: str, task: Task, path: Path | None = None, *, asked: str | None = None
) -> tuple[Finding, ...]:
    """What the rules find in one text; quick enough to be called while somebody types.

    Args:
        kind: which text of the task it is.
        text: all of it, saved or not.
        task: the task that it belongs to (for ``task`` it is read from the text where possible).
        path: where it is or will be; the task's own file when None.
        asked: the instruction as an editor holds it; as it is on the disk when None.
    """
    one = Text(kind, path or _path(kind, task), text, asked)
    if kind == "task":
        try:
            task = parse_task(text, task.folder)
        except BadInput:
            rules = [rule for rule in RULES if rule.id == "task-file"]
            return tuple(sorted(f for rule in rules for f in rule.findings(one, task)))
    found = [f for rule in RULES if kind in rule.kinds for f in rule.findings(one, task)]
    return tuple(sorted(found))


def lint_task(task: Task) -> tuple[Finding, ...]:
    """What the rules find in all texts of a task and in its skill folders, by file and line."""
    texts: list[tuple[Kind, Path]] = [
        ("task", task.folder / "task.toml"),
        ("instruction", task.folder / "instruction.md"),
        ("provenance", task.folder.parent / "PROVENANCE.yaml"),
    ]
    if task.operational_spec is not None:
        texts.append(("operational-spec", task.operational_spec))
    skills = [f for f in task.skill_folders if (f / "SKILL.md").is_file()]
    texts += [("skill", folder / "SKILL.md") for folder in skills]
    found: list[Finding] = []
    for kind, path in texts:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            found.append(_finding(path, _READ_RULE, "This file is missing.", "Write it."))
        except (OSError, UnicodeDecodeError):
            found.append(
                _finding(path, _READ_RULE, "This file is no UTF-8 text.", "Save it as UTF-8.")
            )
        else:
            found += lint_text(kind, text, task, path)
    for folder in skills:
        found += _files(folder)
    return tuple(sorted(set(found)))


def lint_folder(folder: Path) -> tuple[Finding, ...]:
    """As `lint_task`, where the task.toml may be one that cannot be read."""
    try:
        task = load_task(folder)
    except BadInput as error:
        return (_finding(folder / "task.toml", "task-file", error.text, error.todo or "Mend it."),)
    return lint_task(task)


def _path(kind: Kind, task: Task) -> Path:
    if kind == "skill":
        folders = task.skill_folders
        return (folders[0] if folders else task.folder / "skills" / task.name) / "SKILL.md"
    names = {
        "task": task.folder / "task.toml",
        "instruction": task.folder / "instruction.md",
        "operational-spec": task.folder / "operational-spec.md",
        "provenance": task.folder.parent / "PROVENANCE.yaml",
    }
    return names[kind]


def _files(folder: Path) -> Iterator[Finding]:
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            yield _finding(path, _FILES_RULE, "This is no ordinary file.", "Delete it.")
        elif path.suffix.lower() in _SCRIPTS or mode & 0o111:
            yield _finding(
                path, _FILES_RULE, "A skill carries no scripts.", "Say the rule in words instead."
            )


def _finding(path: Path, rule: str, message: str, fix: str) -> Finding:
    return Finding(path, 1, 1, rule, message, fix, "error")
