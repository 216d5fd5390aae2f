"""Long traces, read in a process of their own; what came out is kept and read the next time.

``python -m engine.runs.apart`` is that process: one line of JSON on stdin says which trace, lines
of `packed` steps come on stdout, then ``end``. The program that asks only takes the lines apart,
so that a window beside it goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, Any

from engine.agents.traces import TIMES
from engine.agents.traces.packed import head_of, pack
from engine.base.errors import HarnessFault
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.runs.tracing import TraceOf, TraceTail

LONG = 256 << 10
"""Bytes of a trace from which on it is worth a process."""
_PIECE = 32 << 10
_BATCH = 400
"""Steps at once, at most."""
_EVERY = 0.1
_END = b"end\n"
_KEPT_MOST = 1 << 30
"""Bytes of all kept steps; the oldest go."""
_Lines = Generator[bytes, None, None]
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT")


def is_long(of: TraceOf) -> bool:
    """Is this trace worth a process? One that is not there is not."""
    try:
        return of.path.stat().st_size >= LONG
    except OSError:
        return False


def steps_apart(
    home: Home, run_id: str, of: TraceOf, *, looking: bool = False, job: Job
) -> Iterator[list[bytes]]:
    """The steps of a trace that does not grow any more, packed, in batches, in order of number.

    A step may come twice; the later state holds. What was kept is used where it is still of this
    trace and this program.

    Args:
        home: where steps are kept.
        run_id: whose trace it is.
        of: what a reader has to know of it.
        looking: only steps that were looked into; else either.
        job: stops it.

    Raises:
        M4Error: it cannot be read.
    """
    kept = home.traces / f"{run_id}.steps"
    try:
        head = _head(of)
        lines = _kept_lines(kept, head, looking=looking)
        if lines is None:
            lines = _read_lines(kept, head, of, looking, job)
        with contextlib.closing(lines):
            yield from _batches(lines, job)
    except OSError as error:
        raise os_error(error, "reading the run's trace") from error
    except ValueError as error:
        with contextlib.suppress(OSError):
            kept.unlink()
        raise HarnessFault(
            "The trace's steps could not be read.", todo="Open the run again."
        ) from error


def _batches(lines: Iterator[bytes], job: Job) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    told = 0.0
    for line in lines:
        head_of(line)
        batch.append(line)
        if len(batch) >= _BATCH or time.monotonic() - told > _EVERY:
            job.check()
            yield batch
            batch, told = [], time.monotonic()
    if batch:
        yield batch


# --- what is kept


def _head(of: TraceOf) -> dict[str, Any]:
    """What must be the same for kept steps to hold."""
    state = of.path.stat()
    times = of.path.with_name(TIMES)
    return asdict(of) | {
        "bytes": state.st_size,
        "changed": state.st_mtime_ns,
        "times": times.stat().st_size if times.is_file() else 0,
        "code": _code(),
        "skills": list(of.skills),
    }


@cache
def _code() -> str:
    """A hash of everything that reads traces."""
    engine = resources.files("engine")
    traces = [file for file in engine.joinpath("agents/traces").iterdir() if file.is_file()]
    found = hashlib.sha256()
    for file in sorted(traces, key=lambda file: file.name):
        found.update(file.read_bytes())
    for name in ("base/text.py", "runs/tracing.py", "runs/apart.py"):
        found.update(engine.joinpath(name).read_bytes())
    return found.hexdigest()


def _kept_lines(kept: Path, head: dict[str, Any], *, looking: bool) -> _Lines | None:
    """The lines of kept steps; None where there are none that hold."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(kept.open("rb"))
            said = json.loads(file.readline(1 << 20))
            file.seek(-len(_END), os.SEEK_END)
            whole = file.read() == _END
        except (OSError, ValueError):
            return None
        looked = isinstance(said, dict) and bool(said.pop("looked", False))
        if said != head or not whole or (looking and not looked):
            return None
        file.seek(0)
        file.readline()
        stack.pop_all()
        return _until_end(file)


def _until_end(file: IO[bytes]) -> _Lines:
    with file:
        for line in file:
            if line == _END:
                return
            yield line


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.steps"), key=lambda file: file.stat().st_mtime, reverse=True)
    total = 0
    for file in files:
        total += file.stat().st_size
        if total > _KEPT_MOST:
            file.unlink(missing_ok=True)


# --- the process, from outside


def _read_lines(kept: Path, head: dict[str, Any], of: TraceOf, looking: bool, job: Job) -> _Lines:
    """Lines of the process as they come; kept when all are there."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "engine.runs.apart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={name: os.environ[name] for name in _PASSED if name in os.environ},
        start_new_session=True,
    )
    part = kept.with_suffix(f".part{process.pid}")
    forget = job.on_cancel(process.kill)
    try:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError), process.stdin as order:
            order.write(json.dumps(asdict(of) | {"looking": looking}).encode() + b"\n")
        whole = False
        with _Keeping(part, head | {"looked": looking}) as keeping:
            for line in process.stdout:
                keeping.write(line)
                if whole := line == _END:
                    break
                yield line
        job.check()
        if not whole:
            raise HarnessFault(
                "The trace could not be read: its reader ended early.", todo="Open the run again."
            )
        if keeping.whole:
            with contextlib.suppress(OSError):
                part.replace(kept)
                _forget_oldest(kept.parent)
    finally:
        forget()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


class _Keeping:
    """Writes lines beside their use; a full disk only means that nothing is kept."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self._path, self._head = path, head
        self._file: IO[bytes] | None = None
        self.whole = True

    def __enter__(self) -> _Keeping:
        try:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._file = self._path.open("wb")
        except OSError:
            self.whole = False
        self.write(json.dumps(self._head).encode() + b"\n")
        return self

    def write(self, line: bytes) -> None:
        """One more line."""
        if self._file is None:
            return
        try:
            self._file.write(line)
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self.whole = False
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError:
                self.whole = False


# --- the process, from inside


def main() -> int:
    """Read the trace that stdin names, to its end."""
    order = json.loads(sys.stdin.readline())
    looking = bool(order.pop("looking"))
    order["skills"] = tuple(order["skills"])
    tail = TraceTail(TraceOf(**order), looking=looking)
    out = sys.stdout.buffer
    more = True
    try:
        while more:
            steps, more = tail.more(_PIECE)
            out.write(b"".join(pack(step) + b"\n" for step in steps))
            out.flush()
        out.write(_END)
        out.flush()
    except BrokenPipeError:  # whoever asked is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
