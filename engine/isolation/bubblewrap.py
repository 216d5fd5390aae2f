"""The sandbox made of Linux namespaces by bubblewrap; no engine, no daemon, no root needed.

What bubblewrap is asked for is in `_options`; what it cannot do is done before it (`launch`) and
around it (`supervise`, `watch`). Without a working bubblewrap nothing runs: there is no lesser way.

Known limits, which is why its runs are not published: kernel memory that belongs to no process
(socket and pipe buffers) is bounded only by the number of open files, and ``/proc/self/mountinfo``
shows inside under which host path the job folder lies (a name, no content).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from engine.base.errors import HarnessFault, MissingPrerequisite, UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.isolation import seccomp
from engine.isolation.folders import check_room, hand_over, opened, remove_tree
from engine.isolation.interface import MIB, Command, Ended, Limits, OnOutput
from engine.isolation.orphans import end_orphans
from engine.isolation.rootfs import remove_half_made, sandbox_root
from engine.isolation.supervise import Plan, SetupFailed, supervise
from engine.isolation.trouble import in_words

OLDEST = (0, 8, 0)
"""The first version with ``--disable-userns``."""

USER = 65534

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
_MASKED_FILES = (
    *("cmdline", "kcore", "keys", "key-users", "kallsyms", "modules", "sched_debug"),
    *("timer_list", "latency_stats", "interrupts", "kmsg", "config.gz", "version"),
    *("mdstat", "partitions", "diskstats", "swaps", "iomem", "ioports"),
)
_MASKED_FOLDERS = ("acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "tty")

_NAMES = ("/mnt", "/media", "/srv")
_PLACE = re.compile(r"/[^\0]*")


class Bubblewrap:
    """The bubblewrap backend (see `Sandbox` for the promises).

    Args:
        home: its ``sandbox`` folder holds the root file system.
    """

    name = "bubblewrap"
    publishable = False
    publishable_reason = (
        "Made in a namespace sandbox (bubblewrap); only runs in a container engine with its own "
        "memory accounting are published."
    )

    search = f"/usr/bin:/bin:/usr/local/bin:{os.environ.get('PATH', '')}"
    """Where bubblewrap is looked for."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def probe(self) -> None:
        """See `Sandbox.probe`."""
        self._program()
        self._home.scratch.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            folder = self._home.scratch / f"probe-{os.getpid()}-{os.urandom(4).hex()}"
            folder.mkdir()
            stack.callback(remove_tree, folder)
            said = bytearray()
            ended = self.run(
                Command(argv=("true",), job_folder=folder, limits=Limits(wall_seconds=30)),
                on_output=lambda _, data: said.extend(data),
            )
        if ended.reason != "exited" or ended.returncode != 0:
            raise MissingPrerequisite(
                "A trivial program does not run in the bubblewrap sandbox here "
                f"(exit status {ended.returncode}).",
                todo="If the home folder is on a disk mounted noexec, move it with --home.",
                details=said.decode("utf-8", "replace").strip() or None,
            )

    def describe(self) -> dict[str, Any]:
        """See `Sandbox.describe`."""
        _, version = self._program()
        manifest = sandbox_root(self._home).manifest
        return {
            "backend": self.name,
            "version": ".".join(map(str, version)),
            "root_digest": f"sha256:{manifest['digest']}",
            "python": manifest["python"],
            "packages": manifest["packages"],
            "network": "none",
            "user": USER,
            "capabilities": "none",
            "seccomp": f"{len(seccomp.REFUSED) + len(seccomp.ABSENT)} system calls refused",
            "publishable": self.publishable,
            "publishable_reason": self.publishable_reason,
        }

    def run(
        self, command: Command, *, job: Job | None = None, on_output: OnOutput | None = None
    ) -> Ended:
        """See `Sandbox.run`."""
        program, _ = self._program()
        root = sandbox_root(self._home, job)
        _check(command)
        with contextlib.ExitStack() as stack:
            stack.enter_context(root.in_use())
            folder = stack.enter_context(opened(command.job_folder))
            as_root = os.geteuid() == 0
            sources = [root.path, command.job_folder, *command.read_only]
            if as_root:
                hand_over(folder, USER)
                place = next(name for name in _NAMES if Path(name).is_dir())
                binds = tuple((str(source), str(n)) for n, source in enumerate(sources))
                shown = [f"{place}/{n}" for n in range(len(sources))]
            else:
                place, binds, shown = None, (), [str(source) for source in sources]
            check_room(folder)
            plan = Plan(
                program=program,
                options=tuple(_options(command, shown)),
                argv=command.argv,
                seccomp=seccomp.filter_bytes(),
                job_folder=folder,
                user=USER if as_root else None,
                stage=place,
                binds=binds,
                limits=command.limits,
            )
            try:
                return supervise(plan, job=job, on_output=on_output)
            except SetupFailed as failed:
                raise in_words(failed.words) from failed
            except OSError as error:
                raise HarnessFault(
                    "The sandbox could not be started.", details=error.strerror
                ) from error

    def programs(self) -> Mapping[str, str]:
        """See `Sandbox.programs`."""
        return {}

    def remove_leftovers(self) -> int:
        """See `Sandbox.remove_leftovers`.

        Processes and mounts go with their run. Folders can be left; and a process, if a program
        inside tampered with its namespace's first process before the run was killed.
        """
        removed = end_orphans(self._home) + remove_half_made(self._home)
        scratch = self._home.scratch
        for folder in (*scratch.glob("probe-*"), *scratch.glob("promises-*")):
            owner = folder.name.split("-")[1]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                remove_tree(folder)
                removed += 1
        return removed

    def _program(self) -> tuple[str, tuple[int, ...]]:
        """Bubblewrap's path and version.

        Raises:
            MissingPrerequisite: it is not there, or too old.
        """
        program = shutil.which("bwrap", path=self.search)
        if program is None:
            raise MissingPrerequisite(
                "bubblewrap is missing; without a sandbox nothing is run.",
                todo="Install it: apt-get install bubblewrap (Fedora: dnf install bubblewrap).",
            )
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=20
        )
        found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout)
        version = tuple(int(part or 0) for part in found.groups()) if found else (0,)
        if version < OLDEST:
            raise MissingPrerequisite(
                f"bubblewrap is too old: {done.stdout.strip() or 'unknown version'}; "
                f"{'.'.join(map(str, OLDEST))} or newer is needed.",
                todo="Use Debian 12, Ubuntu 24.04 or newer, or install a newer bubblewrap.",
            )
        return program, version


def _options(command: Command, shown: list[str]) -> list[str]:
    """Bubblewrap's options; `shown` are root, job folder and read-only files as it sees them."""
    limits = command.limits
    in_memory = str(max(MIB, min(512 * MIB, limits.memory_bytes // 4)))
    root, job_folder, *read_only = shown
    options = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    options += ["--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    options += ["--uid", str(USER), "--gid", str(USER)]
    options += ["--ro-bind", root, "/", "--proc", "/proc"]
    for name in _MASKED_FILES:
        if Path("/proc", name).exists():
            options += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    for name in _MASKED_FOLDERS:
        if Path("/proc", name).is_dir():
            options += ["--perms", "0555", "--size", "4096", "--tmpfs", f"/proc/{name}"]
            options += ["--remount-ro", f"/proc/{name}"]
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--perms", "1777", "--size", in_memory, "--tmpfs", "/dev/shm"]  # noqa: S108
    options += ["--perms", "1777", "--size", in_memory, "--tmpfs", "/tmp"]  # noqa: S108
    options += ["--bind", job_folder, "/job"]
    for source, target in zip(read_only, command.read_only.values(), strict=True):
        options += ["--ro-bind", source, target]
    options += ["--remount-ro", "/", "--chdir", "/job", "--clearenv"]
    for name, value in {**ENVIRONMENT, **command.env}.items():
        options += ["--setenv", name, value]
    return options


def _check(command: Command) -> None:
    """Refuse what cannot be meant.

    Raises:
        UsageError, MissingPrerequisite: see `Sandbox.run`.
    """
    words = (*command.argv, *command.env, *command.env.values(), *command.read_only.values())
    if not command.argv or any("\0" in word for word in words):
        raise UsageError("The command for the sandbox is empty or holds a NUL character.")
    if any("=" in name or not name for name in command.env):
        raise UsageError("A variable's name in the environment is empty or holds '='.")
    as_root = os.geteuid() == 0
    for source, target in command.read_only.items():
        place = PurePosixPath(target)
        if not _PLACE.fullmatch(target) or ".." in place.parts or place.parts[1:2] != ("job",):
            raise UsageError(f"Only places below /job can be shown in the sandbox, not {target}.")
        if len(place.parts) < 3:  # noqa: PLR2004 - "/", "job", a name
            raise UsageError("The job folder itself cannot be covered.")
        try:
            mode = source.lstat().st_mode
        except OSError as error:
            raise UsageError(f"What is to be shown as {target} does not exist.") from error
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UsageError(f"What is to be shown as {target} is no file or folder.")
        needed = 0o005 if stat.S_ISDIR(mode) else 0o004
        readable = mode & needed == needed if as_root else os.access(source, os.R_OK)
        if not readable:
            raise MissingPrerequisite(
                f"The sandbox's user cannot read what is to be shown as {target}.",
                todo="Let others read the file (chmod o+r); its folder may stay closed.",
            )
        _check_place(command.job_folder, place.relative_to("/job"))


def _check_place(folder: Path, place: PurePosixPath) -> None:
    """A place in the job folder where something is shown must not lead elsewhere by a symlink."""
    walked = folder
    for part in place.parts:
        walked = walked / part
        if walked.is_symlink():
            raise UsageError(f"A symlink stands in the job folder where {place} is to be shown.")
