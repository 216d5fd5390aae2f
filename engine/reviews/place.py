"""Where reviews are kept below the home, and what of it may ever leave it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.base.files import os_error
from engine.base.paths import Home


@dataclass(frozen=True)
class Place:
    """The folder `reviews/` of a home. Only ledger, texts and annexes are ever exported."""

    root: Path
    """`HOME/reviews`, closed to others: drafts are private."""

    @property
    def ledger(self) -> Path:
        """`AUTHOR/SEQUENCE-HASH.json`, one file per entry."""
        return self.root / "ledger"

    @property
    def texts(self) -> Path:
        """`HASH.txt`: the normalised texts that were signed."""
        return self.root / "texts"

    @property
    def annexes(self) -> Path:
        """`HASH.sealed`: rows that belong to a review, encrypted like it."""
        return self.root / "annexes"

    @property
    def drafts(self) -> Path:
        """Forms that are being filled in; never exported."""
        return self.root / "drafts"

    @property
    def index(self) -> Path:
        """SQLite, made from the ledger, at any time again."""
        return self.root / "index.db"

    @property
    def heads(self) -> Path:
        """How long each author's chain was known to be, so that a cut is noticed."""
        return self.root / "heads.json"

    @property
    def me(self) -> Path:
        """Which identity is this workstation's."""
        return self.root / "me.json"

    @property
    def compared(self) -> Path:
        """Whose fingerprint was compared out of band here."""
        return self.root / "compared.json"

    @property
    def lock(self) -> Path:
        """Held by whoever writes."""
        return self.root / "lock"


def place_of(home: Home) -> Place:
    """The folder, made where it is not there.

    Raises:
        StorageFull, MissingPrerequisite: it cannot be made.
    """
    root = home.root / "reviews"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise os_error(error, "making the folder of reviews") from error
    return Place(root)
