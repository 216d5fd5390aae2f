"""Runs one attempt inside a sandbox: ``main()`` with arguments MODULE FUNCTION.

The package lies in ``/job/programs``, ``ground.json`` beside it. Prints one JSON line
``{"kept": bool, "detail": words}`` as the last line of stdout.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
IS_X86 = platform.machine() == "x86_64"

_libc = ctypes.CDLL(None, use_errno=True)


class Broken(Exception):
    """The sandbox let through what it must not."""


def ground() -> dict[str, Any]:
    """What the host prepared: private places, listeners, a token (see `conformance.Ground`)."""
    found: dict[str, Any] = json.loads((FOLDER / "ground.json").read_text(encoding="utf-8"))
    return found


def call(x86_64: int, aarch64: int | None, *arguments: int | bytes) -> int:
    """One system call by number; its result, or minus the error number."""
    number = x86_64 if IS_X86 else aarch64
    if number is None:
        return -38  # ENOSYS: this machine has no such call
    values = [v if isinstance(v, bytes) else ctypes.c_long(v) for v in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *values))
    return result if result >= 0 else -ctypes.get_errno()


def refused(what: str, result: int) -> str:
    """The words for a refused call; `Broken` if it was let through."""
    if result >= 0:
        raise Broken(f"{what} was let through")
    return f"{what}: {os.strerror(-result)}"


def main() -> None:
    """Run the attempt that the arguments name."""
    function = getattr(importlib.import_module(f".{sys.argv[1]}", __package__), sys.argv[2])
    try:
        kept, detail = True, str(function())
    except Broken as broken:
        kept, detail = False, str(broken)
    except Exception:
        kept, detail = False, traceback.format_exc(limit=3)
    print("\n" + json.dumps({"kept": kept, "detail": detail}), flush=True)  # noqa: T201
