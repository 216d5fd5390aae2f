"""Archives of other people: what is taken, and what is refused whole."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
import zstandard

from engine.base.errors import BadInput, Cancelled, M4Error
from engine.base.jobs import SimpleJob
from engine.runs.unpack import Room, is_archive, unpack


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = ""):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def file(name: str, content: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    return member(name, size=len(content)), content


GOOD = tar(
    (member("a", tarfile.DIRTYPE), b""),
    file("a/result.json", b"{}"),
    file("./a/" + "n" * 150, b"y" * 3000),
)


@pytest.mark.parametrize("suffix", [".tar", ".tar.zst", ".tar.gz", ".tgz"])
def test_ordinary_archives_are_taken(tmp_path: Path, suffix: str):
    data = GOOD
    if suffix.endswith("zst"):
        half = len(data) // 2  # two frames, as parallel programs write them
        packer = zstandard.ZstdCompressor()
        data = packer.compress(data[:half]) + packer.compress(data[half:])
    elif suffix.endswith("gz"):
        data = gzip.compress(data)
    path = tmp_path / f"runs{suffix}"
    path.write_bytes(data)
    assert is_archive(path)
    assert unpack(path, tmp_path / "out", job=SimpleJob())
    assert (tmp_path / "out/a/result.json").read_bytes() == b"{}"
    assert (tmp_path / "out/a" / ("n" * 150)).stat().st_size == 3000
    assert not (tmp_path / "out/a/result.json").stat().st_mode & 0o111


HOSTILE = {
    "absolute name": (file("/etc/passwd"), "leads out"),
    "name that climbs": (file("a/../../x"), "leads out"),
    "symbolic link": ((member("l", tarfile.SYMTYPE, link="/etc"), b""), "symbolic link"),
    "hard link": ((member("l", tarfile.LNKTYPE, link="ok"), b""), "hard link"),
    "device": ((member("d", tarfile.CHRTYPE), b""), "a device"),
    "block device": ((member("d", tarfile.BLKTYPE), b""), "a device"),
    "pipe": ((member("p", tarfile.FIFOTYPE), b""), "named pipe"),
    "deep": (file("/".join("a" * 40)), "inside each other"),
    "file and folder": (file("ok/below"), "a file and a folder"),
    "long name": (file("é" * 200), "too long"),
    "large": (file("big", b"0" * 5000), "more than 0 MiB"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused_whole(tmp_path: Path, what: str):
    bad, words = HOSTILE[what]
    path = tmp_path / "runs.tar"
    path.write_bytes(tar(file("ok"), bad))
    with pytest.raises(BadInput, match=words) as caught:
        unpack(path, tmp_path / "out", job=SimpleJob(), room=Room(file_bytes=4000))
    assert caught.value.todo
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_sparse_file_is_refused(tmp_path: Path):
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "s",
               "GNU.sparse.realsize": str(1 << 40)}  # fmt: skip
    info = member("s", size=512)
    info.pax_headers = headers
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(b"1\n0\n1099511627776\n".ljust(512, b"\0")))
    path = tmp_path / "runs.tar"
    path.write_bytes(data.getvalue())
    with pytest.raises(BadInput):
        unpack(path, tmp_path / "out", job=SimpleJob())
    assert not (tmp_path / "out").exists()


def test_bombs_stop_early(tmp_path: Path):
    """A small archive of much, of many, and one whose header alone is huge."""
    for data, words, room in (
        (tar(*(file(f"{n}", b"0" * 9000) for n in range(40))), "unpacks to", Room(total_bytes=9)),
        (tar(*(file(f"{n}") for n in range(40))), "more than 10 files", Room(files=10)),
        (tar((member("x", tarfile.GNUTYPE_LONGNAME, 2 << 20), b"a" * (2 << 20))), "1 MiB", None),
    ):
        path = tmp_path / "bomb.tar.zst"
        path.write_bytes(zstandard.compress(data))
        with pytest.raises(BadInput, match=words):
            unpack(path, tmp_path / "out", job=SimpleJob(), room=room)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.tar", b""),
        ("a.tar", b"no archive at all" * 100),
        ("a.tar.zst", b"no archive at all"),
        ("a.tar.gz", b"no archive at all"),
        ("a.tar", GOOD[:700]),
        ("a.tar", GOOD[:1800]),
        ("a.tar.zst", zstandard.compress(GOOD)[:100]),
        ("a.tar.gz", gzip.compress(GOOD)[:100]),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_damaged_archives_are_told(tmp_path: Path, name: str, data: bytes):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput):
        unpack(path, tmp_path / "out", job=SimpleJob())
    assert not (tmp_path / "out").exists()


def test_cut_off_between_two_files(tmp_path: Path):
    path = tmp_path / "a.tar"
    path.write_bytes(tar(file("a"), file("b"))[:2048])
    assert not unpack(path, tmp_path / "out", job=SimpleJob())
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a", "b"]


def test_no_room_and_stop(tmp_path: Path):
    path = tmp_path / "a.tar"
    path.write_bytes(GOOD)
    with pytest.raises(M4Error, match="no room"):
        unpack(path, tmp_path / "out", job=SimpleJob(), room=Room(spare_bytes=1 << 60))
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        unpack(path, tmp_path / "out", job=job)
    assert not (tmp_path / "out").exists()
