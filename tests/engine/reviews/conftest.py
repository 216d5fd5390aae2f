"""People with homes of their own, and a copy of one family of tasks to review."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest
from review_people import Keyring, Person

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """`tasks/sirs` and its skill, to be changed at will."""
    folder = tmp_path / "content"
    shutil.copytree(ROOT / "tasks" / "sirs", folder / "tasks" / "sirs")
    shutil.copytree(ROOT / "skills" / "sirs", folder / "skills" / "sirs")
    return folder


@pytest.fixture
def person(
    tmp_path: Path,
    content: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Person]:
    """Somebody at a workstation with an own home and keyring."""

    def somebody(name: str) -> Person:
        ring = Keyring()

        def at_the_desk() -> None:
            monkeypatch.setattr(keyring, "get_keyring", lambda: ring)

        return Person(name, tmp_path / name.lower(), content, at_the_desk, capsys)

    return somebody
