"""Commands that cannot be meant, or cannot work, are refused in words before anything is started.

And what is the same inside of every sandbox: the user, the environment, what ``/proc`` must hide.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from engine.base.errors import MissingPrerequisite, UsageError
from engine.isolation.interface import GIB, MIB, Command, Limits
from engine.isolation.programs import pinned_version

USER = 65534
TIB = 1 << 40

ENVIRONMENT = {
    "HOME": "/job",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONUNBUFFERED": "1",  # output before a kill is kept
    "TERM": "dumb",
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    "TZ": "UTC",
    "USER": "nobody",
}

# What /proc tells about the machine and its other users; nothing in here is needed.
MASKED_FILES = (
    *("cmdline", "kcore", "keys", "key-users", "kallsyms", "modules", "sched_debug"),
    *("timer_list", "latency_stats", "interrupts", "kmsg", "config.gz", "version"),
    *("mdstat", "partitions", "diskstats", "swaps", "iomem", "ioports"),
)
MASKED_FOLDERS = ("acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "tty")

_PLACE = re.compile(r"/[^\0]*")


def in_memory_bytes(limits: Limits) -> int:
    """Size of ``/tmp`` and of ``/dev/shm`` each."""
    return max(MIB, min(512 * MIB, limits.memory_bytes // 4))


def address_space_bytes(command: Command) -> int:
    """RLIMIT_AS of each process: programs reserve more than they use, and only use is counted.

    The agents' JavaScript engines reserve ten GiB for each WebAssembly memory and hundreds for
    their heaps, of which they touch little.
    """
    return command.limits.memory_bytes * 2 + 2 * GIB + (TIB if command.programs else 0)


def check_command(command: Command, *, as_others: bool | None = None) -> None:
    """Refuse what cannot be meant.

    Args:
        command: what is to be run.
        as_others: the sandbox's user is not ours, so that others must be able to read what is
            shown; None: it is when we are root.

    Raises:
        UsageError, MissingPrerequisite: see `Sandbox.run`.
    """
    as_others = os.geteuid() == 0 if as_others is None else as_others
    words = (*command.argv, *command.env, *command.env.values(), *command.read_only.values())
    if not command.argv or any("\0" in word for word in words):
        raise UsageError("The command for the sandbox is empty or holds a NUL character.")
    if any("=" in name or not name for name in command.env):
        raise UsageError("A variable's name in the environment is empty or holds '='.")
    for source, target in command.read_only.items():
        place = PurePosixPath(target)
        if not _PLACE.fullmatch(target) or ".." in place.parts or place.parts[1:2] != ("job",):
            raise UsageError(f"Only places below /job can be shown in the sandbox, not {target}.")
        if len(place.parts) < 3:  # noqa: PLR2004 - "/", "job", a name
            raise UsageError("The job folder itself cannot be covered.")
        _check_source(source, target, as_others)
        _check_place(command.job_folder, place.relative_to("/job"))
    for name in command.programs:
        pinned_version(name)
    if command.gateway is not None:
        _check_source(command.gateway, "the gateway", as_others)


def _check_source(source: Path, target: str, as_others: bool) -> None:
    try:
        mode = source.lstat().st_mode
    except OSError as error:
        raise UsageError(f"What is to be shown as {target} does not exist.") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(f"What is to be shown as {target} is no file or folder.")
    needed = 0o005 if stat.S_ISDIR(mode) else 0o004
    readable = mode & needed == needed if as_others else os.access(source, os.R_OK)
    if not readable:
        raise MissingPrerequisite(
            f"The sandbox's user cannot read what is to be shown as {target}.",
            todo="Let others read the file (chmod o+r); its folder may stay closed.",
        )


def _check_place(folder: Path, place: PurePosixPath) -> None:
    """A place in the job folder where something is shown must not lead elsewhere by a symlink."""
    walked = folder
    for part in place.parts:
        walked = walked / part
        if walked.is_symlink():
            raise UsageError(f"A symlink stands in the job folder where {place} is to be shown.")
