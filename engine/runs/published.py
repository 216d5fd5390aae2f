"""Run folders of the published harness: found below a folder, read, and never changed.

Whatever their `result.json` says is somebody else's word: fields that this program knows are
checked, all others are kept as they are. A record that cannot be read is told, and the others
are taken all the same.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from engine.base.errors import M4Error, bad_file
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.runs.records import RunSummary
from engine.runs.result import RESULT
from engine.runs.states import State

MAX_RECORD_BYTES = 64 << 20
"""Of one `result.json`; program output is in it."""
_MAX_DEPTH = 8
_MAX_TEXT = 300
_MAX_FOLDERS = 200_000
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,239}")
_STAMP = re.compile(r"(\d{8}_\d{6})$")


@dataclass(frozen=True)
class Published:
    """One run folder that was read."""

    folder: Path
    """Where it is."""
    summary: RunSummary
    """What lists show."""
    raw: Mapping[str, Any]
    """Its `result.json`."""


@dataclass(frozen=True)
class Unusable:
    """One run folder that was not taken."""

    name: str
    """Its path below the folder that was imported."""
    text: str
    """Why, in words."""


def find_runs(top: Path, *, job: Job) -> Iterator[Published | Unusable]:
    """Every run folder at or below `top`, in the order of names.

    A folder with a `result.json` is a run folder; nothing is looked for below it, and no
    link is followed.

    Raises:
        BadInput: `top` cannot be listed.
        Cancelled: the user stopped it.
    """
    for folder in _run_folders(top, job):
        name = str(folder.relative_to(top)) if folder != top else top.name
        try:
            yield read_run(folder)
        except M4Error as error:
            yield Unusable(name, error.text)


def _run_folders(top: Path, job: Job) -> Iterator[Path]:
    waiting, looked_at = [(top, 0)], 0
    while waiting:
        job.check()
        folder, depth = waiting.pop()
        looked_at += 1
        if looked_at > _MAX_FOLDERS:
            raise bad_file(
                top, "There are more folders below it than a results folder has.",
                todo="Name the results folder itself.",
            )  # fmt: skip
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            if folder == top:
                raise bad_file(
                    top,
                    f"The folder cannot be read: {error.strerror}.",
                    todo="Name a folder of run folders, or an archive of them.",
                ) from error
            continue
        if any(entry.name == RESULT for entry in entries):
            yield folder
        elif depth < _MAX_DEPTH:
            below = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
            waiting += [(Path(entry.path), depth + 1) for entry in below]


def read_run(folder: Path) -> Published:
    """Read one run folder.

    Raises:
        BadInput: its `result.json` is none; in words.
    """
    path = folder / RESULT
    raw = _document(path)
    found = _Fields(path, raw)
    task = found.text("task", required=True)
    name = raw.get("run_id") or folder.name
    if not isinstance(name, str) or not _RUN_ID.fullmatch(name):
        raise bad_file(path, "Its run_id could not be the name of a folder.", column="run_id")
    tests = found.part("test_results")
    outcome = found.part("agent_result")
    reward = found.share("reward", tests if "reward" in tests else raw)
    reason = raw.get("failure_reason") or outcome.get("failure_reason") or None
    started = _when(raw.get("timestamp"), name, path)
    seconds = outcome.get("elapsed_seconds")
    lasted = seconds if isinstance(seconds, int | float) and 0 <= seconds < 1 << 31 else 0.0
    strict = _strict(tests)
    return Published(
        folder=folder,
        summary=RunSummary(
            run_id=name,
            task=task,
            source="",
            agent=found.text("agent"),
            model=found.text("model"),
            condition=found.text("condition"),
            schema=found.text("schema") or "native",
            trial=found.number("trial"),
            state=(State.FAILED if reason else State.DONE).value,
            failure_reason=str(reason) if reason else None,
            reward=reward,
            strict_pass=strict,
            started_at=_iso(started),
            ended_at=_iso(started + timedelta(seconds=lasted)),
            live=False,
            origin="published",
        ),
        raw=raw,
    )


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file of somebody else's folder, never through a link.

    Raises:
        BadInput: it is a link, a folder, a pipe, a device.
        OSError: it cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise bad_file(path, f"{path.name} is a symbolic link.") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise bad_file(path, f"{path.name} is no ordinary file.")
    return os.fdopen(handle, "rb")


def _document(path: Path) -> dict[str, Any]:
    try:
        with open_ordinary(path) as file:
            content = file.read(MAX_RECORD_BYTES + 1)
        if len(content) > MAX_RECORD_BYTES:
            raise bad_file(path, "Its result.json is larger than 64 MiB.")
        raw = json.loads(content)
        json.dumps(raw, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise bad_file(path, "Its result.json is not UTF-8 text.") from error
    except json.JSONDecodeError as error:
        raise bad_file(
            path, f"Its result.json is no JSON (line {error.lineno}).", line=error.lineno
        ) from error
    except (ValueError, RecursionError) as error:
        raise bad_file(path, "Its result.json holds what JSON does not know.") from error
    except OSError as error:
        raise os_error(error, "reading a run's record") from error
    if not isinstance(raw, dict):
        raise bad_file(path, "Its result.json is no JSON object.")
    return raw


@dataclass(frozen=True)
class _Fields:
    """Reads fields of a record; a wrong one is told by name."""

    path: Path
    raw: Mapping[str, Any]

    def _wrong(self, name: str, what: str) -> M4Error:
        return bad_file(self.path, f"The field {name} of its result.json {what}.", column=name)

    def text(self, name: str, *, required: bool = False) -> str:
        value = self.raw.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT or not value.isprintable():
            raise self._wrong(name, "is missing" if value is None else "is no short text")
        return value

    def number(self, name: str) -> int:
        value = self.raw.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
            raise self._wrong(name, "is no count")
        return value

    def share(self, name: str, of: Mapping[str, Any]) -> float | None:
        value = of.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._wrong(name, "is no number from 0 to 1")
        return float(value)

    def part(self, name: str) -> Mapping[str, Any]:
        value = self.raw.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(name, "is no JSON object")
        return value


def _strict(tests: Mapping[str, Any]) -> bool | None:
    """Every diagnostic holds. A row with errors is none, whatever `diagnostics_failed` says."""
    if not tests or tests.get("reward") is None:
        return None
    counts = [tests.get(name) for name in ("passed", "failed", "errors")]
    if not all(isinstance(count, int) for count in counts):
        return None
    passed, failed, errors = counts
    return bool(passed) and not failed and not errors


def _when(stamp: object, name: str, path: Path) -> datetime:
    """When the run was begun: its timestamp, else that of its name, else the file's time."""
    texts = [stamp] if isinstance(stamp, str) else []
    if match := _STAMP.search(name):
        texts.append(match[1])
    for text in texts:
        for read in (datetime.fromisoformat, _compact):
            try:
                found = read(text)
            except ValueError:
                continue
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _compact(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%d_%H%M%S").replace(tzinfo=UTC)


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def same(one: float | None, other: float | None) -> bool:
    """Are two recorded figures the same at the 8 decimals that records keep?"""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=0, abs_tol=1e-8)
