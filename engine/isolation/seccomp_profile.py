"""The same system call filter as `seccomp`, as the JSON profile that a container engine takes.

The engine's filter can only be written the other way round: what is listed is allowed, everything
else is refused, whatever kernel and whatever call comes later. The list is every call of the
kernel up to `seccomp.LAST_KNOWN` without `REFUSED` and `ABSENT`; a test compares the two.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from typing import Any

from engine.isolation.seccomp import ABSENT, ADDRESS_FAMILIES, NEW_NAMESPACES, TERMINAL_REQUESTS

ALLOWED = """
accept accept4 access afs_syscall alarm arch_prctl bind brk cachestat capget capset chdir chmod
chown clock_getres clock_gettime clock_nanosleep close close_range connect copy_file_range creat
dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue
futex_wait futex_waitv futex_wake futimesat get_mempolicy get_robust_list get_thread_area getcpu
getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp
getpid getpmsg getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid
getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit
ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown
lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise
map_shadow_stack membarrier mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap
mprotect mremap msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause
pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl
pread64 preadv preadv2 prlimit64 process_mrelease pselect6 putpmsg pwrite64 pwritev pwritev2 read
readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr rename
renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
sched_getscheduler sched_rr_get_interval sched_setattr sched_setparam sched_setscheduler
sched_yield seccomp security select sendfile sendmmsg sendmsg sendto set_robust_list
set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority
setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr shutdown
sigaltstack signalfd signalfd4 splice stat statfs statx symlink symlinkat sync sync_file_range
syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate tuxcall umask
uname unlink unlinkat utime utimensat utimes vfork vmsplice vserver wait4 waitid write writev
""".split()  # noqa: SIM905 - a table to be read

_ARCHITECTURES = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]
_WORD = 0xFFFFFFFF


def profile() -> str:
    """The profile as JSON, to be given as ``seccomp=...`` among the security options."""
    rules: list[dict[str, Any]] = [
        {"names": ALLOWED, "action": "SCMP_ACT_ALLOW"},
        {"names": sorted(ABSENT), "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        _when("clone", 0, "SCMP_CMP_MASKED_EQ", NEW_NAMESPACES, 0),
    ]
    for call in ("socket", "socketpair"):
        rules += [_when(call, 0, "SCMP_CMP_EQ", family) for family in ADDRESS_FAMILIES]
    rules += [_when("personality", 0, "SCMP_CMP_EQ", value) for value in (0, _WORD)]
    rules += [
        _when("ioctl", 1, "SCMP_CMP_MASKED_EQ", mask, value)
        for mask, value in all_but(*TERMINAL_REQUESTS)
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": errno.EPERM,
            "architectures": _ARCHITECTURES,
            "syscalls": rules,
        }
    )


def _when(call: str, argument: int, how: str, value: int, value_two: int = 0) -> dict[str, Any]:
    condition = {"index": argument, "value": value, "valueTwo": value_two, "op": how}
    return {"names": [call], "action": "SCMP_ACT_ALLOW", "args": [condition]}


def all_but(one: int, other: int) -> Iterator[tuple[int, int]]:
    """Masks and values of which a 32-bit word matches at least one unless it is one of the two.

    The filter compares all 64 bits of an argument of which the kernel takes 32, so that "is not
    equal" could be deceived by the upper half; a mask that has only lower bits cannot.
    """
    differing = one ^ other
    for bit in (1 << number for number in range(32)):
        if not bit & differing:
            yield bit, ~one & bit
    values = [0]
    for bit in (1 << number for number in range(32) if differing >> number & 1):
        values += [value | bit for value in values]
    for value in values:
        if value not in (one & differing, other & differing):
            yield differing, value
