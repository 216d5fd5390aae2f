"""The run's name, its folder, and what is laid out for the agent.

A run folder holds the record and, while the run lives, `work/`: the folder that the agent
sees as `/job`.
"""

from __future__ import annotations

import logging
import re
import shutil
import stat
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from engine.agents.interface import DATABASE, INSTRUCTION, JOB, OUTPUT
from engine.base.errors import HarnessFault, UsageError, bad_file
from engine.base.files import os_error, sha256_of
from engine.base.text import neutralise
from engine.catalogue.task import Task
from engine.controls import GeneratedSkill, decoy_skill, every_skill, raw_sql_skill
from engine.gateway.gateway import FOLDER
from engine.references import list_targets
from engine.runs import hostile
from engine.runs.records import CONDITIONS

GIVEN = "given"
"""Folder of a run that keeps the skills' texts as they were given."""
WORK = "work"
"""Name of the agent's folder inside the run folder."""
SKILL = "SKILL.md"
"""The file that makes a folder a skill."""
_STANDING = ("agents.md", "claude.md", "gemini.md")
"""Files that agents read as standing instructions, wherever they lie."""
_NOTES = Path(__file__).parent / "notes"
_RESERVE = ".reserve"
_RESERVE_BYTES = 512 << 10
_MAX_SKILL_BYTES = 16 << 20
_LONGEST_SCRIPT = 400_000
_log = logging.getLogger(__name__)


def run_id(
    *,
    task: str,
    condition: str,
    schema: str,
    agent: str,
    model: str,
    trial: int,
    at: datetime,
) -> str:
    """``{task}_{condition}[_{schema}]_{agent}_{model}_t{trial}_{YYYYMMDD_HHMMSS}``."""
    parts = [task, condition]
    if schema != "native":
        parts.append(schema)
    parts += [agent, plain(model), f"t{trial}", at.astimezone(UTC).strftime("%Y%m%d_%H%M%S")]
    return "_".join(parts)


def plain(model: str) -> str:
    """A model's name as it may stand in a file name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", model).strip("-.")[:80] or "model"


def skills_for(task: Task, condition: str) -> tuple[Path | GeneratedSkill, ...]:
    """The skills that a condition puts before the agent: folders, or one that is made for it.

    Raises:
        UsageError: there is no such condition, or the task lacks what it needs.
    """
    if condition not in CONDITIONS:
        raise UsageError(
            f"There is no condition called {condition}.",
            todo=f"Use one of: {', '.join(CONDITIONS)}.",
        )
    if condition == "no-skill":
        return ()
    if condition == "operational-spec":
        if task.operational_spec is None:
            raise _lacks(task, condition, "operational-spec.md")
        return ()
    if condition == "with-skill":
        skills: tuple[Path | GeneratedSkill, ...] = task.skill_folders
    elif condition == "with-skill-all":
        skills = every_skill(task)
    else:
        skills = _control(task, condition)
    if not skills:
        raise _lacks(task, condition, "skill")
    for skill in skills:
        if isinstance(skill, Path) and not (skill / "SKILL.md").is_file():
            raise bad_file(
                skill, "The task names a skill that is not there.", todo="Mend task.toml."
            )
    return skills


def _control(task: Task, condition: str) -> tuple[Path | GeneratedSkill, ...]:
    """The control's material; that of a published task folder comes before ours."""
    inside = task.folder.glob(f"{condition.replace('with-skill', 'skills')}/*/SKILL.md")
    if folders := tuple(sorted(path.parent for path in inside)):
        return folders
    if condition == "with-skill-decoy":
        decoy = decoy_skill(task)
        return () if decoy is None else (decoy,)
    return (raw_sql_skill(task),) if task.target in list_targets() else ()


def _lacks(task: Task, condition: str, what: str) -> UsageError:
    return UsageError(
        f"The task {task.name} has no {what} for the condition {condition}.",
        todo="Choose another condition.",
    )


def instruction_for(task: Task, condition: str) -> str:
    """The whole text for the agent: two notes, the request with inside paths, the spec."""
    notes = "".join(
        (_NOTES / f"{name}.md").read_text(encoding="utf-8") for name in ("isolation", "convention")
    )
    text = f"{notes}{_request(task)}\n"
    if condition == "operational-spec" and task.operational_spec is not None:
        spec = task.operational_spec.read_text(encoding="utf-8").rstrip()
        text += f"\n## Operational specification\n\n{spec}\n"
    return text


def _request(task: Task) -> str:
    request = task.instruction.replace("{output_path}", f"{JOB}/{OUTPUT}")
    return request.replace("{db_path}", f"{JOB}/{DATABASE}").rstrip()


def texts_given(
    task: Task, condition: str, folder: Path, files: Mapping[str, object]
) -> frozenset[str]:
    """Which of a task's present texts a run had before it, e.g. ``sofa/SKILL.md``.

    A text that has been edited since is none of them. Where the run kept no hash or copy, those
    that its condition gives are taken.

    Args:
        task: the task as it is now.
        condition: the run's.
        folder: the run's folder.
        files: hashes of what the agent was given, by path, as the run recorded them.
    """
    found: set[str] = set()
    kept = folder / "instruction.md"
    text = kept.read_text("utf-8", "replace") if kept.is_file() and not kept.is_symlink() else None
    if text is None or _request(task) in text:
        found.add("instruction.md")
    spec = task.operational_spec
    if (
        condition == "operational-spec"
        and spec is not None
        and (text is None or spec.read_text("utf-8", "replace").rstrip() in text)
    ):
        found.add(spec.name)
    if condition in ("with-skill", "with-skill-all"):
        hashes = {"/".join(Path(name).parts[1:]): str(value) for name, value in files.items()}
        for skill in task.skill_folders:
            for path in sorted(skill.rglob("*.md")):
                recorded = hashes.get(path.relative_to(skill.parent).as_posix())
                if recorded == sha256_of(path) or not files:
                    found.add(f"{path.parent.name}/{path.name}")
    return frozenset(found)


def scripts_left(folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and text of the scripts that a run kept in ``agent/``: one without steps is its agent.

    At most 400,000 bytes of each are read; control characters are neutralised.
    """
    found = []
    for path in sorted((folder / "agent").glob("*")):
        if path.suffix in (".sql", ".py") and path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                text = file.read(_LONGEST_SCRIPT).decode("utf-8", "replace")
            found.append((path.name, neutralise(text)))
    return tuple(found)


def make(folder: Path) -> None:
    """Make a new run folder with an empty work folder and some room kept in reserve.

    Raises:
        FileExistsError: there is one of that name.
        StorageFull, MissingPrerequisite: in words.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        (folder / WORK).mkdir()
        # On a full disk the record of the end still finds room: see `release`.
        (folder / _RESERVE).write_bytes(bytes(_RESERVE_BYTES))
    except FileExistsError:
        raise
    except OSError as error:
        raise os_error(error, "making the run's folder") from error


def release(folder: Path) -> None:
    """Give up the work folder and the reserve; what cannot be deleted stays behind."""
    try:
        (folder / _RESERVE).unlink(missing_ok=True)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)  # of a killed gateway
        hostile.remove(folder / f"{WORK}.canary")  # of a canary that was killed
        hostile.remove(folder / WORK)
        for part in folder.glob(".*.part*"):  # files that a killed program had not finished
            part.unlink(missing_ok=True)
    except OSError as error:  # the record of the end matters more
        _log.warning("a work folder could not be deleted: %s", error.strerror)


def lay_out(
    work: Path,
    *,
    instruction: str,
    files: Mapping[str, bytes],
    skills: tuple[Path | GeneratedSkill, ...],
    skills_folder: str,
) -> None:
    """Write what the agent finds in its folder (the database is mounted, not written).

    Raises:
        StorageFull, MissingPrerequisite: in words.
        BadInput: a skill folder holds a link or is too large.
    """
    try:
        (work / INSTRUCTION).write_text(instruction, encoding="utf-8")
        for name, content in files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for skill in skills:
            to = work / skills_folder / skill.name
            if isinstance(skill, GeneratedSkill):
                to.mkdir(parents=True)
                (to / "SKILL.md").write_text(skill.text, encoding="utf-8")
            else:
                _copy_skill(skill, to)
    except OSError as error:
        raise os_error(error, "laying out the run's folder") from error


def prove_given(
    work: Path, skills: tuple[Path | GeneratedSkill, ...], skills_folder: str
) -> tuple[str, ...]:
    """The skill files that lie before the agent; nothing may but those of the condition.

    Looks through everything in the work folder, what is meant for the agent's HOME included.

    Raises:
        HarnessFault: there is a skill, or a file of standing instructions, that the condition
            does not give, or one that it gives is not there. The run must not start.
    """
    wanted = {f"{skills_folder}/{skill.name}/" for skill in skills}
    found = []
    for entry in hostile.walk(work):
        base = entry.name.rsplit("/", 1)[-1].lower()
        if base == SKILL.lower():
            found.append(entry.name)
        is_ours = any(entry.name.startswith(folder) for folder in wanted)
        if not is_ours and (base == SKILL.lower() or base in _STANDING):
            raise HarnessFault(f"The work folder holds {base}, which the condition does not give.")
    if missing := [folder for folder in wanted if f"{folder}{SKILL}" not in found]:
        raise HarnessFault(f"The work folder lacks {len(missing)} of the condition's skills.")
    return tuple(found)


def keep_given(place: Path, work: Path, skills_folder: str, proven: tuple[str, ...]) -> None:
    """Keep the skills' texts in the run's folder: who compares runs reads what each was given.

    Args:
        place: the run's folder.
        work: the agent's folder, before the agent has seen it.
        skills_folder: where in it the skills lie.
        proven: the skill files that lie there (`prove_given`).

    Raises:
        StorageFull, MissingPrerequisite: in words.
    """
    try:
        for name in proven:
            to = place / GIVEN / Path(name).relative_to(skills_folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes((work / name).read_bytes())
    except OSError as error:
        raise os_error(error, "keeping what the run was given") from error


def given_skill(place: Path, name: str, recorded: Collection[str]) -> str | None:
    """A skill's text as the run kept it; None where it kept none, or not the one it recorded.

    Args:
        place: the run's folder.
        name: the skill's.
        recorded: SHA-256 of the files that the run says it was given.
    """
    kept = place / GIVEN / name / SKILL
    # A record that another program wrote may name anything.
    if kept.resolve() != place.resolve() / GIVEN / Path(name).name / SKILL or not kept.is_file():
        return None
    if kept.stat().st_size > _MAX_SKILL_BYTES:
        return None
    return kept.read_text("utf-8", "replace") if sha256_of(kept) in recorded else None


def _copy_skill(skill: Path, to: Path) -> None:
    total = 0
    for path in sorted(skill.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        total += path.lstat().st_size
        if not stat.S_ISREG(mode) or total > _MAX_SKILL_BYTES:
            raise bad_file(
                path,
                "A skill may hold only ordinary files, 16 MiB together.",
                todo="Take it out of the skill's folder.",
            )
        target = to / path.relative_to(skill)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
