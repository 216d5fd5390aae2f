"""The reviewer's key is in the operating system's keyring, and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest
from absence import absent
from review_world import desk_at

from engine.base.errors import BadInput, MissingPrerequisite
from engine.reviews import acts
from engine.reviews.place import place_of

PROGRAM = Path(__file__).with_name("review_keyring_program.py")


@pytest.mark.slow
def test_a_real_secret_service_keeps_it_between_programs(tmp_path: Path) -> None:
    for program in ("dbus-run-session", "gnome-keyring-daemon"):
        if shutil.which(program) is None:
            absent(program)
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    unlock = "printf testpass | gnome-keyring-daemon --unlock --components=secrets --daemonize"
    script = f'eval "$({unlock} 2>/dev/null | sed "s/^/export /")"; exec "$@"'
    places = {
        "HOME": str(tmp_path / "user"),
        "XDG_DATA_HOME": str(tmp_path / "user" / "data"),
        "XDG_CACHE_HOME": str(tmp_path / "user" / "cache"),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    session = ["dbus-run-session", "--", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*session, sys.executable, str(PROGRAM), str(tmp_path / "home")],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("signed")


def test_without_a_keyring_nobody_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)
    desk = desk_at(tmp_path / "home")
    with pytest.raises(MissingPrerequisite, match="gnome-keyring"):
        acts.make_identity(desk, name="Anna", role="x")
    assert not place_of(desk.home).me.exists()
    assert not place_of(desk.home).ledger.exists()
    with pytest.raises(BadInput, match="name"):
        acts.make_identity(desk, name="  ", role="x")
