"""The sandbox as root and as an ordinary user; and when the program that started it is killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from absence import absent

from engine.base.paths import Home, open_home
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.engine_api import ENV_HOST
from engine.isolation.interface import Command
from engine.isolation.orphans import end_orphans
from engine.isolation.rootfs import sandbox_root

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
USER = 12345
_SEES_ITSELF = "import os, sys; os.stat(sys.executable); os.listdir(sys.base_prefix)"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}"}


@pytest.mark.parametrize(
    "delay",
    ["running", "0", "0.008", "0.016", "0.024", "0.032", "0.05"],
)
def test_a_killed_program_leaves_nothing(sandbox_home: Home, job_folder: Path, delay: str):
    done = subprocess.run(
        [sys.executable, HERE / "killed_program.py", sandbox_home.root, job_folder, delay],
        capture_output=True, text=True, check=False, timeout=60, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, f"a process stays: {done.returncode} {done.stderr}"
    ended = int(done.stdout)
    assert ended == 0 if delay == "running" else ended <= 1
    # Others may mount on this machine at the same time: only what concerns us.
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(job_folder) not in mounts
    assert str(sandbox_home.root) not in mounts


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="m4review-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def python_for_everyone() -> str | None:
    """A Python of this version that another user can start (root's own may lie below /root)."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in (Path(sys.executable).resolve(), Path("/usr/bin") / version):
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", str(name)]
        with contextlib.suppress(OSError):
            done = subprocess.run([*as_user, "-c", _SEES_ITSELF], check=False, capture_output=True)
            if done.returncode == 0:
                return str(name)
    return None


# Starts a program where the first folder is also to be seen as the second.
_WITH_BIND = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["docker", "bubblewrap"])
def test_as_an_ordinary_user(request: pytest.FixtureRequest, open_folder: Path, backend: str):
    engine = {}
    groups = "--clear-groups"
    if backend == "docker":
        place = request.getfixturevalue("docker_engine").place
        engine = {ENV_HOST: f"unix://{place}"}
        groups = f"--groups={place.stat().st_gid}"  # as members of the group docker have it
    command = [sys.executable]
    tree = ROOT
    if os.geteuid() == 0:
        python = python_for_everyone()
        if python is None:
            absent("a Python of this version that another user can start")
        os.chown(open_folder, USER, USER)
        tree = open_folder / "tree"  # our own may lie where only root comes
        tree.mkdir()
        command = [
            "unshare", "--mount", "sh", "-c", _WITH_BIND, "sh", str(ROOT), str(tree),
            "setpriv", f"--reuid={USER}", f"--regid={USER}", groups, python,
        ]  # fmt: skip
    site = Path(pytest.__file__).parents[1]
    if site.is_relative_to(ROOT):
        site = tree / site.relative_to(ROOT)
    done = subprocess.run(
        [*command, tree / HERE.relative_to(ROOT) / "ordinary_user.py", open_folder / "home",
         backend],
        capture_output=True, text=True, check=False, timeout=240, cwd="/",
        env={
            "PATH": "/usr/bin:/bin", "HOME": str(open_folder), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{tree}:{site}", **engine,
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    user = USER if os.geteuid() == 0 else os.geteuid()
    assert report == {
        "user": user,
        "python": list(sys.version_info[:2]),
        "canary": [],
        "ended": ["exited", 0, "done\n"],
        "owner": user,
        "broken": {},
        "kept": 9,
    }


INTO_THE_FIRST = """
import os
reached = []
for name in ("mem", "task/1/mem", "environ", "maps", "fd", "root", "oom_score_adj"):
    for flags in (os.O_RDWR, os.O_RDONLY):
        try:
            os.open(f"/proc/1/{name}", flags)
            reached.append(name)
        except OSError:
            pass
print(reached, os.listdir("/proc/1"), os.path.exists("/proc/self/mem"), "1" in os.listdir("/proc"))
"""


def test_the_first_process_is_out_of_reach_inside(tmp_path: Path, sandbox_home: Home):
    (tmp_path / "job").mkdir()
    seen = bytearray()
    Bubblewrap(sandbox_home).run(
        Command(argv=("python3", "-c", INTO_THE_FIRST), job_folder=tmp_path / "job"),
        on_output=lambda _, data: seen.extend(data),
    )
    assert seen.decode() == "[] [] True True\n"


def test_orphans_on_our_own_root_are_ended(tmp_path: Path, sandbox_home: Home):
    """A sandbox without the tie to its parent stands for one that cut it."""
    # A root of its own: other tests end the orphans on theirs at the same time.
    home = open_home(tmp_path / "home")
    root = home.sandbox / "own" / "root"
    shutil.copytree(sandbox_root(sandbox_home).path, root, symlinks=True, copy_function=os.link)
    read, write = os.pipe()
    outer = subprocess.Popen(
        ["bwrap", "--unshare-pid", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev",
         "--", "sh", "-c", "echo up; exec sleep 1000"],
        stdout=write,
    )  # fmt: skip
    os.close(write)
    assert os.read(read, 10) == b"up\n"
    assert end_orphans(home) == 0  # its bubblewrap lives
    outer.send_signal(signal.SIGKILL)
    outer.wait()
    assert end_orphans(open_home(tmp_path / "other")) == 0  # not on a root of that home
    assert end_orphans(home) == 1
    assert os.read(read, 10) == b""  # the last process that held it is gone
    os.close(read)
    assert end_orphans(home) == 0


def test_folders_of_dead_programs_are_removed(sandbox_home: Home):
    dead = subprocess.Popen(["true"])
    dead.wait()
    scratch = sandbox_home.scratch
    for name in (f"probe-{dead.pid}-x", f"promises-{dead.pid}-x", f"probe-{os.getpid()}-x"):
        (scratch / name).mkdir(parents=True)
    assert Bubblewrap(sandbox_home).remove_leftovers() >= 2
    assert [entry.name for entry in scratch.glob("pro*-x")] == [f"probe-{os.getpid()}-x"]
    (scratch / f"probe-{os.getpid()}-x").rmdir()
