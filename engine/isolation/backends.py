"""Which sandbox is used here: the named one, or the best that works; with none, nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from engine.base.errors import M4Error, MissingPrerequisite, StorageFull, UsageError
from engine.base.paths import Home
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.isolation.interface import Sandbox

# Best first: what may be published before what may not.
_MAKERS: dict[str, Callable[[Home], Sandbox]] = {"docker": Docker, "bubblewrap": Bubblewrap}


@dataclass(frozen=True)
class BackendInfo:
    """What is the matter with one backend on this machine."""

    name: str
    """As in ``--backend``."""
    works: bool
    """A trivial program was really run in it just now."""
    why_not: str | None
    """What is missing, when it does not work."""
    todo: str | None
    """How to get it."""
    publishable: bool
    """May runs in it be published?"""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def backend_names() -> tuple[str, ...]:
    """The names that `choose_backend` knows, best first."""
    return tuple(_MAKERS)


def make_backend(home: Home, name: str) -> Sandbox:
    """The backend called `name`, not probed.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in _MAKERS:
        raise UsageError(
            f"There is no sandbox called {name}.", todo=f"Known: {', '.join(_MAKERS)}."
        )
    return _MAKERS[name](home)


def available_backends(home: Home) -> tuple[BackendInfo, ...]:
    """Every backend, probed: a trivial program is really run in each (seconds at first use)."""
    infos = []
    for name in _MAKERS:
        backend = make_backend(home, name)
        why_not = todo = None
        try:
            backend.probe()
        except M4Error as error:
            why_not, todo = error.text, error.todo
        infos.append(BackendInfo(name, why_not is None, why_not, todo, backend.publishable))
    return tuple(infos)


def choose_backend(home: Home, name: str | None = None) -> Sandbox:
    """The named backend, or the best that works here; probed, so that it can be used at once.

    Raises:
        UsageError: there is none of that name.
        MissingPrerequisite: it (or every one) does not work here; says what to do.
        StorageFull: there is no room for the sandbox's root file system.
    """
    if name is not None:
        backend = make_backend(home, name)
        backend.probe()
        return backend
    missing: list[M4Error] = []
    for known in _MAKERS:
        backend = make_backend(home, known)
        try:
            backend.probe()
        except StorageFull:
            raise  # no sandbox's fault
        except M4Error as error:
            missing.append(error)
        else:
            return backend
    least = missing[-1]  # the one that asks the least of a machine
    raise MissingPrerequisite(
        f"No sandbox works on this machine, and without one nothing is run. {least.text}",
        todo=least.todo,
        details="\n".join(error.text for error in missing[:-1]) or least.details,
    )
