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


def read_what_is_there() -> str:
    """The state file, the tasks with their answers, accounts: by path and through /proc."""
    existing = ground()["existing"]
    for path in existing:
        for name in (path, f"/proc/1/root{path}", f"/proc/self/root/../..{path}"):
            with contextlib.suppress(OSError):
                os.close(os.open(name, os.O_RDONLY))
                raise Broken(f"{name} of the host can be opened")
    return f"{len(existing)} files and folders of the host tried"


def read_by_open_folders() -> str:
    """Through what any process holds open: /proc/*/fd, /proc/*/map_files, /proc/*/exe."""
    names = []
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:  # noqa: PTH208
        with contextlib.suppress(OSError):
            names += [f"/proc/{pid}/fd/{handle}" for handle in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208
    looked = [
        f"{name}{up}{file}"
        for name in [*names, "/proc/1/exe", "/proc/self/fd/0"]
        for up in ("", "/..", "/../../..")
        for file in ground()["private_files"][:4]
    ]
    return _must_not_read(*looked)


def read_by_mount_table() -> str:
    """Host paths that the mount table tells, opened as they stand there."""
    names = set()
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        names.add(line.split(" ")[3].encode().decode("unicode_escape"))
    for name in sorted(names - {"/"}):
        for path in (Path(name), Path(name).parent, Path(name).parent.parent):
            with contextlib.suppress(OSError):
                if any(found.name.startswith("promises-") for found in path.iterdir()):
                    raise Broken(f"{path}, which the mount table names, can be listed")
    return f"{len(names)} paths of the mount table tried"


def read_other_jobs() -> str:
    """Another run's folder beside ours, by every way up from the job folder."""
    job = os.open("/job", os.O_RDONLY | os.O_DIRECTORY)
    for up in ("..", "../..", "../../.."):
        for name in os.listdir(os.open(up, os.O_RDONLY | os.O_DIRECTORY, dir_fd=job)):  # noqa: PTH208
            if name.startswith(("job-", "promises-", "private", ".m4review-canary-")):
                raise Broken(f"{name}, which lies beside the job folder, can be seen")
    with contextlib.suppress(OSError):
        Path("/job/../job-other").mkdir()
        raise Broken("a folder beside the job folder can be made")
    return "nothing above the job folder is the host's"


def read_devices() -> str:
    """The machine's memory, disks and kernel log as devices."""
    said = []
    for name in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "fuse", "kvm"):
        try:
            os.close(os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK))
        except OSError as error:
            said.append(f"{name}: {error.strerror}")
        else:
            raise Broken(f"/dev/{name} can be opened")
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        with contextlib.suppress(OSError):
            os.mknod("/tmp/device", kind | 0o666, os.makedev(1, 1))  # noqa: S108
            raise Broken("a device was made")
    return ", ".join(said)


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


def output_is_folder() -> str:
    """A folder of the output's name, with a million-fold name, shut to everybody."""
    Path("/job/output.csv").mkdir()
    Path("/job/output.csv", "a" * 200).write_text("x", encoding="ascii")
    Path("/job/output.csv").chmod(0)
    return "a folder is left in the output's place"


def output_has_other_names() -> str:
    """Hard links of the output to what was given, and out of the job folder."""
    Path("/job/output.csv").write_text("a\n1\n", encoding="ascii")
    tried = [("/job/output.csv", "/tmp/elsewhere"), ("/usr/bin/sh", "/job/sh")]  # noqa: S108
    for source, name in [*tried, ("/proc/self/exe", "/job/exe")]:
        with contextlib.suppress(OSError):
            os.link(source, name)
            raise Broken(f"a hard link from {source} to {name} was made")
    return f"{len(tried) + 1} links refused"


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
            # Then only what no process can undo makes up for it.
            found = Path("/proc/self/status").read_text(encoding="ascii")
            if "NoNewPrivs:\t1" not in found:
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
