"""What a promise is, and what the host sees after an attempt to break it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.gateway.ground import GatewayGround
from engine.gateway.interface import Budget
from engine.isolation.interface import MIB, Ended, Reason


@dataclass(frozen=True)
class Seen:
    """What the host sees after an attempt."""

    ended: Ended
    """How it ended."""
    stdout: bytes
    """What it wrote."""
    stderr: bytes
    """What it wrote there."""
    folder: Path
    """Its job folder."""
    ground: dict[str, Any]
    """What was prepared for it (see `conformance.Ground.facts`)."""
    gateway: GatewayGround | None = None
    """The gateway that it had, settled by now, and what reached the model server."""


After = Callable[[Seen], str | None]
"""Looks at what is left; words on what is wrong, or None."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """One thing that a sandbox must keep."""

    name: str
    """``module.function`` of the attempt in `programs`."""
    claim: str
    """What is promised, for people."""
    ends: tuple[Reason, ...] = ("exited",)
    """How the attempt must end."""
    limits: tuple[tuple[str, float], ...] = ()
    """Other limits than `BASE`."""
    reports: bool = True
    """The attempt itself says in its last line whether it was refused."""
    after: After | None = None
    """Further look from the host."""
    gateway: Budget | None = None
    """It has a gateway with this budget; then its key is looked for in all that is left, too."""
    ends_gateway: bool = False
    """It is to end that gateway, which is then its own; others share one."""


BASE: dict[str, float] = {
    "wall_seconds": 60,
    "memory_bytes": 1024 * MIB,
    "processes": 64,
    "cpus": 1,
    "open_files": 256,
    "file_bytes": 64 * MIB,
    "work_bytes": 256 * MIB,
    "work_files": 2000,
}
