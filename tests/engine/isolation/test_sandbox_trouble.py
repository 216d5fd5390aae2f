"""Machines on which the sandbox does not work: it is said why, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.base.errors import HarnessFault, MissingPrerequisite, StorageFull, UsageError
from engine.base.paths import Home, open_home
from engine.isolation.backends import available_backends, choose_backend
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.interface import Command, Limits
from engine.isolation.trouble import PROFILE, PROFILE_TEXT, in_words

ROOT = Path(__file__).resolve().parents[3]


def kernel(tmp_path: Path, **settings: int) -> Path:
    for name, value in settings.items():
        file = tmp_path / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return tmp_path


NO_NAMESPACE = "bwrap: setting up uid map: Permission denied"


def test_apparmor_is_named_with_its_profile(tmp_path: Path):
    error = in_words(
        NO_NAMESPACE, kernel(tmp_path, kernel__apparmor_restrict_unprivileged_userns=1)
    )
    assert isinstance(error, MissingPrerequisite)
    assert "AppArmor" in error.text
    assert "apparmor_parser -r" in error.todo
    assert error.details == PROFILE_TEXT


def test_the_profile_is_shipped():
    assert (ROOT / PROFILE).read_text() == PROFILE_TEXT


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("kernel__unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1"),
        ("user__max_user_namespaces", "user.max_user_namespaces=10000"),
    ],
)
def test_kernel_settings_are_named(tmp_path: Path, setting: str, words: str):
    error = in_words(NO_NAMESPACE, kernel(tmp_path, **{setting: 0}))
    assert isinstance(error, MissingPrerequisite)
    assert words in error.todo


def test_other_refusals(tmp_path: Path):
    assert isinstance(in_words(NO_NAMESPACE, tmp_path), MissingPrerequisite)
    assert "--disable-userns" in in_words("bwrap: Unknown option --disable-userns", tmp_path).text
    setuid = in_words("bwrap: --disable-userns is not supported in setuid mode", tmp_path)
    assert "chmod u-s" in setuid.todo
    assert isinstance(in_words("bwrap: Can't find source path", tmp_path), HarnessFault)


def fake(tmp_path: Path, script: str) -> type[Bubblewrap]:
    """A backend that finds another bubblewrap than the machine's."""
    tmp_path.chmod(0o755)
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)

    class Other(Bubblewrap):
        search = str(tmp_path)

    return Other


def test_without_bubblewrap_it_is_named(tmp_path: Path, sandbox_home: Home):
    class Nowhere(Bubblewrap):
        search = str(tmp_path)

    for call in (
        Nowhere(sandbox_home).probe,
        Nowhere(sandbox_home).describe,
        lambda: Nowhere(sandbox_home).run(Command(argv=("true",), job_folder=tmp_path)),
    ):
        with pytest.raises(MissingPrerequisite, match="bubblewrap is missing") as caught:
            call()
        assert "apt-get install bubblewrap" in caught.value.todo


def test_an_old_bubblewrap_is_refused(tmp_path: Path, sandbox_home: Home):
    with pytest.raises(MissingPrerequisite, match="too old") as caught:
        fake(tmp_path, "echo bubblewrap 0.6.1")(sandbox_home).probe()
    assert "0.6.1" in str(caught.value)


@pytest.mark.sandbox
def test_a_bubblewrap_that_may_not_make_namespaces(tmp_path_factory, sandbox_home: Home):
    place = tmp_path_factory.mktemp("other")
    for folder in (place, *place.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)  # the sandbox's user has to find it
    script = (
        f'case $1 in --version) echo bubblewrap 0.9.0;; *) echo "{NO_NAMESPACE}" >&2; exit 1;; esac'
    )
    with pytest.raises(MissingPrerequisite, match="namespaces"):
        fake(place, script)(sandbox_home).probe()


def test_an_unknown_sandbox_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no sandbox called x"):
        choose_backend(open_home(tmp_path / "home"), "x")


@pytest.mark.sandbox
def test_the_working_backend_is_chosen(sandbox_home: Home):
    infos = {info.name: info for info in available_backends(sandbox_home)}
    assert (infos["bubblewrap"].works, infos["bubblewrap"].publishable) == (True, False)
    assert infos["docker"].publishable
    best = "docker" if infos["docker"].works else "bubblewrap"
    chosen = choose_backend(sandbox_home)
    assert chosen.name == best
    assert chosen.publishable_reason
    described = chosen.describe()
    assert described["root_digest"].startswith("sha256:")
    assert not list(sandbox_home.scratch.glob("probe-*"))


def test_limits_must_be_positive():
    with pytest.raises(ValueError, match="memory_bytes"):
        Limits(memory_bytes=0)


def test_a_full_disk_is_no_missing_sandbox(small_disk: Path, bubblewrap: str):
    with pytest.raises(StorageFull, match="no room"):
        choose_backend(open_home(small_disk / "home"))
