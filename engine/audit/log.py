"""Writing to the audit log: under a lock, whole lines, on the disk before anything goes on."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping

from filelock import FileLock, Timeout

from engine.audit import head
from engine.audit.chain import TORN, Chain
from engine.audit.entry import START, Entry, Fact, Facts, Stage, make
from engine.base.errors import Busy, Cancelled, HarnessFault, M4Error
from engine.base.files import os_error, sync
from engine.base.paths import Home

PROBLEM = "audit.problem"
"""The entry that tells what was found wrong with the log."""

_DOING = "writing the audit log"
_PATIENCE = 30.0
_MOST_TOLD = 20
_log = logging.getLogger(__name__)


def note(
    home: Home,
    what: str,
    *,
    source: str | None,
    object: str = "",  # noqa: A002 - the entry's name for it
    facts: Facts | None = None,
    stage: Stage = "done",
) -> Entry:
    """Append one entry; when this returns it is on the disk.

    Args:
        home: whose log.
        what: a stable name, e.g. ``export.diff``.
        source: the source that is touched.
        object: of it: a task, a run, a file name.
        facts: counts, hashes, names; no cell value, key or absolute path.
        stage: for something that takes time; see `recorded`.

    Raises:
        Busy: another program holds the log for long.
        StorageFull, MissingPrerequisite: it cannot be written; nothing is added.
    """
    with locked(home):
        known = head.load(home)
        try:
            return _Appending(home, known).write(
                what, stage=stage, source=source, object=object, facts=facts or {}
            )
        except OSError as error:
            raise os_error(error, _DOING) from error


@contextlib.contextmanager
def recorded(
    home: Home,
    what: str,
    *,
    source: str | None,
    object: str = "",  # noqa: A002 - the entry's name for it
    facts: Facts | None = None,
) -> Iterator[dict[str, Fact]]:
    """Tell the log of the begin and of the end of what is done in the ``with``.

    Gives a dictionary for what becomes known; it goes into the end's facts, with ``outcome``
    (``done``, ``cancelled``, ``failed: TYPE``) and ``begun``, the sequence of the begin. A kill
    leaves a begin without an end. Nothing is done that cannot be recorded first.

    Raises:
        Busy, StorageFull, MissingPrerequisite: the begin cannot be recorded; nothing was done.
    """
    begun = note(home, what, source=source, object=object, facts=facts, stage="begin")
    found: dict[str, Fact] = {}
    outcome = "failed"
    try:
        yield found
        outcome = "done"
    except (Cancelled, KeyboardInterrupt, GeneratorExit):
        outcome = "cancelled"
        raise
    except BaseException as error:
        outcome = f"failed: {type(error).__name__}"
        raise
    finally:
        told = {**found, "outcome": outcome, "begun": begun.sequence}
        try:
            note(home, what, source=source, object=object, facts=told, stage="end")
        except M4Error as error:  # that it was begun is in the log; what was done is done
            _log.warning("the audit log misses an end: %s", error.text)


@contextlib.contextmanager
def locked(home: Home) -> Iterator[None]:
    """Hold the log's lock; waits for other programs, which hold it for milliseconds.

    Raises:
        Busy: somebody holds it for long.
    """
    lock = FileLock(home.root / "audit.lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout as error:
        raise Busy(
            "Another program has been holding the audit log for long.",
            todo="End it and try again.",
        ) from error
    except OSError as error:
        raise os_error(error, _DOING) from error
    try:
        yield
    finally:
        lock.release()


def open_flags(extra: int) -> int:
    """Flags for opening the log: never through a symlink, never inherited."""
    return extra | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class _Appending:
    """One append, with the lock held."""

    def __init__(self, home: Home, known: head.Head | None) -> None:
        self._home = home
        self._known = known
        self._sequence = known.sequence if known else 0
        self._hash = known.hash if known else START
        self._problems = known.problems if known else ()
        self._lines: list[bytes] = []

    def write(self, what: str, *, stage: Stage, source: str | None, object: str,  # noqa: A002
              facts: Mapping[str, Fact]) -> Entry:  # fmt: skip
        handle = os.open(self._home.audit, open_flags(os.O_RDWR | os.O_CREAT | os.O_APPEND), 0o600)
        try:
            before = os.fstat(handle)
            if self._known is None or self._known.file != head.look(before):
                self._look_at_all(handle)
            entry = self._add(what, stage=stage, source=source, object=object, facts=facts)
            _write_whole(handle, b"".join(self._lines), before.st_size)
            after = head.look(os.fstat(handle))
        finally:
            os.close(handle)
        if before.st_size == 0:
            sync(self._home.root)
        head.save(self._home, entry.sequence, entry.hash, after, self._problems)
        return entry

    def _look_at_all(self, handle: int) -> None:
        """The file is not as we left it: by a crash between two steps of ours, or by somebody."""
        chain = Chain((self._known.sequence, self._known.hash) if self._known else None)
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(0)
            for _ in chain.walk(file):
                pass
        if chain.last is not None and chain.last.sequence >= self._sequence:
            self._sequence, self._hash = chain.last.sequence, chain.last.hash
        if not chain.ended:
            self._lines.append(b"\n")
        if chain.torn is not None:
            told: Facts = {"bytes": chain.torn.size, "sha256": chain.torn.sha256}
            self._add(TORN, stage="done", source=None, object="", facts=told)
        told_before = {(problem.kind, problem.sequence) for problem in self._problems}
        new = [p for p in chain.problems if (p.kind, p.sequence) not in told_before]
        if new:
            texts = [problem.text for problem in new[:_MOST_TOLD]]
            found: Facts = {"problems": len(new), "texts": texts}
            self._add(PROBLEM, stage="done", source=None, object="", facts=found)
        self._problems = (*self._problems, *new)[:1000]

    def _add(self, what: str, *, stage: Stage, source: str | None, object: str,  # noqa: A002
             facts: Facts) -> Entry:  # fmt: skip
        entry = make(
            sequence=self._sequence + 1,
            previous=self._hash,
            what=what,
            stage=stage,
            source=source,
            object=object,
            facts=facts,
        )
        self._sequence, self._hash = entry.sequence, entry.hash
        self._lines.append(entry.line())
        return entry


def _write_whole(handle: int, content: bytes, size_before: int) -> None:
    """Append everything or nothing, and bring it to the disk."""
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size_before)  # what nobody has been told of yet
        raise
    if os.fstat(handle).st_size != size_before + len(content):
        raise HarnessFault(
            "The audit log was written by another program at the same time.",
            todo="End it; `m4bench audit verify` says what is wrong.",
        )
