"""What was kept of an agent's files, for those who look at it; of other programs' runs as well."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.base.errors import M4Error
from engine.base.files import os_error
from engine.base.text import neutralise
from engine.runs.published import open_ordinary

OUTPUT = "output.csv"
EGRESS = "egress.jsonl"
_EGRESS_BYTES = 32 << 20
AGENT = "agent"
"""Folder of a run with the files that the agent made."""
SHOWN = 256 << 10
"""Bytes of a file that are read."""
_READING = "reading what the agent wrote"


@dataclass(frozen=True)
class KeptFile:
    """A file of the agent's, as it was when the agent ended."""

    name: str
    """Below the agent's folder."""
    text: str
    """Its begin, control characters neutralised."""
    size: int
    """Bytes of the whole file."""

    @property
    def cut(self) -> bool:
        """Is there more of it?"""
        return self.size > SHOWN


def kept_file(folder: Path, path: str) -> KeptFile | None:
    """What a run kept of a file that a step wrote; None when it was not kept.

    Args:
        folder: the run's folder.
        path: as the agent named it: absolute inside the sandbox, or relative.

    Raises:
        M4Error: it cannot be read.
    """
    name = posixpath.normpath(path.strip().removeprefix("/job/").removeprefix("./"))
    if not name or name.startswith(("/", "..", "~")) or name == ".":
        return None
    for top, below in ((folder / AGENT, name), (folder, OUTPUT if name == OUTPUT else "")):
        if not below:
            continue
        try:
            found = top / below
            if not found.resolve().is_relative_to(top.resolve()):
                continue  # a link in a folder that somebody else made
            with open_ordinary(found) as file:
                content = file.read(SHOWN)
                size = found.stat().st_size
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
            continue
        except OSError as error:
            raise os_error(error, _READING) from error
        except M4Error:
            continue  # no ordinary file: nothing that is shown
        return KeptFile(below, neutralise(content.decode("utf-8", "replace")), size)
    return None


def egress_rows(folder: Path) -> tuple[dict[str, Any], ...]:
    """The requests that came to a run's gateway, oldest first; empty when there is no log.

    Lines that are no JSON objects (half a line of a killed gateway) are passed over, texts are
    neutralised. At most 32 MiB of the log are read.

    Raises:
        M4Error: it cannot be read.
    """
    try:
        with open_ordinary(folder / EGRESS) as file:
            content = file.read(_EGRESS_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise os_error(error, "reading the log of the gateway") from error
    rows = []
    for line in content.decode("utf-8", "replace").splitlines():
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            rows.append({k: neutralise(v) if isinstance(v, str) else v for k, v in data.items()})
    return tuple(rows)
