"""Each author's entries as one chain: forks, gaps, cut ends and clocks are told.

A pure function of the set of entries: in whatever order they came, and however often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.base.text import neutralise
from engine.reviews.entry import START, Entry, Seen
from engine.reviews.problem import Problem

SKEW = timedelta(minutes=5)
"""Clocks may differ by so much."""


@dataclass(frozen=True)
class Chains:
    """What counts of a set of entries."""

    chains: Mapping[str, tuple[Entry, ...]]
    """Per author the unbroken, unforked beginning of the chain."""
    problems: tuple[Problem, ...]
    """Everything that is wrong, sorted."""

    @property
    def counted(self) -> dict[str, Entry]:
        """All entries that count, by their hash."""
        return {entry.id: entry for chain in self.chains.values() for entry in chain}

    def name(self, author: str) -> str:
        """What people call the author."""
        return who(author, self.chains.get(author, ()))


def who(author: str, chain: Iterable[Entry]) -> str:
    """The name in an author's first entry, with the beginning of the fingerprint."""
    for entry in chain:
        if entry.kind == "identity":
            return f"{neutralise(str(entry.body.get('name')))} ({author[:8]})"
    return f"somebody ({author[:8]})"


def chains_of(entries: Iterable[Entry]) -> Chains:
    """The chains of a set of entries."""
    by_author: dict[str, dict[int, dict[str, Entry]]] = defaultdict(lambda: defaultdict(dict))
    for entry in entries:
        by_author[entry.author][entry.sequence][entry.id] = entry
    chains: dict[str, tuple[Entry, ...]] = {}
    problems: set[Problem] = set()
    for author, places in sorted(by_author.items()):
        chain, wrong = _chain(places)
        chains[author] = tuple(chain)
        problems |= {Problem(p.what, f"{who(author, chain)}: {p.words}") for p in wrong}
    problems |= _seen(chains)
    problems |= _clocks(chains)
    return Chains(chains, tuple(sorted(problems)))


def cut(chains: Chains, known: Mapping[str, Seen]) -> list[Problem]:
    """Chains that were longer on this machine once, or went on differently."""
    found = []
    for author, head in sorted(known.items()):
        chain = chains.chains.get(author, ())
        if len(chain) < head.sequence:
            found.append(
                Problem(
                    "missing",
                    f"{chains.name(author)}: {head.sequence} entries were here, "
                    f"{len(chain)} can be used now; the end was cut off",
                )
            )
        elif chain[head.sequence - 1].id != head.entry:
            found.append(
                Problem("forked", f"{chains.name(author)}: entry {head.sequence} was another one")
            )
    return found


def ahead(chains: Chains, now: datetime) -> list[Problem]:
    """Entries from the future."""
    return [
        Problem("clock", f"{chains.name(author)}: entry {entry.sequence} is dated in the future")
        for author, chain in sorted(chains.chains.items())
        for entry in chain
        if entry.time > now + SKEW
    ]


def _chain(places: Mapping[int, Mapping[str, Entry]]) -> tuple[list[Entry], list[Problem]]:
    chain: list[Entry] = []
    last = max(places)
    for sequence in range(1, last + 1):
        # Not range(last) entries of work for a hostile number: it stops at the first gap.
        found = places.get(sequence, {})
        if not found:
            more = sum(len(each) for at, each in places.items() if at > sequence)
            words = f"entry {sequence} is missing; {more} after it do not count until it is here"
            return chain, [Problem("missing", words)]
        if len(found) > 1:
            words = (
                f"the chain forks: there are {len(found)} different entries {sequence}, all "
                "signed; neither counts, nor what follows"
            )
            return chain, [Problem("forked", words)]
        (entry,) = found.values()
        if entry.previous != (chain[-1].id if chain else START):
            words = f"entry {sequence} does not follow the entry before it"
            return chain, [Problem("broken", words)]
        if (entry.kind == "identity") != (sequence == 1):
            words = f"entry {sequence}: a chain begins with an identity, and has only one"
            return chain, [Problem("broken", words)]
        chain.append(entry)
    return chain, []


def _seen(chains: Mapping[str, tuple[Entry, ...]]) -> set[Problem]:
    """What others have seen and is not here, or is another here."""
    farthest: dict[str, int] = {}
    problems: set[Problem] = set()
    for author, chain in chains.items():
        for entry in chain:
            for other, seen in entry.seen.items():
                there = chains.get(other, ())
                if seen.sequence > len(there):
                    farthest[other] = max(farthest.get(other, 0), seen.sequence)
                elif there[seen.sequence - 1].id != seen.entry:
                    words = (
                        f"{who(author, chain)} was shown another entry {seen.sequence} of "
                        f"{who(other, there)} than this ledger holds: that chain forks"
                    )
                    problems.add(Problem("forked", words))
    for other, sequence in farthest.items():
        there = chains.get(other, ())
        words = (
            f"{who(other, there)}: others have seen {sequence} entries, {len(there)} can be used "
            "here; merge a newer bundle"
        )
        problems.add(Problem("missing", words))
    return problems


def _clocks(chains: Mapping[str, tuple[Entry, ...]]) -> set[Problem]:
    problems: set[Problem] = set()
    for author, chain in chains.items():
        name = who(author, chain)
        for number, entry in enumerate(chain):
            if number and entry.time < chain[number - 1].time - SKEW:
                words = f"{name}: entry {entry.sequence} is dated before the one that it follows"
                problems.add(Problem("clock", words))
            for other, seen in entry.seen.items():
                there = chains.get(other, ())
                if seen.sequence <= len(there) and (
                    entry.time < there[seen.sequence - 1].time - SKEW
                ):
                    words = (
                        f"{name}: entry {entry.sequence} is dated before an entry of "
                        f"{who(other, there)} that it had seen; one of the two clocks is wrong"
                    )
                    problems.add(Problem("clock", words))
    return problems
