"""What a container uses, as its control group (version 1 or 2) tells; readable by every user."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GroupUsage:
    """One look at a control group."""

    processes: int
    """Processes and threads."""
    memory_bytes: int
    """Memory without the file cache that can be dropped at any time."""
    killed: int
    """How often the kernel has killed something in it for want of memory."""


class ControlGroup:
    """The control group of one container.

    Args:
        pid: the container's first process, seen from here.

    Raises:
        OSError: it cannot be found (the process is gone, or not of this kernel).
    """

    def __init__(self, pid: int) -> None:
        places: dict[str, str] = {}
        for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(","):
                places[name] = path
        mounts = _mounts()
        if "memory" in places and "memory" in mounts:
            self._memory = _below(mounts["memory"], places["memory"])
            self._pids = _below(mounts["pids"], places["pids"])
            self._names = ("memory.usage_in_bytes", "total_inactive_file", "memory.oom_control")
        elif "" in mounts and "" in places:
            self._memory = self._pids = _below(mounts[""], places[""])
            self._names = ("memory.current", "inactive_file", "memory.events")
        else:
            raise FileNotFoundError("no control group with memory")
        self.usage()

    def usage(self) -> GroupUsage:
        """Look at it.

        Raises:
            OSError: it is gone.
        """
        current, droppable, events = self._names
        used = int((self._memory / current).read_text(encoding="ascii"))
        cache = _fields(self._memory / "memory.stat").get(droppable, 0)
        processes = int((self._pids / "pids.current").read_text(encoding="ascii"))
        killed = _fields(self._memory / events).get("oom_kill", 0)
        return GroupUsage(processes, max(0, used - cache), killed)


def _fields(file: Path) -> dict[str, int]:
    lines = file.read_text(encoding="ascii").splitlines()
    return {name: int(value) for name, value in (line.split(" ", 1) for line in lines)}


def _mounts() -> dict[str, tuple[Path, str]]:
    """Controller ("" for version 2) -> where it is mounted, and which part of it."""
    found: dict[str, tuple[Path, str]] = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        place = (Path(before.split(" ")[4]), before.split(" ")[3])
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup":
            for name in options.split(","):
                found.setdefault(name, place)
    return found


def _below(mount: tuple[Path, str], path: str) -> Path:
    place, part = mount
    inner = path
    with contextlib.suppress(ValueError):
        inner = str(Path(path).relative_to(part)) if part != "/" else path
    return place / inner.lstrip("/")
