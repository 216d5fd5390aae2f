"""What every sandbox is to the rest of the program: a few values and one protocol.

Nothing in here starts anything. A backend runs one `Command` at a time per call of `run`; several
calls may go on in several threads. Inside, whatever the backend:

* ``/job`` is the only place that can be written and kept; ``/tmp`` and ``/dev/shm`` are small,
  in memory, and gone afterwards;
* there is no network but an empty loopback, no host file, no host process, no capability;
* the user is 65534, ``HOME`` is ``/job``, the locale is C.UTF-8, the time zone UTC;
* ``python3`` has DuckDB, pandas and numpy; there are a shell and the small text tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from engine.base.jobs import Job

GIB = 1 << 30
MIB = 1 << 20

GATEWAY = "/run/m4"
"""Inside: the folder with the gateway's Unix socket, there only when a command has a gateway."""
PROGRAMS = "/opt/agents"
"""Inside: one folder per installed agent program."""

OUTPUT_KEPT = 64 * MIB
"""Bytes of stdout and stderr together that are handed on; the rest is read and dropped."""

Reason = Literal["exited", "timeout", "memory", "processes", "disk", "cancelled"]
"""Why a command ended: by itself, or stopped by us at which limit."""

Stream = Literal["stdout", "stderr"]

OnOutput = Callable[[Stream, bytes], object]
"""Called with the stream's name and raw bytes as they come (hostile: not text, not lines)."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a command may use. All of them bind the whole tree of processes unless said."""

    wall_seconds: float = 1800.0
    """Time from the start of the command, in seconds; then everything is killed (`timeout`)."""
    memory_bytes: int = 4 * GIB
    """Memory of all processes together with ``/tmp`` and ``/dev/shm``; beyond it: `memory`."""
    processes: int = 256
    """Processes and threads that live at the same time; beyond it: `processes`."""
    cpus: int = 2
    """Processors that may be used at the same time."""
    open_files: int = 1024
    """Open files of one process; beyond it the program gets an error (EMFILE)."""
    file_bytes: int = 2 * GIB
    """Length of one file; beyond it the program gets an error (EFBIG, SIGXFSZ)."""
    work_bytes: int = 8 * GIB
    """Disk that the job folder may take; beyond it: `disk`."""
    work_files: int = 100_000
    """Files and folders in the job folder; beyond it: `disk`."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} must be greater than 0")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One program to run inside."""

    argv: tuple[str, ...]
    """Program and arguments as seen inside, e.g. ``("python3", "/job/agent/script.py")``."""
    job_folder: Path
    """Host folder (absolute, not a symlink) that becomes ``/job``, the only writable one. As root
    the sandbox gives it and all below it to user 65534 before the start."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the fixed environment. Never a secret: whatever is in it can be read inside."""
    read_only: Mapping[Path, str] = field(default_factory=dict)
    """Host file or folder -> absolute place inside, e.g. ``{db: "/job/database.duckdb"}``. A place
    below ``/job`` leaves an empty file or folder of that name in the job folder."""
    gateway: Path | None = None
    """Host folder that holds the run's gateway socket; shown read-only as `GATEWAY`."""
    programs: tuple[str, ...] = ()
    """Agent programs that must be at ``PROGRAMS/NAME`` (read-only)."""
    limits: Limits = field(default_factory=Limits)
    """What it may use."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended. When this is returned, no process of it lives any more."""

    returncode: int
    """Exit status as a shell gives it: 0-255; 128 + N after signal N; 137 if we killed it."""
    reason: Reason
    """`exited`, or the limit (or the user) that ended it."""
    seconds: float
    """Wall time of the command, in seconds."""
    output_cut: bool = False
    """More than `OUTPUT_KEPT` bytes were written; the rest was dropped."""
    peak_memory_bytes: int = 0
    """Highest memory seen by the watch (0 when it ended before the first look)."""

    @property
    def in_words(self) -> str:
        """One sentence for people."""
        return {
            "exited": f"The program ended with exit status {self.returncode}.",
            "timeout": f"The time limit was reached after {self.seconds:.0f} s; it was stopped.",
            "memory": "It used more memory than it may and was stopped.",
            "processes": "It started more processes than it may and was stopped.",
            "disk": "It wrote more than it may to its folder and was stopped.",
            "cancelled": "It was stopped as asked.",
        }[self.reason]


class Sandbox(Protocol):
    """One way to run a command in isolation."""

    @property
    def name(self) -> str:
        """The backend's name as in ``--backend``: ``bubblewrap``, ``docker``."""

    @property
    def publishable(self) -> bool:
        """May runs in it be published as evidence?"""

    @property
    def publishable_reason(self) -> str:
        """Why (not), in one sentence for the run record."""

    def probe(self) -> None:
        """Really start a trivial command and see it end.

        Raises:
            MissingPrerequisite: it cannot work here; the text says what is missing and the
                todo how to get it.
        """

    def describe(self) -> dict[str, Any]:
        """Versions, the root's digest and the walls, JSON-ready, for the run record."""

    def run(
        self, command: Command, *, job: Job | None = None, on_output: OnOutput | None = None
    ) -> Ended:
        """Run `command` to its end, and return only when nothing of it is left.

        Blocks; to be called from a worker thread. `on_output` is called in that thread; at most
        `OUTPUT_KEPT` bytes in all, then one last line on stderr says that the output was cut.
        What it had written to ``/job`` stays there, whatever the reason. The user's cancel gives
        `Ended` with reason `cancelled`, no exception, so that the partial result can be kept.
        What the program does (any exit status, any limit) is never an exception.

        Args:
            command: what to run.
            job: its cancel stops the command within a second; no progress is reported.
            on_output: gets output while it comes; an exception of it stops the command and
                is raised again.

        Raises:
            MissingPrerequisite: the sandbox cannot be started on this machine, or the sandbox's
                user cannot read one of the `read_only` files.
            StorageFull: no room for the sandbox root or the job folder at the start.
            UsageError: the job folder or a read-only file does not exist, or a place inside is
                not allowed.
            HarnessFault: the sandbox itself broke (ended from outside, processes that cannot be
                ended). Never the program's doing.
        """

    def programs(self) -> Mapping[str, str]:
        """The agent programs that commands can have here: name -> version.

        Read from what is installed (the image, the program's folder); empty when nothing is.
        """

    def remove_leftovers(self) -> int:
        """Remove what runs of dead programs left (only ours); how many things were removed."""
