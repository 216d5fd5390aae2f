"""What both backends do alike around a run: a trial before, output handed on, the end told."""

from __future__ import annotations

import contextlib
import os

from engine.base.errors import HarnessFault, M4Error, MissingPrerequisite
from engine.base.paths import Home
from engine.isolation.folders import remove_tree
from engine.isolation.interface import (
    MIB,
    OUTPUT_KEPT,
    Command,
    Limits,
    OnOutput,
    Sandbox,
    Stream,
)

_CUT = b"\n[the output was cut here: more than %d MiB]\n" % (OUTPUT_KEPT // MIB)


class Outlet:
    """Hands a run's output on, `OUTPUT_KEPT` bytes at most, and says once that it was cut."""

    def __init__(self, on_output: OnOutput | None) -> None:
        self._on_output = on_output
        self._left = OUTPUT_KEPT
        self.is_cut = False
        """Was anything dropped?"""

    def give(self, stream: Stream, block: bytes) -> None:
        """Hand a block on, or what there is room for."""
        kept = block[: self._left]
        self._left -= len(kept)
        if kept and self._on_output is not None:
            self._on_output(stream, kept)
        if len(kept) < len(block) and not self.is_cut:
            self.is_cut = True
            if self._on_output is not None:
                self._on_output("stderr", _CUT)


def try_trivial(sandbox: Sandbox, home: Home, *, where: str, todo: str) -> None:
    """Run ``true`` in a sandbox.

    Args:
        sandbox: the backend.
        home: where its scratch folder is.
        where: the backend in words.
        todo: what to do where it does not run.

    Raises:
        MissingPrerequisite: it does not run.
    """
    home.scratch.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = home.scratch / f"probe-{os.getpid()}-{os.urandom(4).hex()}"
        folder.mkdir()
        stack.callback(remove_tree, folder)
        said = bytearray()
        ended = sandbox.run(
            Command(argv=("true",), job_folder=folder, limits=Limits(wall_seconds=30)),
            on_output=lambda _, data: said.extend(data),
        )
    if ended.reason != "exited" or ended.returncode != 0:
        raise MissingPrerequisite(
            f"A trivial program does not run in {where} here (exit status {ended.returncode}).",
            todo=todo,
            details=said.decode("utf-8", "replace").strip() or None,
        )


def raise_fault(fault: BaseException | None, what: str) -> None:
    """Raise what stopped the watch over a sandbox, if anything did.

    Raises:
        HarnessFault: the watch failed for a reason nobody foresaw.
    """
    if fault is None:
        return
    if isinstance(fault, M4Error):
        raise fault
    raise HarnessFault(
        f"The watch over {what} failed, so it was stopped.", details=type(fault).__name__
    ) from fault


def out_of_memory_kills() -> int:
    """How often the machine has killed a process because its memory was at an end."""
    with contextlib.suppress(OSError), open("/proc/vmstat", encoding="ascii") as file:  # noqa: PTH123
        for line in file:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def machine_out_of_memory(what: str) -> HarnessFault:
    """The machine, not a limit, ended a run."""
    return HarnessFault(
        f"The machine ran out of memory and ended {what}.",
        todo="Close other programs, or give the run a lower memory limit.",
    )
