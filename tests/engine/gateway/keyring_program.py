"""Run under a Secret Service of its own: the whole life of a key, and a search for it everywhere.

Usage: keyring_program.py HOME. The key is made here, goes into the keyring through the command
line's standard input, and a gateway reads it from there. Then everything that others can see is
searched for it. What was found is told as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.base.errors import MissingPrerequisite
from engine.base.paths import open_home
from engine.gateway.endpoints import find_endpoint
from engine.gateway.gateway import open_gateway
from engine.gateway.ground import Recorded, model_server
from engine.gateway.interface import Budget
from engine.gateway.keys import delete_key, has_key, keyring_name

sys.path.insert(0, str(Path(__file__).parent))
from gateway_bench import Answer, ask, body_of


def m4bench(home: Path, *words: str, given: str = "") -> str:
    """What the command line says."""
    program = Path(sys.executable).with_name("m4bench")
    done = subprocess.run(
        [program, "--home", str(home), "--json", *words],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


def files(folder: Path) -> list[tuple[str, bytes]]:
    """All files below a folder."""
    return [(path.name, path.read_bytes()) for path in folder.rglob("*") if path.is_file()]


def processes() -> list[tuple[str, bytes]]:
    """What can be read of every process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline", "comm"):
            with contextlib.suppress(OSError):
                found.append((f"{entry.name}/{name}", (entry / name).read_bytes()))
    return found


def can_look_into(pid: int) -> bool:
    """May a further process of this user read the memory of that one?"""
    look = f"open('/proc/{pid}/mem', 'rb')"
    words = [sys.executable, "-I", "-S", "-c", look]
    return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 0


def memory_troubles(gateway: int) -> list[str]:
    """Ways into the gateway's memory that are open."""
    found = []
    limits = Path(f"/proc/{gateway}/limits").read_text(encoding="ascii")
    core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    if core.split()[4:6] != ["0", "0"]:
        found.append("a core dump would hold it")
    if can_look_into(gateway):
        found.append("its memory can be read")
    return found


def main() -> None:
    """The whole life of a key."""
    home = open_home(sys.argv[1])
    marker = f"sk-marker-{secrets.token_hex(20)}"
    recorded = Recorded()
    said: dict[str, Any] = {"keyring": keyring_name()}
    with model_server(recorded) as port:
        url = f"http://127.0.0.1:{port}"
        words = ["add", "mine", "--api", "messages", "--url", url, "--key", "mine"]
        texts = [m4bench(home.root, "endpoint", *words)]
        before = has_key("mine")
        texts.append(m4bench(home.root, "endpoint", "key", "mine", given=marker + "\n"))
        texts.append(m4bench(home.root, "endpoint", "list"))
        said["kept"] = [not before, has_key("mine")]
        run = home.runs / "run"
        run.mkdir()
        with open_gateway(
            find_endpoint(home, "mine"),
            budget=Budget(),
            folder=run / "gateway",
            egress=run / "egress.jsonl",
            permit_remote=False,
            on_stop=lambda _: None,
        ) as gateway:
            answers: list[Answer] = [
                ask(gateway.folder, "/v1/messages", body_of("messages")),
                ask(gateway.folder, "/v1/nothing"),
                ask(gateway.folder, "/v1/messages", b"{"),
                ask(gateway.folder, "/v1/messages", body_of("messages", mcp_servers=[{"x": 1}])),
            ]
            texts += [answer.text + str(answer.headers) for answer in answers]
            said["reached"] = [len(recorded.requests), marker.encode() in recorded.all()]
            said["looker_works"] = can_look_into(os.getpid())
            said["open"] = memory_troubles(gateway.pid)
            places = processes() + files(home.root)
        texts.append(str(gateway.usage()))
        places += files(home.root) + [("said", text.encode()) for text in texts]
        said["found_in"] = [name for name, data in places if marker.encode() in data]
        said["seen"] = len(places)
    said["deleted"] = [delete_key("mine"), has_key("mine")]
    try:
        with open_gateway(
            find_endpoint(home, "mine"),
            budget=Budget(),
            folder=run / "gateway",
            egress=run / "egress.jsonl",
            permit_remote=False,
            on_stop=lambda _: None,
        ):
            said["without"] = "started"
    except MissingPrerequisite as error:
        said["without"] = type(error).__name__
    print(json.dumps(said))  # noqa: T201


main()
