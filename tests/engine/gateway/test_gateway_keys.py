"""Keys: a type that nothing shows, a keyring that really keeps them, answers without them."""

from __future__ import annotations

import copy
import itertools
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.chainer
import keyring.backends.fail
import keyring.errors
import pytest
from absence import absent
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import MissingPrerequisite, UsageError
from engine.gateway.keys import (
    Secret,
    delete_key,
    find_key,
    get_key,
    has_key,
    keyring_name,
    set_key,
)
from engine.gateway.redact import Redactor

TEXT = "sk-test-0123456789abcdef"


def test_a_secret_is_not_shown_by_anything(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(TEXT)
    logging.getLogger("x").warning("%s %r", secret, secret)
    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>40}", "%s" % (secret,),  # noqa: UP031
             repr([secret]), repr({"k": secret}), caplog.text, str(dir(secret))]  # fmt: skip
    assert not [each for each in shown if TEXT in each]
    for take in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError) as refused:
            take(secret)
        assert TEXT not in str(refused.value)
    with pytest.raises(TypeError):
        vars(secret)
    with pytest.raises(TypeError):
        hash(secret)
    assert secret == Secret(TEXT)
    assert secret != TEXT
    assert secret.reveal() == TEXT


@pytest.mark.parametrize("text", ["", "short", "with space 123456", "two\nlines-123", "ä" * 20])
def test_what_is_no_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        Secret(text)
    assert not text or text not in str(refused.value.as_dict())


@given(
    before=st.binary(max_size=40),
    after=st.binary(max_size=40),
    cuts=st.lists(st.integers(0, 120), max_size=5),
)
def test_no_answer_carries_a_key_however_it_is_cut(
    before: bytes, after: bytes, cuts: list[int]
) -> None:
    data = before + TEXT.encode() + after
    redactor = Redactor(Secret(TEXT))
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    out = [redactor.feed(data[a:b]) for a, b in itertools.pairwise(places)]
    assert b"".join([*out, redactor.end()]) == before + Redactor.MARK + after


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_what_holds_no_key_is_not_changed_nor_kept_back(parts: list[bytes]) -> None:
    redactor = Redactor(Secret(TEXT))
    out = [redactor.feed(part + b"\n\n") for part in parts]
    assert out == [part + b"\n\n" for part in parts]
    assert redactor.end() == b""


def _use(monkeypatch: pytest.MonkeyPatch, backend: Any) -> None:
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)


def test_no_keyring_and_plain_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, keyring.backends.fail.Keyring())
    with pytest.raises(MissingPrerequisite, match="no keyring"):
        get_key("openai")
    module = types.ModuleType("keyrings.alt.file")
    plain = type("PlaintextKeyring", (), {"__module__": module.__name__})()
    _use(monkeypatch, plain)
    with pytest.raises(MissingPrerequisite, match="plain file"):
        set_key("openai", Secret(TEXT))
    chain = keyring.backends.chainer.ChainerBackend()
    monkeypatch.setattr(type(chain), "backends", [plain])
    _use(monkeypatch, chain)
    with pytest.raises(MissingPrerequisite, match="plain file"):
        keyring_name()


class _Broken:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_password(self, service: str, name: str) -> None:
        raise self.error

    def set_password(self, service: str, name: str, text: str) -> None:
        raise RuntimeError(f"cannot keep {text}")


def test_a_keyrings_error_says_what_to_do_and_never_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _use(monkeypatch, _Broken(keyring.errors.KeyringLocked("locked")))
    with pytest.raises(MissingPrerequisite, match="locked"):
        find_key("openai")
    _use(monkeypatch, _Broken(OSError("broken")))
    with pytest.raises(MissingPrerequisite, match="does not answer"):
        has_key("openai")
    with pytest.raises(MissingPrerequisite) as refused:
        set_key("openai", Secret(TEXT))
    error = refused.value
    assert TEXT not in f"{error} {error.as_dict()} {error.__cause__!r}"
    with pytest.raises(UsageError):
        delete_key("No such name!")


@pytest.fixture
def secret_service(tmp_path: Path) -> list[str]:
    """The words before a program that let it have a Secret Service of its own, unlocked."""
    for program in ("dbus-run-session", "gnome-keyring-daemon"):
        if shutil.which(program) is None:
            absent(program)
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    places = {
        "HOME": tmp_path / "user",
        "XDG_DATA_HOME": tmp_path / "user" / "data",
        "XDG_CACHE_HOME": tmp_path / "user" / "cache",
        "XDG_RUNTIME_DIR": runtime,
    }
    unlock = (
        "printf testpass | gnome-keyring-daemon --unlock --components=secrets --daemonize "
        "2>/dev/null"
    )
    # Without its session bus it ends by itself.
    script = f'eval "$({unlock} | sed "s/^/export /")"; exec "$@"'
    env = [f"{name}={value}" for name, value in places.items()]
    # Root without this power is to its own processes what any user is to his.
    weaker = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    before = weaker if os.geteuid() == 0 else []
    return [*before, "env", *env, "dbus-run-session", "--", "sh", "-c", script, "sh"]


PROGRAM = Path(__file__).with_name("keyring_program.py")


@pytest.mark.slow
def test_a_real_secret_service_keeps_keys_and_nothing_else_does(
    secret_service: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [*secret_service, sys.executable, str(PROGRAM), str(tmp_path / "home")],
        capture_output=True,
        text=True,
        env={name: os.environ[name] for name in ("PATH",)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["keyring"] == "keyring.backends.SecretService.Keyring"
    assert said["kept"] == [True, True]
    assert said["reached"] == [1, True]
    assert said["found_in"] == []
    assert said["open"] == []
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    assert said["looker_works"] or (scope.exists() and scope.read_text().strip() != "0")
    assert said["seen"] > 20
    assert said["deleted"] == [True, False]
    assert said["without"] == "MissingPrerequisite"
