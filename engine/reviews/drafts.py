"""Private drafts: what a person has written and not signed, encrypted, on this machine alone.

The key is made from the secret in the keyring, so that a copy of the home, and whoever else reads
it, learns nothing. A draft is one form's data; it goes when the form is signed. A form that
somebody fills in with an editor is plain while it is open: whoever reads drafts takes it in.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from engine.base.errors import BadInput, StorageFull, UsageError
from engine.base.files import os_error, writing
from engine.reviews.checklist import Item
from engine.reviews.forms import FIELDS, over, read_form, says, verdict_in
from engine.reviews.identity import Signer
from engine.reviews.place import Place
from engine.reviews.verdicts import lacks

_NONCE = 12
_BLOCK = 4096
_LONGEST = 4 << 20

Draft = dict[str, Any]
"""The data of a form: assignment, task, source, texts, items."""


def write_draft(place: Place, signer: Signer, draft: Mapping[str, Any]) -> None:
    """Keep a draft; the one before is replaced.

    Raises:
        StorageFull, Busy, MissingPrerequisite: it could not be kept; the one before is there.
    """
    name = str(draft["assignment"])
    plain = json.dumps(draft, ensure_ascii=False, separators=(",", ":")).encode()
    if len(plain) > _LONGEST:
        raise StorageFull("The draft is too long (more than 4 MiB).", todo="Attach less evidence.")
    plain += b" " * (-len(plain) % _BLOCK)  # how much was written is nobody's business
    nonce = secrets.token_bytes(_NONCE)
    data = nonce + ChaCha20Poly1305(signer.draft_key(name)).encrypt(nonce, plain, name.encode())
    private_folder(place)
    with writing(place.drafts / f"{name}.draft", "keeping the draft", mode=0o600) as part:
        part.write_bytes(data)


def read_draft(place: Place, signer: Signer, assignment: str) -> Draft | None:
    """The draft of an assignment; None without.

    Raises:
        BadInput: it was damaged, or is somebody else's.
    """
    path = place.drafts / f"{assignment}.draft"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        cipher = ChaCha20Poly1305(signer.draft_key(assignment))
        plain = cipher.decrypt(data[:_NONCE], data[_NONCE:], assignment.encode())
        draft = json.loads(plain)
    except (InvalidTag, ValueError) as error:
        raise BadInput(
            "The draft of this review cannot be opened: its file was damaged, or it is that of "
            "another key.",
            todo=f"Bring {path.name} back from a backup, or delete it to begin anew.",
        ) from error
    return dict(draft)


def read_form_of(place: Place, task: str, assignment: str) -> Draft | None:
    """What was filled into the form in the private folder; None where nothing was.

    Raises:
        BadInput: names file and line.
    """
    path = form_path(place, task, assignment)
    if not path.is_file():
        return None
    form = read_form(path)
    return form if any(says(entry) for entry in form["items"]) else None


def forget_form(place: Place, task: str, assignment: str) -> None:
    """Delete the form in the private folder, whose answers are in the draft, and its copies.

    An editor's backup beside it, or what a crash left half written, says the same in plain.
    """
    name = form_path(place, task, assignment).name
    if not place.drafts.is_dir():
        return
    try:
        for each in place.drafts.iterdir():
            if name in each.name and not each.is_dir():
                each.unlink(missing_ok=True)
    except OSError as error:
        raise os_error(error, "deleting a form whose answers are kept") from error


def check_form_is_in(place: Place, task: str, assignment: str, signed: Mapping[str, Any]) -> None:
    """Nothing that is written in the private form may be lacking in what is signed now.

    Raises:
        UsageError: something is; signing would delete it.
        BadInput: nobody can say, since the form cannot be read.
    """
    form = read_form_of(place, task, assignment)
    if form is None:
        return
    before = {str(e.get("item")): e for e in signed["items"] if isinstance(e, Mapping)}
    for entry in form["items"]:
        name = str(entry.get("item")) if isinstance(entry, Mapping) else ""
        if says(entry) and (name not in before or not _adds_nothing(before[name], entry)):
            path = form_path(place, task, assignment)
            raise UsageError(
                f"What you wrote about {name or 'an item'} in {path.name} is not in what you sign.",
                todo=f"Take it in first: m4bench review save {path} (or delete that file).",
            )


def _adds_nothing(signed: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    found = over(signed, entry)
    return all((found.get(name) or None) == (signed.get(name) or None) for name in FIELDS)


def private_folder(place: Place) -> Path:
    """The folder of drafts, made where it is not there, closed to everybody else."""
    try:
        place.drafts.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise os_error(error, "making the folder of drafts") from error
    if place.drafts.stat().st_mode & 0o077:
        with suppress(OSError):  # somebody else's folder; its files are closed themselves
            place.drafts.chmod(0o700)
    return place.drafts


def forget_drafts(place: Place, task: str, assignment: str) -> None:
    """Delete what was written for an assignment: what is under seal must not lie beside it."""
    (place.drafts / f"{assignment}.draft").unlink(missing_ok=True)
    forget_form(place, task, assignment)


def form_path(place: Place, task: str, assignment: str) -> Path:
    """Where the command line writes the form of an assignment by itself."""
    return place.drafts / f"{task}-{assignment[:12]}.yaml"


def missing(
    items: Iterable[Item], draft: Mapping[str, Any], texts: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """What each item lacks before it can be signed; items that lack nothing are left out.

    Args:
        items: those that are asked.
        draft: what was written.
        texts: the (normalised) texts, for the anchors.
    """
    entries = {str(entry.get("item")): entry for entry in draft["items"]}
    found: dict[str, tuple[str, ...]] = {}
    for item in items:
        entry = entries.get(item.id, {})
        if not entry.get("verdict"):
            found[item.id] = ("is not answered",)
            continue
        try:
            lacking = tuple(lacks(verdict_in(entry, texts)))
        except BadInput as error:
            lacking = (error.text,)
        if lacking:
            found[item.id] = lacking
    return found
