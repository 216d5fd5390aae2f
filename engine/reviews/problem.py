"""Something wrong with a ledger, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

What = Literal[
    "damaged", "forked", "missing", "broken", "clock", "unknown", "early", "not-blind", "sealed",
    "ignored",
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
        return self.what not in ("clock", "ignored")
