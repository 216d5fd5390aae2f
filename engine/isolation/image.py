"""The image of the Docker sandbox: built here, carried from machine to machine, recognised.

Building fetches nothing: Python's packages are those of this machine (the same as in the root of
the other sandbox), the agents' programs are those installed by `programs`. Only a base image that
the engine does not have yet is fetched, by the engine; the base ``machine`` is made of this
machine's own Python, for machines that reach no registry.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.base.content import content_folder
from engine.base.errors import HarnessFault, M4Error, MissingPrerequisite
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.isolation import programs
from engine.isolation.container import LABEL
from engine.isolation.engine_api import Engine, telling
from engine.isolation.image_base import default_base, fetched, not_had, parsed
from engine.isolation.interface import PROGRAMS
from engine.isolation.rootfs import sandbox_root

FORMAT = "1"
"""Raised whenever older images cannot be used any more."""

TAG = f"m4review-sandbox:{FORMAT}"
MACHINE = "machine"
"""The base made of this machine's own Python."""

LABEL_FORMAT = "m4review.format"
LABEL_BASE = "m4review.base"
LABEL_PYTHON = "m4review.python"
LABEL_PACKAGES = "m4review.packages"
LABEL_PROGRAMS = "m4review.programs"

_BASE_TAG = "m4review-base"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Image:
    """An image that runs can stand on."""

    digest: str
    """``sha256:…``: its identity, from its content; in every run's record."""
    base: str
    """What it was built on: an image with its digest, or ``machine``."""
    python: str
    """Version of its Python."""
    packages: dict[str, str]
    """Package -> version."""
    programs: dict[str, str]
    """Agent program -> version."""
    bytes: int
    """Size in the engine's store."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def find_image(engine: Engine, tag: str = TAG) -> Image:
    """The image in the engine.

    Raises:
        MissingPrerequisite: it is not there, or is not one of ours.
        HarnessFault: the engine failed.
    """
    with telling("looking for the sandbox's image"), engine.client() as api:
        try:
            found = api.inspect_image(tag)
        except Exception as error:
            if getattr(error, "status_code", None) != 404:  # noqa: PLR2004 - HTTP: not found
                raise
            raise MissingPrerequisite(
                "The image of the Docker sandbox is not built yet.",
                todo="Build it: m4bench sandbox image build (with --base machine where no registry "
                "can be reached), or load one: m4bench sandbox image load FILE.tar",
            ) from None
    return image_of(found)


def image_of(inspected: dict[str, Any]) -> Image:
    """An image as the engine describes it.

    Raises:
        MissingPrerequisite: it is not one of ours, or of another version.
    """
    labels = (inspected.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL) != "image" or labels.get(LABEL_FORMAT) != FORMAT:
        raise MissingPrerequisite(
            "The image of the Docker sandbox is of another version of this program.",
            todo="Build it anew: m4bench sandbox image build",
        )
    return Image(
        digest=str(inspected["Id"]),
        base=str(labels.get(LABEL_BASE, "unknown")),
        python=str(labels.get(LABEL_PYTHON, "unknown")),
        packages=json.loads(labels.get(LABEL_PACKAGES, "{}")),
        programs=json.loads(labels.get(LABEL_PROGRAMS, "{}")),
        bytes=int(inspected.get("Size", 0)),
    )


def build_image(
    home: Home,
    engine: Engine,
    *,
    base: str | None = None,
    agents: Sequence[str] = (),
    tag: str = TAG,
    job: Job | None = None,
) -> Image:
    """Build the image.

    Args:
        home: its sandbox root gives the packages; agents are installed there first if need be.
        engine: builds and keeps it.
        base: an image (best with ``@sha256:…``), or ``machine``; the public Python image of this
            Python's version when None (`image_base.default_base`).
        agents: programs to put in, one layer each.
        tag: under which name it is kept.
        job: progress, and a way to stop.

    Raises:
        UsageError: an agent is not known; the base is not the name of an image.
        MissingPrerequisite: the base cannot be had; npm is missing.
        StorageFull: no room.
        Cancelled: the job was stopped; the old image, if any, stays.
        HarnessFault: the engine failed.
    """
    job = job or SimpleJob()
    if base:
        parsed(base)  # said before anything long is begun
    for name in agents:
        programs.install_program(home, name, job)
    root = sandbox_root(home, job)
    version = ".".join(str(root.manifest["python"]).split(".")[:2])
    named = base or default_base(version)
    with programs.in_use(home, agents) as folders, root.in_use():
        job.progress("image", 0, 1, "making the base")
        if named == MACHINE:
            from_image = _import_root(engine, root.path, str(root.manifest["digest"]), job)
            packages = None
        else:
            # By digest from here on: what is recorded is what was built on, wherever a tag goes.
            from_image = fetched(engine, named, job)
            (packages,) = (root.path / "usr/local").glob("lib*/python3*/site-packages")
        labels = {
            LABEL: "image",
            LABEL_FORMAT: FORMAT,
            LABEL_BASE: named if named == MACHINE else from_image,
            LABEL_PYTHON: str(root.manifest["python"]),
            LABEL_PACKAGES: json.dumps(root.manifest["packages"], sort_keys=True),
            LABEL_PROGRAMS: json.dumps({n: programs.pinned_version(n) for n in agents}),
        }
        context = _context(packages, dict(zip(dict.fromkeys(agents), folders, strict=True)), job)
        _build(engine, context=context, base=from_image, labels=labels, tag=tag, job=job)
    return find_image(engine, tag)


def _build(
    engine: Engine,
    *,
    context: Iterator[bytes],
    base: str,
    labels: dict[str, str],
    tag: str,
    job: Job,
) -> None:
    with telling("building the sandbox's image"), engine.client(timeout=3600) as api:
        lines = api.build(
            fileobj=_Readable(context),
            custom_context=True,
            tag=tag,
            buildargs={"BASE_IMAGE": base},
            labels=labels,
            network_mode="none",
            rm=True,
            forcerm=True,
            decode=True,
        )
        for line in lines:
            job.check()
            if "error" in line:
                raise _build_error(str(line["error"]), base)
            words = str(line.get("stream", "")).strip()
            if words.startswith("Step "):
                done, _, total = words.split(" ")[1].partition("/")
                job.progress("image", int(done) - 1, int(total), words.partition(" : ")[2][:80])
    job.progress("image", 1, 1, "the image is built")


def _build_error(words: str, base: str) -> M4Error:
    pulling = ("pull access", "manifest", "dial tcp", "no such host", "registry", "Client.Timeout")
    if any(word in words for word in pulling):
        return not_had(base, words)
    return HarnessFault("The sandbox's image could not be built.", details=words[:2000])


def _import_root(engine: Engine, root: Path, digest: str, job: Job) -> str:
    """The root of the other sandbox as an image; its name."""
    name = f"{_BASE_TAG}:{digest[:16]}"
    with telling("importing this machine's Python"), engine.client(timeout=3600) as api:
        if not api.images(name=name):
            stream = _Readable(_tar(lambda tar: _add(tar, root, ".", job)))
            said = api.import_image_from_stream(stream, repository=_BASE_TAG, tag=digest[:16])
            if '"error"' in str(said):
                raise HarnessFault(
                    "This machine's Python could not be made an image.", details=str(said)[:2000]
                )
    return name


def _context(packages: Path | None, agents: dict[str, Path], job: Job) -> Iterator[bytes]:
    """The build context as a tar stream."""
    content = content_folder("sandbox")
    dockerfile = (content / "Dockerfile").read_text(encoding="utf-8")
    for name in agents:
        dockerfile += f"COPY agents/{name} {PROGRAMS}/{name}\n"

    def fill(tar: tarfile.TarFile) -> None:
        _add_text(tar, "Dockerfile", dockerfile)
        _add_text(tar, "prepare.sh", (content / "prepare.sh").read_text(encoding="utf-8"))
        if packages is None:
            tar.addfile(_folder("packages"))
        else:
            _add(tar, packages, "packages", job)
        for name, folder in agents.items():
            _add(tar, folder, f"agents/{name}", job)

    return _tar(fill)


def _add(tar: tarfile.TarFile, source: Path, name: str, job: Job) -> None:
    """Add a tree, everything owned by user 0."""

    def owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
        job.check()
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    tar.add(source, name, filter=owned)


def _folder(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8")
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


def _tar(fill: Callable[[tarfile.TarFile], None]) -> Iterator[bytes]:
    """A tar archive as it is made, without a copy on disk; errors of `fill` are raised here."""
    reading, writing = os.pipe()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with (
                os.fdopen(writing, "wb") as sink,
                tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                fill(tar)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=write, name="image-context")
    thread.start()
    try:
        with os.fdopen(reading, "rb") as source:
            while block := source.read(_BLOCK):
                yield block
    finally:
        thread.join()
    if failed:
        raise failed[0]


class _Readable:
    """An iterator of bytes as a file that requests sends in pieces."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks
