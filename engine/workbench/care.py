"""The workbench's care for data: who may see it, what is copied out, and the record of all that."""

from __future__ import annotations

from typing import Any, Literal

from engine import audit
from engine.base.errors import UsageError
from engine.base.paths import Home
from engine.claims import Check, Evidence, attachment
from engine.gateway.endpoints import find_endpoint
from engine.gateway.local import host_of
from engine.sources import (
    Decision,
    Policy,
    allow_provider,
    find_source,
    may_export,
    permit,
    revoke,
    source_policy,
)

CopyKind = Literal["clipboard", "file", "picture"]


def allow_endpoint(home: Home, source: str, name: str, *, by: str, why: str) -> Policy:
    """Let the models of an endpoint see a credentialed source, at the host that it has now.

    Raises:
        UsageError: as `engine.sources.allow_provider`, or there is no such endpoint.
        StorageFull, Busy: it could not be recorded; nothing is allowed.
    """
    name = name.strip().lower()
    host = host_of(find_endpoint(home, name))
    return allow_provider(home, source, name, host=host, by=by, why=why)


class Care:
    """Part of `Workbench`. Every method may be called from any thread."""

    home: Home
    """The home folder."""

    def audit_state(self, *, thorough: bool = False) -> audit.Verdict:
        """Does the audit log hold? Quick, and to be asked at the start: `ok`, `words`.

        The program goes on whatever is said; a log that does not hold is shown until it does.
        """
        return audit.verify(self.home, thorough=thorough)

    def audit_log(self, source: str | None = None) -> tuple[audit.Entry, ...]:
        """What touched the sources (one of them), oldest first."""
        return audit.read_log(self.home, source=source)

    def source_policy(self, source: str) -> Policy:
        """Which models may see a source, and who decided so.

        Raises:
            UsageError: there is no such source.
        """
        return source_policy(self.home, source)

    def evidence_piece(self, evidence: Evidence, check: Check) -> dict[str, Any]:
        """A check as a verdict keeps it, which leaves this machine when the verdict does.

        Small counts are in it only where the source is free, is here, and is what was asked.
        """
        try:
            info = find_source(self.home, evidence.source)
            free = source_policy(self.home, evidence.source).free
        except UsageError:
            return attachment(evidence, check)
        same = info.digest == evidence.source_digest
        return attachment(evidence, check, whole=free and same)

    def allow_provider(self, source: str, provider: str, *, by: str, why: str) -> Policy:
        """Let a provider's models see a credentialed source, at its host as it is now; recorded.

        Raises:
            UsageError: there is no such endpoint, the source is free or not whole, or a name or
                the reason is missing.
        """
        return allow_endpoint(self.home, source, provider, by=by, why=why)

    def revoke_provider(self, source: str, provider: str | None = None) -> Policy:
        """Take back what was allowed: of one provider, or of all.

        Raises:
            UsageError: there is no such source, or nothing to take back.
        """
        return revoke(self.home, source, provider)

    def permit(self, source: str, provider: str, *, local: bool = False) -> Decision:
        """May the models of `provider` see this source? See `engine.sources.permit`.

        Raises:
            UsageError: there is no such source or endpoint.
        """
        host = host_of(find_endpoint(self.home, provider))
        return permit(self.home, source, provider, host=host, local=local)

    def may_export(self, source: str) -> Decision:
        """May rows be copied out, and what has to be asked first (`confirm`)?

        Raises:
            UsageError: there is no such source.
        """
        return may_export(self.home, source)

    def note_copy(self, source: str, *, kind: CopyKind, of: str, rows: int, name: str = "") -> None:
        """Record that rows are about to be copied out of a view; then copy them.

        Args:
            source: whose rows.
            kind: where they go.
            of: what they are rows of: a run, a reference, a derived table.
            rows: how many.
            name: the file's name, without its folder.

        Raises:
            StorageFull, Busy: it cannot be recorded, so it must not be copied.
        """
        facts: audit.Facts = {"rows": rows, "of": of, "confirmed": True}
        audit.note(self.home, f"export.{kind}", source=source, object=name, facts=facts)
