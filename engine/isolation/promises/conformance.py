"""Runs the promises against a backend, on real ground: private files, open listeners."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.base.errors import UsageError
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.gateway.ground import GatewayGround, open_ground
from engine.gateway.interface import Budget
from engine.isolation.folders import remove_tree
from engine.isolation.interface import Command, Limits, Sandbox
from engine.isolation.promises.catalogue import PROMISES
from engine.isolation.promises.gateway import clean
from engine.isolation.promises.ground import Plants, inodes
from engine.isolation.promises.promise import BASE, Promise, Seen

PROGRAMS = Path(__file__).with_name("programs")
GIVEN = "/job/given.txt"
_BODY_SECONDS = 1.0
"""In which a gateway under attack wants a body."""
_MOST_REQUESTS = 400
"""After so many, the attempts get a new gateway."""
_START = "import sys; sys.path.insert(0, '/job'); import programs.attempt as a; a.main()"


@dataclass(frozen=True)
class Outcome:
    """Was one promise kept?"""

    name: str
    """The promise's name, ``module.function``."""
    claim: str
    """What was promised."""
    kept: bool
    """It held."""
    detail: str
    """What was tried and refused, or what went through."""
    seconds: float
    """How long the attempt ran, in seconds."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def check_promises(
    sandbox: Sandbox, home: Home, *, only: Sequence[str] | None = None, job: Job | None = None
) -> tuple[Outcome, ...]:
    """Try to break each promise; takes a minute or two.

    Args:
        sandbox: the backend.
        home: its scratch folder is used, and emptied of it afterwards.
        only: names of promises; all when None.
        job: progress, and a way to stop.

    Raises:
        UsageError: a name in `only` is not known.
        Cancelled: the user stopped it.
        M4Error: whatever `Sandbox.run` raises.
    """
    job = job or SimpleJob()
    known = {promise.name: promise for promise in PROMISES}
    for name in only or ():
        if name not in known:
            raise UsageError(f"There is no promise called {name}.")
    wanted = [known[name] for name in only] if only is not None else list(PROMISES)
    outcomes = []
    with Ground(home) as ground:
        for number, promise in enumerate(wanted):
            job.check()
            job.progress("sandbox-check", number, len(wanted), promise.claim)
            outcomes.append(ground.attempt(sandbox, promise, job))
    job.progress("sandbox-check", len(wanted), len(wanted), "all promises tried")
    return tuple(outcomes)


class Ground:
    """What the attempts are up against; to be used in a ``with``."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._plants = Plants(home)
        self._shared: tuple[contextlib.ExitStack, GatewayGround] | None = None

    def __enter__(self) -> Ground:
        self._plants.__enter__()
        self._given = self._plants.place / "given.txt"
        self._given.write_text("given", encoding="ascii")
        self._given.chmod(0o644)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._close_shared()
        finally:
            self._plants.__exit__()

    def facts(self, survivor: str, limits: Limits) -> dict[str, Any]:
        """What an attempt is told; JSON-ready."""
        plants = self._plants
        return {
            "token": plants.token,
            "private_files": list(plants.files),
            # Backwards, so that an attempt's own memory does not hold what it looks for.
            "variable_token_reversed": plants.variable_token[::-1],
            "existing": list(plants.existing),
            "sockets": list(plants.sockets),
            "given": GIVEN,
            "given_on_host": str(self._given),
            "home": str(self._home.root),
            "host_pid": os.getpid(),
            "inodes": dict(inodes()),
            "addresses": plants.listeners.addresses,
            "port": plants.listeners.port,
            "abstract": plants.listeners.abstract,
            "unix_path": plants.unix_path,
            "survivor": survivor,
            "open_files": limits.open_files,
            "cpus": limits.cpus,
        }

    def attempt(self, sandbox: Sandbox, promise: Promise, job: Job) -> Outcome:
        """Run one attempt and judge it."""
        with contextlib.ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="job-", dir=self._plants.place))
            stack.callback(remove_tree, folder)
            gateway = None
            if promise.gateway is not None and promise.ends_gateway:
                gateway = self._new_gateway(promise.gateway, stack)
            elif promise.gateway is not None:
                gateway = self.shared_gateway()
                stack.callback(self._leave_shared)
            return self._attempt(sandbox, promise, job, folder, gateway)

    def _new_gateway(self, budget: Budget, stack: contextlib.ExitStack) -> GatewayGround:
        place = Path(tempfile.mkdtemp(prefix="gateway-", dir=self._plants.place))
        stack.callback(remove_tree, place)
        return stack.enter_context(open_ground(place, budget=budget, body_seconds=_BODY_SECONDS))

    def shared_gateway(self) -> GatewayGround:
        """The gateway of all attempts that do not end it, as if nobody had used it yet."""
        if self._shared is None:
            with contextlib.ExitStack() as stack:
                gateway = self._new_gateway(Budget(), stack)
                self._shared = stack.pop_all(), gateway
        return self._shared[1]

    def _leave_shared(self) -> None:
        """Ready for the next attempt, or gone if this one ended it or is not done with it."""
        if self._shared is None:
            return
        _, gateway = self._shared
        if gateway.gateway.settle() and not gateway.stopped and _fresh(gateway):
            gateway.forget()
        else:
            self._close_shared()

    def _close_shared(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared[0].close()

    def _attempt(
        self,
        sandbox: Sandbox,
        promise: Promise,
        job: Job,
        folder: Path,
        gateway: GatewayGround | None,
    ) -> Outcome:
        limits = _limits(promise)
        ground = self.facts(f"survivor-{secrets.token_hex(8)}", limits)
        if gateway is not None:
            ground["key_reversed"] = gateway.marker[::-1]
        module, _, function = promise.name.partition(".")
        for name in ("__init__", "attempt", module):
            (folder / "programs").mkdir(exist_ok=True)
            shutil.copyfile(PROGRAMS / f"{name}.py", folder / "programs" / f"{name}.py")
        (folder / "ground.json").write_text(json.dumps(ground), encoding="utf-8")
        streams = {"stdout": bytearray(), "stderr": bytearray()}
        ended = sandbox.run(
            Command(
                argv=("python3", "-I", "-c", _START, module, function),
                job_folder=folder,
                env={"GIVEN": "given"},
                read_only={self._given: GIVEN},
                gateway=gateway.folder if gateway is not None else None,
                limits=limits,
            ),
            job=job,
            on_output=lambda stream, data: streams[stream].extend(data),
        )
        job.check()
        if gateway is not None and not gateway.gateway.settle():
            gateway.gateway.close()  # its log is whole then
        stdout, stderr = bytes(streams["stdout"]), bytes(streams["stderr"])
        seen = Seen(ended, stdout, stderr, folder, ground, gateway)
        kept, detail = _judge(promise, seen)
        if self._plants.listeners.reached:
            kept, detail = False, "a listener of the host was reached"
        if gateway is not None and (wrong := clean(seen)):
            kept, detail = False, wrong
        return Outcome(promise.name, promise.claim, kept, detail, round(ended.seconds, 3))


def _fresh(gateway: GatewayGround) -> bool:
    """Far from the end of what a run may ask for."""
    usage = gateway.gateway.usage()
    return usage.refused + usage.requests < _MOST_REQUESTS


def _limits(promise: Promise) -> Limits:
    values: dict[str, Any] = {**BASE, **dict(promise.limits)}
    return Limits(**values)


def _judge(promise: Promise, seen: Seen) -> tuple[bool, str]:
    ended = seen.ended
    if ended.reason not in promise.ends:
        return False, f"{ended.in_words} Expected: {' or '.join(promise.ends)}. {_report(seen)[1]}"
    kept, detail = True, ended.in_words
    if ended.reason == "exited" and promise.reports:
        kept, detail = _report(seen)
    if kept and promise.after is not None and (wrong := promise.after(seen)):
        kept, detail = False, wrong
    return kept, detail


def _report(seen: Seen) -> tuple[bool, str]:
    """What the attempt itself says in its last line."""
    for line in reversed(seen.stdout[-100_000:].splitlines()):
        if line.strip():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                report = json.loads(line)
                return report["kept"] is True, str(report["detail"])
            break
    said = seen.stderr[-300:].decode("utf-8", "replace")
    return False, f"The attempt did not report. {seen.ended.in_words} {said}".strip()
