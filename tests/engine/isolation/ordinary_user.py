"""Not a test: what `test_sandbox_users` runs as another user. Prints one JSON document."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from engine.base.paths import open_home
from engine.isolation.backends import choose_backend
from engine.isolation.canary import run_canary
from engine.isolation.interface import Command, Limits
from engine.isolation.promises.conformance import check_promises


def main() -> None:
    home = open_home(sys.argv[1])
    backend = choose_backend(home, sys.argv[2])
    job = home.root / "job"
    job.mkdir()
    canary = run_canary(backend, job_folder=job, private=[home.root])
    said = bytearray()
    script = "import duckdb; open('/job/output.csv', 'w').write('x'); print('done')"
    ended = backend.run(
        Command(argv=("python3", "-c", script), job_folder=job, limits=Limits(wall_seconds=60)),
        on_output=lambda stream, data: said.extend(data),
    )
    names = ["files.read_by_path", "kernel.privileges", "kernel.user", "kernel.namespaces"]
    names += ["bombs.memory_in_many", "bombs.fork_bomb", "bombs.survivors_at_timeout"]
    names += ["files.fill_disk_with_deleted_files", "bombs.shared_memory_counts_once"]
    outcomes = check_promises(backend, home, only=names)
    report = {
        "user": os.getuid(),
        "python": list(sys.version_info[:2]),
        "canary": list(canary.failures),
        "ended": [ended.reason, ended.returncode, said.decode()],
        "owner": (Path(job) / "output.csv").stat().st_uid,
        "broken": {outcome.name: outcome.detail for outcome in outcomes if not outcome.kept},
        "kept": len([outcome for outcome in outcomes if outcome.kept]),
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
