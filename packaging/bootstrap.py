#!/usr/bin/env python3
"""Make `.venv` from a bare Python: system libraries, pinned packages, the project itself.

    python3 packaging/bootstrap.py run|dev

Needs nothing but the standard library, and runs on older Pythons too, so that it can say what is
missing. It is quick when nothing has changed, and goes on where it was interrupted.
Exit codes: 0 done, 2 usage, 4 something is missing (with the way to get it).
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCKS = {"run": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
NEEDS = ROOT / "packaging" / "system-packages.txt"
OLDEST = (3, 11)
CANDIDATES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")


def say(text: str) -> None:
    """A line of progress."""
    print(f"[setup] {text}", file=sys.stderr, flush=True)  # noqa: T201


def give_up(text: str) -> None:
    """End with what is missing and how to get it."""
    say(text)
    sys.exit(4)


# --- Which Python ---------------------------------------------------------------------------


def version_of(python: str) -> tuple[int, ...]:
    """Major and minor version of a Python program; () if it does not start."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(int(part) for part in done.stdout.split())


def suitable_python() -> str:
    """The program of a Python that is new enough: $PYTHON, else the first of `CANDIDATES`."""
    chosen = os.environ.get("PYTHON")
    for name in (chosen,) if chosen else CANDIDATES:
        path = shutil.which(name)
        if path and version_of(path) >= OLDEST:
            return path
    give_up(
        "Python 3.11 or newer is needed and none was found"
        + (f" under the name {chosen}." if chosen else ".")
        + " Install it (Debian 12, Ubuntu 24.04 and newer: apt-get install python3), or name it: "
        "make setup PYTHON=/path/to/python3"
    )
    raise AssertionError


# --- What the operating system must bring -----------------------------------------------------


def is_there(proof: str, python: str) -> bool:
    """Does the machine have what `proof` (see system-packages.txt) names?"""
    kind, _, name = proof.partition(":")
    if kind == "bin":
        return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None
    if kind == "file":
        return Path(name).exists()
    if kind == "py":
        done = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
        return done.returncode == 0
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def missing_packages(groups: set[str], python: str) -> dict[str, str]:
    """Debian package -> the proof that failed, for the needs of `groups`."""
    missing: dict[str, str] = {}
    for line in NEEDS.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            group, proof, package = line.split()
            if group in groups and package not in missing and not is_there(proof, python):
                missing[package] = proof
    return missing


def groups_for(profile: str) -> set[str]:
    """Which needs count here: the tests' for developers, a screen's where there is one."""
    groups = {"run"}
    if profile == "dev":
        groups.add("test")
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if os.environ.get("DISPLAY") and platform in ("", "xcb"):
        groups.add("screen")
    return groups


def system_packages(profile: str, python: str) -> None:
    """See that the operating system's part is there; as root on Debian or Ubuntu, install it."""
    missing = missing_packages(groups_for(profile), python)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        proofs = ", ".join(proof.partition(":")[2] for proof in missing.values())
        give_up(f"The system lacks: {proofs}. Install them with its package manager.")
    packages = sorted(missing)
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        give_up("The system lacks some packages. Install them, then start again:\n"
                f"sudo apt-get update && sudo {' '.join(install)}")  # fmt: skip
    say(f"Installing system packages: {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = ["-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    for command in (["apt-get", *quiet, "update"], [install[0], *quiet, *install[1:]]):
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, text=True, errors="replace", check=False,
        )  # fmt: skip
        # A repository that cannot be reached matters only if the install then fails.
        if done.returncode != 0 and command[-1] != "update":
            give_up(f"apt-get failed:\n{done.stdout}\nTo try by hand: {' '.join(install)}")
    left = missing_packages(groups_for(profile), python)
    if left:
        give_up("Installed, and still not found: " + ", ".join(left.values()))


# --- The environment ------------------------------------------------------------------------


def state_of(profile: str) -> str:
    """A hash of everything that decides what `profile` installs."""
    digest = hashlib.sha256()
    for path in (LOCKS[profile], ROOT / "pyproject.toml", ROOT / "engine" / "__init__.py"):
        digest.update(path.read_bytes())
    digest.update(f"{VENV}|{version_of(str(PYTHON))}".encode())
    return digest.hexdigest()


def stamp(profile: str) -> Path:
    """The file that remembers the state that was installed."""
    return VENV / f".installed-{profile}"


def is_current(profile: str) -> bool:
    """Was exactly this state installed before (or, for `run`, the wider one of `dev`)?"""
    return any(
        stamp(name).is_file() and stamp(name).read_text(encoding="utf-8") == state_of(name)
        for name in {profile, "dev"}
    )


def make_environment(python: str) -> None:
    """Make `.venv`, or mend it when its Python is gone or too old."""
    if version_of(str(PYTHON)) >= OLDEST and is_there("py:pip", str(PYTHON)):
        return
    say(f"Making .venv with {python}")
    done = subprocess.run(
        [python, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        give_up(f"The environment could not be made:\n{done.stdout}{done.stderr}")


def pip(arguments: list[str]) -> None:
    """Run pip in `.venv`; show how many packages it has come to."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    assert process.stdout is not None  # noqa: S101 (for type checkers)
    seen: list[str] = []
    count = 0
    for line in process.stdout:
        seen.append(line)
        if line.startswith(("Collecting ", "Processing ", "Requirement already satisfied")):
            count += 1
            if count % 15 == 0:
                say(f"  {count} packages fetched")
        elif line.startswith("Installing collected") and count > 1:
            say(f"  {count} packages fetched, unpacking")
    if process.wait() != 0:
        give_up(
            "".join(seen[-15:]) + "The packages could not be installed. Is a package index "
            "reachable (pip's own settings and proxies are used)? Then start again; what was "
            "fetched is kept."
        )


def install(profile: str) -> None:
    """Install the profile's lock and the project; leaves the stamp last."""
    lock = LOCKS[profile]
    say(f"Installing what {lock.name} pins")
    # The lock is complete and hashed: nothing is resolved, nothing is built, nothing else comes in.
    pip(["install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--progress-bar",
         "off", "-r", str(lock)])  # fmt: skip
    pip(["install", "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    stamp(profile).write_text(state_of(profile), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Entry point."""
    if len(arguments) != 1 or arguments[0] not in LOCKS:
        say("usage: bootstrap.py run|dev")
        return 2
    profile = arguments[0]
    started = time.monotonic()
    with LOCKS[profile].open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two at a time would spoil each other's work
        python = suitable_python()
        system_packages(profile, python)
        if not is_current(profile):
            make_environment(python)
            install(profile)
            say(f"Ready after {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
