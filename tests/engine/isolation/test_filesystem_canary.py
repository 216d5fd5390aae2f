from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

import pytest

from engine.base.errors import Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.canary import CHECKS, GATEWAY_CHECK, Listeners, private_places, run_canary
from engine.isolation.interface import Command, Ended, Limits

pytestmark = pytest.mark.sandbox


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "answer.parquet").write_text("the answer")
    return folder


def canaries(folder: Path) -> list[Path]:
    return list(folder.rglob(".m4review-canary-*"))


def test_it_passes_in_the_real_sandbox(sandbox_home: Home, job_folder: Path, private: Path):
    (job_folder / "instruction.md").write_text("the run's own")
    database = job_folder.parent / "database.duckdb"
    database.write_text("data")
    report = run_canary(
        Bubblewrap(sandbox_home),
        job_folder=job_folder,
        private=[private, private / "answer.parquet", sandbox_home.root, job_folder / "nothing"],
        read_only={database: "/job/database.duckdb"},
    )
    assert report.passed, report.failures
    names = {check["name"] for check in report.checks}
    assert {*CHECKS, f"unreadable: {private}", "unreadable: /etc/shadow"} <= names
    assert len(names) == len(CHECKS) + len({*private_places()}) + 4
    field = json.loads(json.dumps(report.as_dict()))
    assert set(field) == {"passed", "required", "checks", "failures"}
    assert field["required"] is True
    # Nothing of it stays, and the run's folder was not touched.
    assert canaries(private) == canaries(sandbox_home.root) == []
    assert [entry.name for entry in job_folder.iterdir()] == ["instruction.md"]
    assert not job_folder.with_name("job.canary").exists()


class Leaky(Bubblewrap):
    """A sandbox with a hole: it shows a host folder that nobody declared."""

    def __init__(self, home: Home, shown: Path) -> None:
        super().__init__(home)
        self.shown = shown

    def run(self, command: Command, **more) -> Ended:
        read_only = {**command.read_only, self.shown: "/job/hole"}
        return super().run(Command(**{**vars(command), "read_only": read_only}), **more)


def failed(report) -> set[str]:
    assert not report.passed
    assert len(report.failures) >= 1
    return {check["name"] for check in report.checks if not check["passed"]}


def test_a_hole_is_found(sandbox_home: Home, job_folder: Path, private: Path):
    leaky = Leaky(sandbox_home, private)
    report = run_canary(leaky, job_folder=job_folder, private=[private])
    assert failed(report) == {"mounts", "nothing private anywhere"}
    assert canaries(private) == []


def test_a_hole_to_a_single_file_is_found(sandbox_home: Home, job_folder: Path, private: Path):
    leaky = Leaky(sandbox_home, private / "answer.parquet")
    report = run_canary(leaky, job_folder=job_folder, private=[private / "answer.parquet"])
    assert "nothing private anywhere" in failed(report)


def test_a_declared_private_place_is_found(sandbox_home: Home, job_folder: Path, private: Path):
    report = run_canary(
        Bubblewrap(sandbox_home),
        job_folder=job_folder,
        private=[private],
        read_only={private: "/job/skills"},
    )
    assert "nothing private anywhere" in failed(report)


class Silent(Bubblewrap):
    """Runs something else than what it is told."""

    says = "true"

    def run(self, command: Command, **more) -> Ended:
        other = ("sh", "-c", self.says)
        return super().run(Command(**{**vars(command), "argv": other}), **more)


@pytest.mark.parametrize(
    "says", ["true", "echo 'no json'", 'echo \'{"nonce": "0", "checks": [["user", true, ""]]}\'']
)
def test_no_answer_is_no_pass(sandbox_home: Home, job_folder: Path, private: Path, says: str):
    silent = Silent(sandbox_home)
    silent.says = says
    report = run_canary(silent, job_folder=job_folder, private=[private])
    assert failed(report) >= {*CHECKS, f"unreadable: {private}"}
    assert all("it was not tried" in failure for failure in report.failures)


def test_a_failing_canary_is_no_pass(sandbox_home: Home, job_folder: Path, private: Path):
    silent = Silent(sandbox_home)
    silent.says = "exit 3"
    report = run_canary(silent, job_folder=job_folder, private=[private])
    assert "exit status 3" in report.failures[0]
    assert failed(report) >= {*CHECKS}
    silent.says = "sleep 600"
    report = run_canary(
        silent, job_folder=job_folder, private=[private], limits=Limits(wall_seconds=0.2)
    )
    assert "time limit" in report.failures[0]


def test_cancel(sandbox_home: Home, job_folder: Path, private: Path):
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        run_canary(Bubblewrap(sandbox_home), job_folder=job_folder, private=[private], job=job)
    assert canaries(private) == []


def test_a_relative_path_is_refused(sandbox_home: Home, job_folder: Path):
    with pytest.raises(UsageError, match="absolute"):
        run_canary(Bubblewrap(sandbox_home), job_folder=job_folder, private=[Path("x")])


def test_what_a_killed_canary_left_is_removed(sandbox_home: Home, job_folder: Path, private: Path):
    old, new = private / ".m4review-canary-old", private / ".m4review-canary-new"
    old.touch()
    new.touch()  # of another run that goes on now
    hours = time.time() - 7200
    os.utime(old, (hours, hours))
    job_folder.with_name("job.canary").mkdir()
    assert run_canary(Bubblewrap(sandbox_home), job_folder=job_folder, private=[private]).passed
    assert canaries(private) == [new]


def test_the_listeners_really_listen():
    with Listeners() as listeners:
        assert not listeners.reached
        socket.create_connection(("127.0.0.1", listeners.port)).close()
        assert listeners.reached
    with Listeners() as listeners, socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + listeners.abstract)
        assert listeners.reached


def test_with_a_way_to_a_model(sandbox_home: Home, job_folder: Path, private: Path):
    report = run_canary(
        Bubblewrap(sandbox_home), job_folder=job_folder, private=[private], gateway=True
    )
    assert report.passed, report.failures
    assert GATEWAY_CHECK in {check["name"] for check in report.checks}
    assert list(job_folder.parent.glob("*.canary*")) == []


class Careless(Bubblewrap):
    """Puts something beside the gateway's socket."""

    def run(self, command: Command, **more) -> Ended:
        assert command.gateway is not None
        (command.gateway / "egress.jsonl").touch()
        return super().run(command, **more)


def test_something_beside_the_gateways_socket_is_seen(
    sandbox_home: Home, job_folder: Path, private: Path
):
    careless = Careless(sandbox_home)
    report = run_canary(careless, job_folder=job_folder, private=[private], gateway=True)
    assert failed(report) == {GATEWAY_CHECK}


def test_a_gateway_that_is_not_the_runs_is_seen(
    sandbox_home: Home, job_folder: Path, private: Path, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    (other / "key").write_text("of another run")
    other.chmod(0o755)

    class Generous(Bubblewrap):
        def run(self, command: Command, **more) -> Ended:
            return super().run(Command(**{**vars(command), "gateway": other}), **more)

    report = run_canary(Generous(sandbox_home), job_folder=job_folder, private=[private])
    assert failed(report) == {"mounts"}
