"""The filter is interpreted here instruction by instruction, as the kernel would."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import MissingPrerequisite
from engine.isolation import seccomp

ALLOW, KILL = seccomp.RET_ALLOW, seccomp.RET_KILL_PROCESS


def decide(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the filter answers for one system call."""
    own = seccomp.MACHINES[machine].audit_arch
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, own if arch is None else arch, 0, *padded)
    raw = seccomp.filter_bytes(machine)
    code = [struct.unpack_from("<HBBI", raw, i) for i in range(0, len(raw), 8)]
    accumulator = position = 0
    while True:
        operation, if_true, if_false, value = code[position]
        position += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x45: bool(accumulator & value),
            }[operation]
            position += if_true if holds else if_false


def refused(number: int) -> int:
    return seccomp.RET_ERRNO | number


machines = pytest.mark.parametrize("machine", list(seccomp.MACHINES))


@machines
def test_listed_calls_are_refused(machine: str):
    column = seccomp.MACHINES[machine].column
    for table, number in ((seccomp.REFUSED, errno.EPERM), (seccomp.ABSENT, errno.ENOSYS)):
        for call in table.values():
            if call[column] is not None:
                assert decide(machine, call[column]) == refused(number)


@machines
@given(data=st.data())
def test_everything_else_that_is_known_is_allowed(machine: str, data: st.DataObject):
    this = seccomp.MACHINES[machine]
    special = {this.socket, this.socketpair, this.clone, this.ioctl, this.personality}
    listed = {c[this.column] for t in (seccomp.REFUSED, seccomp.ABSENT) for c in t.values()}
    number = data.draw(st.integers(0, seccomp.LAST_KNOWN).filter(lambda n: n not in listed))
    if number not in special:
        assert decide(machine, number) == ALLOW


@machines
@given(family=st.integers(0, 2**32 - 1))
def test_only_three_address_families(machine: str, family: int):
    this = seccomp.MACHINES[machine]
    expected = ALLOW if family in (1, 2, 10) else refused(errno.EAFNOSUPPORT)
    assert decide(machine, this.socket, family, 1, 0) == expected
    assert decide(machine, this.socketpair, family, 1, 0) == expected


@machines
@given(flags=st.integers(0, 2**32 - 1))
def test_clone_makes_no_namespace(machine: str, flags: int):
    this = seccomp.MACHINES[machine]
    new = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    makes_one = any(flags & flag for flag in new)
    expected = refused(errno.EPERM) if makes_one else ALLOW
    assert decide(machine, this.clone, flags) == expected


@machines
@given(number=st.integers(seccomp.LAST_KNOWN + 1, 0x3FFFFFFF))
def test_newer_calls_do_not_exist(machine: str, number: int):
    assert decide(machine, number) == refused(errno.ENOSYS)


@machines
@given(arch=st.integers(0, 2**32 - 1), number=st.integers(0, 2**32 - 1))
def test_a_foreign_convention_ends_the_program(machine: str, arch: int, number: int):
    if arch != seccomp.MACHINES[machine].audit_arch:
        assert decide(machine, number, arch=arch) == KILL


@given(number=st.integers(0x40000000, 2**32 - 1))
def test_x32_ends_the_program(number: int):
    assert decide("x86_64", number) == KILL


@machines
def test_terminal_and_personality(machine: str):
    this = seccomp.MACHINES[machine]
    for request in (0x5412, 0x541C):
        assert decide(machine, this.ioctl, 0, request) == refused(errno.EPERM)
    assert decide(machine, this.ioctl, 0, 0x5401) == ALLOW
    assert decide(machine, this.personality, 0xFFFFFFFF) == ALLOW
    assert decide(machine, this.personality, 0x0040000) == refused(errno.EPERM)


def test_an_unknown_processor_is_said():
    with pytest.raises(MissingPrerequisite, match="riscv64"):
        seccomp.program("riscv64")
