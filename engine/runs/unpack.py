"""Unpacking an archive that somebody else made: a `.tar`, plain or compressed, hostile or not.

Read as a stream, once, into a fresh folder. Only folders and ordinary files are taken; an
archive with anything else (links, devices, names that lead out, files with holes) is refused
whole, with the words for it. What comes out is bounded however small the archive is.
"""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

import zstandard

from engine.base.errors import StorageFull, bad_file
from engine.base.files import os_error
from engine.base.jobs import Job

SUFFIXES = (".tar", ".tar.zst", ".tar.gz", ".tgz")
"""Names of archives that can be read."""
_BLOCK = 1 << 20
_MAX_HEADER = 1 << 20
"""Bytes of a header that holds only a name or attributes."""
_MAX_DEPTH = 32
_MAX_NAME_BYTES = 255
_ZSTD_WINDOW = 1 << 27
_HEADERS = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a file with holes",
}


@dataclass(frozen=True)
class Room:
    """How much may come out of one archive."""

    files: int = 500_000
    """Entries."""
    file_bytes: int = 8 << 30
    """Of one file."""
    total_bytes: int = 256 << 30
    """Of all of them."""
    spare_bytes: int = 1 << 30
    """That must stay free on the disk."""


_DAMAGE = (tarfile.TarError, zstandard.ZstdError, zlib.error, EOFError, gzip.BadGzipFile)


class _Refused(Exception):
    """The archive is not taken; the text completes "the archive …"."""


def is_archive(path: Path) -> bool:
    """Does the name say that it is an archive that `unpack` reads?"""
    return path.name.lower().endswith(SUFFIXES)


def unpack(archive: Path, into: Path, *, job: Job, room: Room | None = None) -> bool:
    """Unpack `archive` into the new folder `into`; on any error `into` is removed again.

    Returns:
        Does the archive end as archives do? False: it was cut off between two files.

    Raises:
        BadInput: no archive, damaged, or with something in it that is not taken.
        StorageFull: no room for it.
        Cancelled: the user stopped it.
    """
    room = room or Room()
    try:
        into.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise os_error(error, "unpacking the archive") from error
    try:
        with _opened(archive) as stream:
            return _unpack(stream, into, room, job)
    except BaseException as error:
        shutil.rmtree(into, ignore_errors=True)
        if isinstance(error, _Refused):
            raise bad_file(
                archive,
                f"The archive {error}. Nothing of it was taken.",
                todo="Unpack it yourself where that is safe, and import the folder.",
            ) from error
        if isinstance(error, _DAMAGE):
            raise bad_file(
                archive,
                "The archive is damaged, cut off, or not what its name says. "
                "Nothing of it was taken.",
                todo=f"Name a {', '.join(SUFFIXES)} file that is whole.",
            ) from error
        if isinstance(error, OSError):
            raise os_error(error, "unpacking the archive") from error
        raise


@contextmanager
def _opened(archive: Path) -> Iterator[IO[bytes]]:
    """The archive's bytes after decompression."""
    name = archive.name.lower()
    with archive.open("rb") as file:
        if name.endswith(".zst"):
            reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
            with reader.stream_reader(file, read_across_frames=True) as stream:
                yield stream
        elif name.endswith("gz"):
            with gzip.open(file) as stream:
                yield stream  # type: ignore[misc]
        else:
            yield file


class _Member(tarfile.TarInfo):
    """An entry that is looked at before `tarfile` reads what belongs to it."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        if not buf:
            raise _CutOff
        if len(buf) < tarfile.BLOCKSIZE:
            raise tarfile.ReadError
        return super().frombuf(buf, encoding, errors)

    def _proc_member(self, tarfile_: tarfile.TarFile) -> Any:
        """The place that `tarfile` gives to subclasses for looking at a type first."""
        if self.type in _KINDS:
            raise _Refused(f"holds {_KINDS[self.type]}")
        if self.type in _HEADERS and self.size > _MAX_HEADER:
            raise _Refused("holds a name or attributes of more than 1 MiB")
        return super()._proc_member(tarfile_)  # type: ignore[misc]


class _CutOff(Exception):
    """No block is left where the mark of the end, or a next entry, should stand."""


def _unpack(stream: IO[bytes], into: Path, room: Room, job: Job) -> bool:
    taken = _Taken(room, shutil.disk_usage(into).free - room.spare_bytes)
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member, bufsize=_BLOCK) as archive:
            for member in archive:
                job.check()
                taken.add(member)
                _take(archive, member, into / _inside(member))
                archive.members = []  # type: ignore[attr-defined] # else it keeps them all
                job.progress("unpack", taken.bytes, 0, "Unpacking the archive")
    except _CutOff:
        if taken.files:
            return False
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _Refused("holds a file and a folder of one name") from error
    if not taken.files:
        raise _Refused("is empty")
    return True


class _Taken:
    """Counts what comes out, and says when it is too much."""

    def __init__(self, room: Room, free: int) -> None:
        self._room = room
        self._free = free
        self.files = self.bytes = 0

    def add(self, member: tarfile.TarInfo) -> None:
        room = self._room
        self.files += 1
        self.bytes += member.size
        if self.files > room.files:
            raise _Refused(f"holds more than {room.files:,} files and folders")
        if member.size > room.file_bytes:
            raise _Refused(f"holds a file of more than {room.file_bytes >> 20:,} MiB")
        if self.bytes > room.total_bytes:
            raise _Refused(f"unpacks to more than {room.total_bytes >> 20:,} MiB")
        if self.bytes > self._free:
            raise StorageFull(
                "There is no room on the disk for what the archive holds.",
                todo="Free some space (or move the home folder with --home).",
            )


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.isdir():
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = archive.extractfile(member)
    if content is not None:
        with target.open("wb") as out:
            shutil.copyfileobj(content, out, _BLOCK)


def _inside(member: tarfile.TarInfo) -> Path:
    """Where an entry goes, relative to the top."""
    if not (member.isfile() or member.isdir()) or member.issparse():
        raise _Refused("holds something that is no ordinary file or folder")
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\0" in member.name:
        raise _Refused("holds a name that leads out of it")
    if len(name.parts) > _MAX_DEPTH:
        raise _Refused(f"holds more than {_MAX_DEPTH} folders inside each other")
    if any(len(part.encode("utf-8", "surrogateescape")) > _MAX_NAME_BYTES for part in name.parts):
        raise _Refused("holds a name that is too long")
    return Path(*name.parts)
