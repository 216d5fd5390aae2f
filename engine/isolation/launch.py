"""The last step before bubblewrap, as a program of its own (run by path, standard library only).

It is started by `supervise`, reads what to do from an open file, and becomes bubblewrap by exec.
It does what must happen in the new process and cannot be asked of bubblewrap:

* die when the program that started it dies;
* resource limits, the processors to run on, first in line when the machine runs out of memory;
* as root: put the folders into a private mount namespace where user 65534 can reach them (the
  home is 0700 and may lie below /root), then become user 65534 for good. The namespace goes with
  the process, so that nothing is left behind, however it ends.

Exit status 126 with one line of words on stderr: it could not be done.

Only modules that load at once are imported (no pathlib, json, typing; of signal its C half): this
program's start is most of a trivial run's time.
"""

# pathlib alone would take longer than all the rest.
# ruff: noqa: PTH102, PTH112, PTH123

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import fcntl
import marshal
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
PR_SET_PDEATHSIG = 1
SIGKILL = 9
CANNOT = 126

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, doing: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if word is None else os.fsencode(word) for word in (source, target, kind, data)]
    result = _libc.mount(
        encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), ctypes.c_char_p(encoded[3])
    )
    _checked(result, "mount")


def die_with(parent: int) -> None:
    """Be killed when the process `parent` (ours) ends; end now if it already has."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        sys.exit(CANNOT)


def live_on(parent: int) -> None:
    """Undo `die_with`; end now if the parent has already ended."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        sys.exit(CANNOT)


def stage(place: str, binds: list[list[str]]) -> None:
    """Show each ``[source, name]`` of `binds` at ``place/name``, in a mount namespace."""
    _checked(_libc.unshare(CLONE_NEWNS), "unshare")
    _mount("none", "/", None, MS_REC | MS_SLAVE)
    # Opened before the tmpfs covers `place`, below which a source may lie.
    opened = [os.open(source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC) for source, _ in binds]
    _mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k")
    for handle, (_, name) in zip(opened, binds, strict=True):
        target = f"{place}/{name}"
        source = f"/proc/self/fd/{handle}"
        if os.path.isdir(source):
            os.mkdir(target, 0o700)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        _mount(source, target, None, MS_BIND)
        os.close(handle)


def become(user: int) -> None:
    """Become `user` (and the group of that number) for good."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def renumber(descriptors: list[list[int]]) -> None:
    """Give each open file ``[number now, number wanted]`` its number, inherited by exec."""
    # Out of the way first: one's old number may be another's new one.
    away = [(fcntl.fcntl(now, fcntl.F_DUPFD_CLOEXEC, 64), wanted) for now, wanted in descriptors]
    for now, _ in descriptors:
        os.close(now)
    for handle, wanted in away:
        os.dup2(handle, wanted)


def main(spec: dict[str, Any]) -> None:
    """Do it all, and become bubblewrap."""
    die_with(spec["parent"])
    if spec["stage"]:
        stage(spec["stage"], spec["binds"])
    os.chdir("/")
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them; programs do not
        _signal.signal(number, _signal.SIG_DFL)
    os.umask(0o022)
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("800")
    os.sched_setaffinity(0, spec["cpus"])
    os.nice(5)
    for name, value in spec["rlimits"].items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))
    if spec["user"] is not None:
        become(spec["user"])
    # From here on the tie is bubblewrap's own (--die-with-parent): it makes it when its child is
    # ready, and a bubblewrap that was killed before that would leave a child waiting for ever.
    live_on(spec["parent"])
    renumber(spec["descriptors"])
    # An empty environment: nothing of ours is in the memory of a process inside.
    os.execve(spec["program"], spec["argv"], {})  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    try:
        with open(int(sys.argv[1]), "rb") as _file:
            _spec = marshal.load(_file)  # noqa: S302 - written by the same Python, just now
        main(_spec)
    except OSError as error:
        print(f"launch: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        sys.exit(CANNOT)
