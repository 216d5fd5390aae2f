"""The sandbox's image as a file, for machines without a network: saved, recognised, loaded."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.base.errors import BadInput, HarnessFault, bad_file
from engine.base.files import os_error, writing
from engine.base.jobs import Job, SimpleJob
from engine.isolation.container import LABEL
from engine.isolation.engine_api import Engine, telling
from engine.isolation.image import FORMAT, LABEL_FORMAT, TAG, Image, find_image

_BLOCK = 1 << 20
_MOST_JSON = 4 << 20
_MOST_MEMBERS = 10_000


@dataclass(frozen=True)
class SavedImage:
    """An image file that was written."""

    path: Path
    """Where it lies."""
    bytes: int
    """Its size."""
    sha256: str
    """Of the file, to be compared after it was carried over."""
    image: Image
    """What is in it."""


def save_image(engine: Engine, path: Path, *, tag: str = TAG, job: Job | None = None) -> SavedImage:
    """Write the image to a tar file, whole or not at all.

    Raises:
        MissingPrerequisite: there is no image.
        StorageFull: no room for the file.
        Cancelled: the job was stopped; there is no file.
        HarnessFault: the engine failed.
    """
    job = job or SimpleJob()
    image = find_image(engine, tag)
    digest = hashlib.sha256()
    size = 0
    with (
        writing(path, "saving the sandbox's image") as part,
        telling("saving the sandbox's image"),
        engine.client(timeout=3600) as api,
        part.open("wb") as file,
    ):
        for block in api.get_image(tag, chunk_size=_BLOCK):
            job.check()
            file.write(block)
            digest.update(block)
            size += len(block)
            job.progress("image-save", size, max(size, image.bytes), "saving the image")
    return SavedImage(path, size, digest.hexdigest(), image)


def load_image(engine: Engine, path: Path, *, tag: str = TAG, job: Job | None = None) -> Image:
    """Load a file that `save_image` wrote; nothing else is let into the engine.

    Raises:
        BadInput: the file is no image of this program, or of another version.
        StorageFull: no room in the engine's store.
        Cancelled: the job was stopped before the engine had all of it.
        HarnessFault: the engine failed, or made something else of it.
    """
    job = job or SimpleJob()
    job.progress("image-load", 0, 1, "looking into the file")
    identity = recognised(path, tag)
    size = path.stat().st_size
    with telling("loading the sandbox's image"), engine.client(timeout=3600) as api:
        for _ in api.load_image(_blocks(path, size, job)):
            job.check()
    image = find_image(engine, tag)
    # Engines that keep images in containerd's store name them by their manifest instead.
    in_containerd = "io.containerd.snapshotter" in str(engine.info.get("DriverStatus"))
    if image.digest != identity and not in_containerd:
        raise HarnessFault("The Docker engine made another image of the file than it holds.")
    job.progress("image-load", 1, 1, "the image is loaded")
    return image


def recognised(path: Path, tag: str = TAG) -> str:
    """The identity (``sha256:…`` of its configuration) of the one image in the file.

    Raises:
        BadInput: it is no image of this program, or of another version.
    """
    try:
        found = _documents(path)
    except tarfile.TarError as error:
        raise bad_file(path, "This is no image file (tar).") from error
    except OSError as error:
        raise os_error(error, "reading the image file") from error
    try:
        entries = json.loads(found["manifest.json"])
        (entry,) = entries
        names = entry["RepoTags"]
        configuration = found[entry["Config"]]
        labels: dict[str, Any] = json.loads(configuration)["config"]["Labels"] or {}
    except (KeyError, ValueError, TypeError) as error:
        raise _not_ours(path) from error
    if labels.get(LABEL) != "image" or names != [tag]:
        raise _not_ours(path)
    if labels.get(LABEL_FORMAT) != FORMAT:
        raise bad_file(
            path,
            "This image was made by another version of this program.",
            todo="Save it again with the version that is installed here.",
        )
    digest = hashlib.sha256(configuration).hexdigest()
    if digest not in entry["Config"]:
        raise bad_file(
            path,
            "The image in this file was changed after it was saved.",
            todo="Carry the file over again and compare its SHA-256.",
        )
    return f"sha256:{digest}"


def _not_ours(path: Path) -> BadInput:
    return bad_file(
        path,
        "This file holds no image that m4bench saved.",
        todo="Make one on a machine with a network: m4bench sandbox image save FILE.tar",
    )


def _documents(path: Path) -> dict[str, bytes]:
    """The small files of the archive (bounded: the archive may be anybody's)."""
    found: dict[str, bytes] = {}
    with tarfile.open(path, "r:") as tar:
        for number, member in enumerate(tar):
            if number > _MOST_MEMBERS:
                raise _not_ours(path)
            small = member.isfile() and member.size <= _MOST_JSON
            if small and (member.name.endswith(".json") or member.name.startswith("blobs/")):
                file = tar.extractfile(member)
                if file is not None and sum(map(len, found.values())) < 8 * _MOST_JSON:
                    found[member.name] = file.read()
    return found


def _blocks(path: Path, size: int, job: Job) -> Iterator[bytes]:
    done = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            job.check()
            yield block
            done += len(block)
            job.progress("image-load", done, size, "handing the image to the engine")
