"""What may be done with a source's data: which models may see it, and what may be copied out.

Synthetic sources and official open demos are free. Of a credentialed source only a model on this
machine may see anything, until somebody allows a named provider, with a name and a reason. It is
allowed together with the host behind it then: an endpoint that is pointed elsewhere later has to
be allowed anew. Every decision is a row that is never changed or removed (`state.db` refuses it)
and an entry of the audit log. It belongs to one registration: a source of the same name that is
added later has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from engine import audit
from engine.audit.entry import actor
from engine.base.errors import UsageError
from engine.base.paths import Home
from engine.sources.info import Access, SourceInfo
from engine.sources.registry import find_source, locked
from engine.sources.state import source_rows

Act = Literal["allow", "revoke", "local-only"]

LONGEST_WHY = 2000
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Decision:
    """May it be done?"""

    allowed: bool
    """It may."""
    why: str
    """In one or two sentences; with the way to change it where it is refused."""
    confirm: str | None = None
    """Where it may only be done after somebody said yes: what has to be asked."""


@dataclass(frozen=True)
class Ruling:
    """One decision about a source."""

    at: str
    """ISO 8601 in UTC."""
    act: Act
    """``allow`` and ``revoke`` a provider; ``local-only`` revokes all of them."""
    provider: str | None
    """Whom."""
    host: str | None
    """Scheme, host and port behind that name when it was allowed; nothing else is."""
    by: str
    """Who decided, as given."""
    why: str
    """The reason, as given."""
    actor: str
    """The operating system's user who entered it."""
    holds: bool
    """An allowance that is in force."""


@dataclass(frozen=True)
class Policy:
    """What may be done with a source."""

    source: str
    """Its name."""
    access: Access
    """What it counts as: ``credentialed`` too while its file was changed by another program."""
    free: bool
    """Every provider may see it."""
    providers: tuple[str, ...]
    """Those that are allowed, by name, beside models on this machine; see `hosts`."""
    hosts: Mapping[str, str]
    """Which host each of them is allowed at: ``https://api.openai.com``."""
    history: tuple[Ruling, ...]
    """All rulings about this registration, oldest first."""

    @property
    def words(self) -> str:
        """In one sentence."""
        if self.free:
            return f"Any model may see it: it is {_KINDS[self.access]}."
        if not self.providers:
            return "Only models on this machine may see it (credentialed data)."
        allowed = ", ".join(f"{name} at {self.hosts[name]}" for name in self.providers)
        return f"Models on this machine and {allowed} may see it (credentialed data)."

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **vars(self),
            "providers": list(self.providers),
            "hosts": dict(self.hosts),
            "history": [asdict(ruling) for ruling in self.history],
            "words": self.words,
        }


_KINDS: dict[Access, str] = {
    "synthetic": "synthetic, no patient is in it",
    "open": "an official open demo",
    "credentialed": "credentialed data",
}


def source_policy(home: Home, source: str) -> Policy:
    """What may be done with a source, and who decided so.

    Raises:
        UsageError: there is no such source.
    """
    return _policy(home, find_source(home, source))


def permit(home: Home, source: str, provider: str, *, host: str, local: bool = False) -> Decision:
    """May the models of `provider` see data of this source?

    Args:
        home: where sources are kept.
        source: its name.
        provider: the endpoint's name.
        host: the endpoint's scheme, host and port now (`engine.gateway.local.host_of`).
        local: the endpoint was proved to be on this machine (the gateway's business; a name or
            an address in the settings proves nothing).

    Raises:
        UsageError: there is no such source.
    """
    info = find_source(home, source)
    policy = _policy(home, info)
    if policy.free:
        return Decision(True, policy.words)
    if local:
        return Decision(True, "The model runs on this machine; nothing leaves it.")
    elsewhere = ""
    for ruling in policy.history:
        if ruling.holds and ruling.provider == provider.lower():
            said = f"{ruling.by} allowed {provider} at {ruling.host} on {ruling.at[:10]}"
            if ruling.host == host:
                return Decision(True, f"{said}: {ruling.why}")
            elsewhere = f" {said}, but this endpoint is at {host} now."
    touched = (
        " (its file was changed by another program, so it counts as such)" if info.touched else ""
    )
    return Decision(
        False,
        f"{source} is credentialed data{touched}, and nobody has allowed {provider} at {host} to "
        f"see it.{elsewhere} "
        "Use a model on this machine, or, if your data use agreement lets you: "
        f"m4bench source policy {source} --allow {provider} --by WHO --why TEXT",
    )


def may_export(home: Home, source: str) -> Decision:
    """May rows of this source be copied or written out of the home?

    Always, but those of a credentialed source only after the user was asked (`Decision.confirm`).
    Whoever does it tells the audit log (``export.…``) first.

    Raises:
        UsageError: there is no such source.
    """
    policy = source_policy(home, source)
    if policy.free:
        return Decision(True, f"{source} is {_KINDS[policy.access]}.")
    return Decision(
        True,
        f"{source} is credentialed data; what is copied is recorded in the audit log.",
        confirm=(
            f"These rows are credentialed data ({source}). Whoever gets them must be allowed to "
            "see them. Copy them? It will be recorded in the audit log."
        ),
    )


def allow_provider(
    home: Home, source: str, provider: str, *, host: str, by: str, why: str
) -> Policy:
    """Let a provider's models see a credentialed source.

    Args:
        home: where sources are kept.
        source: its name.
        provider: the endpoint's name.
        host: its scheme, host and port (`engine.gateway.local.host_of`); no other is allowed.
        by: who allows it.
        why: the reason.

    Raises:
        UsageError: no such source, it is not imported whole, it is free anyway, or a name or the
            reason is missing.
        StorageFull, Busy: it could not be recorded; nothing is allowed.
    """
    provider = provider.strip().lower()
    if not _PROVIDER.fullmatch(provider):
        raise UsageError(
            "This is no name of a provider.", todo="Give the endpoint's name, e.g. openai."
        )
    by, why = _said(by, "--by", "who allows it"), _said(why, "--why", "the reason")
    with locked(home, source, "its policy was to be changed"):
        info = find_source(home, source)
        if info.state != "ready":
            raise UsageError(
                f"The import of {source} is not finished, so nobody knows yet what is in it.",
                todo="Finish the import first.",
            )
        if _policy(home, info).free:
            raise UsageError(
                f"{source} is {_KINDS[info.access]}: every provider may see it anyway.",
                todo="Nothing needs to be allowed.",
            )
        return _rule(home, source, "allow", provider, host, by=by, why=why)


def revoke(
    home: Home, source: str, provider: str | None = None, *, by: str = "", why: str = ""
) -> Policy:
    """Take back what was allowed: of one provider, or of all (models on this machine stay).

    Raises:
        UsageError: no such source, or that provider is not allowed.
        StorageFull, Busy: it could not be recorded; nothing is changed.
    """
    wanted = provider.strip().lower() if provider is not None else None
    with locked(home, source, "its policy was to be changed"):
        policy = source_policy(home, source)
        if wanted is not None and wanted not in policy.providers:
            raise UsageError(
                f"{wanted} is not allowed for {source}.",
                todo=f"Allowed: {', '.join(policy.providers) or 'none'}.",
            )
        act: Act = "local-only" if wanted is None else "revoke"
        return _rule(home, source, act, wanted, None, by=by.strip() or actor(), why=why.strip())


def _rule(
    home: Home,
    source: str,
    act: Act,
    provider: str | None,
    host: str | None,
    *,
    by: str,
    why: str,
) -> Policy:
    """Enter a ruling, in the audit log first: nothing is allowed that is not recorded."""
    facts: audit.Facts = {"act": act, "provider": provider, "host": host, "by": by, "why": why}
    entry = audit.note(home, "source.policy", source=source, object=provider or "", facts=facts)
    with source_rows(home) as rows:
        rows.add_ruling(
            source,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            act=act,
            provider=provider,
            host=host,
            by=by,
            why=why,
            actor=entry.actor,
        )
    return source_policy(home, source)


def _policy(home: Home, info: SourceInfo) -> Policy:
    with source_rows(home) as rows:
        found = rows.rulings(info.name)
    access: Access = "credentialed" if info.touched or info.state != "ready" else info.access
    if info.access == "synthetic" and info.state != "ready":
        access = "synthetic"  # being written by us alone
    in_force = _in_force(found)
    return Policy(
        source=info.name,
        access=access,
        free=access != "credentialed",
        providers=tuple(sorted(str(found[n]["provider"]) for n in in_force)),
        hosts={str(found[n]["provider"]): str(found[n]["host"]) for n in sorted(in_force)},
        history=tuple(Ruling(**row, holds=n in in_force) for n, row in enumerate(found)),
    )


def _in_force(rulings: Sequence[dict[str, Any]]) -> set[int]:
    """Positions of the allowances that hold: the last of each provider, not taken back.

    One without a host (entered before hosts were kept) holds for nothing.
    """
    holds: dict[str, int] = {}
    for position, ruling in enumerate(rulings):
        if ruling["act"] == "local-only":
            holds.clear()
        elif ruling["act"] == "revoke" or ruling["host"] is None:
            holds.pop(ruling["provider"], None)
        else:
            holds[ruling["provider"]] = position
    return set(holds.values())


def _said(text: str, option: str, what: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise UsageError(f"It must be said {what}.", todo=f"Say it with {option}.")
    return text[:LONGEST_WHY]
