"""What the sandbox's image is built on: pinned by digest, and fetched by it."""

from __future__ import annotations

import io
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from absence import absent

from engine.base.content import content_folder
from engine.base.errors import M4Error, MissingPrerequisite, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.isolation.engine_api import Engine
from engine.isolation.image import build_image
from engine.isolation.image_base import Reference, default_base, fetched, parsed

DIGEST = f"sha256:{'0a' * 32}"


# --- Names ------------------------------------------------------------------------------------


def test_the_default_is_pinned_by_digest():
    dockerfile = (content_folder("sandbox") / "Dockerfile").read_text(encoding="utf-8")
    pinned = default_base("3.11")
    assert re.fullmatch(r"python:3\.11-slim[a-z-]*@sha256:[0-9a-f]{64}", pinned)
    assert f"\nARG BASE_IMAGE={pinned}\nFROM ${{BASE_IMAGE}} AS base\n" in dockerfile


@pytest.mark.parametrize("version", ["3.1", "3.12", "3.13"])
def test_the_base_is_always_of_the_packages_python(version: str):
    assert default_base(version) == f"python:{version}-slim-bookworm"


@pytest.mark.parametrize(
    ("name", "parts", "exact"),
    [
        ("python", ("python", "", ""), "python"),
        ("python:3.11", ("python", "3.11", ""), "python:3.11"),
        (f"python@{DIGEST}", ("python", "", DIGEST), f"python@{DIGEST}"),
        (f"python:3.11-slim@{DIGEST}", ("python", "3.11-slim", DIGEST), f"python@{DIGEST}"),
        (
            "localhost:5000/m4/python",
            ("localhost:5000/m4/python", "", ""),
            "localhost:5000/m4/python",
        ),
        (
            f"localhost:5000/python:3.11@{DIGEST}",
            ("localhost:5000/python", "3.11", DIGEST),
            f"localhost:5000/python@{DIGEST}",
        ),
    ],
)
def test_names_come_apart(name: str, parts: tuple[str, str, str], exact: str):
    assert parsed(name) == Reference(*parts)
    assert parsed(name).exact == exact


@pytest.mark.parametrize("digest", ["", "sha256:", DIGEST[:-1], DIGEST + "0", DIGEST.upper(), "x"])
def test_half_a_digest_is_refused(digest: str):
    with pytest.raises(UsageError, match="64 digits and letters") as caught:
        parsed(f"python:3.11@{digest}")
    assert "--digests" in caught.value.todo


def test_nothing_but_a_digest_is_refused():
    with pytest.raises(UsageError):
        parsed(f"@{DIGEST}")


# --- With an engine, and a registry in its own network ------------------------------------------


SERVE = """
import fcntl, os, socket, struct, sys
with socket.socket() as any_socket:  # a new network's loopback is down
    up = struct.pack("16sh14x", b"lo", 1)
    fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS, IFF_UP
os.execvp("docker-registry", ["docker-registry", "serve", sys.argv[1]])
"""


@pytest.fixture
def registry(docker_engine: Engine, tmp_path: Path) -> Iterator[str]:
    """A registry that the engine, and nobody else, reaches."""
    if shutil.which("docker-registry") is None:
        absent("docker-registry (packaging/sandbox/engine-for-tests.sh installs it)")
    config = tmp_path / "registry.yml"
    config.write_text(
        "version: 0.1\nlog: {level: info}\n"
        f"storage: {{filesystem: {{rootdirectory: {tmp_path / 'registry'}}}}}\n"
        "http: {addr: '127.0.0.1:0'}\n",
        encoding="utf-8",
    )
    pid = (docker_engine.place.parent / "pid").read_text(encoding="utf-8").strip()
    serving = subprocess.Popen(
        # In the network that only the tests' engine has.
        ["nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, "-c", SERVE, str(config)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert serving.stderr is not None
        with serving.stderr:
            seen = ""
            for line in serving.stderr:
                seen += line
                if found := re.search(r"listening on (127\.0\.0\.1:\d+)", line):
                    yield found[1]
                    break
            else:
                pytest.fail(f"The registry did not start: {seen}")
    finally:
        serving.send_signal(signal.SIGKILL)
        serving.wait()


def pushed(engine: Engine, repository: str, tag: str) -> str:
    """An image of one file, with the registry and no more with the engine; its digest."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        member = tarfile.TarInfo("one")
        data = secrets.token_bytes(8)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    with engine.client() as api:
        api.import_image_from_data(content.getvalue(), repository=repository, tag=tag)
        said = list(api.push(repository, tag=tag, stream=True, decode=True))
        (digest,) = [line["aux"]["Digest"] for line in said if "aux" in line]
        api.remove_image(f"{repository}:{tag}", force=True)
    return str(digest)


def removed(engine: Engine, *names: str) -> None:
    with engine.client() as api:
        for name in names:
            api.remove_image(name, force=True)


def test_a_base_is_fetched_and_found_by_its_digest(docker_engine: Engine, registry: str):
    name = f"{registry}/python"
    digest = pushed(docker_engine, name, "3.11-slim")
    later = pushed(docker_engine, name, "3.11-slim")  # where the tag went since
    asked, exact = f"{name}:3.11-slim@{digest}", f"{name}@{digest}"
    told: list[str] = []
    job = SimpleJob(on_progress=lambda stage, *_: told.append(stage))
    assert fetched(docker_engine, asked, job) == exact
    assert "image-base" in told
    told.clear()
    # It is here now: no registry is asked.
    assert fetched(docker_engine, asked, job) == exact
    assert told == []
    # A tag is built on by what the registry said that it stands for.
    assert fetched(docker_engine, f"{name}:3.11-slim", job) == f"{name}@{later}"
    removed(docker_engine, exact, f"{name}@{later}")


def test_another_image_than_the_digest_is_refused(
    docker_engine: Engine, registry: str, tmp_path: Path
):
    name = f"{registry}/python"
    digest = pushed(docker_engine, name, "3.11-slim")
    hexed = digest.removeprefix("sha256:")
    (manifest,) = (tmp_path / "registry").glob(f"**/blobs/sha256/*/{hexed}/data")
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(MissingPrerequisite, match="cannot be fetched") as caught:
        fetched(docker_engine, f"{name}:3.11-slim@{digest}", SimpleJob())
    assert "unknown" not in caught.value.details  # the registry has it: the engine refused it


def test_a_base_that_nobody_has(docker_engine: Engine, registry: str):
    base = f"{registry}/python:3.11-slim@{DIGEST}"
    with pytest.raises(MissingPrerequisite, match="not here and cannot be fetched") as caught:
        fetched(docker_engine, base, SimpleJob())
    assert base in caught.value.text
    assert "manifest unknown" in caught.value.details


def test_without_a_network_the_default_says_what_to_do(docker_engine: Engine, sandbox_store: Path):
    with pytest.raises(M4Error) as caught:
        build_image(open_home(sandbox_store.parent), docker_engine, tag="m4review-sandbox:never")
    assert isinstance(caught.value, MissingPrerequisite)
    for way in ("--base machine", "sandbox image load", "--base IMAGE"):
        assert way in caught.value.todo
