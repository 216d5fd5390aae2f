"""Files appear whole or not at all, and trouble is said in words."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from engine.base.errors import Busy, MissingPrerequisite, StorageFull
from engine.base.files import os_error, sha256_of, write_json, write_text, writing


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    write_text(target, "old")

    def half() -> None:
        with writing(target, "testing") as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_json_refuses_nan_because_readers_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"rate": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_json_round_trip(tmp_path: Path) -> None:
    write_json(tmp_path / "deep" / "x.json", {"label": "Müller ≥ 3"})
    assert json.loads((tmp_path / "deep" / "x.json").read_text()) == {"label": "Müller ≥ 3"}


def test_sha256_of_a_file_longer_than_one_block(tmp_path: Path) -> None:
    data = os.urandom((1 << 20) + 17)
    (tmp_path / "f").write_bytes(data)
    assert sha256_of(tmp_path / "f") == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, MissingPrerequisite),
        (errno.EBUSY, Busy),
        (errno.EIO, MissingPrerequisite),
    ],
)
def test_operating_system_errors_in_words(number: int, kind: type[Exception]) -> None:
    error = os_error(OSError(number, "secret/path"), "importing a table")
    assert type(error) is kind
    assert "importing a table" in str(error)
    assert "secret" not in str(error)
    assert getattr(error, "todo", None)


def test_a_full_disk_keeps_the_old_file(small_disk: Path) -> None:
    target = small_disk / "record.json"
    write_text(target, "old")
    with pytest.raises(StorageFull, match="no room"):
        write_text(target, "x" * 1_000_000, "writing the record")
    assert target.read_text() == "old"
    assert [p.name for p in small_disk.iterdir()] == ["record.json"]
