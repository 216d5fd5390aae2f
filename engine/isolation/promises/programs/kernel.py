"""Attempts on the kernel: privileges, namespaces, mounts, other processes, odd system calls."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from .attempt import IS_X86, Broken, call, ground, refused

NEW = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000}
NEW |= {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
NEW_TIME = 0x80
SIGCHLD = 17
VARIABLES = {"", "HOME", "LANG", "LC_ALL", "PATH", "PYTHONUNBUFFERED", "TERM", "TMPDIR", "TZ"}
VARIABLES |= {"USER", "PWD", "OLDPWD", "SHLVL", "_", "GIVEN", "HOSTNAME"}


def status(pid: str = "self") -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def privileges() -> str:
    for pid in ("self", "1"):
        if pid == "1" and not os.listdir("/proc/1"):  # noqa: PTH208
            continue  # covered: nothing of it can be seen or written
        found = status(pid)
        for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"):
            # The first process is not the program's own; it may not have privileges either.
            if int(found[f"Cap{kind}"], 16) != 0:
                raise Broken(f"process {pid} has capabilities ({kind})")
        if found["NoNewPrivs"] != "1" or found["Seccomp"] != "2":
            raise Broken(f"process {pid} may get privileges or has no system call filter")
    return "no capability, no new privileges, a system call filter"


def user() -> str:
    ids = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
    if ids != {65534}:
        raise Broken(f"users and groups {sorted(ids)}")
    return "65534 and no other"


def namespaces() -> str:
    for name, flag in {**NEW, "time": NEW_TIME}.items():
        refused(f"unshare {name}", call(272, 97, flag))
    for name, flag in NEW.items():
        result = call(56, 220, flag | SIGCHLD, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        refused(f"clone {name}", result)
    size = 88
    arguments = ctypes.create_string_buffer(NEW["user"].to_bytes(8, "little"), size)
    result = call(435, 435, ctypes.addressof(arguments), size)
    if result == 0:
        os._exit(0)
    refused("clone3", result)
    handle = os.open("/proc/self/ns/net", os.O_RDONLY)
    return refused("setns", call(308, 268, handle, 0))


def mounts() -> str:
    said = [
        refused("mount", call(165, 40, b"none", b"/tmp", b"tmpfs", 0, 0)),
        refused("remount", call(165, 40, b"none", b"/", b"", 0x20 | 0x1000, 0)),
        refused("umount", call(166, 39, b"/proc", 2)),
        refused("chroot", call(161, 51, b"/job")),
        refused("pivot_root", call(155, 41, b"/job", b"/job")),
        refused("open_tree", call(428, 428, -100, b"/", 1)),
        refused("fsopen", call(430, 430, b"tmpfs", 0)),
        refused("mount_setattr", call(442, 442, -100, b"/", 0, 0, 0)),
    ]
    return ", ".join(said)


def trace() -> str:
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        buffer = ctypes.create_string_buffer(16)
        said = [
            refused("ptrace attach", call(101, 117, 16, child, 0, 0)),
            refused("ptrace seize", call(101, 117, 0x4206, 1, 0, 0)),
            refused("process_vm_readv", call(310, 270, child, ctypes.addressof(buffer), 0, 0, 0)),
            refused("process_vm_writev", call(311, 271, 1, ctypes.addressof(buffer), 0, 0, 0)),
            refused("pidfd_getfd", call(438, 438, os.pidfd_open(1), 0, 0)),
        ]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return ", ".join(said)


def host_processes() -> str:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    if len(pids) > 10:  # noqa: PLR2004
        raise Broken(f"{len(pids)} processes can be seen")
    for pid in pids:
        for name in ("environ", "cmdline"):
            try:
                content = Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                continue
            if ground()["home"].encode() in content:
                raise Broken(f"/proc/{pid}/{name} names the host's home folder")
            names = {word.partition(b"=")[0].decode() for word in content.split(b"\0")}
            if name == "environ" and (unknown := names - VARIABLES):
                raise Broken(f"/proc/{pid}/environ has {sorted(unknown)}")
    return f"{len(pids)} processes, all of the sandbox"


def _memory(pid: int) -> Iterator[bytes]:
    """What can be read of a process's memory."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            first, last = (int(part, 16) for part in line.split(" ")[0].split("-"))
            if line.split(" ")[1].startswith("r") and last - first < 64 << 20:
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(first)
                    yield memory.read(last - first)


def host_environment_and_memory() -> str:
    """A secret of the host's environment, in environment and memory of everything that is here."""
    wanted = bytes(reversed(ground()["variable_token_reversed"].encode()))
    looked = 0
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:  # noqa: PTH208
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes():
                raise Broken(f"the environment of process {pid} has a secret of the host")
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            for block in _memory(pid):
                looked += len(block)
                if wanted in block:
                    raise Broken(f"the memory of process {pid} holds a secret of the host")
    number = ground()["host_pid"]
    if number > 100:  # noqa: PLR2004 - a lower one may be the sandbox's own
        with contextlib.suppress(OSError):
            os.kill(number, 0)
            raise Broken("a process of the host can be signalled by its number")
    return f"not in any environment, nor in {looked >> 10} KiB of others' memory"


def overwrite_the_runner() -> str:
    """The program that started the sandbox, through /proc/*/exe (as runc once allowed)."""
    tried = 0
    for pid in [name for name in os.listdir("/proc") if name.isdigit()] + ["self"]:  # noqa: PTH208
        for name in (f"/proc/{pid}/exe", f"/proc/{pid}/root/usr/bin/sh"):
            for flags in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
                tried += 1
                with contextlib.suppress(OSError):
                    os.close(os.open(name, flags))
                    raise Broken(f"{name} can be written")
    return f"{tried} attempts refused"


def control_groups() -> str:
    """Ways by which containers were left: release agents, helpers of the kernel, its triggers."""
    places = ["/sys/fs/cgroup/x", "/sys/fs/cgroup/release_agent", "/sys/kernel/uevent_helper"]
    places += ["/proc/sysrq-trigger", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/core_pattern"]
    places += ["/proc/self/oom_score_adj_", "/sys/module/x", "/proc/sys/vm/overcommit_memory"]
    places += ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max", "/proc/kcore"]
    for place in places:
        with contextlib.suppress(OSError):
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
            raise Broken(f"{place} can be written")
    with contextlib.suppress(OSError):
        Path("/sys/fs/cgroup/mine").mkdir()
        raise Broken("a control group can be made")
    return f"{len(places)} places refused"


def priority() -> str:
    """More of the processor than others, and time that stands still."""
    said = []
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError as error:
        said.append(f"nice: {error.strerror}")
    else:
        raise Broken("a higher priority was had")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError as error:
        said.append(f"real time: {error.strerror}")
    else:
        raise Broken("a real time priority was had")
    word = ctypes.create_string_buffer(32)
    said.append(refused("clock_settime", call(227, 112, 0, ctypes.addressof(word))))
    said.append(refused("clock_adjtime", call(305, 266, 0, ctypes.addressof(word))))
    said.append(refused("mlockall", call(151, 230, 3)) if _locks_memory() else "mlockall: bounded")
    return ", ".join(said)


def _locks_memory() -> bool:
    """Memory may be locked beyond a bound that does no harm."""
    import resource  # noqa: PLC0415 - only here

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return min(soft, hard) > (1 << 30) or soft == resource.RLIM_INFINITY


def exotic_calls() -> str:
    word = ctypes.create_string_buffer(128)
    place = ctypes.addressof(word)
    said = [
        refused("bpf", call(321, 280, 0, place, 128)),
        refused("perf_event_open", call(298, 241, place, 0, -1, -1, 0)),
        refused("userfaultfd", call(323, 282, 1)),
        refused("io_uring_setup", call(425, 425, 8, place)),
        refused("keyctl", call(250, 219, 0, -3, 0)),
        refused("add_key", call(248, 217, b"user", b"x", b"y", 1, -3)),
        refused("kexec_load", call(246, 104, 0, 0, 0, 0)),
        refused("init_module", call(175, 105, place, 1, b"")),
        refused("reboot", call(169, 142, 0, 0, 0, 0)),
        refused("sethostname", call(170, 161, b"x", 1)),
        refused("settimeofday", call(164, 170, place, 0)),
        refused("swapon", call(167, 224, b"/job/x", 0)),
        refused("fanotify_init", call(300, 262, 0, 0)),
        refused("syslog", call(103, 116, 3, place, 128)),
        refused("quotactl", call(179, 60, 0, 0, 0, 0)),
        refused("personality", call(135, 92, 0x0040000)),
    ]
    return f"{len(said)} system calls refused"


def foreign_calling_convention() -> str:
    if not IS_X86:
        return "this processor has one convention"
    child = os.fork()
    if child == 0:
        result = call(0x40000000 + 39, None)  # getpid of x32
        os._exit(0 if result > 0 else 1)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        return f"ended by signal {os.WTERMSIG(ended)}"
    if os.WEXITSTATUS(ended) == 0:
        raise Broken("x32 calls are let through")
    return "refused"


def terminal() -> str:
    for name in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0"):
        try:
            handle = os.open(name, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            continue
        os.close(handle)
        raise Broken(f"{name} of the host can be opened")
    main, side = os.openpty()
    result = call(16, 29, side, 0x5412, ctypes.addressof(ctypes.create_string_buffer(b"x")))
    os.close(main)
    os.close(side)
    return refused("TIOCSTI", result)


def open_descriptors() -> str:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            target = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
        except OSError:
            continue
        if int(name) > 2 and not target.startswith("/proc/"):  # noqa: PLR2004
            raise Broken(f"an open file came along: {target}")
    return "standard input and outputs only"


def processors() -> str:
    before = os.sched_getaffinity(0)
    if len(before) > ground()["cpus"]:
        raise Broken(f"{len(before)} processors may be used")
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError as error:
        return f"{len(before)} of {os.cpu_count()}; more: {error.strerror}"
    raise Broken("more processors could be taken")


def kill_everyone() -> str:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
        os.kill(1, number)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(-1, signal.SIGKILL)  # all but the first process and this one
    _, ended = os.waitpid(child, 0)
    if not os.WIFSIGNALED(ended):
        raise Broken("signals do not work inside")
    return "nobody outside was hit"


def tell_first_process() -> str:
    path = Path("/proc/1/oom_score_adj")
    try:
        path.write_text("-1000", encoding="ascii")
    except OSError as error:
        return str(error.strerror)
    raise Broken("the sandbox can be shielded from the machine's memory protection")
