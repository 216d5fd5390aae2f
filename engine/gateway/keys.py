"""Keys of model endpoints: a type that cannot be shown, and the operating system's keyring.

A key is in the keyring and, while a run lives, in the memory of its gateway process; nowhere else.
"""

from __future__ import annotations

import hmac
import re
from typing import Any, NoReturn

from engine.base.errors import M4Error, MissingPrerequisite, UsageError

SERVICE = "m4review"
"""Under which the keyring holds our keys."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SECRET = re.compile(r"[!-~]{8,4096}")
_NO_STORE = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
_INSTALL = (
    "On Linux: install gnome-keyring (or KWallet), log in to a desktop session so that it is "
    "unlocked, and do it again. A model server on this machine needs no key."
)


class Secret:
    """A text that no print, format, log, pickle or debugger's repr shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not _SECRET.fullmatch(text):
            raise UsageError(
                "This is no key: a key has 8 to 4096 printable characters and no spaces.",
                todo="Copy the whole key, on one line.",
            )
        self._text = text

    def reveal(self) -> str:
        """The text itself; only for the header of a request and for the keyring."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(
            self._text.encode(), other._text.encode()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")


def check_key_name(name: str) -> str:
    """`name`, if it can name a key.

    Raises:
        UsageError: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "A key's name has small letters, digits, dots, dashes and underscores (at most 64)."
        )
    return name


def _store() -> Any:
    """The keyring backend to use: the first that really keeps secrets.

    Raises:
        MissingPrerequisite: there is none.
    """
    # The import looks for backends among all installed packages: only when a key is needed.
    import keyring  # noqa: PLC0415
    import keyring.backends.chainer as chainer  # noqa: PLC0415, PLR0402

    try:
        chosen = keyring.get_keyring()
        parts = list(chosen.backends) if isinstance(chosen, chainer.ChainerBackend) else [chosen]
    except Exception as error:
        raise _in_words(error) from None
    usable = [part for part in parts if not type(part).__module__.startswith(_NO_STORE)]
    if usable:
        return usable[0]
    if any(type(part).__module__.startswith("keyrings.alt") for part in parts):
        raise MissingPrerequisite(
            "The only keyring here keeps keys in a plain file; it is not used.", todo=_INSTALL
        )
    raise MissingPrerequisite("There is no keyring in this session.", todo=_INSTALL)


def _in_words(error: Exception) -> M4Error:
    """A keyring's error, without any text of its own (it may hold what it was given)."""
    if isinstance(error, M4Error):
        return error
    name = type(error).__name__
    locked = name in ("KeyringLocked", "LockedException", "PromptDismissedException")
    if locked or (name == "InitError" and "nlock" in str(error)):
        return MissingPrerequisite(
            "The keyring is locked.", todo="Unlock it (log in to the desktop) and do it again."
        )
    return MissingPrerequisite("The keyring does not answer.", todo=_INSTALL, details=name)


def keyring_name() -> str:
    """The keyring in use, for people.

    Raises:
        MissingPrerequisite: there is none that can be used.
    """
    kind = type(_store())
    return f"{kind.__module__}.{kind.__qualname__}"


def set_key(name: str, secret: Secret) -> None:
    """Keep a key; one of that name is replaced.

    Raises:
        MissingPrerequisite: no keyring, or it is locked.
    """
    check_key_name(name)
    store = _store()
    try:
        store.set_password(SERVICE, name, secret.reveal())
    except Exception as error:
        raise _in_words(error) from None


def find_key(name: str) -> Secret | None:
    """The key of that name, or None.

    Raises:
        MissingPrerequisite: no keyring, or it is locked.
    """
    check_key_name(name)
    store = _store()
    try:
        text = store.get_password(SERVICE, name)
    except Exception as error:
        raise _in_words(error) from None
    return None if text is None else Secret(text)


def get_key(name: str) -> Secret:
    """The key of that name.

    Raises:
        MissingPrerequisite: no such key, no keyring, or it is locked.
    """
    found = find_key(name)
    if found is None:
        raise MissingPrerequisite(
            f"There is no key {name!r} in the keyring.",
            todo="Store it with m4bench endpoint key ENDPOINT.",
        )
    return found


def has_key(name: str) -> bool:
    """Is there a key of that name?

    Raises:
        MissingPrerequisite: no keyring, or it is locked.
    """
    return find_key(name) is not None


def delete_key(name: str) -> bool:
    """Remove a key; False when there was none.

    Raises:
        MissingPrerequisite: no keyring, or it is locked.
    """
    if not has_key(name):
        return False
    store = _store()
    try:
        store.delete_password(SERVICE, name)
    except Exception as error:
        raise _in_words(error) from None
    return True
