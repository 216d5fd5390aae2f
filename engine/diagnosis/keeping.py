"""A run's diagnosis kept beside its diff, so that a screen and a report need not find out twice.

The file holds conditions and words that may name values: it never leaves the home.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pydantic

from engine.base.errors import M4Error
from engine.base.files import sha256_of, write_text
from engine.catalogue.task import Task
from engine.diagnosis.model import Diagnosis, Judged

NAME = "diagnosis.json"
"""Name of the file in the run's folder."""


@pydantic.dataclasses.dataclass(frozen=True)
class _Kept:
    key: str
    """Of everything that the diagnosis depends on."""
    seconds: float
    """What it was given for trying changes."""
    diagnosis: Diagnosis


_FORM = pydantic.TypeAdapter(_Kept)


def key_of(
    diff: Path,
    task: Task,
    source_digest: str,
    agent_sql: Sequence[str],
    judged: Iterable[Judged] = (),
) -> str:
    """Hash of all that a diagnosis rests on.

    That is the diff, the source, the task's texts, the agent's SQL, what the judge says of the
    output (others that cannot be read have the very same diff) and the code of diagnoses.
    """
    parts = [sha256_of(diff), task.name, source_digest, _code(), *agent_sql]
    parts += [item.detail for item in judged]
    folders = [task.folder, *task.skill_folders]
    texts = [path for folder in folders for path in sorted(folder.rglob("*.md"))]
    if task.operational_spec is not None:
        texts.append(task.operational_spec)
    parts += [sha256_of(path) for path in texts if path.is_file()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def kept(folder: Path, key: str, seconds: float) -> Diagnosis | None:
    """The diagnosis that was kept under `key`; None too where more time may find more."""
    try:
        found = _FORM.validate_json((folder / NAME).read_bytes())
    except (OSError, ValueError):  # none, or one of another form: it is found out anew
        return None
    enough = not found.diagnosis.cut_short or found.seconds >= seconds
    return found.diagnosis if found.key == key and enough else None


def keep(folder: Path, key: str, seconds: float, diagnosis: Diagnosis) -> None:
    """Keep a diagnosis; where that fails it is found out again the next time."""
    try:
        text = _FORM.dump_json(_Kept(key, seconds, diagnosis)).decode()
        write_text(folder / NAME, text, "keeping a diagnosis")
    except M4Error:
        return


@functools.cache
def _code() -> str:
    """Of the code of diagnoses: other code may find something else."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
