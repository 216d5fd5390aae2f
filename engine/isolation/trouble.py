"""Why bubblewrap did not start, in words, with the way to mend it."""

from __future__ import annotations

import re
from pathlib import Path

from engine.base.errors import HarnessFault, M4Error, MissingPrerequisite

PROFILE = "packaging/sandbox/apparmor-bwrap"
"""The AppArmor profile that lets bubblewrap make user namespaces, in the source tree."""

PROFILE_TEXT = """\
abi <abi/4.0>,
include <tunables/global>

profile m4review-bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/m4review-bwrap>
}
"""

_NO_NAMESPACE = re.compile(
    r"creating new namespace|no permissions to create|setting up uid map|unshare|user namespace"
    r"|uid_map|loopback|RTM_NEWADDR|operation not permitted",
    re.IGNORECASE,
)
_UNKNOWN_OPTION = re.compile(r"unknown option (\S+)", re.IGNORECASE)


def in_words(said: str, kernel: Path = Path("/proc/sys")) -> M4Error:
    """What bubblewrap (or the launcher before it) `said` as an error with the way out.

    Args:
        said: its stderr.
        kernel: where the kernel's settings are read.
    """
    if option := _UNKNOWN_OPTION.search(said):
        return MissingPrerequisite(
            f"bubblewrap is too old: it knows no {option[1]}.",
            todo="Use Debian 12, Ubuntu 24.04 or newer, or install a newer bubblewrap.",
        )
    if "setuid" in said:
        return MissingPrerequisite(
            "bubblewrap is installed setuid root here and then cannot forbid nested namespaces.",
            todo="Take the bit away: chmod u-s /usr/bin/bwrap",
            details=said,
        )
    if _NO_NAMESPACE.search(said):
        return _namespaces(said, kernel)
    return HarnessFault("The sandbox could not be set up.", details=said or None)


def _namespaces(said: str, kernel: Path) -> MissingPrerequisite:
    """This machine forbids user namespaces: by which of its settings?"""
    if _setting(kernel / "kernel/apparmor_restrict_unprivileged_userns") == 1:
        return MissingPrerequisite(
            "AppArmor on this machine (as on Ubuntu 24.04) forbids bubblewrap to make user "
            "namespaces.",
            todo=f"Load a profile that allows it, once, as root: save the text below (or {PROFILE} "
            "of the source tree) as /etc/apparmor.d/m4review-bwrap and run: "
            "apparmor_parser -r /etc/apparmor.d/m4review-bwrap",
            details=PROFILE_TEXT,
        )
    if _setting(kernel / "kernel/unprivileged_userns_clone") == 0:
        return MissingPrerequisite(
            "This machine's kernel forbids user namespaces.",
            todo="As root: sysctl -w kernel.unprivileged_userns_clone=1 (and the same line in "
            "/etc/sysctl.d/ to keep it).",
        )
    if _setting(kernel / "user/max_user_namespaces") == 0:
        return MissingPrerequisite(
            "This machine allows no user namespace at all.",
            todo="As root: sysctl -w user.max_user_namespaces=10000 (and the same line in "
            "/etc/sysctl.d/ to keep it).",
        )
    return MissingPrerequisite(
        "This machine does not let bubblewrap make namespaces (inside a container its own "
        "system call filter does that).",
        todo="Run on the machine itself, or give the outer container user namespaces.",
        details=said,
    )


def _setting(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
