"""Does the log still hold? And reading it, and giving it away."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from engine.audit import head
from engine.audit.chain import CLOCK_TOLERANCE, Chain, Problem
from engine.audit.entry import MOST_BYTES, Entry, parse
from engine.audit.log import locked, open_flags
from engine.base.errors import BadInput
from engine.base.files import os_error, writing
from engine.base.paths import Home

_DOING = "reading the audit log"


@dataclass(frozen=True)
class Verdict:
    """What a look at the log found."""

    entries: int
    """Entries in it; sequence of the last one when it was only looked at quickly."""
    last_hash: str | None
    """Hash of the last entry: who keeps it elsewhere can prove later that nothing was changed."""
    problems: tuple[Problem, ...]
    """Everything that is or was wrong with it."""
    thorough: bool
    """Every entry was read; else only that the file is as this program left it."""

    @property
    def ok(self) -> bool:
        """Nobody tampered with it."""
        return not any(problem.grave for problem in self.problems)

    @property
    def words(self) -> str:
        """For people, in one or two sentences."""
        if not self.ok:
            grave = [problem.text for problem in self.problems if problem.grave]
            more = f" And {len(grave) - 3} more." if len(grave) > 3 else ""  # noqa: PLR2004
            return f"The audit log does not hold. {' '.join(grave[:3])}{more}"
        notes = " ".join(problem.text for problem in self.problems[-3:])
        how = "every entry was checked" if self.thorough else "unchanged since it was written"
        many = "1 entry" if self.entries == 1 else f"{self.entries} entries"
        return f"{many}, {how}. {notes}".strip()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        problems = [asdict(problem) for problem in self.problems]
        return {**asdict(self), "problems": problems, "ok": self.ok, "words": self.words}


def verify(home: Home, *, thorough: bool = False) -> Verdict:
    """Look whether the log holds.

    Quick where the file is as this program left it (its change time tells); otherwise, and when
    `thorough`, every entry is read. Trouble is told, never raised; the program goes on.

    Raises:
        Busy: another program holds the log for long.
        MissingPrerequisite, StorageFull, BadInput: the log or `state.db` cannot be read at all.
    """
    with locked(home), _opened(home) as file:
        known = head.load(home)
        if file is None:
            return _without_file(known)
        status = head.look(os.fstat(file.fileno()))
        if not thorough and known is not None and known.file == status:
            last = _last_entry(file)
            if last is not None and last.holds and last.hash == known.hash:
                problems = (*known.problems, *_ahead_of_clock(last))
                return Verdict(known.sequence, known.hash, problems, thorough=False)
            file.seek(0)
        chain = Chain((known.sequence, known.hash) if known else None)
        for _ in chain.walk(file):
            pass
        before = known.problems if known else ()
        told = {(problem.kind, problem.sequence) for problem in before}
        new = [p for p in chain.problems if (p.kind, p.sequence) not in told]
        at_end = known is not None and chain.last is not None and chain.last.hash == known.hash
        if known is not None and at_end and not new and chain.torn is None:
            head.save(home, known.sequence, known.hash, status, before)  # quick again next time
        if chain.torn is not None:
            text = "A crash cut off the last line; the next entry will name it."
            new.append(Problem("torn", chain.expected, text, grave=False))
        last_hash = chain.last.hash if chain.last else None
        problems = (*before, *new, *_ahead_of_clock(chain.last))
        return Verdict(chain.entries, last_hash, problems, thorough=True)


def read_log(home: Home, *, source: str | None = None) -> tuple[Entry, ...]:
    """Every entry that can be read (of a source), oldest first, whether the log holds or not.

    Raises:
        Busy, MissingPrerequisite: in words.
    """
    with locked(home), _opened(home) as file:
        if file is None:
            return ()
        entries = Chain(None).walk(file)
        return tuple(e for e in entries if source is None or e.source == source)


def begun(home: Home, what: str) -> dict[str, bool]:
    """By object, whether something was begun (True) or also ended; of others nothing is told.

    Raises:
        Busy, MissingPrerequisite: in words.
    """
    found: dict[str, bool] = {}
    wanted = f'"what":"{what}"'.encode()
    with locked(home), _opened(home) as file:
        while file is not None and (line := file.readline(MOST_BYTES + 1)):
            entry = parse(line.removesuffix(b"\n")) if wanted in line else None
            if entry is not None and entry.what == what:
                found[entry.object] = entry.stage == "begin"
    return found


def unfinished(home: Home) -> tuple[Entry, ...]:
    """What was begun and never told to have ended, oldest first: at work now, or killed.

    Runs are not among them: their ends are told at the next start.

    Raises:
        Busy, MissingPrerequisite: in words.
    """
    begun = {entry.sequence: entry for entry in read_log(home) if entry.stage != "done"}
    for entry in tuple(begun.values()):
        if entry.stage == "end":
            begun.pop(entry.facts.get("begun", 0), None)
            del begun[entry.sequence]
    return tuple(entry for entry in begun.values() if entry.what != "run")


def export_log(home: Home, to: Path) -> Verdict:
    """Copy the log as it is, after checking every entry.

    Raises:
        BadInput: there is no log yet, or `to` is the log itself.
        Busy, StorageFull, MissingPrerequisite: in words.
    """
    verdict = verify(home, thorough=True)
    if to.resolve() == home.audit.resolve():
        raise BadInput("The log cannot be copied onto itself.", todo="Name another file.")
    with locked(home), _opened(home) as file:
        if file is None:
            raise BadInput(
                "There is no audit log yet.", todo="It begins with the first source that is added."
            )
        with writing(to, "copying the audit log") as part, part.open("wb") as copy:
            while block := file.read(1 << 20):
                copy.write(block)
    return verdict


@contextlib.contextmanager
def _opened(home: Home) -> Iterator[BinaryIO | None]:
    """The log; None where there is none."""
    try:
        handle = os.open(home.audit, open_flags(os.O_RDONLY))
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise os_error(error, _DOING) from error
    with os.fdopen(handle, "rb") as file:
        try:
            yield file
        except OSError as error:
            raise os_error(error, _DOING) from error


def _without_file(known: head.Head | None) -> Verdict:
    if known is None:
        return Verdict(0, None, (), thorough=True)
    text = f"The audit log is gone; it had entries up to {known.sequence}."
    problem = Problem("missing", 1, text, grave=True)
    return Verdict(0, None, (*known.problems, problem), thorough=True)


def _last_entry(file: BinaryIO) -> Entry | None:
    """The last line as an entry."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_BYTES - 1))
    return parse(file.read().removesuffix(b"\n").rpartition(b"\n")[2])


def _ahead_of_clock(last: Entry | None) -> tuple[Problem, ...]:
    if last is None or last.time <= datetime.now(UTC) + CLOCK_TOLERANCE:
        return ()
    text = "The clock of this machine shows a time before the last entry: it went back."
    return (Problem("clock", last.sequence, text, grave=False),)
