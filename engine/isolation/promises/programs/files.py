"""Attempts on files: reading what is private, writing where it is not allowed, filling the disk."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .attempt import Broken, call, ground, refused

MIB = 1 << 20
AT_FDCWD = -100


def _must_not_read(*names: str) -> str:
    token = ground()["token"]
    for name in names:
        with contextlib.suppress(OSError):
            if token in Path(name).read_text(encoding="ascii", errors="replace"):
                raise Broken(f"the private file was read as {name}")
        with contextlib.suppress(OSError):
            os.listdir(os.path.dirname(name))  # noqa: PTH120, PTH208 - the name as it is
            if os.path.lexists(name):
                raise Broken(f"the private file can be seen as {name}")
    return f"{len(names)} names tried"


def read_by_path() -> str:
    return _must_not_read(*ground()["private_files"])


def read_by_proc() -> str:
    pids = [name for name in os.listdir("/proc") if name.isdigit()] + ["self"]  # noqa: PTH208
    names = []
    for file in ground()["private_files"]:
        for pid in [*pids, str(ground()["host_pid"])]:
            names += [f"/proc/{pid}/root{file}", f"/proc/{pid}/cwd" + "/.." * 20 + file]
            names += [f"/proc/{pid}/task/{pid}/root{file}"]
    return _must_not_read(*names)


def read_by_symlink() -> str:
    names = []
    for number, file in enumerate(ground()["private_files"]):
        for kind, target in (("direct", file), ("up", "../" * 20 + file), ("proc", "/proc/1/root")):
            link = Path(f"/job/link-{kind}-{number}")
            link.symlink_to(target)
            names.append(str(link) if kind != "proc" else f"{link}{file}")
    for name in names:
        with contextlib.suppress(OSError):
            if ground()["token"] in Path(name).read_text(encoding="ascii", errors="replace"):
                raise Broken(f"the private file was read through {name}")
    return f"{len(names)} links tried"


def read_by_hard_link() -> str:
    for number, file in enumerate(ground()["private_files"]):
        with contextlib.suppress(OSError):
            os.link(file, f"/job/hard-{number}")
            raise Broken("a hard link to the private file was made")
    return "no hard link could be made"


def read_by_handle() -> str:
    buffer = ctypes.create_string_buffer(136)
    ctypes.memmove(buffer, (128).to_bytes(4, "little"), 4)
    mount = ctypes.c_int()
    made = call(303, 264, AT_FDCWD, b"/job", ctypes.addressof(buffer), ctypes.addressof(mount), 0)
    handle = os.open("/job", os.O_RDONLY)
    opened = call(304, 265, handle, ctypes.addressof(buffer), os.O_RDONLY)
    return refused("name_to_handle_at", made) + ", " + refused("open_by_handle_at", opened)


def read_by_parent_folders() -> str:
    os.chdir("/job")
    for _ in range(40):
        os.chdir("..")
    if Path.cwd() != Path("/"):
        raise Broken("a folder above the root was reached")
    names = ["." + file for file in ground()["private_files"]]
    return _must_not_read(*names)


def host_places() -> str:
    for place in ("/root", "/home", "/etc/shadow", "/etc/ssh", "/var", "/sys", "/boot", "/run"):
        with contextlib.suppress(OSError):
            found = os.listdir(place) if Path(place).is_dir() else [Path(place).read_bytes()]  # noqa: PTH208
            if found and place not in ("/sys", "/run", "/var", "/root", "/home"):
                raise Broken(f"{place} can be read")
            inode = [Path(place).stat().st_dev, Path(place).stat().st_ino]
            if inode == ground()["inodes"].get(place):
                raise Broken(f"{place} is the host's")
    return "no place of the host"


def write_outside() -> str:
    folders = ["/", "/usr", "/usr/bin", "/usr/local/bin", "/usr/local/lib", "/etc", "/dev"]
    folders += ["/proc", "/proc/sys", "/proc/sys/kernel", "/bin", "/lib", "/home", "/root", "/var"]
    for folder in folders:
        with contextlib.suppress(OSError):
            Path(folder, "written").write_text("x", encoding="ascii")
            raise Broken(f"{folder} can be written")
    for file in ("/etc/passwd", "/usr/bin/sh", "/proc/sys/kernel/core_pattern"):
        with contextlib.suppress(OSError):
            os.close(os.open(file, os.O_WRONLY))
            raise Broken(f"{file} can be written")
        with contextlib.suppress(OSError):
            Path(file).chmod(0o777)
            raise Broken(f"{file}'s permissions can be changed")
    for folder in ("/usr", "/etc"):
        with contextlib.suppress(OSError):
            Path(folder).rename("/job/stolen")
            raise Broken(f"{folder} can be moved")
    return f"{len(folders)} folders refused"


def change_given_file() -> str:
    given = Path(ground()["given"])
    if given.read_text(encoding="ascii") != "given":
        raise Broken("the given file cannot be read")
    with contextlib.suppress(OSError):
        given.write_text("changed", encoding="ascii")
        raise Broken("the given file can be written")
    with contextlib.suppress(OSError):
        given.unlink()
        raise Broken("the given file can be removed")
    with contextlib.suppress(OSError):
        Path("/job/mine").write_text("mine", encoding="ascii")
        Path("/job/mine").replace(given)
        raise Broken("the given file can be replaced")
    with contextlib.suppress(OSError):
        given.chmod(0o777)
        raise Broken("the given file's permissions can be changed")
    with contextlib.suppress(OSError):
        os.truncate(given, 0)
        raise Broken("the given file can be cut")
    return "not written, removed, replaced or cut"


def fill_disk() -> str:
    block = bytes(MIB)
    for number in range(1_000_000):
        with Path(f"/job/fill-{number}").open("wb") as file:
            for _ in range(16):
                file.write(block)
    raise Broken("it could go on for ever")


def fill_disk_with_deleted_files() -> str:
    block = bytes(MIB)
    kept: list[BinaryIO] = []  # they stay open
    with contextlib.suppress(OSError):
        while len(kept) < 60:  # noqa: PLR2004 - 960 MiB are enough to see that nobody looks
            file = Path(f"/job/gone-{len(kept)}").open("wb")  # noqa: SIM115
            kept.append(file)
            Path(file.name).unlink()
            for _ in range(16):
                file.write(block)
            file.flush()
    while True:
        os.sched_yield()


def many_tiny_files() -> str:
    for number in range(10_000_000):
        os.close(os.open(f"/job/{number}", os.O_CREAT | os.O_WRONLY))
    raise Broken("ten million files were made")


def folders_without_end() -> str:
    for _ in range(1_000_000):
        Path("d").mkdir()
        os.chdir("d")
    raise Broken("a million nested folders were made")


def fill_memory_folders() -> str:
    said = []
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
        try:
            for number in range(4096):
                with Path(folder, f"fill-{number}").open("wb") as file:
                    file.write(bytes(16 * MIB))
        except OSError as error:
            said.append(f"{folder}: {error.strerror}")
        else:
            raise Broken(f"{folder} has no end")
        for file_left in Path(folder).glob("fill-*"):
            file_left.unlink()
    return ", ".join(said)


def tiny_files_in_memory() -> str:
    for number in range(10_000_000):
        try:
            os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))  # noqa: S108
        except OSError as error:
            return f"refused after {number}: {error.strerror}"
    raise Broken("ten million files in memory were made")


def sparse_terabyte() -> str:
    try:
        with Path("/job/output.csv").open("wb") as file:
            file.truncate(1 << 40)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        return "File too large"
    raise Broken("a file of a terabyte was made")


def output_is_no_file() -> str:
    Path("/job/output.csv").symlink_to(ground()["private_files"][0])
    os.mkfifo("/job/fifo")
    for number, kind in ((259, stat.S_IFBLK), (259, stat.S_IFCHR)):
        with contextlib.suppress(OSError):
            os.mknod(f"/job/device-{number}-{kind}", kind | 0o666, os.makedev(1, 3))
            raise Broken("a device was made")
    return "a symlink and a FIFO were left; no device could be made"


def set_user_id() -> str:
    copy = Path("/job/shell")
    copy.write_bytes(Path("/bin/sh").read_bytes())
    with contextlib.suppress(OSError):
        copy.chmod(0o6755)
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        place, options = line.split(" ")[4:6]
        if place in ("/", "/job", "/tmp", "/dev/shm") and "nosuid" not in options:  # noqa: S108
            raise Broken(f"{place} obeys set-user-ID programs")
    for change in (os.setuid, os.setgid, os.seteuid):
        with contextlib.suppress(OSError):
            change(0)
            raise Broken("it became user 0")
    with contextlib.suppress(OSError):
        os.chown("/job/shell", 0, 0)
        raise Broken("a file was given to user 0")
    return "set-user-ID has no effect; no way to user 0"


def hostile_names() -> str:
    names = ["new\nline", "escape\x1b[31m", "-rf", "tab\t", "\udcff\udcfe", "a" * 255, "\u202etxt"]
    for name in names:
        Path("/job", name).write_text("x", encoding="ascii")
    return f"{len(names)} names left in the job folder"


def _open_all() -> Iterator[int]:
    while True:
        yield os.open("/dev/null", os.O_RDONLY)


def open_files() -> str:
    opened = []
    try:
        for handle in _open_all():
            opened.append(handle)
            if len(opened) > ground()["open_files"]:
                break
    except OSError as error:
        number = error.errno
    else:
        number = 0
    for handle in opened:
        os.close(handle)
    if number != errno.EMFILE:
        raise Broken(f"{len(opened)} files could be opened")
    return f"refused after {len(opened)}"
