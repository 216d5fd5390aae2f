"""Whose is it? A mark of this process on what it leaves if it is killed, and whether it lives."""

from __future__ import annotations

import os
from pathlib import Path

import psutil


def owner_label() -> str:
    """This process, so that another that got its number later is not taken for it."""
    return f"{os.getpid()}:{_started(os.getpid())}"


def owner_lives(label: str) -> bool:
    """Does the process that wrote `label` still live?"""
    pid, _, started = label.partition(":")
    return pid.isdecimal() and started != "" and _started(int(pid)) == started


def _started(pid: int) -> str | None:
    """When the process started, in ticks since this boot of the machine; None if it is gone."""
    if not Path("/proc/self/stat").exists():  # another system than Linux
        try:
            return str(int(psutil.Process(pid).create_time()))
        except (psutil.Error, OverflowError):
            return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return f"{fields.rpartition(')')[2].split()[19]}:{boot[:8]}"
