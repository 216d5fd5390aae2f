"""Runs inside the sandbox: tries to reach what must be out of reach, and reports in JSON.

``canary_check.py SPEC`` where SPEC is the file that `engine.isolation.canary` wrote. Every check
says what it tried; a check that could not be made is a failed check.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TRIES = {
    "path": "by its path",
    "proc_root": "through /proc/*/root",
    "proc_cwd": "through /proc/*/cwd/..",
    "symlink": "through a symlink in the job folder",
    "hard_link": "through a hard link in the job folder",
}
LOOPBACK = "lo"


def ways(path: str, job: Path, number: int) -> Iterator[tuple[str, str]]:
    """The names under which `path` might be reached: (way, name)."""
    yield "path", path
    for pid in [name for name in os.listdir("/proc") if name.isdigit()] + ["self", "thread-self"]:  # noqa: PTH208
        yield "proc_root", f"/proc/{pid}/root{path}"
        yield "proc_cwd", f"/proc/{pid}/cwd" + "/.." * 20 + path
    link = job / f"symlink-{number}"
    link.symlink_to(path)
    yield "symlink", str(link)
    hard = job / f"hard-{number}"
    with contextlib.suppress(OSError):
        os.link(path, hard, follow_symlinks=False)
        yield "hard_link", str(hard)


def leak(name: str, target: dict[str, Any], token: str) -> str | None:
    """How the private place can be seen under `name`, or None."""
    with contextlib.suppress(OSError):
        found = Path(name).stat()
        if [found.st_dev, found.st_ino] == target["inode"]:
            return "it can be seen"
    marker = target["marker"]
    if marker is not None:
        with contextlib.suppress(OSError):
            if token in Path(name, marker).read_text(encoding="ascii", errors="replace"):
                return "the canary file in it can be read"
        with contextlib.suppress(OSError):
            if marker in os.listdir(name):  # noqa: PTH208
                return "the canary file in it can be listed"
    return None


def check_private(spec: dict[str, Any], job: Path) -> Iterator[tuple[str, bool, str]]:
    """Each private place, in every way."""
    for number, target in enumerate(spec["private"]):
        leaks = []
        tried = 0
        for way, name in ways(target["path"], job, number):
            tried += 1
            if how := leak(name, target, spec["token"]):
                leaks.append(f"{how} {TRIES[way]}")
        detail = "; ".join(dict.fromkeys(leaks)) or f"not reached in {tried} ways"
        yield f"unreadable: {target['path']}", not leaks, detail


def check_walk(spec: dict[str, Any]) -> tuple[bool, str]:
    """Nothing that can be seen anywhere is a private place or holds a canary file."""
    private = {tuple(target["inode"]) for target in spec["private"]}
    markers = {target["marker"] for target in spec["private"]} - {None}
    shown = {*spec["read_only"], *spec["folders"]}
    seen = 0
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders.remove("proc")
        for name in [*folders, *files]:
            seen += 1
            path = os.path.join(folder, name)  # noqa: PTH118 - quick
            found = os.lstat(path)
            if name in markers or ((found.st_dev, found.st_ino) in private and path not in shown):
                return False, f"{path} is a private place"
    return seen > 100, f"{seen} names looked at"  # noqa: PLR2004 - an empty root proves nothing


def check_control(spec: dict[str, Any], job: Path) -> tuple[bool, str]:
    """The way of looking works: the same test finds a canary file that is meant to be found."""
    found = job.stat()
    own = {"inode": [found.st_dev, found.st_ino], "marker": "control"}
    seen = leak(str(job), own, spec["token"])
    other = leak(str(job), {"inode": [0, 0], "marker": "control"}, spec["token"])
    return seen is not None and other is not None, "an open place was recognised as open"


def check_connections(spec: dict[str, Any]) -> tuple[bool, str]:
    """The host's real listeners cannot be reached."""
    targets: list[tuple[int, int, Any, str]] = [
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + spec["abstract"], "abstract Unix socket")
    ]
    for address in spec["addresses"]:
        own = socket.AF_INET6 if ":" in address else socket.AF_INET
        targets.append((own, socket.SOCK_STREAM, (address, spec["port"]), "TCP"))
    for number, kind, target, words in targets:
        with contextlib.suppress(OSError), socket.socket(number, kind) as one:
            one.settimeout(2)
            one.connect(target)
            return False, f"the host was reached by {words}"
    return True, f"{len(targets)} listeners of the host not reached"


def check_outside() -> tuple[bool, str]:
    """No way to any other machine."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as one:
                one.settimeout(2)
                one.connect((address, 53))
                return False, f"there is a way to {address}"
    return True, "no way by IPv4 or IPv6, TCP or UDP"


def check_names() -> tuple[bool, str]:
    """No name is resolved."""
    with contextlib.suppress(OSError):
        socket.getaddrinfo("example.org", 443)
        return False, "a name was resolved"
    return True, "no name is resolved"


def check_interfaces() -> tuple[bool, str]:
    """Only the loopback, and no route."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]
    names = [line.split(":")[0].strip() for line in lines]
    routes = Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:]
    return names == [LOOPBACK] and not routes, f"interfaces {names}, {len(routes)} routes"


def check_families() -> tuple[bool, str]:
    """No socket of a family that the network namespace does not bind."""
    opened = []
    for family in set(range(46)) - {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            with contextlib.suppress(OSError):
                socket.socket(family, kind).close()
                opened.append(family)
    return not opened, f"opened families: {opened}" if opened else "46 families tried"


def status() -> dict[str, str]:
    """This process as the kernel describes it."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def check_user() -> tuple[bool, str]:
    """User and group 65534 and no other."""
    ids = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
    return ids == {65534}, f"user and groups {sorted(ids)}"


def check_privileges() -> tuple[bool, str]:
    """No capability, no new privileges, a system call filter; for the first process too."""
    mine = status()
    capabilities = {mine[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")}
    no_capability = all(int(value, 16) == 0 for value in capabilities)
    good = no_capability and mine["NoNewPrivs"] == "1" and mine["Seccomp"] == "2"
    detail = f"capabilities {sorted(capabilities)}, NoNewPrivs {mine['NoNewPrivs']}"
    return good, f"{detail}, Seccomp {mine['Seccomp']}"


def check_read_only(spec: dict[str, Any]) -> tuple[bool, str]:
    """Nothing can be written but the job folder and the memory folders."""
    places = ["/", "/usr", "/usr/bin", "/usr/local/lib", "/etc", "/dev", "/proc", "/proc/sys"]
    places += ["/opt", "/run", *spec["folders"]]
    for place in places:
        with contextlib.suppress(OSError):
            Path(place, "canary-write").write_text("x", encoding="ascii")
            return False, f"{place} can be written"
    files = ["/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/bin/sh"]
    for file in files + list(spec["read_only"]):
        with contextlib.suppress(OSError):
            os.close(os.open(file, os.O_WRONLY))
            return False, f"{file} can be written"
    return True, f"{len(places)} folders and {len(files) + len(spec['read_only'])} files refused"


def check_mounts(spec: dict[str, Any]) -> tuple[bool, str]:
    """Only what was declared is mounted, and only the writable places are writable."""
    writable = {"/job", "/tmp", "/dev/shm", "/dev/pts", "/proc"}  # noqa: S108
    declared = {"/", "/dev", *writable, *spec["read_only"], *spec["folders"]}
    if any(folder.startswith("/opt/agents/") for folder in spec["folders"]):
        declared.add("/opt/agents")
    # What a container engine makes for each container; not the machine's own.
    declared |= {"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
    unknown, open_ones = [], []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split(" ")
        place, options = fields[4].encode().decode("unicode_escape"), fields[5].split(",")
        if place in devices or is_covered(place):
            continue
        inner = place.startswith("/proc/") or any(
            place.startswith(f"{folder}/") for folder in spec["folders"]
        )
        if place not in declared and not inner:
            unknown.append(place)
        elif place not in writable and "ro" not in options and (inner or can_be_written(place)):
            open_ones.append(place)
    bad = unknown + open_ones
    return not bad, f"not declared or writable: {bad}" if bad else "only what was declared"


def is_covered(place: str) -> bool:
    """Is nothing to be had there: an empty closed folder, the null device, or no way to it?"""
    try:
        found = Path(place).stat()
        if stat.S_ISDIR(found.st_mode):
            return not os.listdir(place) and not can_be_written(place)  # noqa: PTH208
        return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)
    except OSError:
        return True


def can_be_written(place: str) -> bool:
    """May this user write there, whatever the mount says?"""
    return os.access(place, os.W_OK)


def check_gateway(spec: dict[str, Any]) -> tuple[bool, str]:
    """The gateway's folder: one socket, which can be reached and not changed; nothing beside it."""
    name = Path(spec["gateway"])
    found = sorted(entry.name for entry in name.parent.iterdir())
    if found != [name.name]:
        return False, f"it holds {found}"
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(5)
        one.connect(str(name))
    for change in (name.unlink, lambda: name.rename(name.with_name("x")), lambda: name.chmod(0)):
        with contextlib.suppress(OSError):
            change()
            return False, "its socket can be changed"
    return True, "one socket, which can be reached and not changed"


def check_processes() -> tuple[bool, str]:
    """No process of the host can be seen."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return len(pids) < 10 and os.getpid() < 100, f"{len(pids)} processes"  # noqa: PLR2004


def check_descriptors() -> tuple[bool, str]:
    """No file of the host is held open."""
    names = {}
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            names[int(number)] = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
    bad = {n: name for n, name in names.items() if n > 2 and not name.startswith("/proc/")}  # noqa: PLR2004
    return not bad, f"open: {bad}" if bad else "standard input and outputs only"


def main() -> None:
    """All checks, one JSON document on stdout."""
    spec_file = Path(sys.argv[1])
    spec = json.loads(spec_file.read_text(encoding="utf-8"))
    job = spec_file.parent
    checks = [*check_private(spec, job)]
    single: dict[str, Callable[[], tuple[bool, str]]] = {
        "control": lambda: check_control(spec, job),
        "nothing private anywhere": lambda: check_walk(spec),
        "mounts": lambda: check_mounts(spec),
        "read-only": lambda: check_read_only(spec),
        "user": check_user,
        "privileges": check_privileges,
        "processes": check_processes,
        "open files": check_descriptors,
        "host's listeners": lambda: check_connections(spec),
        "other machines": check_outside,
        "names": check_names,
        "interfaces": check_interfaces,
        "socket families": check_families,
    }
    if spec["gateway"] is not None:
        single["gateway's folder"] = lambda: check_gateway(spec)
    for name, check in single.items():
        try:
            passed, detail = check()
        except Exception as error:  # a check that cannot be made proves nothing
            passed, detail = False, f"the check failed: {type(error).__name__}"
        checks.append((name, passed, detail))
    report = {"nonce": spec["nonce"], "checks": checks}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
