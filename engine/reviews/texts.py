"""The texts that a signature binds: normalised, hashed, kept, and compared later."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.base.content import content_folder
from engine.base.errors import BadInput, UsageError
from engine.base.files import write_text
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task, load_task
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED
from engine.references.manifest import manifest_path, read_manifest
from engine.references.targets import list_targets
from engine.reviews.canonical import canonical, sha256
from engine.reviews.checklist import Item
from engine.reviews.place import Place
from engine.sources import list_sources

MANIFEST = "manifest"
_FRONT = re.compile(r"\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
_TIER = re.compile(r"^tier:.*$", re.MULTILINE)
_HERE_ONLY = {
    "format", "source", "parquet_sha256", "parquet_bytes", "parquet_mtime_ns", "built_at",
}  # fmt: skip
"""Of a manifest: what differs between two workstations with the same data and definition."""


@dataclass(frozen=True)
class Content:
    """Where the benchmark's content lies."""

    root: Path | None = None
    """A folder with `tasks/` and `skills/`; None for the shipped content."""

    @property
    def tasks(self) -> Path:
        """The tasks."""
        return self.root / "tasks" if self.root else content_folder("tasks")

    @property
    def skills(self) -> Path:
        """The skills that tasks name."""
        return self.root / "skills" if self.root else content_folder("skills")

    def task(self, name: str) -> Task:
        """The task of that name (or in that folder).

        Raises:
            UsageError: there is none.
        """
        return find_task(name, self.tasks)

    def skill_files(self, task: Task) -> tuple[Path, ...]:
        """The SKILL.md of each skill of a task."""
        inside = (task.folder / "skills").is_dir()
        return tuple(
            (folder if inside else self.skills / folder.name) / "SKILL.md"
            for folder in task.skill_folders
        )


@dataclass(frozen=True)
class Change:
    """One text that is not what was signed."""

    text: str
    """Its name."""
    what: Literal["changed", "added", "removed"]
    """Since it was signed."""

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.text} was {self.what}"


@dataclass(frozen=True)
class Now:
    """A task's texts as they are."""

    texts: Mapping[str, str]
    """Hash by name, without manifest."""
    manifests: frozenset[str]
    """Hash of the manifest of each source here that has a reference of this task."""


def normalise(text: str, *, skill: bool = False) -> str:
    """The text without what says nothing: line ends, trailing blanks, Unicode spelling.

    A line stays the line that it was. The tier of a skill's front matter is left out of it: it is
    written from the ledger.
    """
    text = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"
    front = _FRONT.match(text) if skill else None
    if front is not None:
        text = _TIER.sub("tier:", front.group()) + text[front.end() :]
    return text


def texts_of(home: Home, task: Task, content: Content, source: str | None = None) -> dict[str, str]:
    """The task's texts as they are now, normalised, by name.

    Names: ``instruction``, ``task.toml``, ``operational-spec``, ``skill:NAME``, ``sql:TARGET``,
    ``sql:mimiciv_derived.NAME`` and, where a source is given, ``manifest``.

    Raises:
        BadInput: a file cannot be read, or the source has no reference for this task.
    """
    named: dict[str, str] = {
        "instruction": _read(task.folder / "instruction.md"),
        "task.toml": _read(task.folder / "task.toml"),
    }
    if task.operational_spec is not None:
        named["operational-spec"] = _read(task.operational_spec)
    texts = {name: normalise(text) for name, text in named.items()}
    for path in content.skill_files(task):
        texts[f"skill:{path.parent.name}"] = normalise(_read(path), skill=True)
    target = list_targets().get(task.target)
    if target is not None:
        texts[f"sql:{target.name}"] = normalise(target.text)
        for query in concept_graph().order(target.concepts):
            texts[f"sql:{DERIVED}.{query.name}"] = normalise(query.text)
    if source is not None:
        manifest = _manifest(home, source, task)
        if manifest is None:
            raise BadInput(
                f"There is no reference of {task.name} for {source}.",
                todo=f"Build it: m4bench references build {source} --target {task.target}",
            )
        texts[MANIFEST] = manifest
    return texts


def hashes(texts: Mapping[str, str]) -> dict[str, str]:
    """SHA-256 of each text."""
    return {name: sha256(text.encode()) for name, text in sorted(texts.items())}


def now_of(home: Home, task: Task, content: Content) -> Now:
    """The task's texts as they are on this machine."""
    found = [_manifest(home, name, task) for name in _sources(home)]
    manifests = frozenset(sha256(text.encode()) for text in found if text is not None)
    return Now(hashes(texts_of(home, task, content)), manifests)


def since(signed: Mapping[str, str], now: Now, item: Item | None = None) -> list[Change]:
    """What is no longer as it was signed, by name; only what `item` rests on, where one is given.

    A manifest counts as changed where this workstation has references of this task and none is
    the signed one; where it has none, nothing can be said and nothing is.
    """
    here = dict(now.texts)
    if MANIFEST in signed:
        known = signed[MANIFEST] in now.manifests or not now.manifests
        here[MANIFEST] = signed[MANIFEST] if known else min(now.manifests)
    return [c for c in compare(signed, here) if item is None or item.rests_on(c.text)]


def compare(signed: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """The texts whose hashes differ, by name."""
    found = []
    for name in sorted({*signed, *now}):
        if name not in now:
            found.append(Change(name, "removed"))
        elif name not in signed:
            found.append(Change(name, "added"))
        elif signed[name] != now[name]:
            found.append(Change(name, "changed"))
    return found


def keep(place: Place, texts: Mapping[str, str]) -> None:
    """Keep the texts that are signed, by hash, so that a later change can be shown."""
    for text in texts.values():
        path = place.texts / f"{sha256(text.encode())}.txt"
        if not path.exists():
            write_text(path, text, "keeping a signed text")


def kept(place: Place, digest: str) -> str | None:
    """The text of that hash; None where it is not here or was touched."""
    try:
        data = (place.texts / f"{digest}.txt").read_bytes()
    except OSError:
        return None
    return data.decode("utf-8") if sha256(data) == digest else None


def difference(place: Place, digest: str, now: str) -> str | None:
    """The signed text against `now` as a unified diff; None where the signed one is not here."""
    before = kept(place, digest)
    if before is None:
        return None
    lines = difflib.unified_diff(
        before.splitlines(), now.splitlines(), "signed", "now", lineterm=""
    )
    return "\n".join(lines)


def tasks_in(content: Content) -> dict[str, Task]:
    """All tasks that can be read, by name."""
    found = {}
    for path in sorted(content.tasks.glob("*/*/task.toml")):
        try:
            task = load_task(path.parent)
        except BadInput:
            continue  # said by the lint; its reviews cannot be compared
        found[task.name] = task
    return found


def _sources(home: Home) -> list[str]:
    if not home.state.exists():
        return []
    return [info.name for info in list_sources(home)]


def _manifest(home: Home, source: str, task: Task) -> str | None:
    manifest = read_manifest(manifest_path(home, source, task.target))
    if manifest is None:
        return None
    return canonical(manifest.model_dump(mode="json", exclude=_HERE_ONLY)).decode()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent.name}/{path.name} is not there.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.parent.name}/{path.name} is not UTF-8 text.") from error
