"""The program that starts an agent inside: its HOME, its port, its signals, its exit status."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.gateway.inside import start

PROGRAM = Path(start.__file__)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `start.py` from a job folder, as inside."""
    place = tmp_path / "job" / ".m4"
    place.mkdir(parents=True)
    (place / "start.py").write_bytes(PROGRAM.read_bytes())
    begun: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> subprocess.Popen[bytes]:
        begun.append(
            subprocess.Popen(
                [sys.executable, "-I", "-S", ".m4/start.py", *words],
                cwd=tmp_path / "job",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def test_home_is_made_with_its_files_and_stdin_is_empty(
    begin: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    prepared = tmp_path / "job/.m4/home/.agent"
    prepared.mkdir(parents=True)
    (prepared / "settings.json").write_text("{}")
    home = tmp_path / "inside" / "home"
    script = 'cat; cat "$HOME/.agent/settings.json"; echo "$HOME"'
    out, err = begin("--home", str(home), "--", "sh", "-c", script).communicate(timeout=30)
    assert (out.decode(), err) == (f"{{}}{home}\n", b"")


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137)]
)
def test_the_exit_status_is_the_agents(
    begin: Callable[..., subprocess.Popen[bytes]], script: str, status: int
) -> None:
    assert begin("--", "sh", "-c", script).wait(30) == status


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--", "no-such-program"], 127),
        (["--", "/etc/passwd"], 126),
        ([], 2),
        (["--"], 2),
        (["--port", "1", "--", "true"], 2),
        (["--socket", "x", "--port", "99999", "--", "true"], 126),
        (["--shell", "x", "--", "true"], 2),
    ],
)
def test_what_cannot_be_started_is_told(
    begin: Callable[..., subprocess.Popen[bytes]], words: list[str], status: int
) -> None:
    process = begin(*words)
    _, err = process.communicate(timeout=30)
    assert process.returncode == status
    assert err.startswith(b"start: ")


def test_signals_reach_the_agent(begin: Callable[..., subprocess.Popen[bytes]]) -> None:
    script = "trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = begin("--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == b"told\n"
    assert process.wait(30) == 7


def test_the_port_leads_to_the_socket_with_half_closes(
    begin: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    path, port = tmp_path / "s", free_port()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                asked = b"".join(iter(lambda: connection.recv(1 << 16), b""))
                connection.sendall(b"%d bytes" % len(asked))

        thread = threading.Thread(target=answer)
        thread.start()
        agent = (
            "import socket\n"
            f"s = socket.create_connection(('127.0.0.1', {port}))\n"
            "s.sendall(b'x' * 3_000_000); s.shutdown(socket.SHUT_WR)\n"
            "print(s.recv(100).decode())"
        )
        options = ["--socket", str(path), "--port", str(port)]
        out, err = begin(*options, "--", sys.executable, "-c", agent).communicate(timeout=30)
        thread.join()
    assert (out, err) == (b"3000000 bytes\n", b"")


def test_without_a_gateway_the_port_still_answers_and_drops(
    begin: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    port = free_port()
    agent = (
        "import socket\n"
        f"s = socket.create_connection(('127.0.0.1', {port}))\n"
        "try: dropped = not s.recv(100)\n"
        "except ConnectionResetError: dropped = True\n"
        "print('dropped' if dropped else 'answered')"
    )
    options = ["--socket", str(tmp_path / "gone"), "--port", str(port)]
    out, _ = begin(*options, "--", sys.executable, "-c", agent).communicate(timeout=30)
    assert out == b"dropped\n"


def test_the_bridge_ends_with_the_agent_however_it_ends(
    begin: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    port = free_port()
    options = ["--socket", str(tmp_path / "gone"), "--port", str(port)]
    process = begin(*options, "--", "sh", "-c", "echo $$; exec sleep 100")
    assert process.stdout is not None
    agent = int(process.stdout.readline())
    socket.create_connection(("127.0.0.1", port)).close()
    inside = [int(n) for n in Path(f"/proc/{process.pid}/task/{process.pid}/children")
              .read_text(encoding="ascii").split()]  # fmt: skip
    assert len(inside) == 2
    (bridge,) = set(inside) - {agent}
    handle = os.pidfd_open(bridge)
    process.kill()
    process.wait()
    os.kill(agent, signal.SIGKILL)  # inside, the namespace ends with its first process
    assert select.select([handle], [], [], 30)[0]
    os.close(handle)
