"""A task folder (`task.toml`, `instruction.md`, texts) as a checked, frozen object."""

from __future__ import annotations

import difflib
import functools
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.base.content import content_folder
from engine.base.errors import UsageError, bad_file

SourceKind = Literal["mimic-iv", "eicu"]
Mode = Literal["standard", "raw"]

STABLE_IDENTIFIERS = frozenset(
    {
        "subject_id",
        "hadm_id",
        "stay_id",
        "patientunitstayid",
        "patienthealthsystemstayid",
        "uniquepid",
    }
)
"""Columns that name somebody; required ones are not scored."""


class TableEvaluation(BaseModel):
    """How one output table is judged (`[evaluation]` of task.toml)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key_columns: tuple[str, ...] = Field(min_length=1)
    """Together they name a row."""
    value_columns: tuple[str, ...] = Field(min_length=1)
    """What the task is about."""
    required_columns: tuple[str, ...] = ()
    """What the output must hold; `value_columns` when not given."""
    scored_columns_given: tuple[str, ...] = Field(default=(), alias="scored_columns")
    """The whole list of scored columns, where a task gives it."""
    non_scoring_columns: tuple[str, ...] = ()
    """Required columns that are not scored."""
    row_coverage_threshold: float = Field(default=0.95, ge=0, le=1)
    """Key recall that a strict pass needs."""
    accuracy_threshold: float = Field(default=0.90, ge=0, le=1)
    """Match rate that a strict pass needs in every scored column."""
    tolerance: dict[str, float] = Field(default_factory=dict)
    """Per column: numbers, or seconds for timestamps. 0 where none is given."""

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that the output must hold."""
        return self.required_columns or self.value_columns

    @property
    def scored_columns(self) -> tuple[str, ...]:
        """The columns that count, in order (scoring contract, "Scored columns")."""
        if self.scored_columns_given:
            return self.scored_columns_given
        left_out = STABLE_IDENTIFIERS.union(self.key_columns, self.non_scoring_columns)
        more = [column for column in self.required if column not in left_out]
        return tuple(dict.fromkeys([*self.value_columns, *more]))


class _Metadata(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    description: str = ""
    difficulty: Literal["medium", "hard", "expert"]
    mode: Mode = "standard"
    kind: Literal["table"] = "table"
    category: str = ""
    tags: tuple[str, ...] = ()
    database: str = ""


class _Database(BaseModel):
    model_config = ConfigDict(extra="allow")

    source: SourceKind
    drop_tables: tuple[str, ...] = ()


class _GroundTruth(BaseModel):
    model_config = ConfigDict(extra="allow")

    alias: str | None = None


class _Skills(BaseModel):
    model_config = ConfigDict(extra="allow")

    names: tuple[str, ...] = ()


class _File(BaseModel):
    """The file as written; unknown keys of other sections are other programs' business."""

    model_config = ConfigDict(extra="allow")

    metadata: _Metadata
    database: _Database
    ground_truth: _GroundTruth = Field(default_factory=_GroundTruth)
    skills: _Skills = Field(default_factory=_Skills)
    evaluation: TableEvaluation


class Task(BaseModel):
    """One task of the benchmark.

    `kind` says which scorer judges it ("table": one output table, cell by cell). More kinds
    (workflows judged by gates, question sets) will have their own evaluation and artefacts.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    """E.g. ``mimic-ventilation-raw``; unique."""
    family: str
    """The folder above: tasks that share a target or rules."""
    kind: Literal["table"]
    description: str
    difficulty: str
    mode: Mode
    category: str
    tags: tuple[str, ...]
    source_kind: SourceKind
    drop_tables: tuple[str, ...]
    """Tables that the agent's database must not hold, as ``schema.table``."""
    target: str
    """Key of the reference table, e.g. ``ventilation`` or ``eicu-gcs``."""
    evaluation: TableEvaluation
    folder: Path
    """Where the task's texts are."""

    @property
    def artefacts(self) -> tuple[str, ...]:
        """The files that an agent must leave in its folder."""
        return ("output.csv",)

    @property
    def instruction(self) -> str:
        """The request to the agent, with ``{output_path}`` and ``{db_path}`` in it."""
        return (self.folder / "instruction.md").read_text(encoding="utf-8")

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """The skills of this task, each a folder with a SKILL.md.

        A published task folder carries them inside (`skills/`); ours names them in
        task.toml's `[skills] names` and keeps each once under the top `skills/`.
        """
        inside = self.folder / "skills"
        if inside.is_dir():
            return tuple(sorted(p.parent for p in inside.glob("*/SKILL.md")))
        data = tomllib.loads((self.folder / "task.toml").read_text(encoding="utf-8"))
        names = data.get("skills", {}).get("names", [])
        return tuple(content_folder("skills") / str(name) for name in names)

    @property
    def operational_spec(self) -> Path | None:
        """The non-SQL rules, where the task has them."""
        path = self.folder / "operational-spec.md"
        return path if path.is_file() else None


def load_task(folder: Path) -> Task:
    """Read and check a task folder.

    Raises:
        BadInput: names the file and every key that is wrong.
    """
    path = folder / "task.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise bad_file(path, "There is no task.toml in this folder.") from error
    except UnicodeDecodeError as error:
        raise bad_file(path, f"This is not valid TOML: {error}.") from error
    return parse_task(text, folder)


def parse_task(text: str, folder: Path) -> Task:
    """Read a task from the text of its task.toml, e.g. one that is being edited.

    Raises:
        BadInput: names the file and every key that is wrong.
    """
    return _parsed(text, folder)


@functools.lru_cache(maxsize=256)  # lists and lint ask for all tasks again and again
def _parsed(text: str, folder: Path) -> Task:
    path = folder / "task.toml"
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad_file(path, f"This is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise bad_file(path, "This is not a task: it is nested too deep.") from error
    try:
        parsed = _File.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        raise bad_file(path, f"{error.error_count()} keys are wrong: {problems}.") from error
    meta = parsed.metadata
    return Task(
        name=meta.name,
        family=folder.parent.name,
        kind=meta.kind,
        description=meta.description,
        difficulty=meta.difficulty,
        mode=meta.mode,
        category=meta.category,
        tags=meta.tags,
        source_kind=parsed.database.source,
        drop_tables=parsed.database.drop_tables,
        target=_target(meta.name, parsed.database.source, parsed.ground_truth.alias),
        evaluation=parsed.evaluation,
        folder=folder,
    )


def _target(name: str, source: SourceKind, alias: str | None) -> str:
    """The reference's key: MIMIC targets bear no prefix, eICU ones do."""
    key = (alias or name).removeprefix("mimic-").removeprefix("eicu-")
    return f"eicu-{key}" if source == "eicu" else key


def list_tasks(root: Path | None = None) -> tuple[Task, ...]:
    """All tasks below `root` (default: the shipped ones), by name.

    Raises:
        BadInput: two tasks bear one name, or a task.toml is wrong.
    """
    top = root or content_folder("tasks")
    tasks: dict[str, Task] = {}
    for path in sorted(top.glob("*/*/task.toml")):
        task = load_task(path.parent)
        if task.name in tasks:
            raise bad_file(path, f"Two tasks are called {task.name}.")
        tasks[task.name] = task
    return tuple(tasks[name] for name in sorted(tasks))


def find_task(name: str, root: Path | None = None) -> Task:
    """The task called `name`, or the one in the folder `name`.

    Raises:
        UsageError: there is none; offers the nearest name.
    """
    if (Path(name) / "task.toml").is_file():
        return load_task(Path(name).absolute())
    tasks = {task.name: task for task in list_tasks(root)}
    if name in tasks:
        return tasks[name]
    near = difflib.get_close_matches(name, tasks, n=1)
    raise UsageError(
        f"There is no task called {name}.",
        todo=f"Did you mean {near[0]}?" if near else "See `m4bench tasks list`.",
    )
