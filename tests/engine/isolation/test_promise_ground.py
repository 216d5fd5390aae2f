"""What the attempts are up against is really there, is gone afterwards, and a leak is seen."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from engine.base.paths import Home, open_home
from engine.gateway.ground import GatewayGround, open_ground
from engine.isolation.interface import Ended
from engine.isolation.planted import MARK, planted_name, remove_planted
from engine.isolation.promises.gateway import GATEWAY_PROMISES, clean
from engine.isolation.promises.ground import VARIABLE, Plants
from engine.isolation.promises.promise import Seen

ROOT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    user = tmp_path / "user"
    (user / ".local/share/keyrings").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    home = open_home(tmp_path / "home")
    (home.runs / "another-run").mkdir()
    home.settings.touch()
    return home


def test_secrets_lie_wherever_something_private_may_lie(home: Home, tmp_path: Path):
    with Plants(home) as plants:
        folders = {Path(file).parent for file in plants.files}
        wanted = {home.root, home.sources, home.references, home.workspaces, home.runs, home.logs}
        wanted |= {home.runs / "another-run", tmp_path / "user", Path("/var/tmp")}
        wanted |= {tmp_path / "user/.local/share/keyrings", Path("/dev/shm")}
        assert wanted <= folders
        for file in map(Path, plants.files):
            assert file.read_text() == plants.token
            assert stat.S_IMODE(file.stat().st_mode) == 0o644
        assert {str(home.settings)} < set(plants.existing)
        assert any(path.endswith("task.toml") for path in plants.existing)
        assert os.environ[VARIABLE] == plants.variable_token
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(plants.unix_path)
        files = plants.files
    assert not any(Path(file).exists() for file in files)
    assert VARIABLE not in os.environ
    assert list(home.scratch.iterdir()) == []


def test_what_killed_programs_left_is_removed(home: Home):
    old = home.runs / f"{MARK}0"
    old.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    with subprocess.Popen(["true"]) as dead:
        pass
    left = Path(tempfile.gettempdir()) / f"promises-{dead.pid}-test"
    left.mkdir()
    with Plants(home):
        assert not old.exists()
        assert not left.exists()


def test_what_a_killed_program_planted_is_taken_away_and_nothing_else(home: Home):
    program = (
        "import sys; from pathlib import Path; from engine.isolation.planted import planted_name\n"
        "for place in sys.argv[1:]: Path(place, planted_name()).touch()"
    )
    places = [home.root, home.runs, home.runs / "another-run", home.references]
    subprocess.run([sys.executable, "-c", program, *map(str, places)], check=True, cwd=ROOT)
    living = home.runs / planted_name()
    living.touch()
    (home.runs / "report.txt").touch()
    (home.root / f"{MARK}1-2-folder").mkdir()
    (home.sources / f"{MARK}1-2-link").symlink_to(home.runs / "report.txt")
    assert len(list(home.root.rglob(f"{MARK}*"))) == len(places) + 3
    assert remove_planted(home) == len(places)
    left = {path.name for path in home.root.rglob(f"{MARK}*")}
    assert left == {living.name, f"{MARK}1-2-folder", f"{MARK}1-2-link"}
    assert (home.runs / "report.txt").exists()


def seen(ground: GatewayGround, folder: Path, stdout: bytes = b"") -> Seen:
    ended = Ended(returncode=0, reason="exited", seconds=1.0)
    return Seen(ended, stdout, b"", folder, {"token": "t"}, ground)


def test_a_key_that_comes_to_light_is_seen(tmp_path: Path):
    (tmp_path / "job").mkdir()
    (tmp_path / "way").mkdir()
    with open_ground(tmp_path / "way") as ground:
        key = ground.marker.encode()
        assert clean(seen(ground, tmp_path / "job")) is None
        assert "printed" in (clean(seen(ground, tmp_path / "job", b"x" + key)) or "")
        (tmp_path / "job" / "found").write_bytes(key)
        assert "job folder" in (clean(seen(ground, tmp_path / "job")) or "")


def test_what_should_not_have_passed_is_seen(tmp_path: Path):
    promises = {promise.name.partition(".")[2]: promise for promise in GATEWAY_PROMISES}
    (tmp_path / "way").mkdir()
    with open_ground(tmp_path / "way") as ground:
        what = seen(ground, tmp_path)

        def told(name: str) -> str | None:
            after = promises[name].after
            assert after is not None
            return after(what)

        assert "was not ended" in (told("provider_search") or "")
        assert "nothing of it is in the log" in (told("other_paths") or "")
        assert "0 requests reached" in (told("answers") or "")
        assert "was not ended at its budget" in (told("budget") or "")
        ground.reached.requests.append(b"POST /v1/files HTTP/1.1\r\nX-Evil: t\r\n\r\n")
        assert "/v1/files reached" in (told("other_paths") or "")
        assert "header of the sandbox's" in (told("smuggled_headers") or "")
        ground.reached.requests[:] = [b"POST /v1/messages"] * 5
        assert "5 requests" in (told("pipelined") or "")
