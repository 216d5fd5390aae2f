"""The promises, one by one: what is claimed, which attempt tries it, how it must end."""

from __future__ import annotations

from pathlib import Path

from engine.isolation.interface import MIB, OUTPUT_KEPT
from engine.isolation.promises.gateway import GATEWAY_PROMISES
from engine.isolation.promises.promise import After, Promise, Seen


def _nobody_left(seen: Seen) -> str | None:
    """No process on this machine has the survivors' word among its arguments."""
    word = str(seen.ground["survivor"]).encode()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in entry.read_bytes().split(b"\0"):
                return "a process of the attempt is still there"
        except OSError:
            continue
    return None


def _partial_kept(seen: Seen) -> str | None:
    if b"partial output" not in seen.stdout:
        return "the output before the kill is lost"
    if not (seen.folder / "partial").is_file():
        return "the file written before the kill is lost"
    return _nobody_left(seen)


def _stopped_soon(seen: Seen) -> str | None:
    return "it ended too late" if seen.ended.seconds > 10 else None  # noqa: PLR2004 - limit is 1 s


def _no_device(seen: Seen) -> str | None:
    for entry in seen.folder.iterdir():
        if entry.is_block_device() or entry.is_char_device():
            return "a device lies in the job folder"
    return None if (seen.folder / "output.csv").is_symlink() else "the symlink is not there"


def _output_folder(seen: Seen) -> str | None:
    output = seen.folder / "output.csv"
    return None if output.is_dir() and not output.is_symlink() else "the folder is not there"


def _cut(seen: Seen) -> str | None:
    if not seen.ended.output_cut:
        return "it is not said that the output was cut"
    if len(seen.stdout) + len(seen.stderr) > OUTPUT_KEPT + 1000:
        return "more output was handed on than promised"
    return None


def _raw_escapes(seen: Seen) -> str | None:
    wanted = b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[6n\x9b\xff\x00\r\n"
    return None if wanted in seen.stdout else "the bytes did not arrive as they were"


def _given_unchanged(seen: Seen) -> str | None:
    text = Path(seen.ground["given_on_host"]).read_text(encoding="ascii")
    return None if text == "given" else "the given file was changed"


def _no_core(seen: Seen) -> str | None:
    return "a memory image was written" if list(seen.folder.glob("core*")) else None


def _within(factor: float) -> After:
    def after(seen: Seen) -> str | None:
        used = sum(f.lstat().st_blocks * 512 for f in seen.folder.iterdir())
        return "much more was written than allowed" if used > factor else None

    return after


_SMALL_MEMORY = (("memory_bytes", 128 * MIB),)
_SHORT = (("wall_seconds", 1.0),)

PROMISES: tuple[Promise, ...] = (
    # what must work
    Promise(name="works.computing", claim="DuckDB and pandas compute and write a table"),
    Promise(name="works.concurrency", claim="threads, processes and an event loop work"),
    Promise(name="works.shell", claim="a shell and text tools are there"),
    Promise(name="works.places", claim="job folder, memory folders and given files are there"),
    Promise(name="works.environment", claim="the environment is the given one, not the host's"),
    Promise(name="works.loopback", claim="the sandbox's own loopback works"),
    # reading
    Promise(name="files.read_by_path", claim="private files cannot be read by their path"),
    Promise(name="files.read_by_proc", claim="... nor through /proc/*/root and cwd"),
    Promise(
        name="files.read_what_is_there",
        claim="... nor the state, the tasks with their answers, accounts",
    ),
    Promise(name="files.read_by_open_folders", claim="... nor through what is held open"),
    Promise(name="files.read_by_mount_table", claim="... nor by what the mount table tells"),
    Promise(name="files.read_other_jobs", claim="... nor other runs beside the job folder"),
    Promise(name="files.read_devices", claim="no disk, no machine memory as a device"),
    Promise(name="files.read_by_symlink", claim="... nor through symlinks"),
    Promise(name="files.read_by_hard_link", claim="... nor through hard links"),
    Promise(name="files.read_by_handle", claim="... nor by file handles"),
    Promise(name="files.read_by_parent_folders", claim="... nor above the root"),
    Promise(name="files.host_places", claim="homes, accounts, keys and logs are not there"),
    # writing
    Promise(name="files.write_outside", claim="nothing outside the job folder can be written"),
    Promise(
        name="files.change_given_file",
        claim="given files cannot be changed, removed or replaced",
        after=_given_unchanged,
    ),
    Promise(
        name="files.fill_disk",
        claim="filling the disk ends the run",
        ends=("disk",),
        after=_within(3 * 1024 * MIB),
    ),
    Promise(
        name="files.fill_disk_with_deleted_files",
        claim="... also with files that have no name any more",
        ends=("disk",),
    ),
    Promise(
        name="files.many_tiny_files",
        claim="... and with millions of files",
        ends=("disk",),
        limits=(("work_files", 300),),
    ),
    Promise(name="files.folders_without_end", claim="... and with nested folders", ends=("disk",)),
    Promise(
        name="files.fill_memory_folders",
        claim="folders in memory have an end",
        limits=(("memory_bytes", 256 * MIB),),
    ),
    Promise(
        name="files.tiny_files_in_memory",
        claim="... also for millions of empty files",
        ends=("memory", "exited"),
        limits=(("memory_bytes", 40 * MIB),),
    ),
    Promise(name="files.sparse_terabyte", claim="a file of a terabyte cannot be made"),
    Promise(
        name="files.output_is_no_file",
        claim="symlinks and FIFOs do no harm, devices cannot be made",
        after=_no_device,
    ),
    Promise(
        name="files.output_is_folder",
        claim="... nor a shut folder in the output's place",
        after=_output_folder,
    ),
    Promise(name="files.output_has_other_names", claim="no hard link leads out or in"),
    Promise(name="files.set_user_id", claim="set-user-ID programs have no effect"),
    Promise(name="files.hostile_names", claim="hostile file names do no harm"),
    Promise(name="files.open_files", claim="open files are limited"),
    # network
    Promise(name="network.ipv4", claim="nothing is reached by IPv4"),
    Promise(name="network.ipv6", claim="nothing is reached by IPv6"),
    Promise(name="network.names", claim="no name is resolved"),
    Promise(name="network.broadcast", claim="no broadcast leaves"),
    Promise(name="network.interfaces", claim="there is no interface but an empty loopback"),
    Promise(name="network.netlink", claim="no netlink socket"),
    Promise(name="network.raw", claim="no raw or packet socket"),
    Promise(name="network.vsock", claim="no vsock socket (to the machine's host)"),
    Promise(name="network.other_families", claim="no socket of any other family"),
    Promise(name="network.abstract_unix", claim="the host's abstract Unix sockets are not reached"),
    Promise(name="network.unix_path", claim="the host's Unix sockets in folders are not reached"),
    Promise(name="network.known_sockets", claim="... nor those of engines, desktops, key agents"),
    Promise(name="network.other_protocols", claim="nothing is reached by other protocols over IP"),
    Promise(name="network.name_servers", claim="no name server answers"),
    Promise(name="network.clouds_own_address", claim="no cloud's address of credentials"),
    # kernel
    Promise(name="kernel.privileges", claim="no capability, no new privileges, a call filter"),
    Promise(name="kernel.user", claim="an unprivileged user and no group of the host"),
    Promise(name="kernel.namespaces", claim="no new namespace can be made or entered"),
    Promise(name="kernel.mounts", claim="nothing can be mounted"),
    Promise(name="kernel.trace", claim="no process can be traced or its memory read"),
    Promise(name="kernel.host_processes", claim="host processes and their environment are hidden"),
    Promise(
        name="kernel.host_environment_and_memory",
        claim="no secret of the host in any environment or memory",
    ),
    Promise(name="kernel.overwrite_the_runner", claim="what started the sandbox cannot be written"),
    Promise(name="kernel.control_groups", claim="known ways out of containers are shut"),
    Promise(name="kernel.priority", claim="no higher priority, no change of the clock"),
    Promise(name="kernel.exotic_calls", claim="system calls that exploits need are refused"),
    Promise(
        name="kernel.foreign_calling_convention",
        claim="calls of another convention do not pass the filter",
    ),
    Promise(name="kernel.terminal", claim="nothing can be typed into the user's terminal"),
    Promise(name="kernel.open_descriptors", claim="no open file of the host comes along"),
    Promise(name="kernel.processors", claim="no more processors than given"),
    Promise(name="kernel.kill_everyone", claim="signals hit nobody outside"),
    Promise(
        name="kernel.tell_first_process", claim="it goes first when the machine's memory runs out"
    ),
    # more than the limits
    Promise(name="bombs.fork_bomb", claim="a fork bomb ends the run", ends=("processes",)),
    Promise(name="bombs.threads", claim="... threads count too", ends=("processes",)),
    Promise(
        name="bombs.memory_in_one",
        claim="too much memory ends the run",
        ends=("memory",),
        limits=_SMALL_MEMORY,
    ),
    Promise(
        name="bombs.memory_in_many",
        claim="... summed over all processes",
        ends=("memory",),
        limits=_SMALL_MEMORY,
    ),
    Promise(
        name="bombs.memory_shared",
        claim="... and shared memory counts",
        ends=("memory",),
        limits=_SMALL_MEMORY,
    ),
    Promise(
        name="bombs.shared_memory_counts_once",
        claim="memory that processes share is counted once",
        limits=(("memory_bytes", 160 * MIB),),
    ),
    Promise(name="bombs.memory_of_nobody", claim="memory that no process owns cannot be had"),
    Promise(
        name="bombs.ignore_every_signal",
        claim="ignoring signals does not outlive the time limit; what was written is kept",
        ends=("timeout",),
        limits=_SHORT,
        after=_partial_kept,
    ),
    Promise(
        name="bombs.stop_myself",
        claim="a stopped process does not outlive the time limit",
        ends=("timeout",),
        limits=_SHORT,
        after=_stopped_soon,
    ),
    Promise(
        name="bombs.survivors",
        claim="detached processes die with the program and hold nothing up",
        after=_nobody_left,
    ),
    Promise(
        name="bombs.survivors_at_timeout",
        claim="... and at the time limit",
        ends=("timeout",),
        limits=_SHORT,
        after=_partial_kept,
    ),
    Promise(
        name="bombs.survivors_without_a_group",
        claim="... in sessions of their own, too",
        after=_nobody_left,
    ),
    Promise(
        name="bombs.flood", claim="endless output is cut and said to be", reports=False, after=_cut
    ),
    Promise(
        name="bombs.escapes",
        claim="terminal escapes arrive as bytes and are not obeyed",
        after=_raw_escapes,
    ),
    Promise(name="bombs.core_dump", claim="no memory image is written", after=_no_core),
    Promise(name="bombs.raise_limits", claim="no limit can be raised"),
    *GATEWAY_PROMISES,
)
