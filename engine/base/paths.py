"""The one place that knows where anything is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.base.errors import UsageError

ENV_HOME = "M4REVIEW_HOME"


@dataclass(frozen=True)
class Home:
    """Everything the program keeps, below one folder that `--home` moves."""

    root: Path
    """An absolute path; made (mode 0700: it holds patient data) by `open_home`."""

    @property
    def state(self) -> Path:
        """The SQLite file with sources, runs and their events."""
        return self.root / "state.db"

    @property
    def settings(self) -> Path:
        """What the user set, as TOML."""
        return self.root / "settings.toml"

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


def open_home(given: Path | str | None = None) -> Home:
    """The home folder: `given`, else ``$M4REVIEW_HOME``, else the platform's data directory.

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
    return Home(root)
