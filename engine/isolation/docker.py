"""The sandbox made by a Docker engine of this machine, through its API.

What a container is asked for is in `container`, how one is run in `container_run`, what it stands
on in `image`. The engine is trusted, what runs inside is not; without an engine nothing runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from engine.base.errors import M4Error, MissingPrerequisite
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.isolation import container, programs
from engine.isolation.checks import USER, check_command
from engine.isolation.common import try_trivial
from engine.isolation.companion import Companion
from engine.isolation.container_run import Plan, remove_container, run_container
from engine.isolation.engine_api import Engine, find_engine, telling
from engine.isolation.folders import check_room, hand_over, opened
from engine.isolation.image import TAG, Image, find_image
from engine.isolation.interface import Command, Ended, OnOutput
from engine.isolation.owner import owner_label, owner_lives
from engine.isolation.planted import remove_planted
from engine.isolation.seccomp_profile import ALLOWED

_running: set[str] = set()
"""The marks of the runs of this process that go on; containers with other marks are left over."""


class Docker:
    """The Docker backend (see `Sandbox` for the promises).

    Args:
        home: whose runs these are; containers of other homes are never touched.
        image: the image's name in the engine.
        engine: which engine; this machine's when None.
    """

    name = "docker"
    publishable = True
    publishable_reason = (
        "Made in a container of a Docker engine: no network, read-only root, no capability, own "
        "system call filter, memory and processes counted by the kernel; the image's digest is "
        "recorded."
    )

    def __init__(self, home: Home, image: str = TAG, engine: Engine | None = None) -> None:
        self._home = home
        self._tag = image
        self._given = engine
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine, looked for once.

        Raises:
            MissingPrerequisite: there is none that can be used.
        """
        if self._engine is None:
            self._engine = self._looked_for()
        return self._engine

    def _looked_for(self) -> Engine:
        found = Engine(self._given.place) if self._given is not None else find_engine()
        found.check()
        return found

    def image(self) -> Image:
        """The image that runs stand on now.

        Raises:
            MissingPrerequisite: there is no engine, or no image.
        """
        return find_image(self.engine, self._tag)

    def probe(self) -> None:
        """See `Sandbox.probe`."""
        self._engine = None  # look again
        self.image()
        try_trivial(
            self,
            self._home,
            where="a Docker container",
            todo="Build the image anew: m4bench sandbox image build",
        )

    def describe(self) -> dict[str, Any]:
        """See `Sandbox.describe`."""
        image = self.image()
        engine = self.engine
        return {
            "backend": self.name,
            "version": str(engine.version.get("Version", "unknown")),
            "api_version": str(engine.version["ApiVersion"]),
            "kernel": str(engine.version.get("KernelVersion", "unknown")),
            "image_digest": image.digest,
            "root_digest": image.digest,
            "base_image": image.base,
            "python": image.python,
            "packages": image.packages,
            "programs": image.programs,
            "network": "none",
            "user": USER,
            "capabilities": "none",
            "seccomp": f"{len(ALLOWED)} system calls allowed without a condition",
            "root": "read-only",
            "cgroup_version": str(engine.info.get("CgroupVersion", "unknown")),
            "swap_limited": bool(engine.info.get("SwapLimit")),
            "publishable": self.publishable,
            "publishable_reason": self.publishable_reason,
        }

    def run(
        self, command: Command, *, job: Job | None = None, on_output: OnOutput | None = None
    ) -> Ended:
        """See `Sandbox.run`."""
        image = self.image()
        check_command(command, as_others=True)
        for name in command.programs:
            if name not in image.programs:
                wanted = ",".join([*image.programs, name])
                raise MissingPrerequisite(
                    f"The agent program {name} is not in the image of the Docker sandbox.",
                    todo=f"Build it in: m4bench sandbox image build --agents {wanted}",
                )
        engine = self.engine
        mark = container.new_name()
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(opened(command.job_folder))
            check_room(folder)
            _running.add(mark)
            stack.callback(_running.discard, mark)
            companion: Companion | None = None
            if os.geteuid() == 0 and not engine.is_rootless:
                hand_over(folder, USER)
            else:
                companion = stack.enter_context(
                    Companion(
                        engine,
                        image=image.digest,
                        folder=command.job_folder,
                        limits=command.limits,
                        name=f"{mark}-folder",
                        labels=container.labels(self._home, "helper", mark),
                    )
                )
            return run_container(
                Plan(
                    engine=engine,
                    body=container.configuration(
                        command,
                        image=image.digest,
                        labelled=container.labels(self._home, "run", mark),
                        engine_info=engine.info,
                    ),
                    name=mark,
                    job_folder=folder,
                    limits=command.limits,
                    measure=companion,
                ),
                job=job,
                on_output=on_output,
            )

    def programs(self) -> Mapping[str, str]:
        """See `Sandbox.programs`."""
        try:
            return self.image().programs
        except MissingPrerequisite:
            return {}

    def remove_leftovers(self) -> int:
        """See `Sandbox.remove_leftovers`.

        Containers of this home whose program is gone, running or not. Without an engine that can
        be used there is nothing that could be removed now.
        """
        removed = programs.remove_half_installed(self._home) + remove_planted(self._home)
        try:
            engine = self._looked_for()
        except MissingPrerequisite:
            return removed
        wanted = [container.LABEL, f"{container.LABEL_HOME}={container.home_digest(self._home)}"]
        with telling("looking for containers that were left"), engine.client() as api:
            found = api.containers(all=True, filters={"label": wanted})
        for each in found:
            labels = each.get("Labels") or {}
            owner = labels.get(container.LABEL_OWNER, "")
            mine = owner == owner_label()
            if mine and labels.get(container.LABEL_RUN) in _running:
                continue
            if not mine and owner_lives(owner):
                continue
            with contextlib.suppress(M4Error):
                removed += remove_container(engine, each["Id"])
        return removed
