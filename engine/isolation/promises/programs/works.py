"""What must work inside: a sandbox that refuses everything would keep all other promises."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path

from .attempt import Broken, ground


def computing() -> str:
    duckdb = importlib.import_module("duckdb")
    pandas = importlib.import_module("pandas")
    frame = pandas.DataFrame({"stay_id": range(1000), "value": [i / 7 for i in range(1000)]})
    connection = duckdb.connect("/job/scratch.duckdb")
    connection.register("frame", frame)
    connection.execute("COPY (SELECT * FROM frame WHERE value > 1) TO '/job/output.csv' (HEADER)")
    lines = Path("/job/output.csv").read_text(encoding="utf-8").splitlines()
    if len(lines) != 1 + 992:
        raise Broken(f"the result has {len(lines)} lines")
    return "DuckDB and pandas computed and wrote a table"


def concurrency() -> str:
    results: list[int] = []
    workers = [threading.Thread(target=results.append, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    words = [
        sys.executable,
        "-c",
        "import multiprocessing.pool as p; print(p.Pool(2).map(abs, [-5]))",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    if len(results) != 8 or done.stdout.strip() != "[5]":  # noqa: PLR2004
        raise Broken("threads or processes do not work")
    asyncio.run(asyncio.sleep(0))
    return "threads, processes, event loop"


def shell() -> str:
    script = "printf 'b\\na\\n' | sort | head -n 1; id -u; echo $HOME $TZ; awk 'BEGIN{print 6*7}'"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    expected = ["a", "65534", "/job UTC", "42"]
    if done.stdout.split("\n")[:4] != expected:
        raise Broken(f"the shell said {done.stdout!r} {done.stderr!r}")
    return "shell and text tools"


def places() -> str:
    for place in ("/job", "/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
        file = Path(place, "mine")
        file.write_text("x", encoding="ascii")
        file.unlink()
    if Path(ground()["given"]).read_text(encoding="ascii") != "given":
        raise Broken("the given file cannot be read")
    if Path.cwd() != Path("/job") or os.environ["HOME"] != "/job":
        raise Broken("it does not start in the job folder")
    return "job folder, memory folders, given file"


def environment() -> str:
    known = {"HOME", "LANG", "LC_ALL", "PATH", "PYTHONUNBUFFERED", "TERM", "TMPDIR", "TZ", "USER"}
    known |= {"PWD", "OLDPWD", "SHLVL", "_", "GIVEN", "HOSTNAME", "LC_CTYPE"}
    if os.environ.get("GIVEN") != "given":
        raise Broken("a given variable did not arrive")
    if unknown := sorted(set(os.environ) - known):
        raise Broken(f"variables of the host: {unknown}")
    return f"{len(os.environ)} variables"


def loopback() -> str:
    import socket  # noqa: PLC0415 - only here

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=5):
            return "the sandbox's own loopback works"
