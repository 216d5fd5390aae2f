"""Running commands in the real sandbox."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engine.base.errors import MissingPrerequisite, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.isolation.interface import Command, Limits, Sandbox

pytestmark = pytest.mark.sandbox


def test_output_and_exit_status(run):
    done = run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert (done.ended.reason, done.ended.returncode) == ("exited", 7)
    assert done.ended.in_words == "The program ended with exit status 7."


def test_a_signal_and_a_missing_program_as_a_shell_says_it(run):
    assert run("sh", "-c", "kill -SEGV $$").ended.returncode == 128 + 11
    missing = run("no-such-program")
    assert missing.ended.returncode == 127
    assert b"no-such-program" in missing.stderr


def test_arguments_arrive_as_they_are(run):
    words = ("a b", "", "$HOME", "--", "-x", "new\nline", "\u00e9\u4e2d", "'\"")
    done = run("python3", "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
    assert done.stdout.decode().strip() == ascii(list(words))


def test_results_stay_in_the_job_folder(run, job_folder: Path):
    (job_folder / "script.py").write_text(
        "import duckdb\nduckdb.sql(\"COPY (SELECT 42 AS stay_id) TO '/job/output.csv'\")\n"
    )
    (job_folder / "script.py").chmod(0o600)
    assert run("python3", "/job/script.py").ended.returncode == 0
    assert (job_folder / "output.csv").read_text() == "stay_id\n42\n"


def test_output_comes_while_it_runs(sandbox: Sandbox, job_folder: Path):
    # The program waits for an answer to what it said; it ends only if its output came at once.
    script = (
        "import os, time\nprint('asked', flush=True)\n"
        "while not os.path.exists('/job/answer'): time.sleep(0.01)\nprint('answered')\n"
    )
    seen = bytearray()

    def answer(stream: str, data: bytes) -> None:
        seen.extend(data)
        if b"asked" in seen:
            (job_folder / "answer").touch()

    ended = sandbox.run(
        Command(
            argv=("python3", "-c", script),
            job_folder=job_folder,
            limits=Limits(wall_seconds=30),
        ),
        on_output=answer,
    )
    assert (ended.reason, bytes(seen)) == ("exited", b"asked\nanswered\n")


def test_cancel_stops_it_and_keeps_what_was_written(sandbox: Sandbox, job_folder: Path):
    job = SimpleJob()
    seen = bytearray()

    def cancel(stream: str, data: bytes) -> None:
        seen.extend(data)
        job.cancel()

    started = time.monotonic()
    ended = sandbox.run(
        Command(
            argv=("sh", "-c", "echo half > /job/half; echo go; sleep 600"), job_folder=job_folder
        ),
        job=job,
        on_output=cancel,
    )
    assert (ended.reason, ended.returncode, bytes(seen)) == ("cancelled", 137, b"go\n")
    assert time.monotonic() - started < 30
    assert (job_folder / "half").read_text() == "half\n"


def test_a_job_that_was_cancelled_before_starts_nothing(run):
    job = SimpleJob()
    job.cancel()
    done = run("sh", "-c", "echo started", job=job)
    assert (done.ended.reason, done.stdout) == ("cancelled", b"")


def test_cancel_at_any_moment(sandbox: Sandbox, tmp_path: Path):
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        job = SimpleJob()
        timer = threading.Timer(number * 0.006, job.cancel)
        timer.start()
        ended = sandbox.run(Command(argv=("sleep", "600"), job_folder=folder), job=job)
        timer.join()
        assert ended.reason == "cancelled"


def test_an_exception_of_the_listener_stops_it(sandbox: Sandbox, job_folder: Path):
    def fail(stream: str, data: bytes) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sandbox.run(
            Command(argv=("sh", "-c", "echo go; sleep 600"), job_folder=job_folder),
            on_output=fail,
        )


def test_a_listener_that_hangs_does_not_outlive_the_time_limit(sandbox: Sandbox, job_folder: Path):
    # The program writes its process number once it hangs in the listener; it must be killed then.
    hung = threading.Event()
    ended = sandbox.run(
        Command(
            argv=("sh", "-c", "echo go; sleep 600"),
            job_folder=job_folder,
            limits=Limits(wall_seconds=0.3),
        ),
        on_output=lambda stream, data: hung.wait(1.0),
    )
    assert ended.reason == "timeout"


def test_many_at_the_same_time(sandbox: Sandbox, tmp_path: Path):
    results: dict[int, tuple[int, bytes]] = {}

    def one(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        seen = bytearray()
        ended = sandbox.run(
            Command(argv=("sh", "-c", f"echo {number}; exit {number}"), job_folder=folder),
            on_output=lambda stream, data: seen.extend(data),
        )
        results[number] = (ended.returncode, bytes(seen))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: (number, f"{number}\n".encode()) for number in range(8)}


def test_nothing_is_left(run, job_folder: Path):
    def open_files() -> set[str]:
        return {entry.name for entry in Path("/proc/self/fd").iterdir()}

    before = open_files()
    run("true")
    run("sleep", "600", limits=Limits(wall_seconds=0.1))
    assert open_files() == before
    assert str(job_folder) not in Path("/proc/self/mountinfo").read_text()


def test_a_full_disk_is_said_before_the_start(run, small_disk: Path, sandbox: Sandbox):
    folder = small_disk / "job"
    folder.mkdir()
    with pytest.raises(StorageFull, match="no room"):
        sandbox.run(Command(argv=("true",), job_folder=folder))


def test_a_read_only_file_and_folder(run, tmp_path: Path):
    database = tmp_path / "db"
    database.write_text("data")
    skills = tmp_path / "skills"
    (skills / "one").mkdir(parents=True)
    (skills / "one" / "SKILL.md").write_text("skill")
    done = run(
        "sh",
        "-c",
        "cat database.duckdb .claude/skills/one/SKILL.md; echo x > database.duckdb;"
        " echo x > .claude/skills/x",
        read_only={database: "/job/database.duckdb", skills: "/job/.claude/skills"},
    )
    assert done.stdout == b"dataskill"
    assert done.stderr.count(b"Read-only file system") == 2
    assert database.read_text() == "data"


@pytest.mark.parametrize(
    "place", ["/etc/passwd", "/job", "/job/../etc/x", "job/x", "/tmp/x", "/jobs/x", "/job/a\0b"]
)
def test_places_outside_the_job_folder_are_refused(run, tmp_path: Path, place: str):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError):
        run("true", read_only={file: place})


def test_a_symlink_at_the_place_is_refused(run, tmp_path: Path, job_folder: Path):
    file = tmp_path / "file"
    file.touch()
    (job_folder / "database.duckdb").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="symlink"):
        run("true", read_only={file: "/job/database.duckdb"})


def test_what_cannot_be_shown_is_said(run, tmp_path: Path):
    with pytest.raises(UsageError, match="does not exist"):
        run("true", read_only={tmp_path / "nothing": "/job/x"})
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="no file or folder"):
        run("true", read_only={tmp_path / "link": "/job/x"})
    secret = tmp_path / "secret"
    secret.touch()
    secret.chmod(0)
    with pytest.raises(MissingPrerequisite, match="cannot read") as caught:
        run("true", read_only={secret: "/job/x"})
    assert "chmod o+r" in caught.value.todo


def test_bad_calls_are_refused(sandbox: Sandbox, job_folder: Path, tmp_path: Path, monkeypatch):
    backend = sandbox

    def call(**values) -> None:
        backend.run(Command(**{"argv": ("true",), "job_folder": job_folder, **values}))

    (tmp_path / "link").symlink_to(job_folder)
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    for folder in (Path("job"), tmp_path / "link", tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(UsageError, match="job folder"):
            call(job_folder=folder)
    with pytest.raises(UsageError, match="empty"):
        call(argv=())
    with pytest.raises(UsageError, match="NUL"):
        call(argv=("a\0b",))
    with pytest.raises(UsageError, match="variable"):
        call(env={"A=B": "x"})


def test_hard_links_in_the_job_folder_keep_their_owner(run, tmp_path: Path, job_folder: Path):
    other = tmp_path / "other"
    other.touch()
    os.link(other, job_folder / "shared")
    owner = other.stat().st_uid
    assert run("true").ended.returncode == 0
    assert other.stat().st_uid == owner
