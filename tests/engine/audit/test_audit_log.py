from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit import entry as entries
from engine.audit import export_log, note, read_log, recorded, unfinished, verify
from engine.base.errors import BadInput, Cancelled, StorageFull
from engine.base.paths import Home, open_home
from engine.cli.main import run as m4bench


def _forged(lines: list[bytes]) -> list[bytes]:
    """What somebody who knows the code would do: change an entry and chain all that follow anew."""
    forged, previous = [], entries.START
    for line in lines:
        fields = json.loads(line)
        if fields["sequence"] == 4:
            fields["facts"]["rows"] = 9
        fields |= {"previous": previous}
        fields["hash"] = previous = entries.hash_of(fields)
        forged.append(entries.Entry(**fields).line())
    return forged


KINDS_OF_DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "a word changed": (
        lambda lines: [*lines[:3], lines[3].replace(b'"rows":3', b'"rows":9'), *lines[4:]],
        "Entry 4 was changed",
    ),
    "an entry taken out": (lambda lines: lines[:3] + lines[4:], "Entry 4 is missing"),
    "entries cut off": (lambda lines: lines[:-2], "Entries 7 to 8 are missing"),
    "two swapped": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "wrong place"),
    "one repeated": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "stands twice"),
    "a line of another kind": (lambda lines: [*lines[:3], b"hello\n", *lines[3:]], "no entry"),
    "written anew to the end": (_forged, "log was replaced"),
    "emptied": (lambda lines: [], "Entries 1 to 8 are missing"),
    "another form of the same": (
        lambda lines: [*lines[:3], lines[3].replace(b'"rows":3', b'"rows": 3'), *lines[4:]],
        "no entry",
    ),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with eight entries; do not change it."""
    home = open_home(tmp_path_factory.mktemp("written") / "home")
    for number in range(8):
        note(home, "source.import", source="mimic", facts={"rows": number})
    return home


@pytest.fixture
def filled(written: Home, tmp_path: Path) -> Home:
    shutil.copytree(written.root, tmp_path / "filled")
    return Home(tmp_path / "filled")


def test_entries_are_chained_and_say_who_what_and_when(home: Home):
    first = note(home, "source.import", source="mimic", object="chartevents", facts={"rows": 4})
    second = note(home, "export.diff", source="mimic", object="a.parquet")
    assert (first.sequence, second.sequence) == (1, 2)
    assert (first.previous, second.previous) == (entries.START, first.hash)
    assert first.actor == entries.actor()
    assert first.actor
    assert read_log(home) == (first, second)
    assert read_log(home, source="other") == ()
    verdict = verify(home)
    assert (verdict.ok, verdict.entries, verdict.thorough) == (True, 2, False)
    assert verify(home, thorough=True).last_hash == second.hash
    assert home.audit.stat().st_mode & 0o077 == 0


def test_the_user_is_not_taken_from_the_environment(home: Home, monkeypatch: pytest.MonkeyPatch):
    for name in ("USER", "LOGNAME", "USERNAME", "LNAME"):
        monkeypatch.setenv(name, "somebody-else")
    assert note(home, "run", source="mimic").actor != "somebody-else"


def test_no_log_holds(home: Home):
    verdict = verify(home)
    assert (verdict.ok, verdict.entries, verdict.problems) == (True, 0, ())
    assert read_log(home) == ()
    with pytest.raises(BadInput, match="no audit log yet"):
        export_log(home, home.root / "copy.jsonl")


def test_begin_and_end(home: Home):
    with recorded(home, "references", source="m", facts={"targets": ["a"]}) as found:
        found["rows"] = {"a": 5}
    with pytest.raises(Cancelled), recorded(home, "references", source="m"):
        raise Cancelled
    with pytest.raises(KeyError), recorded(home, "references", source="m"):
        raise KeyError("a value of the data")
    log = read_log(home)
    assert [e.stage for e in log] == ["begin", "end"] * 3
    assert log[1].facts == {"rows": {"a": 5}, "outcome": "done", "begun": 1}
    assert [e.facts.get("outcome") for e in log[1::2]] == ["done", "cancelled", "failed: KeyError"]
    assert b"a value of the data" not in home.audit.read_bytes()


@pytest.mark.parametrize("name", KINDS_OF_DAMAGE)
def test_tampering_is_said_and_stays_said(filled: Home, name: str):
    damage, said = KINDS_OF_DAMAGE[name]
    lines = filled.audit.read_bytes().splitlines(keepends=True)
    filled.audit.write_bytes(b"".join(damage(lines)))
    for _ in range(2):
        verdict = verify(filled)
        assert not verdict.ok
        assert said in verdict.words
    # The program goes on, and the log itself tells of it from now on.
    after = note(filled, "run", source="mimic")
    log = read_log(filled)
    assert [e.what for e in log[-2:]] == ["audit.problem", "run"]
    assert any(said in text for text in log[-2].facts["texts"])
    assert after.sequence >= 10
    for thorough in (False, True):
        verdict = verify(filled, thorough=thorough)
        assert (verdict.ok, said in verdict.words) == (False, True)
    note(filled, "run", source="mimic")
    assert [e.what for e in read_log(filled)].count("audit.problem") == 1


def test_deleting_the_log_is_said(filled: Home):
    filled.audit.unlink()
    verdict = verify(filled)
    assert not verdict.ok
    assert "is gone; it had entries up to 8" in verdict.words
    note(filled, "run", source="mimic")
    assert [e.sequence for e in read_log(filled)] == [9, 10]
    assert "Entries 1 to 8 are missing" in read_log(filled)[0].facts["texts"][0]
    assert not verify(filled, thorough=True).ok


def test_times_put_back_do_not_hide_a_change(filled: Home):
    before = filled.audit.stat()
    content = filled.audit.read_bytes()
    filled.audit.write_bytes(content.replace(b'"rows":3', b'"rows":4'))
    os.utime(filled.audit, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "Entry 4 was changed" in verify(filled).words


@given(cut=st.integers(0, 10_000), flip=st.integers(1, 255), tail=st.booleans())
def test_any_changed_byte_is_found(written: Home, cut: int, flip: int, tail: bool):
    """Wherever one byte is changed, or the file cut, it does not pass as the log that was."""
    content = written.audit.read_bytes()
    at = cut % len(content)
    damaged = (
        content[:at] if tail else bytes([*content[:at], content[at] ^ flip, *content[at + 1 :]])
    )
    folder = written.root.parent / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(written.state, folder / "state.db")
    (folder / "audit.jsonl").write_bytes(damaged)
    assert not verify(Home(folder), thorough=True).ok


CUT_OFF = [b'{"actor":"root","at":"20', b"\0" * 300, b"\xff\xfe{", b"x" * 200_000]


@pytest.mark.parametrize("left", CUT_OFF, ids=["half", "zeros", "bytes", "long"])
def test_a_line_that_a_crash_cut_off_is_kept_and_told(filled: Home, left: bytes):
    with filled.audit.open("ab") as file:
        file.write(left)
    verdict = verify(filled)
    assert verdict.ok
    assert "crash cut off the last line" in verdict.words
    note(filled, "run", source="mimic")
    assert left in filled.audit.read_bytes()
    log = read_log(filled)
    assert [(e.sequence, e.what) for e in log[-2:]] == [(9, "audit.torn"), (10, "run")]
    verdict = verify(filled, thorough=True)
    assert verdict.ok
    assert "kept as it is" in verdict.words
    # Once told, the fragment cannot be changed any more.
    filled.audit.write_bytes(filled.audit.read_bytes().replace(left, left[:-1] + b"?"))
    assert "no entry" in verify(filled).words


def test_an_entry_that_was_known_and_is_cut_off_is_no_crash(filled: Home):
    filled.audit.write_bytes(filled.audit.read_bytes()[:-30])
    verdict = verify(filled)
    assert not verdict.ok
    assert "Entry 8 is missing" in verdict.words
    note(filled, "run", source="mimic")
    assert [e.what for e in read_log(filled)[-3:]] == ["audit.torn", "audit.problem", "run"]


def test_a_kill_between_the_file_and_the_state_is_harmless(home: Home):
    note(home, "run", source="m")
    state = {name: (home.root / name).read_bytes() for name in ("state.db", "state.db-wal")
             if (home.root / name).exists()}  # fmt: skip
    note(home, "run", source="m")
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (home.root / name).unlink(missing_ok=True)
    for name, content in state.items():
        (home.root / name).write_bytes(content)
    assert verify(home).ok
    assert note(home, "run", source="m").sequence == 3
    assert verify(home, thorough=True).problems == ()


def test_another_state_file_is_said(filled: Home):
    for file in filled.root.glob("state.db*"):
        file.unlink()
    verdict = verify(filled)
    assert verdict.ok
    assert "nobody can say" in verdict.words
    note(filled, "run", source="mimic")
    assert "nobody can say" in verify(filled, thorough=True).words


def test_a_clock_that_goes_back_is_said(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(entries, "now", lambda: "2999-01-01T00:00:00.000Z")
    note(home, "run", source="m")
    assert "before the last entry" in verify(home).words
    monkeypatch.undo()
    note(home, "run", source="m")
    for thorough in (False, True):
        verdict = verify(home, thorough=thorough)
        assert verdict.ok
        assert re.search(r"The clock went back by \d+ days before entry 2\.", verdict.words) or (
            not thorough
        )
    assert "went back" in verify(home, thorough=True).words


@pytest.mark.slow
def test_threads_and_processes_at_once(home: Home):
    program = (
        "import sys; from pathlib import Path; from engine.audit import note; "
        "from engine.base.paths import Home\n"
        "for n in range(15): note(Home(Path(sys.argv[1])), 'run', source='m', object=sys.argv[2])"
    )
    others = [
        subprocess.Popen([sys.executable, "-c", program, str(home.root), name]) for name in "ab"
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: note(home, "run", source="m", object=str(n)), range(20)))
    assert [other.wait(120) for other in others] == [0, 0]
    verdict = verify(home, thorough=True)
    assert (verdict.entries, verdict.problems) == (50, ())


@pytest.mark.slow
def test_kills_leave_a_log_that_holds(home: Home):
    """Killed while it writes as fast as it can, over and over: never more than a cut line."""
    program = (
        "import sys; from pathlib import Path; from engine.audit import note; "
        "from engine.base.paths import Home\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1; note(Home(Path(sys.argv[1])), 'run', source='m')\n"
        "    if n > 2: print('.', flush=True)"
    )
    for round_ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(home.root)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            for _ in range(round_ + 1):
                writer.stdout.read(1)
            writer.send_signal(signal.SIGKILL)
        assert verify(home).ok
    assert note(home, "run", source="m").sequence > 9
    assert verify(home, thorough=True).ok


def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path):
    home = open_home(small_disk / "home")
    note(home, "run", source="m")
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    with pytest.raises(StorageFull), recorded(home, "export.diff", source="m"):
        pytest.fail("it went on without being recorded")
    filler.unlink()
    assert note(home, "run", source="m").sequence == 2
    assert verify(home, thorough=True).problems == ()


def test_a_symlink_in_its_place_is_not_followed(home: Home, tmp_path: Path):
    home.audit.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="audit log"):
        note(home, "run", source="m")
    assert not (tmp_path / "elsewhere").exists()


@given(text=st.text(st.characters(), max_size=50))
def test_hostile_names_are_one_line(written: Home, text: str):
    made = entries.make(
        sequence=1,
        previous=entries.START,
        what="run",
        stage="done",
        source="m",
        object=text,
        facts={"name": text},
    )
    assert made.line().count(b"\n") == 1
    assert made.line().isascii()
    assert not any(byte < 32 for byte in made.line()[:-1])
    assert entries.parse(made.line()[:-1]) == made


def test_what_is_too_long_is_said(home: Home):
    entry = note(home, "run", source="m", object="x" * 9999, facts={"all": ["y" * 100] * 10_000})
    assert "too long" in entry.facts["left_out"]
    assert verify(home, thorough=True).entries == 1


def test_export_is_the_log(filled: Home, tmp_path: Path):
    verdict = export_log(filled, tmp_path / "out" / "log.jsonl")
    assert verdict.ok
    assert (tmp_path / "out" / "log.jsonl").read_bytes() == filled.audit.read_bytes()
    with pytest.raises(BadInput, match="onto itself"):
        export_log(filled, filled.audit)


def test_what_was_killed_is_told(home: Home, capsys: pytest.CaptureFixture[str]):
    with recorded(home, "concepts.build", source="m"):
        pass
    killed = note(home, "source.import", source="m", stage="begin", facts={"files": 3})
    note(home, "run", source="m", object="r", stage="begin")  # told at the next start
    assert [entry.sequence for entry in unfinished(home)] == [killed.sequence]
    assert verify(home, thorough=True).ok
    assert m4bench(["--home", str(home.root), "audit", "verify"]) == 0
    told = capsys.readouterr().out
    assert f"Entry {killed.sequence}: source.import of m began and has no end" in told
    long = {"reason": "x" * 300}
    note(home, "source.policy", source="m", facts=long)
    assert m4bench(["--home", str(home.root), "audit", "list"]) == 0
    assert "x" * 300 in "".join(capsys.readouterr().out.split())
