"""Starts an agent inside the sandbox, with its HOME and its way to the gateway.

Run by path, inside: ``python3 .m4/start.py [--socket PATH --port N] [--home FOLDER] -- argv…``.

* What lies in ``home/`` beside this file is copied to the agent's HOME, which is made first.
* With ``--socket``, 127.0.0.1:N leads to that Unix socket until the agent ends: a process of its
  own passes bytes both ways, with half-closes. The port listens before the agent starts and stays
  open whatever happens to the gateway: some agents wait for ever on a port that refuses.
* The agent gets /dev/null as stdin (some agents wait on an open one) and this program's signals.
* The exit status is the agent's, 128 + N after signal N; 126 or 127 when it could not be started.

As the first process of a PID namespace it also takes up orphans, so that they do not fill the
limit of processes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import NoReturn

CANNOT, NOT_FOUND = 126, 127
CONNECTIONS = 64
BLOCK = 1 << 16
FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
DEFAULTED = (*FORWARDED, signal.SIGPIPE, signal.SIGXFSZ)

USAGE = "usage: start.py [--socket PATH --port N] [--home FOLDER] -- program [argument …]"


def fail(words: str, status: int = CANNOT) -> NoReturn:
    """End with one line of words on stderr."""
    print(f"start: {words}", file=sys.stderr, flush=True)  # noqa: T201
    sys.exit(status)


def read_arguments(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options by name and the agent's argv."""
    options: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0] != "--":
        name = rest.pop(0)
        if name not in ("--socket", "--port", "--home") or not rest:
            fail(USAGE, 2)
        options[name[2:]] = rest.pop(0)
    argv = rest[1:]
    if not argv or ("socket" in options) != ("port" in options):
        fail(USAGE, 2)
    return options, argv


def make_home(home: str) -> None:
    """Make HOME (mode 0700) with the files that were prepared for it."""
    os.makedirs(home, mode=0o700, exist_ok=True)  # noqa: PTH103
    prepared = os.path.join(os.path.dirname(os.path.abspath(__file__)), "home")  # noqa: PTH100, PTH118, PTH120
    if os.path.isdir(prepared):  # noqa: PTH112
        shutil.copytree(prepared, home, symlinks=True, dirs_exist_ok=True)


def listen(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(CONNECTIONS)
    return server


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until the end of one direction, then say so to the other side."""
    try:
        while data := await reader.read(BLOCK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (OSError, RuntimeError):
        # One side broke: the other must not wait for what never comes.
        writer.transport.abort()


def bridge(server: socket.socket, path: str, alive: int) -> None:
    """Lead every connection of `server` to the Unix socket until the pipe `alive` is closed."""
    import asyncio  # noqa: PLC0415 - after the fork, while the agent is starting

    open_now = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now
        if open_now >= CONNECTIONS:
            writer.transport.abort()
            return
        open_now += 1
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.transport.abort()
            open_now -= 1
            return
        try:
            await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
        finally:
            open_now -= 1
            up_writer.close()
            writer.close()

    async def main() -> None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(alive, ended.set)
        await asyncio.start_server(serve, sock=server)
        await ended.wait()

    asyncio.run(main())


def start_bridge(path: str, port: int) -> None:
    """Start the bridge's process; it ends with this one."""
    server = listen(port)
    alive, _kept_open = os.pipe()
    if os.fork():
        os.close(alive)
        server.close()
        return
    os.close(_kept_open)
    try:
        for number in FORWARDED:  # they are the agent's; the bridge stays until it ends
            signal.signal(number, signal.SIG_IGN)
        bridge(server, path, alive)
    finally:
        os._exit(0)


def start_agent(argv: list[str], home: str | None) -> int:
    """Start the agent; its process id."""
    env = dict(os.environ)
    if home is not None:
        env["HOME"] = home
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    try:
        return os.posix_spawnp(
            argv[0], argv, env, file_actions=actions, setsigmask=(), setsigdef=DEFAULTED
        )
    except FileNotFoundError:
        fail(f"{argv[0]}: no such program", NOT_FOUND)
    except OSError as error:
        fail(f"{argv[0]}: {error.strerror}")


def wait_for(agent: int) -> int:
    """Take up children until the agent ends; its exit status."""
    while True:
        ended, status = os.wait()
        if ended == agent:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main(words: list[str]) -> int:
    """Do it all; returns the exit status."""
    options, argv = read_arguments(words)
    # No signal is lost between now and the agent's start.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    home = options.get("home")
    try:
        if home is not None:
            make_home(home)
        if "socket" in options:
            start_bridge(options["socket"], int(options["port"]))
    except (OSError, ValueError, OverflowError, shutil.Error) as error:
        fail(f"the agent's surroundings cannot be made: {error}")
    agent = start_agent(argv, home)

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    return wait_for(agent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
