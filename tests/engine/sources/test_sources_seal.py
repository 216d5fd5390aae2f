"""A source that another program changed is noticed; what was built from it stops holding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from engine.base.errors import BadInput
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.references import (
    build_references,
    open_reference,
    reference_state,
    verify_references,
)
from engine.sources import find_source, known_source, writing_source
from engine.sources.seal import is_sealed, seal, seal_path
from engine.sources.synthetic import synthesize_source


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    synthesize_source(home, "little", kind="eicu", stays=30, seed=3, job=SimpleJob())
    build_references(home, "little", ["eicu-gcs"], job=SimpleJob())
    return home


def edit(home: Home, sql: str) -> None:
    with duckdb.connect(str(find_source(home, "little").path)) as con:
        con.execute(sql)


def test_rows_deleted_by_another_program_make_the_reference_stale(home: Home) -> None:
    before = find_source(home, "little")
    edit(home, "DELETE FROM eicu_crd.nursecharting WHERE nursingchartoffset > 0")
    touched = find_source(home, "little")
    assert touched.touched
    assert touched.digest == ""
    assert reference_state(home, "little", "eicu-gcs").state == "stale"
    with pytest.raises(BadInput, match="changed since"):
        open_reference(home, "little", "eicu-gcs")
    [built] = build_references(home, "little", ["eicu-gcs"], job=SimpleJob())
    assert not built.fresh
    after = find_source(home, "little")
    assert not after.touched
    assert after.digest != before.digest
    assert sum(t.rows for t in after.tables) < sum(t.rows for t in before.tables)
    assert reference_state(home, "little", "eicu-gcs").state == "ready"


def test_a_touch_without_a_change_is_looked_at_and_everything_holds(home: Home) -> None:
    before = find_source(home, "little")
    before.path.touch()
    assert reference_state(home, "little", "eicu-gcs").state == "stale"
    after = known_source(home, "little", job=SimpleJob())
    assert (after.digest, after.touched, after.tables) == (before.digest, False, before.tables)
    assert reference_state(home, "little", "eicu-gcs").state == "ready"


def test_verify_looks_at_the_data_even_where_size_and_time_are_kept(home: Home) -> None:
    info = find_source(home, "little")
    edit(home, "UPDATE eicu_crd.nursecharting SET nursingchartvalue = '9'")
    # Whoever hides a change gives the file its old seal; verify recomputes all the same.
    seal(info.path)
    assert reference_state(home, "little", "eicu-gcs").state == "ready"
    [verified] = verify_references(home, "little", job=SimpleJob())
    assert any("source has changed" in problem for problem in verified.problems)


def test_our_own_writing_is_sealed_again(home: Home) -> None:
    path = find_source(home, "little").path
    with writing_source(home, "little") as con:
        con.execute("CREATE SCHEMA IF NOT EXISTS m4_meta")
        assert is_sealed(path)  # a living program of ours is at it
    assert is_sealed(path)
    assert not find_source(home, "little").touched


def test_a_program_killed_while_writing_leaves_it_to_be_looked_at(home: Home) -> None:
    path = find_source(home, "little").path
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from engine.base.paths import Home\n"
        "from engine.sources import writing_source\n"
        f"with writing_source(Home(Path({str(home.root)!r})), 'little') as con:\n"
        "    con.execute('CREATE SCHEMA IF NOT EXISTS m4_meta')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -9
    assert not is_sealed(path)
    assert find_source(home, "little").touched
    known_source(home, "little", job=SimpleJob())
    assert reference_state(home, "little", "eicu-gcs").state == "ready"


def test_a_damaged_seal_counts_as_none(home: Home) -> None:
    path = find_source(home, "little").path
    for text in ("", "[]", "{}", '{"files": 3}', '{"writer": {"pid": "x", "started": 1}}'):
        seal_path(path).write_text(text)
        assert not is_sealed(path)
