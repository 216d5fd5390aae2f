"""What is told about a source: plain frozen values, without a connection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.sources.schema import Kind

State = Literal["importing", "ready"]
Access = Literal["synthetic", "open", "credentialed"]

NOT_WHOLE = "not imported whole"
"""Being imported, stopped, or refused: nothing can be run on it."""
HOW_TO_GO_ON = (
    "Add the same folder or file again under this name: what is in stays, the rest follows, and "
    "what is wrong with a file is said. Or remove the source."
)
"""What can be done with a source that is not whole."""


@dataclass(frozen=True)
class TableInfo:
    """One imported table."""

    name: str
    """``schema.table``."""
    rows: int
    """Number of rows."""


@dataclass(frozen=True)
class MissingTable:
    """A table that the source lacks."""

    name: str
    """``schema.table``."""
    needed_for: tuple[str, ...]
    """What cannot be built without it ("concept bg", "target charlson"); may be empty."""


@dataclass(frozen=True)
class SourceInfo:
    """A registered source."""

    name: str
    """As the user called it."""
    kind: Kind
    """Which schemas it has."""
    state: State
    """``importing`` until every table is in (also after a kill), then ``ready``."""
    access: Access
    """``synthetic``: made here; ``open``: proved to be an official open demo; else
    ``credentialed``, which is the safe assumption."""
    path: Path
    """Its DuckDB file."""
    tables: tuple[TableInfo, ...]
    """What is in it (no derived tables)."""
    missing: tuple[MissingTable, ...]
    """What it lacks."""
    stays: int | None
    """Number of ICU stays; None when the table of stays is missing or not yet imported."""
    size_bytes: int
    """Size of the DuckDB file now, derived tables included."""
    added_at: str
    """ISO 8601, UTC."""
    digest: str
    """64 hex digits over the base tables' names, columns, types, row counts and contents,
    whatever the order of rows; empty while importing, and while it is `touched`."""
    touched: bool = False
    """Its file was changed by another program, and has not been looked at again since: nothing
    that was built from it holds. Building a reference or a derived table looks at it."""

    @property
    def state_words(self) -> str:
        """The state as people read it."""
        return "ready" if self.state == "ready" else NOT_WHOLE

    @property
    def todo(self) -> str:
        """How to go on with an import that did not come to its end; empty when ready."""
        return "" if self.state == "ready" else HOW_TO_GO_ON
