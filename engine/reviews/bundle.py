"""Bundles: a ledger as one file that any carrier brings to another workstation.

A zip with a manifest. It holds entries, signed texts and, where the source's policy lets them
leave, rows (encrypted like their reviews). Never drafts, keys, the index or anything else of the
home. What comes in is hostile until every byte of it has been checked; then all is taken, or none.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine import audit
from engine.base.errors import BadInput, UsageError, bad_file
from engine.base.files import os_error, writing
from engine.base.text import neutralise
from engine.reviews import ledger
from engine.reviews.acts import Desk
from engine.reviews.bodies import Review, body_of
from engine.reviews.canonical import MOST_BYTES, sha256
from engine.reviews.chains import cut
from engine.reviews.entry import Entry, parse
from engine.reviews.place import Place
from engine.reviews.problem import Problem
from engine.reviews.state import State, state_of

FORMAT = 1
_MANIFEST = "manifest.json"
_MOST_FILES = 200_000
_MOST_TOTAL = 512 << 20
_MOST_ANNEX = 16 << 20
_MOST_MANIFEST = 64 << 20
_ENTRY = re.compile(r"ledger/([0-9a-f]{64}/[0-9]{6,9}-[0-9a-f]{64}\.json)")
_TEXT = re.compile(r"texts/([0-9a-f]{64})\.txt")
_ANNEX = re.compile(r"annexes/([0-9a-f]{64})\.sealed")
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError, OverflowError, MemoryError,
)  # fmt: skip
"""What reading a file from memory that is no sound zip can come to."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Exported:
    """What was written."""

    entries: int
    """Entries of the ledger."""
    texts: int
    """Signed texts."""
    annexes: int
    """Encrypted rows."""
    kept_back: int
    """Encrypted rows that the source's policy does not let leave."""


@dataclass(frozen=True)
class Preview:
    """What a bundle would hold."""

    people: int
    """Identities."""
    assignments: int
    """Who was asked to review what."""
    reviews: int
    """Reviews, sealed as they are."""
    keys: int
    """Keys of reviews that every reviewer has signed."""
    adjudications: int
    """Decisions."""
    texts: int
    """Signed texts."""
    rows: int
    """Encrypted rows of synthetic and open sources."""
    kept_back: int
    """Encrypted rows of credentialed sources: they stay unless they are asked for."""


@dataclass(frozen=True)
class Merged:
    """What a merge brought."""

    entries: int
    """Entries that were not here."""
    known: int
    """Entries that were."""
    texts: int
    """Signed texts that were not here."""
    annexes: int
    """Encrypted rows that were not here."""
    problems: tuple[Problem, ...]
    """Of the ledger after it."""
    acts: tuple[str, ...] = ()
    """What the new entries say, in words; nothing of what is under seal."""


@dataclass(frozen=True)
class _Content:
    entries: tuple[Entry, ...]
    texts: dict[str, bytes]
    annexes: dict[str, bytes]


def export(desk: Desk, to: Path, *, with_rows: bool = False) -> Exported:
    """Write everything that colleagues need into one file; the same ledger gives the same bytes.

    Args:
        desk: this workstation.
        to: the zip.
        with_rows: also rows of credentialed sources (encrypted until all reviewers have signed).
            The caller has asked the person; it is recorded in the audit log.

    Raises:
        BadInput: the ledger holds damaged files: what is damaged is not passed on.
        StorageFull, MissingPrerequisite: it cannot be written.
    """
    place = desk.place
    found = _whole(place)
    free, bound = _annexes(found.entries)
    files = {f"ledger/{entry.path}": entry.data for entry in found.entries}
    count = len(files)
    for path in sorted(place.texts.glob("*.txt")) if place.texts.is_dir() else []:
        data = path.read_bytes()
        if sha256(data) == path.stem:
            files[f"texts/{path.name}"] = data
    texts = len(files) - count
    wanted = [name for name in (free | bound if with_rows else free) if _here(place, name)]
    held = [name for name in bound if _here(place, name)]
    if with_rows and held:
        audit.note(
            desk.home, "export.reviews", source=None, object=to.name, facts={"annexes": len(held)}
        )
    files |= {f"annexes/{name}.sealed": _path(place, name).read_bytes() for name in wanted}
    _write(to, files)
    kept_back = 0 if with_rows else len(held)
    return Exported(count, texts, len(wanted), kept_back)


def preview(desk: Desk) -> Preview:
    """What `export` would write, to be told before.

    Raises:
        BadInput: the ledger holds damaged files.
    """
    place = desk.place
    entries = _whole(place).entries
    free, bound = _annexes(entries)
    texts = len(list(place.texts.glob("*.txt"))) if place.texts.is_dir() else 0
    return Preview(
        people=sum(entry.kind == "identity" for entry in entries),
        assignments=sum(entry.kind == "assign" for entry in entries),
        reviews=sum(entry.kind == "review" for entry in entries),
        keys=sum(entry.kind == "reveal" for entry in entries),
        adjudications=sum(entry.kind == "adjudicate" for entry in entries),
        texts=texts,
        rows=sum(_here(place, name) for name in free),
        kept_back=sum(_here(place, name) for name in bound),
    )


def export_identity(desk: Desk, author: str, to: Path) -> Exported:
    """Write one person's identity (name, role, public key) alone, as a bundle.

    Raises:
        UsageError: the ledger does not know the person.
        BadInput, StorageFull, MissingPrerequisite: as `export`.
    """
    found = [e for e in _whole(desk.place).entries if e.author == author and e.kind == "identity"]
    if not found:
        raise UsageError("There is no identity here yet.", todo="Make one first.")
    _write(to, {f"ledger/{entry.path}": entry.data for entry in found})
    return Exported(len(found), 0, 0, 0)


def _whole(place: Place) -> ledger.Ledger:
    with ledger.locked(place):
        found = ledger.read(place.ledger)
    if found.damaged:
        raise BadInput(
            f"The ledger holds {len(found.damaged)} damaged files.",
            todo="See m4bench review verify; merge a colleague's bundle to mend it.",
        )
    return found


def merge(desk: Desk, path: Path) -> Merged:
    """Take a bundle, or a ledger's folder on a share. Any order, any number of times.

    Raises:
        BadInput: something in it does not hold; nothing was taken.
        StorageFull, Busy: in words; what was written is whole, and merging again goes on.
    """
    content = _folder(path) if path.is_dir() else _bundle(path)
    place = desk.place
    with ledger.locked(place):
        before = {entry.id for entry in ledger.read(place.ledger).entries}
        fresh = [entry for entry in content.entries if entry.id not in before]
        ledger.add(place, fresh)
        texts = _keep(place.texts, ".txt", content.texts)
        annexes = _keep(place.annexes, ".sealed", content.annexes)
        after = ledger.read(place.ledger)
        state = state_of(after.entries)
        ledger.note_heads(place)
    problems = {*after.damaged, *state.problems, *cut(state.chains, ledger.heads(place))}
    known = len(content.entries) - len(fresh)
    acts = tuple(_act(state, entry) for entry in sorted(fresh, key=lambda e: (e.time, e.id)))
    return Merged(len(fresh), known, texts, annexes, tuple(sorted(problems)), acts)


def _act(state: State, entry: Entry) -> str:
    """An entry as a sentence."""
    who = state.name(entry.author)
    of = state.assignments.get(str(entry.body.get("assignment")))
    task = of.body.task if of is not None else "a task that is not known here"
    match entry.kind:
        case "identity":
            return f"{who} introduces themself"
        case "assign":
            return f"{who} asks for reviews of {neutralise(str(entry.body.get('task')))}"
        case "review":
            return f"{who} has signed a review of {task}"
        case "reveal":
            return f"{who} gives the key of a review"
        case "adjudicate":
            return f"{who} has adjudicated {task}"


def _annexes(entries: Iterable[Entry]) -> tuple[set[str], set[str]]:
    """Hashes of rows that are free to leave, and of those of credentialed sources."""
    free: set[str] = set()
    bound: set[str] = set()
    for entry in entries:
        if entry.kind != "review":
            continue
        try:
            body = body_of(entry, Review)
        except BadInput:
            continue
        if body.annex is not None:
            open_ = body.source is not None and body.source.access != "credentialed"
            (free if open_ else bound).add(body.annex.sha256)
    return free - bound, bound


def _write(to: Path, files: dict[str, bytes]) -> None:
    listed = {name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items()}
    manifest = json.dumps({"format": FORMAT, "files": listed}, indent=1, sort_keys=True).encode()
    with (
        writing(to, "writing the bundle") as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle,
    ):
        for name, data in [(_MANIFEST, manifest), *sorted(files.items())]:
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(member, data)


def _bundle(path: Path) -> _Content:
    try:
        if path.stat().st_size > _MOST_TOTAL:
            raise bad_file(path.name, "The bundle is too large to be one.")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise bad_file(path.name, "There is no such file.") from error
    except OSError as error:
        raise os_error(error, "reading the bundle") from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            files = _members(path, bundle)
    except _DAMAGE as error:
        raise bad_file(path.name, "This is no bundle, or it was damaged on its way.") from error
    return _sorted(path, files)


def _members(path: Path, bundle: zipfile.ZipFile) -> dict[str, bytes]:
    """Every file of the bundle by name, as its manifest says."""
    members = bundle.infolist()
    names = [member.filename for member in members]
    if len(members) > _MOST_FILES or sum(m.file_size for m in members) > _MOST_TOTAL:
        raise bad_file(path.name, "The bundle is too large to be one.")
    if len(set(names)) < len(names):
        raise bad_file(path.name, "The bundle holds a file twice.")
    found: dict[str, bytes] = {}
    for member in members:
        mode = member.external_attr >> 16
        if member.is_dir() or (mode and not stat.S_ISREG(mode)) or member.flag_bits & 1:
            raise bad_file(path.name, "The bundle holds a link, a folder or an encrypted file.")
        most = _limit(member.filename)
        if most is None:
            raise bad_file(path.name, "The bundle holds a file that belongs to no ledger.")
        with bundle.open(member) as file:
            data = file.read(most + 1)
        if len(data) > most or len(data) != member.file_size:
            raise bad_file(path.name, "A file in the bundle is larger than it may be.")
        found[member.filename] = data
    try:
        manifest = json.loads(found.pop(_MANIFEST))
        listed = {
            str(name): (str(facts["sha256"]), int(facts["bytes"]))
            for name, facts in manifest["files"].items()
        }
        version = int(manifest["format"])
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise bad_file(path.name, "The bundle has no manifest that can be read.") from error
    if version > FORMAT:
        raise bad_file(path.name, "A newer version wrote this bundle.", todo="Use that version.")
    if listed != {name: (sha256(data), len(data)) for name, data in found.items()}:
        raise bad_file(path.name, "The bundle's files are not those of its manifest.")
    return found


def _limit(name: str) -> int | None:
    """How long a file of that name may be; None where none may have it."""
    if name == _MANIFEST:
        return _MOST_MANIFEST
    if _ENTRY.fullmatch(name) or _TEXT.fullmatch(name):
        return MOST_BYTES
    return _MOST_ANNEX if _ANNEX.fullmatch(name) else None


def _sorted(path: Path, files: dict[str, bytes]) -> _Content:
    """The files, each proved to be what its name says."""
    entries: list[Entry] = []
    texts: dict[str, bytes] = {}
    annexes: dict[str, bytes] = {}
    for name, data in files.items():
        try:
            if match := _ENTRY.fullmatch(name):
                entries.append(ledger.named(parse(data), match.group(1)))
            elif match := _TEXT.fullmatch(name):
                data.decode("utf-8")
                texts[_same(match.group(1), data)] = data
            elif match := _ANNEX.fullmatch(name):
                annexes[_same(match.group(1), data)] = data
        except (BadInput, UnicodeDecodeError) as error:
            words = error.text if isinstance(error, BadInput) else "It is not UTF-8 text."
            raise bad_file(
                path.name,
                f"{name[:24]}… does not hold, so nothing of the bundle was taken. {words}",
                todo="Ask for the bundle again, and compare fingerprints.",
            ) from error
    return _Content(tuple(entries), texts, annexes)


def _same(digest: str, data: bytes) -> str:
    if sha256(data) != digest:
        raise BadInput("Its content is not what its name says.")
    return digest


def _folder(path: Path) -> _Content:
    """A ledger's folder on a share: `ledger/`, or that folder itself."""
    inside = path / "ledger"
    found = ledger.read(inside if inside.is_dir() else path)
    if found.damaged:
        raise bad_file(path.name, found.damaged[0].words, todo="Nothing was taken.")
    return _Content(found.entries, {}, {})


def _keep(folder: Path, ending: str, files: dict[str, bytes]) -> int:
    count = 0
    for digest, data in files.items():
        path = folder / f"{digest}{ending}"
        if not path.exists():
            count += 1
            with writing(path, "keeping what a bundle brought") as part:
                part.write_bytes(data)
    return count


def _path(place: Place, digest: str) -> Path:
    return place.annexes / f"{digest}.sealed"


def _here(place: Place, digest: str) -> bool:
    path = _path(place, digest)
    return path.is_file() and sha256(path.read_bytes()) == digest
