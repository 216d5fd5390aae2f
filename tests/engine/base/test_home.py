"""The home folder: what is in it is closed to others, wherever it lies."""

from __future__ import annotations

from pathlib import Path

from engine.base.paths import open_home
from engine.base.store import open_store


def test_a_new_home_is_closed_to_others(tmp_path: Path) -> None:
    home = open_home(tmp_path / "new")
    assert home.root.stat().st_mode & 0o077 == 0


def test_in_an_open_folder_the_data_is_closed_to_others(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir(mode=0o755)
    (place / "runs").mkdir(mode=0o755)  # by an earlier version
    home = open_home(place)
    open_store(home.state, []).conn.close()
    assert place.stat().st_mode & 0o777 == 0o755
    assert [folder.stat().st_mode & 0o777 for folder in home.private] == [0o700] * 7
    assert home.state.stat().st_mode & 0o077 == 0


def test_the_state_files_beside_it_are_closed_too(tmp_path: Path) -> None:
    database = open_store(tmp_path / "state.db", [])
    try:
        database.conn.execute("CREATE TABLE t (a)")
        files = sorted(tmp_path.glob("state.db*"))
        assert len(files) > 1
        assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    finally:
        database.conn.close()
