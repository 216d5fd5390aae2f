"""The entries on disk: one file each, written whole or not at all, read with suspicion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from engine.base.errors import BadInput, Busy
from engine.base.files import os_error, write_json, writing
from engine.reviews.canonical import MOST_BYTES
from engine.reviews.chains import Chains, chains_of
from engine.reviews.entry import Entry, Kind, Seen, make, parse
from engine.reviews.identity import Signer
from engine.reviews.place import Place
from engine.reviews.problem import Problem

NAME = re.compile(r"[0-9a-f]{64}/[0-9]{6,9}-[0-9a-f]{64}\.json")
_PATIENCE = 30.0


@dataclass(frozen=True)
class Ledger:
    """Everything that lies in a ledger's folder."""

    entries: tuple[Entry, ...]
    """Those that hold, each once, by author and sequence."""
    damaged: tuple[Problem, ...]
    """Files that hold no entry."""

    @property
    def chains(self) -> Chains:
        """Each author's entries in order, and what is wrong with them."""
        return chains_of(self.entries)


@contextmanager
def locked(place: Place) -> Iterator[None]:
    """Be the only one on this machine who writes reviews.

    Raises:
        Busy: another program does.
    """
    lock = FileLock(place.lock)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise Busy("Another program writes reviews.", todo="Wait until it is done.") from None
    except OSError as error:
        raise os_error(error, "locking the reviews") from error
    try:
        yield
    finally:
        lock.release()


def read(folder: Path) -> Ledger:
    """All entries below a ledger's folder (this home's, or one on a share).

    What is no entry is told, and left where it is.

    Raises:
        MissingPrerequisite: the folder cannot be read.
    """
    entries: list[Entry] = []
    damaged: list[Problem] = []
    try:
        paths = sorted(folder.glob("*/*")) if folder.is_dir() else []
        for path in paths:
            name = path.relative_to(folder).as_posix()
            if path.name.startswith(".") and path.name.endswith(".part"):
                continue  # what a crash left of a write
            try:
                entries.append(_entry(path, name))
            except BadInput as error:
                damaged.append(Problem("damaged", f"{name[:8]}…/{path.name[:15]}…: {error.text}"))
    except OSError as error:
        raise os_error(error, "reading the ledger") from error
    return Ledger(tuple(entries), tuple(damaged))


def named(entry: Entry, name: str) -> Entry:
    """`entry`, if it lies under the name that it must have.

    Raises:
        BadInput: it does not.
    """
    if entry.path != name:
        raise BadInput("The entry does not lie under its own name: it was changed or moved.")
    return entry


def add(place: Place, entries: Iterable[Entry]) -> int:
    """Write the entries that are not there; returns how many were not. Needs `locked`.

    Raises:
        StorageFull, Busy, MissingPrerequisite: in words; what was written is whole.
    """
    count = 0
    for entry in entries:
        path = place.ledger / entry.path
        if path.is_file():
            continue
        with writing(path, "writing an entry of the ledger") as part:
            part.write_bytes(entry.data)
        count += 1
    return count


def append(
    place: Place, signer: Signer, kind: Kind, body: dict[str, Any], *, at: str | None = None
) -> Entry:
    """Sign and write one entry at the end of the signer's chain. Needs `locked`.

    Raises:
        BadInput: the own chain was cut, forked or damaged: to go on would make it two.
    """
    ledger = read(place.ledger)
    chains = ledger.chains
    chain = chains.chains.get(signer.author, ())
    before = chain[-1] if chain else None
    known = heads(place).get(signer.author)
    own = [entry for entry in ledger.entries if entry.author == signer.author]
    if len(own) != len(chain) or (known and (before is None or before.sequence < known.sequence)):
        raise BadInput(
            "Your own part of the ledger is not whole: entries that you signed are missing or "
            "damaged here. Signing now would make two chains of it.",
            todo="Merge a bundle that holds them (a colleague's will do), then do it again.",
        )
    seen = {
        author: Seen(sequence=each[-1].sequence, entry=each[-1].id)
        for author, each in chains.chains.items()
        if each and author != signer.author
    }
    entry = make(signer, kind, body, before=before, seen=seen, at=at)
    add(place, [entry])
    note_heads(place)
    return entry


def heads(place: Place) -> dict[str, Seen]:
    """How long each chain was known to be on this machine."""
    try:
        found = json.loads(place.heads.read_bytes())
        return {str(author): Seen.model_validate(head) for author, head in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def note_heads(place: Place) -> None:
    """Note how long each chain is now; never a shorter one. Needs `locked`."""
    known = heads(place)
    for author, chain in read(place.ledger).chains.chains.items():
        if chain and (author not in known or known[author].sequence < chain[-1].sequence):
            known[author] = Seen(sequence=chain[-1].sequence, entry=chain[-1].id)
    value = {author: head.model_dump() for author, head in sorted(known.items())}
    write_json(place.heads, value, "noting the ends of the chains")


def _entry(path: Path, name: str) -> Entry:
    if not NAME.fullmatch(name):
        raise BadInput("This file is none of a ledger's.")
    if path.is_symlink() or not path.is_file():
        raise BadInput("This is a link or no file.")
    if path.stat().st_size > MOST_BYTES:
        raise BadInput("The file is too long for an entry.")
    return named(parse(path.read_bytes()), name)
