"""The system call filter of the bubblewrap sandbox, as the BPF program that the kernel takes.

A namespace sandbox still talks to the host's whole kernel. The filter refuses the calls that
programs computing a table never need and that kernel exploits and escapes do: other address
families than Unix, IPv4 and IPv6 (vsock and Bluetooth know no network namespace), io_uring, new
namespaces, mounts, tracing other processes, keyrings, modules, clocks; memory that no limit counts
(memfd, System V and POSIX queues); and everything newer than this list. A foreign calling
convention (32-bit, x32) ends the program, since the numbers would mean other calls.

After Docker's default profile, and tighter. Written here because libseccomp is not on every
machine and its Python bindings need it. Numbers: the kernel's ``asm/unistd_64.h`` (x86_64) and
``asm-generic/unistd.h`` (aarch64).
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

from engine.base.errors import MissingPrerequisite

# Classic BPF (linux/bpf_common.h) and seccomp (linux/seccomp.h).
_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_GREATER = 0x25  # BPF_JMP | BPF_JGT | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
RET_KILL_PROCESS = 0x80000000
RET_ERRNO = 0x00050000
RET_ALLOW = 0x7FFF0000
# struct seccomp_data: nr, arch, instruction pointer, six 64-bit arguments (little-endian here).
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24

LAST_KNOWN = 456
"""futex_requeue (Linux 6.7): calls beyond it answer ENOSYS, as on an older kernel."""
_X32 = 0x3FFFFFFF  # greater numbers belong to the x32 convention

ADDRESS_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}; clone cannot make a time namespace."""

TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put characters into a terminal's input."""

# name: (x86_64, aarch64); None where the machine has no such call
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes and their memory
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # kernel machinery that exploits love
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    # keyrings know no user namespace of their own
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "unshare": (272, 97),
    "setns": (308, 268),
    # the machine
    "acct": (163, 89),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "nfsservctl": (180, 42),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "_sysctl": (156, None),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "uselib": (134, None),
    "ustat": (136, None),
    "vhangup": (153, 58),
    # other processors and memory nodes than those given
    "sched_setaffinity": (203, 122),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
}

# These have a well-trodden way around when the kernel lacks them.
ABSENT: dict[str, tuple[int | None, int | None]] = {
    # flags behind a pointer cannot be looked at; the C library takes clone instead
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # memory that belongs to no process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
}


@dataclass(frozen=True)
class Machine:
    """What differs between processors."""

    column: int
    """Which number of the tables is its own."""
    audit_arch: int
    """AUDIT_ARCH_* of linux/audit.h."""
    has_x32: bool
    """Has a second calling convention under the same AUDIT_ARCH."""
    socket: int
    socketpair: int
    clone: int
    ioctl: int
    personality: int


MACHINES = {
    "x86_64": Machine(0, 0xC000003E, True, 41, 53, 56, 16, 135),
    "aarch64": Machine(1, 0xC00000B7, False, 198, 199, 220, 29, 92),
}


@dataclass(frozen=True)
class Instruction:
    """One BPF instruction; jumps count the instructions to pass over."""

    code: int
    if_true: int
    if_false: int
    value: int

    def packed(self) -> bytes:
        """As struct sock_filter."""
        return struct.pack("<HBBI", self.code, self.if_true, self.if_false, self.value)


def _load(offset: int) -> Instruction:
    return Instruction(_LOAD_WORD, 0, 0, offset)


def _return(what: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, what)


def _error(number: int) -> Instruction:
    return _return(RET_ERRNO | number)


def _when(code: int, value: int, *then: Instruction) -> list[Instruction]:
    """`then` if the loaded word compares so with `value`; else go on after it."""
    return [Instruction(code, 0, len(then), value), *then]


def program(machine: str | None = None) -> list[Instruction]:
    """The filter for `machine` (as ``uname -m`` says; this one when None).

    Raises:
        MissingPrerequisite: there is no filter for this kind of processor.
    """
    name = machine or platform.machine()
    if name not in MACHINES:
        raise MissingPrerequisite(
            f"The sandbox knows no system call filter for processors of kind {name}.",
            todo=f"Use a machine with one of: {', '.join(MACHINES)}.",
        )
    this = MACHINES[name]
    code = [
        _load(_ARCH),
        Instruction(_JUMP_EQUAL, 1, 0, this.audit_arch),
        _return(RET_KILL_PROCESS),
        _load(_NUMBER),
    ]
    if this.has_x32:
        code += _when(_JUMP_GREATER, _X32, _return(RET_KILL_PROCESS))
    code += _when(_JUMP_GREATER, LAST_KNOWN, _error(errno.ENOSYS))
    for table, number in ((REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for call in table.values():
            if (own := call[this.column]) is not None:
                code += _when(_JUMP_EQUAL, own, _error(number))
    code += _when(
        _JUMP_EQUAL,
        this.clone,
        _load(_FIRST_ARGUMENT),
        *_when(_JUMP_ANY_BIT, NEW_NAMESPACES, _error(errno.EPERM)),
        _return(RET_ALLOW),
    )
    for call_number in (this.socket, this.socketpair):
        code += _when(
            _JUMP_EQUAL, call_number, *_only(_FIRST_ARGUMENT, ADDRESS_FAMILIES, errno.EAFNOSUPPORT)
        )
    code += _when(
        _JUMP_EQUAL, this.personality, *_only(_FIRST_ARGUMENT, (0, 0xFFFFFFFF), errno.EPERM)
    )
    refused_requests = [
        one
        for request in TERMINAL_REQUESTS
        for one in _when(_JUMP_EQUAL, request, _error(errno.EPERM))
    ]
    code += _when(
        _JUMP_EQUAL, this.ioctl, _load(_SECOND_ARGUMENT), *refused_requests, _return(RET_ALLOW)
    )
    return [*code, _return(RET_ALLOW)]


def _only(argument: int, values: tuple[int, ...], number: int) -> list[Instruction]:
    """Allow the call if the low word of its argument is one of `values`; else error `number`."""
    allowed = [one for value in values for one in _when(_JUMP_EQUAL, value, _return(RET_ALLOW))]
    return [_load(argument), *allowed, _error(number)]


def filter_bytes(machine: str | None = None) -> bytes:
    """The program as bubblewrap's ``--seccomp`` takes it: an array of struct sock_filter.

    Raises:
        MissingPrerequisite: see `program`.
    """
    return b"".join(instruction.packed() for instruction in program(machine))
