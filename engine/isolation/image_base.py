"""What the Docker sandbox's image is built on: which base, and how the engine comes by it.

A digest is the SHA-256 of the image's manifest, and that lists the digests of all it holds. An
engine that fetches by digest checks both, so nobody, not even the registry, can give another image.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docker.utils import parse_repository_tag

from engine.base.content import content_folder
from engine.base.errors import M4Error, MissingPrerequisite, UsageError
from engine.base.jobs import Job
from engine.isolation.engine_api import Engine, telling

_DEFAULT = re.compile(r"^ARG BASE_IMAGE=(\S+)$", re.MULTILINE)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NOT_FOUND = 404


@dataclass(frozen=True)
class Reference:
    """The name of an image, taken apart: ``repository[:tag][@digest]``."""

    repository: str
    """With the registry, where one is named (``localhost:5000/python``)."""
    tag: str
    """Empty where none is named; says nothing where there is a digest."""
    digest: str
    """``sha256:…``; empty where none is named."""

    @property
    def exact(self) -> str:
        """As engines take it: by digest where there is one, else by tag.

        Engines do not find what they hold by a tag and a digest at once, and what a tag stood for
        when the digest was written down is nothing that the digest does not say better.
        """
        if self.digest:
            return f"{self.repository}@{self.digest}"
        return f"{self.repository}:{self.tag}" if self.tag else self.repository


def parsed(base: str) -> Reference:
    """The parts of an image's name.

    Raises:
        UsageError: what follows ``@`` is no SHA-256.
    """
    named, at, digest = base.partition("@")
    if at and not (named and _DIGEST.fullmatch(digest)):
        raise UsageError(
            f"{base} is not the name of an image: after @ comes sha256: and 64 digits and letters "
            "from a to f.",
            todo="Copy the whole digest: docker image ls --digests tells it.",
        )
    repository, tag = parse_repository_tag(named)
    return Reference(repository, tag or "", digest)


def default_base(version: str) -> str:
    """The public Python image to build on for the packages of a Python ``3.X``.

    The Dockerfile's, which is pinned by digest, where it is of that Python; of any other a tag,
    since packages with compiled parts run in no other Python than theirs.
    """
    text = (content_folder("sandbox") / "Dockerfile").read_text(encoding="utf-8")
    (pinned,) = _DEFAULT.findall(text)
    tag = parsed(pinned).tag
    return str(pinned) if tag.startswith(f"{version}-") else f"python:{version}-slim-bookworm"


def fetched(engine: Engine, base: str, job: Job) -> str:
    """Have the engine fetch the base if it has it not; its name with its digest.

    Raises:
        UsageError: `base` is not the name of an image.
        MissingPrerequisite: it is not here and cannot be fetched.
        Cancelled: the job was stopped.
        HarnessFault: the engine failed.
    """
    wanted = parsed(base)
    with telling("fetching the base image"), engine.client(timeout=3600) as api:
        here = _digests(api, wanted.exact)
        if here is None:
            _pull(api, wanted, base, job)
            here = _digests(api, wanted.exact) or []
    if wanted.digest:
        return wanted.exact
    own = [d for d in here if d.partition("@")[0] == wanted.repository]
    return (own or here or [base])[0]


def _pull(api: Any, wanted: Reference, base: str, job: Job) -> None:
    refused = ""
    try:
        for line in api.pull(
            wanted.repository,
            tag=wanted.digest or wanted.tag or "latest",
            stream=True,
            decode=True,
        ):
            job.check()
            refused = refused or str(line.get("error", ""))
            job.progress("image-base", 0, 1, str(line.get("status", ""))[:80])
    except M4Error:
        raise
    except Exception as error:
        raise not_had(base, f"registry: {error}") from error
    if refused:
        raise not_had(base, refused)


def _digests(api: Any, name: str) -> list[str] | None:
    """Under which digests registries gave this image; None if the engine does not have it."""
    try:
        return [str(d) for d in api.inspect_image(name).get("RepoDigests") or []]
    except Exception as error:
        if getattr(error, "status_code", None) != _NOT_FOUND:
            raise
        return None


def not_had(base: str, words: str) -> MissingPrerequisite:
    """The error that says how to do without the base."""
    return MissingPrerequisite(
        f"The base image {base} is not here and cannot be fetched.",
        todo="Where no registry can be reached, build on this machine's own Python: m4bench "
        "sandbox image build --base machine; or load an image of another machine: m4bench sandbox "
        "image load FILE.tar. If the registry no longer has it, name another: --base IMAGE",
        details=words[:2000],
    )
