"""The state file: steps run once, all or nothing; damage and newer files are refused in words."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlite_utils import Database

from engine.base.errors import BadInput
from engine.base.store import Step, open_store


def _make(database: Database) -> None:
    database.conn.execute("CREATE TABLE thing (name TEXT PRIMARY KEY)")


def _fail(database: Database) -> None:
    database.conn.execute("CREATE TABLE half (name TEXT)")
    raise RuntimeError


def test_steps_run_once(tmp_path: Path) -> None:
    steps = [Step("things/001-first", _make)]
    open_store(tmp_path / "s.db", steps).conn.close()
    database = open_store(tmp_path / "s.db", steps)
    assert "thing" in database.table_names()
    database.conn.close()


def test_a_failing_step_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        open_store(tmp_path / "s.db", [Step("things/001-bad", _fail)])
    database = open_store(tmp_path / "s.db", [])
    assert "half" not in database.table_names()
    database.conn.close()


def test_a_newer_file_is_refused_politely(tmp_path: Path) -> None:
    first, second = Step("things/001-first", _make), Step("things/002-later", lambda db: None)
    open_store(tmp_path / "s.db", [first, second]).conn.close()
    with pytest.raises(BadInput, match="newer version"):
        open_store(tmp_path / "s.db", [first])


def test_another_packages_steps_are_none_of_our_business(tmp_path: Path) -> None:
    open_store(tmp_path / "s.db", [Step("things/001-first", _make)]).conn.close()
    open_store(tmp_path / "s.db", [Step("others/001-first", lambda db: None)]).conn.close()


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"no database, " * 1000)
    with pytest.raises(BadInput, match="damaged"):
        open_store(tmp_path / "s.db", [])


def test_two_threads_open_a_new_file_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait(10)
        try:
            open_store(tmp_path / "s.db", [Step("things/001-first", _make)]).conn.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []


def test_wal_and_full_fsync(tmp_path: Path) -> None:
    database = open_store(tmp_path / "s.db", [])
    connection: sqlite3.Connection = database.conn
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_no_room_for_the_index_beside_the_file_is_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    open_store(path, []).conn.close()
    # No file may grow beyond a few pages: the index of 32 KiB fits no more.
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from engine.base.errors import StorageFull\n"
        "from engine.base.store import open_store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))\n"
        "try:\n"
        "    open_store(Path(sys.argv[1]), [])\n"
        "except StorageFull as error:\n"
        "    print(error.text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert "no room" in done.stdout, done.stderr


OTHER = """
import sys
from pathlib import Path
from engine.base.store import open_store
open_store(Path(sys.argv[1]), ()).conn.close()
"""


def test_another_programs_goodbye_takes_nothing_from_who_is_still_there(tmp_path: Path):
    """Whoever closes last removes SQLite's log; that must not be somebody who is not the last."""
    path = tmp_path / "state.db"
    stays = open_store(path, ()).conn
    stays.execute("CREATE TABLE t (x)")
    open_store(path, ()).conn.close()  # of this process: must leave the first one's locks alone
    subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
    stays.execute("INSERT INTO t VALUES (1)")
    second = open_store(path, ()).conn
    assert second.execute("SELECT x FROM t").fetchall() == [(1,)]
    stays.close()
    assert second.execute("SELECT x FROM t").fetchall() == [(1,)]
    second.close()
    last = open_store(path, ()).conn
    assert last.execute("SELECT x FROM t").fetchall() == [(1,)]
    last.close()
