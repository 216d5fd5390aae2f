"""Who signs here: the key in the operating system's keyring, and fingerprints to compare."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from engine.base.errors import BadInput, MissingPrerequisite, UsageError
from engine.base.files import write_json
from engine.gateway.keys import Secret, find_key, keyring_name, set_key
from engine.reviews.canonical import sha256
from engine.reviews.place import Place

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
LONGEST_NAME = 200
_SHORTEST_PRINT = 8


class Signer:
    """A reviewer's secrets, in memory while they are needed. Never printed, never written."""

    __slots__ = ("_key", "_seal")

    def __init__(self, both: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(both[:32])
        self._seal = both[32:]

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    @property
    def author(self) -> str:
        """How the ledger calls this person."""
        return sha256(self.public)

    def sign(self, data: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""
        return self._key.sign(data)

    def sealing_key(self, salt: bytes) -> bytes:
        """The key of one sealed review, 32 bytes.

        Made from a random secret of the keyring and the review's random salt, so that nothing
        has to be kept beside the ledger until it is revealed; it tells nothing of other keys.
        """
        made = HKDF(SHA256(), 32, salt, b"m4review seal 1")
        return made.derive(self._seal)

    def draft_key(self, name: str) -> bytes:
        """The key of a private draft, 32 bytes; it tells nothing of the sealing keys."""
        return HKDF(SHA256(), 32, name.encode(), b"m4review draft 1").derive(self._seal)

    def __repr__(self) -> str:
        return "Signer(…)"


@dataclass(frozen=True)
class Fingerprint:
    """An author's key in forms that two people can compare by voice or on paper."""

    hex: str
    """64 hex digits."""

    @property
    def groups(self) -> str:
        """The first 128 bits as eight groups of four hex digits."""
        return " ".join(self.hex[at : at + 4] for at in range(0, 32, 4))

    @property
    def words(self) -> str:
        """The same 128 bits as eight words that can be spoken (proquints)."""
        return "-".join(_word(int(self.hex[at : at + 4], 16)) for at in range(0, 32, 4))


def _word(number: int) -> str:
    c, v = _CONSONANTS, _VOWELS
    return (
        c[number >> 12 & 15]
        + v[number >> 10 & 3]
        + c[number >> 6 & 15]
        + v[number >> 4 & 3]
        + c[number & 15]
    )


def new_signer(place: Place) -> Signer:
    """Make this workstation's key and put it into the keyring.

    Raises:
        UsageError: there is one already.
        MissingPrerequisite: no keyring, or it is locked.
    """
    if my_author(place) is not None:
        raise UsageError(
            "This workstation has a reviewer already.",
            todo="See m4bench review identity. Another person uses another home (--home).",
        )
    both = secrets.token_bytes(64)
    signer = Signer(both)
    try:
        set_key(_name(signer.author), Secret(base64.b64encode(both).decode()))
    except MissingPrerequisite as error:
        raise _no_keyring(error) from error
    write_json(place.me, {"author": signer.author}, "noting whose workstation this is")
    return signer


def my_author(place: Place) -> str | None:
    """Whose workstation this is; None before there is an identity.

    Raises:
        BadInput: the note cannot be read.
    """
    try:
        author = json.loads(place.me.read_bytes())["author"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput("reviews/me.json in the home folder cannot be read.") from error
    return str(author)


def my_signer(place: Place) -> Signer:
    """This workstation's secrets, from the keyring.

    Raises:
        MissingPrerequisite: there is no identity, no keyring, or not this key in it.
    """
    author = my_author(place)
    if author is None:
        raise MissingPrerequisite(
            "Nobody signs on this workstation yet.",
            todo='Make an identity: m4bench review identity --name "…" --role "…"',
        )
    try:
        secret = find_key(_name(author))
    except MissingPrerequisite as error:
        raise _no_keyring(error) from error
    if secret is None:
        raise MissingPrerequisite(
            "The keyring of this session does not hold the key of this workstation's reviewer.",
            todo="Log in as the user who made it. A lost key cannot be made again.",
        )
    signer = Signer(base64.b64decode(secret.reveal()))
    if signer.author != author:
        raise BadInput("The key in the keyring is not that of this workstation's reviewer.")
    return signer


def find_author(said: str, known: dict[str, str]) -> str:
    """The author whom a name, a fingerprint's beginning or its words mean.

    Args:
        said: what was typed.
        known: author to name.

    Raises:
        UsageError: nobody, or more than one.
    """
    plain = "".join(said.lower().split())
    found = [
        author
        for author, name in known.items()
        if name.casefold() == said.strip().casefold()
        or (len(plain) >= _SHORTEST_PRINT and author.startswith(plain))
        or Fingerprint(author).words == plain
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} people are called so.", todo="Give the fingerprint (8 digits or more)."
        )
    raise UsageError(
        f"The ledger knows nobody called {said}.",
        todo=f"Known: {', '.join(sorted(known.values())) or 'nobody'}. Merge the bundle with "
        "their identity first.",
    )


def compared(place: Place) -> dict[str, str]:
    """Whose fingerprint was compared here, and when (author to ISO 8601)."""
    try:
        found = json.loads(place.compared.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def note_compared(place: Place, author: str, said: str, at: str) -> None:
    """Note that the fingerprint that the person read out is the ledger's.

    Raises:
        BadInput: it is another one.
    """
    print_ = Fingerprint(author)
    plain = "".join(said.lower().split())
    short = len(print_.groups.replace(" ", ""))
    same = plain == print_.words or (len(plain) >= short and print_.hex.startswith(plain))
    if not same:
        raise BadInput(
            "This is not the fingerprint in the ledger: somebody else may sign under this name.",
            todo="Read it again with the person; if it differs, do not use this bundle.",
        )
    write_json(place.compared, {**compared(place), author: at}, "noting the comparison")


def keyring_trouble() -> str:
    """Why no key can be kept here, with what to do; empty where all is well."""
    try:
        keyring_name()
    except MissingPrerequisite as error:
        return str(_no_keyring(error))
    return ""


def _name(author: str) -> str:
    return f"review-{author[:32]}"


def _no_keyring(error: MissingPrerequisite) -> MissingPrerequisite:
    return MissingPrerequisite(
        error.text,
        todo="A reviewer's key is kept in the operating system's keyring. On Linux: install "
        "gnome-keyring (or KWallet), log in to a desktop session so that it is unlocked, and do "
        "it again.",
        details=error.details,
    )
