"""Earlier versions of a file from a git work tree, read and nothing else.

`git` is called without hooks, pager, signature programs or network, and writes nothing. Where it
is absent, or the file is in no work tree, there are no versions, which is no error.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import BadInput

_SAFE = (
    "--no-pager", "--no-optional-locks", "--literal-pathspecs",
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false",
    "-c", "protocol.allow=never", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false",
)  # fmt: skip
_SECONDS = 20
_MOST = 8 << 20
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_LEFT = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
"""Of the environment: nothing of it may lead git to another repository or program."""


@dataclass(frozen=True)
class Commit:
    """One commit that changed the file."""

    id: str
    """Its hash."""
    at: str
    """When it was made, ISO 8601."""
    author: str
    """Who wrote it."""
    subject: str
    """The first line of its message."""


def commits_of(path: Path, most: int = 200) -> tuple[Commit, ...]:
    """The commits that changed a file, newest first; none without git or work tree."""
    answer = _git(
        path, "log", f"-n{most}", "-z", "--no-show-signature", "--date=iso-strict",
        "--format=%H%x1f%aI%x1f%an%x1f%s", "--", path.name,
    )  # fmt: skip
    found = []
    for entry in (answer or b"").decode("utf-8", "replace").split("\0"):
        parts = entry.strip("\n").split("\x1f")
        if len(parts) == len(Commit.__dataclass_fields__) and _COMMIT.fullmatch(parts[0]):
            found.append(Commit(*parts))
    return tuple(found)


def text_at(path: Path, commit: str) -> str:
    """What the file held after a commit.

    Raises:
        BadInput: there is no such version, or it is no UTF-8 text of a sensible size.
    """
    spec = f"{commit}:./{path.name}"
    if _COMMIT.fullmatch(commit) is None or (data := _git(path, "cat-file", "blob", spec)) is None:
        raise BadInput(
            "That version cannot be read from the git history.", todo="Choose another one."
        )
    return decoded(data, "That version")


def decoded(data: bytes, called: str) -> str:
    """The text of a version.

    Raises:
        BadInput: it is no UTF-8 text, or too long to be one of ours.
    """
    if len(data) > _MOST:
        raise BadInput(f"{called} is too long for a text.", todo="Choose another one.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{called} is no UTF-8 text.", todo="Choose another one.") from error


def _git(path: Path, *words: str) -> bytes | None:
    kept = {name: os.environ[name] for name in _LEFT if name in os.environ}
    try:
        done = subprocess.run(
            ["git", *_SAFE, *words],
            cwd=path.absolute().parent,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
