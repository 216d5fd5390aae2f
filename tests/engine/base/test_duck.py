"""Connections: pinned zone, no downloads, limits; and DuckDB's errors in words."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.duck import connect, in_words, interruptible, quote, quote_text
from engine.base.errors import BadInput, Busy, Cancelled, StorageFull
from engine.base.jobs import SimpleJob


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_name_and_any_text_survive_quoting(text: str) -> None:
    with duckdb.connect() as con:
        query = f"SELECT {quote_text(text)} AS {quote(text)}"
        row = con.execute(query).fetchone()
        assert row == (text,)
        assert con.description is not None
        assert con.description[0][0] == text


def test_a_connection_is_pinned() -> None:
    with connect(memory_limit="200MB", threads=1) as con:
        settings = dict(
            con.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name IN "
                "('TimeZone', 'autoinstall_known_extensions', 'threads')"
            ).fetchall()
        )
    assert settings == {
        "TimeZone": "UTC",
        "autoinstall_known_extensions": "false",
        "threads": "1",
    }


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_text("these are only words, and enough of them to fill a header" * 200)
    with pytest.raises(BadInput, match="not a DuckDB database"):
        connect(path)


def test_a_database_that_another_program_writes(tmp_path: Path) -> None:
    path = tmp_path / "held.duckdb"
    holder = (
        f"import duckdb; con = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(Busy, match="Another program"):
            connect(path, read_only=True)
        process.communicate("\n", timeout=30)


def test_cancel_interrupts_a_query() -> None:
    job = SimpleJob()
    with connect(threads=1) as con:
        timer = threading.Timer(0.2, job.cancel)
        timer.start()
        with pytest.raises(Cancelled), interruptible(con, job):
            con.execute("SELECT count(*) FROM range(10_000_000_000) a, range(1_000) b").fetchone()
        timer.join()


def test_too_little_memory_is_said_and_quotes_no_data(tmp_path: Path) -> None:
    with connect(memory_limit="20MB", threads=1, scratch=tmp_path) as con:
        con.execute("SET max_temp_directory_size = '1MB'")
        with pytest.raises(duckdb.Error) as caught:
            con.execute("SELECT list(i) FROM range(50_000_000) t(i)").fetchall()
    error = in_words(caught.value, "scoring")
    assert isinstance(error, StorageFull)
    assert "scoring" in error.text
