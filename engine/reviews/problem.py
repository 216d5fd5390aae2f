"""Something wrong with a ledger, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

What = Literal[
    "damaged", "forked", "missing", "broken", "clock", "unknown", "early", "not-blind", "sealed",
    "ignored", "unreadable",
]  # fmt: skip


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong."""

    what: What
    """Kind: a damaged file, a forked or cut chain, a clock, an act that does not count …"""
    words: str
    """For people."""

    @property
    def serious(self) -> bool:
        """Does it put what the ledger says in doubt?"""
        return self.what not in ("clock", "ignored", "unreadable")

    @property
    def title(self) -> str:
        """Its kind, in words."""
        return _TITLES[self.what]

    @property
    def todo(self) -> str:
        """What to do about it."""
        return _TODO[self.what]


_TITLES: dict[What, str] = {
    "damaged": "A damaged file",
    "forked": "Two histories of one person",
    "missing": "Entries are missing",
    "broken": "An entry that does not hold",
    "clock": "A clock is wrong",
    "unknown": "An entry of a newer version",
    "early": "A key came too early",
    "not-blind": "A review that was not blind",
    "sealed": "A seal does not open",
    "ignored": "An act that does not count",
    "unreadable": "A task whose texts cannot be read",
}
_TODO: dict[What, str] = {
    "damaged": "The file was changed or cut short on this disk. Put it aside and merge a "
    "colleague's bundle: whole entries come back with it.",
    "forked": "Somebody signed two different entries with one number: a copy of a home was used "
    "twice, or somebody tampers. Speak with the person (not by the way the bundle took); nothing "
    "counts from there on.",
    "missing": "Ask the person named for a newer bundle and import it: then everything counts.",
    "broken": "It does not count. Ask who signed it what happened, and compare fingerprints.",
    "clock": "Set the clock of that workstation. What came before what is known without it.",
    "unknown": "Use a newer version of this program.",
    "early": "It opened nothing here. Ask the person not to give keys by hand.",
    "not-blind": "It is shown, and does not count as blind. Ask for another round.",
    "sealed": "The key that was given does not fit the sealed review. Ask for a new bundle, and "
    "compare fingerprints.",
    "ignored": "Nothing has to be done; the first one stands.",
    "unreadable": "Put the file back or correct it. Until then nobody can say whether what was "
    "signed about this task still holds.",
}
