"""The agents' own programs, installed once per session, and a plain way out of a sandbox.

``M4REVIEW_TEST_AGENTS`` may name a folder in which they are kept from one session to the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from absence import absent
from filelock import FileLock

from engine.base.errors import MissingPrerequisite
from engine.base.paths import open_home
from engine.gateway.interface import SOCKET
from engine.isolation.programs import KNOWN, install_program


@pytest.fixture(scope="session")
def agent_programs(sandbox_store: Path) -> Path:
    """A ``sandbox`` folder in which every agent program is installed (see `share_sandbox`)."""
    kept = os.environ.get("M4REVIEW_TEST_AGENTS")
    home = open_home(Path(kept) if kept else sandbox_store.parent)
    for name in KNOWN:
        try:
            install_program(home, name)  # it locks by itself
        except MissingPrerequisite as error:
            absent(f"the agents' programs ({error})")
    if kept:
        with FileLock(sandbox_store / "agents-from-elsewhere.lock"):
            if not (sandbox_store / "agents").exists():
                part = sandbox_store / "agents.part"
                shutil.copytree(home.sandbox / "agents", part, copy_function=os.link, symlinks=True)
                part.rename(sandbox_store / "agents")
    return sandbox_store


@contextlib.contextmanager
def plain_way(folder: Path, port: int) -> Iterator[Path]:
    """A gateway folder whose socket leads to 127.0.0.1:`port` as it is: no gateway at all."""
    ready, loops = threading.Event(), []
    ended: list[asyncio.Event] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            writer.write_eof()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))
        finally:
            up_writer.close()
            writer.close()

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        ended.append(asyncio.Event())
        server = await asyncio.start_unix_server(serve, folder / SOCKET)
        (folder / SOCKET).chmod(0o666)
        ready.set()
        await ended[0].wait()
        server.close()

    folder.mkdir(mode=0o755)
    thread = threading.Thread(target=lambda: asyncio.run(main()), name="way")
    thread.start()
    ready.wait()
    try:
        yield folder
    finally:
        loops[0].call_soon_threadsafe(ended[0].set)
        thread.join()
