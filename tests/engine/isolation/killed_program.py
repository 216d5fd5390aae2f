"""Not a test: starts a program that runs sandboxes, kills it with SIGKILL, sees what is left.

``killed_program.py HOME JOB DELAY``: becomes the parent of all orphans, and waits until the last
process that came from the program is gone. Prints how many had to be ended as leftovers, as the
next start would do: none once the command runs; before that, at most a bubblewrap that was killed
in the microseconds in which its child waits for its word.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from engine.base.paths import open_home
from engine.isolation.orphans import end_orphans

SECONDS = 5

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


class StillThereError(Exception):
    """The alarm rang."""


def _ring(*_: object) -> None:
    raise StillThereError


def _wait_for_all() -> bool:
    """Reap until there is no child any more; False if some are still there after a while."""
    signal.alarm(SECONDS)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        signal.alarm(0)
        return True
    except StillThereError:
        return False


def main() -> None:
    home, job, delay = sys.argv[1:]
    signal.signal(signal.SIGALRM, _ring)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    victim = subprocess.Popen([sys.executable, "-c", PROGRAM, home, job], stdout=subprocess.PIPE)
    assert victim.stdout is not None
    os.read(victim.stdout.fileno(), 100)
    if delay == "running":
        os.read(victim.stdout.fileno(), 100)
    else:
        select.select([], [], [], float(delay))
    victim.kill()
    ended = 0
    if not _wait_for_all():
        ended = end_orphans(open_home(home))
        if not _wait_for_all():
            for child in psutil.Process().children(recursive=True):
                waits = Path(f"/proc/{child.pid}/wchan").read_text()
                sys.stderr.write(f"stays in {waits}: {' '.join(child.cmdline())[:200]}\n")
            sys.exit(1)
    sys.stdout.write(str(ended))


if __name__ == "__main__":
    main()
