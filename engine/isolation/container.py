"""What a container of ours is asked for: walls, limits, labels, its first process."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from engine.base.paths import Home
from engine.isolation.checks import (
    ENVIRONMENT,
    MASKED_FILES,
    MASKED_FOLDERS,
    USER,
    address_space_bytes,
    in_memory_bytes,
)
from engine.isolation.interface import GATEWAY, Command, Limits
from engine.isolation.owner import owner_label
from engine.isolation.seccomp_profile import profile

LABEL = "m4review.sandbox"
"""On every container and image of ours; the value says what it is: `run`, `helper`, `image`."""
LABEL_HOME = "m4review.home"
LABEL_OWNER = "m4review.owner"
LABEL_RUN = "m4review.run"

OWN_PROCESSES = 2
"""In each container beside the command: the first process, and the one that waits for our end."""
SPARE_PROCESSES = 16
"""Above the limit, so that the watch sees that it was passed; the kernel stops there."""

_INODES_PER_MIB = 1024

SHELL = (
    "exec 3>&2 4<&0 </dev/null 2>/dev/null; "
    "(read -r word <&4; kill -s KILL -- -1) >/dev/null 3>&- & "
    'space=$1; shift; (exec 2>&3 3>&- 4<&-; ulimit -v "$space" && exec "$@") & '
    "exec 4<&-; wait $!; exit $?"
)
"""The first process: starts the command, collects the dead, ends with the command's exit status.

It passes no signal on (the engine's own init does: a program inside could turn its own signals
against itself). Beside the command one more process waits at standard input, whose other end only
this program holds: when this program dies, however it dies, everything inside is killed.
"""

MASKED = (
    *(f"/proc/{name}" for name in (*MASKED_FILES, *MASKED_FOLDERS)),
    *("/sys", "/dev/mqueue", "/etc/resolv.conf"),
)
READ_ONLY = ("/proc/sys", "/proc/sysrq-trigger")


def home_digest(home: Home) -> str:
    """By which containers of one home are told from those of others; no path."""
    return hashlib.sha256(os.fsencode(home.root.resolve())).hexdigest()[:16]


def labels(home: Home, kind: str, run: str) -> dict[str, str]:
    """The labels of a container."""
    return {
        LABEL: kind,
        LABEL_HOME: home_digest(home),
        LABEL_OWNER: owner_label(),
        LABEL_RUN: run,
    }


def new_name() -> str:
    """A container's name, and the run's mark."""
    return f"m4review-{os.getpid()}-{secrets.token_hex(6)}"


def configuration(
    command: Command,
    *,
    image: str,
    labelled: dict[str, str],
    engine_info: dict[str, Any],
) -> dict[str, Any]:
    """The body of the engine's request to make the container of a run.

    Args:
        command: what is to run.
        image: the image's identity (a digest, never a name).
        labelled: the container's labels.
        engine_info: what the engine says of itself.
    """
    limits = command.limits
    environment = {**ENVIRONMENT, **command.env}
    space = str(address_space_bytes(command) // 1024)
    return {
        "Image": image,
        "Entrypoint": ["/bin/sh", "-c", SHELL, "sh", space],
        "Cmd": list(command.argv),
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "User": f"{USER}:{USER}",
        "WorkingDir": "/job",
        "Hostname": "sandbox",
        "Labels": labelled,
        "NetworkDisabled": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            **walls(engine_info),
            **_limits(limits, engine_info),
            "Mounts": _mounts(command),
            "Tmpfs": dict.fromkeys(("/tmp", "/dev/shm"), _tmpfs(in_memory_bytes(limits))),  # noqa: S108
        },
    }


def walls(engine_info: dict[str, Any]) -> dict[str, Any]:
    """What is refused to every container of ours."""
    security = ["no-new-privileges", f"seccomp={profile()}"]
    options = engine_info.get("SecurityOptions") or ()
    if any("name=selinux" in option for option in options):
        security.append("label=disable")  # else the job folder cannot be seen; all else holds
    return {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": security,
        "IpcMode": "none",
        "PidMode": "",
        "CgroupnsMode": "private" if engine_info.get("CgroupVersion") == "2" else "",
        "UsernsMode": "host" if any("name=userns" in option for option in options) else "",
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
        "RestartPolicy": {"Name": "no"},
        "LogConfig": {"Type": "none"},  # output goes to us alone, never to the engine's disk
        "OomScoreAdj": 800,
        "Privileged": False,
    }


def _limits(limits: Limits, engine_info: dict[str, Any]) -> dict[str, Any]:
    processors = sorted(os.sched_getaffinity(0))
    some = secrets.SystemRandom().sample(processors, min(limits.cpus, len(processors)))
    memory = max(limits.memory_bytes, 6 << 20)  # the engine's least
    found: dict[str, Any] = {
        "Memory": memory,
        "NanoCpus": int(min(limits.cpus, len(processors)) * 1e9),
        "CpusetCpus": ",".join(map(str, some)),
        "PidsLimit": limits.processes + OWN_PROCESSES + SPARE_PROCESSES,
        "Ulimits": [
            {"Name": name, "Soft": value, "Hard": value}
            for name, value in (
                ("core", 0),
                ("fsize", limits.file_bytes),
                ("nofile", max(limits.open_files, 64)),
                ("cpu", int(limits.wall_seconds * limits.cpus) + 5),
                ("msgqueue", 0),
            )
        ],
    }
    if engine_info.get("SwapLimit"):
        found["MemorySwap"] = memory  # memory and swap together: no swap
    elif engine_info.get("CgroupVersion") != "2":
        found["MemorySwappiness"] = 0
    return found


def _tmpfs(size: int) -> str:
    inodes = max(_INODES_PER_MIB, size * _INODES_PER_MIB >> 20)
    return f"rw,nosuid,nodev,exec,mode=1777,size={size},nr_inodes={inodes}"


def _mounts(command: Command) -> list[dict[str, Any]]:
    mounts = [_bind(command.job_folder, "/job", read_only=False)]
    mounts += [_bind(source, place) for source, place in command.read_only.items()]
    if command.gateway is not None:
        mounts.append(_bind(command.gateway, GATEWAY))
    return mounts


def _bind(source: Path, place: str, *, read_only: bool = True) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": place,
        "ReadOnly": read_only,
        "BindOptions": {"Propagation": "rprivate"},
    }


def in_words(value: Any) -> str:
    """JSON for a label."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
