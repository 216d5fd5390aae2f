"""The user's settings: kept, declared, and never a reason not to start."""

from __future__ import annotations

from pathlib import Path

import pytest

from m4review.app.settings import DEFAULTS, ZOOMS, Settings, zoom_step


def test_what_is_set_is_there_next_time(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    settings.set("look.zoom", 150)
    settings.set("launcher.scripts", {"a task": "/x/y.sql"})
    assert settings.save()
    again = Settings(tmp_path / "settings.toml")
    assert again.get("look.zoom") == 150
    assert again.get("launcher.scripts") == {"a task": "/x/y.sql"}


def test_undeclared_and_wrongly_typed_settings_are_refused(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    with pytest.raises(KeyError):
        settings.get("look.nothing")
    with pytest.raises(TypeError):
        settings.set("look.zoom", "large")


def test_damaged_file_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[look\nzoom = ")
    settings = Settings(path)
    assert settings.get("look.zoom") == DEFAULTS["look.zoom"]
    assert settings.damaged is not None
    assert settings.damaged.read_text() == "[look\nzoom = "


def test_a_value_of_a_wrong_type_in_the_file_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[look]\nzoom = "huge"\ntheme = "dark"\n')
    settings = Settings(path)
    assert settings.get("look.zoom") == 100
    assert settings.get("look.theme") == "dark"


def test_full_disk_is_no_crash(small_disk: Path) -> None:
    settings = Settings(small_disk / "settings.toml")
    with (small_disk / "filler").open("wb", buffering=0) as file, pytest.raises(OSError):  # noqa: PT011, PT012
        while True:
            file.write(b"x" * 4096)
    settings.set("look.zoom", 125)
    assert settings.save() is False
    assert settings.get("look.zoom") == 125


def test_zoom_steps_stay_in_range() -> None:
    assert zoom_step(100, 1) == 110
    assert zoom_step(100, -1) == 90
    assert zoom_step(ZOOMS[-1], 1) == ZOOMS[-1]
    assert zoom_step(ZOOMS[0], -1) == ZOOMS[0]
    assert zoom_step(175, 0) == 100
