"""Repeats what an agent did: runs its commands and writes its files, in order.

A program of the sandbox: copied into the job folder and started there by path. It imports only
the standard library. The plan is ``replay.json`` beside it; what came of each command is written
to ``replay.jsonl`` in the job folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SHOWN_BYTES = 64 << 10
"""Of a command's output."""
REPORT = "replay.jsonl"


def main() -> int:
    """Repeat everything; ends with 0 whatever the commands did, as the agent's program did."""
    plan = json.loads(Path(__file__).with_name("replay.json").read_text(encoding="utf-8"))
    home = os.environ["HOME"]
    Path(home).mkdir(parents=True, exist_ok=True)
    folder = plan["cwd"]
    with Path(REPORT).open("w", encoding="utf-8") as report:
        for number, action in enumerate(plan["actions"], start=1):
            if "command" in action:
                status, folder = run(action, folder, keeps_folder=plan["keeps_folder"])
            else:
                status = write(action, folder)
            line = {"action": number, "step": action["step"], "status": status}
            recorded = action.get("exit_code")
            if recorded is not None:
                line["recorded"] = recorded
            report.write(json.dumps(line) + "\n")
            report.flush()
    return 0


def run(action: dict[str, Any], folder: str, *, keeps_folder: bool) -> tuple[int, str]:
    """Run a command as the agent's shell did; its exit status and where the shell ended."""
    say(f"[{action['step']}] $ {action['command']}\n")
    cwd = action.get("cwd") or folder
    with tempfile.TemporaryDirectory() as scratch:
        ended_in = Path(scratch, "folder")
        command = action["command"]
        if keeps_folder:
            command = f"trap 'pwd -P > {ended_in}' EXIT\n{command}"
        with Path(scratch, "output").open("w+b") as output:
            # A file, not a pipe: what a command leaves running must not hold us up.
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=cwd if Path(cwd).is_dir() else "/job",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            sys.stdout.buffer.write(output.read(SHOWN_BYTES))
            sys.stdout.flush()
        if keeps_folder and ended_in.is_file():
            folder = ended_in.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    recorded = action.get("exit_code")
    said = "" if recorded is None or recorded == done.returncode else f" (recorded: {recorded})"
    say(f"[{action['step']}] exit status {done.returncode}{said}\n")
    return done.returncode, folder


def write(action: dict[str, Any], folder: str) -> int:
    """Write, change or delete a file as the agent's tool did; 0 if it could be done."""
    path = Path(folder, action["path"])
    try:
        if action["how"] == "delete":
            path.unlink()
        elif action["how"] == "replace":
            text = path.read_text(encoding="utf-8")
            if action["old"] not in text:
                say(f"[{action['step']}] {path}: the text to be replaced is not there\n")
                return 1
            count = -1 if action.get("all") else 1
            path.write_text(text.replace(action["old"], action["new"], count), encoding="utf-8")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(action["content"], encoding="utf-8")
    except (OSError, UnicodeError) as error:
        say(f"[{action['step']}] {path}: {error}\n")
        return 1
    say(f"[{action['step']}] wrote {path}\n")
    return 0


def say(text: str) -> None:
    """Tell the log."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
