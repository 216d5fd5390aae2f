"""The one place that knows where anything is kept."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.base.content import use_content
from engine.base.errors import UsageError

ENV_HOME = "M4REVIEW_HOME"


@dataclass(frozen=True)
class Home:
    """Everything the program keeps, below one folder that `--home` moves."""

    root: Path
    """An absolute path; made (mode 0700: it holds patient data) by `open_home`.

    One that was there keeps its mode: it may be a folder that is shared for other reasons.
    """

    @property
    def state(self) -> Path:
        """The SQLite file with sources, runs and their events."""
        return self.root / "state.db"

    @property
    def audit(self) -> Path:
        """The audit log: everything that touched a source."""
        return self.root / "audit.jsonl"

    @property
    def settings(self) -> Path:
        """What the user set, as TOML."""
        return self.root / "settings.toml"

    @property
    def content(self) -> Path:
        """Says which folder of the user's own the tasks and skills lie in, where there is one."""
        return self.root / "content.json"

    @property
    def own_content(self) -> Path | None:
        """The user's own folder with `tasks/` and `skills/`; None for the shipped content."""
        try:
            root = json.loads(self.content.read_text(encoding="utf-8"))["root"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Path(root) if isinstance(root, str) else None

    @property
    def editing(self) -> Path:
        """One folder per edited text: what was typed, and what can be undone."""
        return self.root / "editing"

    @property
    def sources(self) -> Path:
        """One folder per registered source."""
        return self.root / "sources"

    @property
    def references(self) -> Path:
        """One folder per source with Parquet references and their manifests."""
        return self.root / "references"

    @property
    def workspaces(self) -> Path:
        """One folder per source with the databases that agents get."""
        return self.root / "workspaces"

    @property
    def runs(self) -> Path:
        """One folder per run."""
        return self.root / "runs"

    @property
    def traces(self) -> Path:
        """Steps of long traces as they were read, so that they need not be read again."""
        return self.root / "traces"

    @property
    def canaries(self) -> Path:
        """One folder per leak canary: what an agent was asked to find, and what it did."""
        return self.root / "canaries"

    @property
    def sandbox(self) -> Path:
        """The root file system that sandboxed programs see."""
        return self.root / "sandbox"

    @property
    def scratch(self) -> Path:
        """Spill files of queries; may be emptied when no program runs."""
        return self.root / "scratch"

    @property
    def logs(self) -> Path:
        """The program's own log files."""
        return self.root / "logs"

    @property
    def private(self) -> tuple[Path, ...]:
        """The folders that hold patient data; closed to others even where `root` is not."""
        return (
            *(self.sources, self.references, self.workspaces, self.runs),
            *(self.traces, self.scratch, self.logs),
        )


def open_home(given: Path | str | None = None) -> Home:
    """The home folder: `given`, else ``$M4REVIEW_HOME``, else the platform's data directory.

    From here on the process reads tasks and skills from where this home says.

    Raises:
        UsageError: the place is a file, or cannot be made or written.
    """
    chosen = given or os.environ.get(ENV_HOME) or platformdirs.user_data_dir("m4review", False)
    root = Path(chosen).expanduser().absolute()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "The home folder cannot be made.",
            todo="Name another one with --home.",
            details=error.strerror,
        ) from error
    if not os.access(root, os.W_OK | os.X_OK):
        raise UsageError("The home folder cannot be written.", todo="Name another one with --home.")
    home = Home(root)
    _close_to_others(home)
    own = home.own_content
    # A folder that is gone (a drive that is not mounted) is told by whoever shows texts.
    use_content(own if own is not None and (own / "tasks").is_dir() else None)
    return home


def _close_to_others(home: Home) -> None:
    for folder in home.private:
        # A full disk or somebody else's folder is told by whoever writes there.
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)
