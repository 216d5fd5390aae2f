"""Endpoints, policies and the audit log without a widget."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from engine.audit import Entry, Verdict
from engine.base.errors import M4Error, MissingPrerequisite
from engine.base.jobs import Job
from engine.gateway.endpoints import (
    add_endpoint,
    list_endpoints,
    looks_local,
    make_endpoint,
    own_names,
    remove_endpoint,
    where_key_went,
)
from engine.gateway.interface import Endpoint
from engine.gateway.keys import Secret, delete_key, has_key, set_key
from engine.gateway.trial import try_endpoint
from engine.sources import Policy
from m4review.app.jobs import JobRunner

if TYPE_CHECKING:
    from engine.workbench import Workbench

SHOWN = 2_000
"""Entries of the audit log that are shown: the newest."""


@dataclass(frozen=True)
class EndpointLine:
    """One endpoint as it is shown."""

    endpoint: Endpoint
    """What it is."""
    own: bool
    """The user's own; those that are built in cannot be removed."""
    local: bool
    """On this machine by its address."""
    key: str
    """``–`` (needs none), ``stored``, ``missing`` or ``no keyring``."""


@dataclass(frozen=True)
class ModelsPage:
    """Everything that is shown."""

    endpoints: tuple[EndpointLine, ...]
    """Known ones and the user's own."""
    policies: tuple[Policy, ...]
    """By source."""
    verdict: Verdict
    """Does the audit log hold?"""
    entries: tuple[Entry, ...]
    """Of the audit log, newest first."""
    entries_in_all: int
    """How many there are."""


def load_page(workbench: Workbench) -> ModelsPage:
    """Ask the engine."""
    own = own_names(workbench.home)
    lines = [
        EndpointLine(each, each.name in own, looks_local(each), key)
        for each, key in _with_keys(list_endpoints(workbench.home))
    ]
    policies = tuple(workbench.source_policy(source.name) for source in workbench.sources())
    entries = workbench.audit_log()
    return ModelsPage(
        tuple(lines),
        policies,
        workbench.audit_state(),
        tuple(reversed(entries[-SHOWN:])),
        len(entries),
    )


def _with_keys(endpoints: list[Endpoint]) -> list[tuple[Endpoint, str]]:
    """Endpoints with what is known of their keys; never a key."""
    known: dict[str, str] = {}
    closed = False
    for each in endpoints:
        if each.key is None or each.key in known:
            continue
        try:
            known[each.key] = (
                "no keyring" if closed else "stored" if has_key(each.key) else "missing"
            )
        except MissingPrerequisite:
            closed, known[each.key] = True, "no keyring"
    return [(each, "–" if each.key is None else known[each.key]) for each in endpoints]


class ModelsViewModel(QObject):
    """Reads and changes endpoints, keys and policies in the background."""

    changed = Signal()
    failed = Signal(object)
    told = Signal(str)
    key_moves = Signal(object, str)
    """An `Endpoint` whose key would go to a host that has not had it, and that in words."""

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.page: ModelsPage | None = None

    def reload(self) -> None:
        """Read everything again."""

        def done(page: ModelsPage) -> None:
            self.page = page
            self.changed.emit()

        self._runner.start(
            "Read endpoints and policies",
            lambda _job: load_page(self._workbench),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

    def _do(self, title: str, work: Callable[[Job], Any], words: str, *, quiet: bool) -> None:
        def done(found: Any) -> None:
            self.told.emit(found if isinstance(found, str) else words)
            self.reload()

        def failed(error: M4Error) -> None:
            self.failed.emit(error)
            self.reload()

        self._runner.start(title, work, on_done=done, on_failed=failed, quiet=quiet, lane="policy")

    def add(self, name: str, api: str, url: str, key: str) -> None:
        """Keep an endpoint of the user's own; where a key would go to a new host, ask first."""

        def work(_job: Job) -> tuple[Endpoint, str | None]:
            endpoint = make_endpoint(name.strip(), api=api, url=url, key=key.strip() or None)
            return endpoint, where_key_went(self._workbench.home, endpoint)

        def done(found: tuple[Endpoint, str | None]) -> None:
            endpoint, words = found
            if words is None:
                self.keep(endpoint)
            else:
                self.key_moves.emit(endpoint, words)

        self._runner.start(
            "Look at the endpoint", work, on_done=done, on_failed=self.failed.emit, quiet=True
        )

    def keep(self, endpoint: Endpoint, *, move_key: bool = False) -> None:
        """Keep it; `move_key`: its key may go to a host that has not had it."""
        name = endpoint.name

        def work(_job: Job) -> None:
            add_endpoint(self._workbench.home, endpoint, move_key=move_key)

        self._do("Keep the endpoint", work, f"The endpoint {name.strip()} is kept.", quiet=True)

    def remove(self, name: str) -> None:
        """Forget an endpoint of the user's own."""
        self._do(
            "Forget the endpoint",
            lambda _job: remove_endpoint(self._workbench.home, name),
            f"The endpoint {name} is forgotten.",
            quiet=True,
        )

    def test(self, endpoint: Endpoint) -> None:
        """Ask an endpoint for its models, the way a run would reach it."""

        def work(job: Job) -> str:
            models = try_endpoint(endpoint, job=job)
            names = f" Models: {', '.join(models[:8])}" if models else ""
            return f"{endpoint.name} answers.{names}"

        self._do(f"Try {endpoint.name}", work, "", quiet=False)

    def store_key(self, name: str, text: str) -> None:
        """Keep a key in the operating system's keyring; it is never shown again.

        Raises:
            UsageError: it is no key.
        """
        secret = Secret(text.strip())
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no copy of it
        self._do(
            "Store the key",
            lambda _job: set_key(name, secret),
            f"The key {name} is stored in the keyring.",
            quiet=True,
        )

    def delete_key(self, name: str) -> None:
        """Remove a key from the keyring."""
        self._do(
            "Remove the key",
            lambda _job: None if delete_key(name) else f"There was no key {name}.",
            f"The key {name} is removed.",
            quiet=True,
        )

    def allow(self, source: str, provider: str, *, by: str, why: str) -> None:
        """Let an endpoint's models see a source; recorded in the audit log."""
        self._do(
            "Allow a provider",
            lambda _job: self._workbench.allow_provider(source, provider, by=by, why=why) and None,
            f"{provider} may see {source} from now on.",
            quiet=True,
        )

    def revoke(self, source: str, provider: str | None) -> None:
        """Take back what was allowed."""
        self._do(
            "Take back a permission",
            lambda _job: self._workbench.revoke_provider(source, provider) and None,
            f"{provider or 'Nobody outside'} may not see {source} any more."
            if provider
            else f"Only models on this machine may see {source}.",
            quiet=True,
        )

    def verify(self) -> None:
        """Read every entry of the audit log and check the chain."""

        def work(_job: Job) -> str:
            return self._workbench.audit_state(thorough=True).words

        self._do("Check the audit log", work, "", quiet=False)
