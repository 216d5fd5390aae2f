"""Not a test: starts a program that runs sandboxes, kills it with SIGKILL, sees what is left.

``killed_program.py HOME JOB DELAY``: as the reaper of all orphans it waits until the last process
that came from the program is gone, and says how many seconds that took; never, if one stays.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

PROGRAM = """
import sys
from pathlib import Path
from engine.base.paths import open_home
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.interface import Command
SCRIPT = "trap '' TERM HUP INT; (setsid sleep 1000 &) ; echo running; while :; do sleep 1000; done"
backend = Bubblewrap(open_home(sys.argv[1]))
print("starting", flush=True)
backend.run(
    Command(argv=("sh", "-c", SCRIPT), job_folder=Path(sys.argv[2])),
    on_output=lambda stream, data: print("running", flush=True),
)
"""


def main() -> None:
    home, job, delay = sys.argv[1:]
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    victim = subprocess.Popen([sys.executable, "-c", PROGRAM, home, job], stdout=subprocess.PIPE)
    assert victim.stdout is not None
    os.read(victim.stdout.fileno(), 100)
    if delay == "running":
        os.read(victim.stdout.fileno(), 100)
    else:
        select.select([], [], [], float(delay))
    victim.kill()
    killed = time.monotonic()
    signal.alarm(20)
    count = 0
    while True:
        try:
            os.waitpid(-1, 0)
            count += 1
        except ChildProcessError:
            break
    sys.stdout.write(f"{time.monotonic() - killed:.3f} {count}\n")


if __name__ == "__main__":
    main()
