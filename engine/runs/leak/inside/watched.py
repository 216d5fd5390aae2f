"""Runs a Python script and notes what it tries to open, list or start: ``watched.py SCRIPT``.

A script has no trace of commands of its own; Python itself tells of them here (audit hooks). Each
is one JSON line in ``.m4/probes.jsonl``: the event and its arguments as text.
"""

from __future__ import annotations

import json
import os
import runpy
import sys

EVENTS = {"open", "os.listdir", "os.scandir", "os.chdir", "os.link", "os.symlink", "os.rename"}
EVENTS |= {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "shutil.copyfile"}
EVENTS |= {"socket.connect", "os.truncate", "os.mkdir", "os.remove"}


def _text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    return str(value)


def main() -> None:
    """Run the script that the first argument names."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - quick
    notes = os.open(
        os.path.join(folder, "probes.jsonl"),  # noqa: PTH118
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
        0o600,
    )

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS:
            line = json.dumps([event, [_text(value) for value in arguments[:2]]])
            os.write(notes, line.encode()[:4000] + b"\n")

    script = sys.argv[1]
    del sys.argv[0]
    sys.path[0] = os.getcwd()  # noqa: PTH109
    sys.addaudithook(hook)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
