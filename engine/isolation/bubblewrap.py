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
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.base.errors import HarnessFault, MissingPrerequisite
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.isolation import programs, seccomp
from engine.isolation.checks import (
    ENVIRONMENT,
    MASKED_FILES,
    MASKED_FOLDERS,
    USER,
    address_space_bytes,
    check_command,
    in_memory_bytes,
)
from engine.isolation.common import try_trivial
from engine.isolation.folders import check_room, hand_over, opened, remove_tree
from engine.isolation.interface import GATEWAY, PROGRAMS, Command, Ended, OnOutput
from engine.isolation.orphans import end_orphans
from engine.isolation.planted import remove_planted
from engine.isolation.rootfs import remove_half_made, sandbox_root
from engine.isolation.supervise import Plan, SetupFailed, supervise
from engine.isolation.trouble import in_words

OLDEST = (0, 8, 0)
"""The first version with ``--disable-userns``."""

_NAMES = ("/mnt", "/media", "/srv")


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
        try_trivial(
            self,
            self._home,
            where="the bubblewrap sandbox",
            todo="If the home folder is on a disk mounted noexec, move it with --home.",
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
        check_command(command)
        with contextlib.ExitStack() as stack:
            stack.enter_context(root.in_use())
            folders = stack.enter_context(programs.in_use(self._home, command.programs))
            folder = stack.enter_context(opened(command.job_folder))
            as_root = os.geteuid() == 0
            sources = [root.path, command.job_folder, *command.read_only, *folders]
            sources += [command.gateway] if command.gateway is not None else []
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
                address_space=address_space_bytes(command),
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
        return programs.installed_programs(self._home)

    def remove_leftovers(self) -> int:
        """See `Sandbox.remove_leftovers`.

        Processes and mounts go with their run. Folders can be left; and a process, if a program
        inside tampered with its namespace's first process before the run was killed.
        """
        removed = end_orphans(self._home) + remove_half_made(self._home)
        removed += programs.remove_half_installed(self._home) + remove_planted(self._home)
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
    """Bubblewrap's options.

    `shown` are the root, the job folder, read-only files, programs and the gateway as it sees them.
    """
    in_memory = str(in_memory_bytes(command.limits))
    root, job_folder, *read_only = shown
    places = [*command.read_only.values()]
    places += [f"{PROGRAMS}/{name}" for name in dict.fromkeys(command.programs)]
    places += [GATEWAY] if command.gateway is not None else []
    options = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    options += ["--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    options += ["--uid", str(USER), "--gid", str(USER)]
    options += ["--ro-bind", root, "/", "--proc", "/proc"]
    for name in MASKED_FILES:
        if Path("/proc", name).exists():
            options += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    # The first process is bubblewrap, of the same user: whoever wrote into its memory could have it
    # take back that it ends with us.
    for name in (*MASKED_FOLDERS, "1"):
        if Path("/proc", name).is_dir():
            options += ["--perms", "0555", "--size", "4096", "--tmpfs", f"/proc/{name}"]
            options += ["--remount-ro", f"/proc/{name}"]
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--perms", "1777", "--size", in_memory, "--tmpfs", "/dev/shm"]  # noqa: S108
    options += ["--perms", "1777", "--size", in_memory, "--tmpfs", "/tmp"]  # noqa: S108
    options += ["--bind", job_folder, "/job"]
    if command.programs:
        options += ["--perms", "0755", "--size", "65536", "--tmpfs", PROGRAMS]
    for source, target in zip(read_only, places, strict=True):
        options += ["--ro-bind", source, target]
    options += ["--remount-ro", PROGRAMS] if command.programs else []
    options += ["--remount-ro", "/", "--chdir", "/job", "--clearenv"]
    for name, value in {**ENVIRONMENT, **command.env}.items():
        options += ["--setenv", name, value]
    return options
