"""Not a test: `m4bench queue run`, killed with SIGKILL at random points until it may end.

``killed_queue.py HOME SEED KILLS``: forks the program again and again (so that it is loaded only
once), kills it after a random number of runs' states that it tells and a random moment more, and
lets the last one end by itself. Prints a JSON document: what the program had told last before each
kill, and how the last one ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from engine.cli.main import run
from engine.queue import Room
from engine.workbench import queueing

MOST_STATES = (7, 7, 12)
"""Two lives of three are short: a run that dies when its output is collected is finished in the
next life, and ten runs are to last for all deaths."""
LONGEST = 0.1


def program(home: str, stderr: int) -> None:
    """The child: the command line, on a machine with room for two runs."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(stderr, 2)
    queueing.machine_room = lambda: Room(memory_bytes=64 << 30, cpus=4)
    arguments = ["--home", home, "--events", "ndjson", "queue", "run", "--attempts", "100"]
    os._exit(run(arguments))


def states(lines: list[bytes]) -> list[str]:
    """The states of runs among the program's events."""
    events = [json.loads(line) for line in lines if line.startswith(b"{")]
    return [event["state"] for event in events if event["event"] == "state"]


def live(home: str, kill_after: tuple[int, float] | None) -> tuple[int, list[str]]:
    """One life; returns its wait status and the states that it told."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        program(home, writing)
    os.close(writing)
    told: list[bytes] = []
    rest = b""
    until = None
    while True:
        if kill_after is not None and until is None and len(states(told)) >= kill_after[0]:
            until = time.monotonic() + kill_after[1]
        wait = None if until is None else max(0.0, until - time.monotonic())
        ready, _, _ = select.select([reading], [], [], wait)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        if not (data := os.read(reading, 65536)):
            break
        *lines, rest = (rest + data).split(b"\n")
        told += lines
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return status, states(told)


def main(home: str, seed: int, kills: int) -> None:
    """Kill, and see what was told."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: its sandboxes come to us
    dice = random.Random(seed)
    deaths = []
    for _ in range(kills):
        status, told = live(
            home, (dice.randrange(dice.choice(MOST_STATES)), dice.random() * LONGEST)
        )
        deaths.append([os.WTERMSIG(status), told[-1] if told else "before"])
    status, _ = live(home, None)
    signal.alarm(20)
    try:
        while True:
            os.waitpid(-1, 0)  # what a killed program's sandboxes left ends, or the alarm does it
    except ChildProcessError:
        signal.alarm(0)
    sys.stdout.write(json.dumps({"deaths": deaths, "end": os.waitstatus_to_exitcode(status)}))


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
