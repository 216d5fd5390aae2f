"""What the attempts are up against: canary files in every place that matters, open listeners.

Planted are files with a fresh secret that everybody may read, so that nothing but the sandbox
protects them: in the folders of this program, the user's home, keyrings, temporary folders. Of what
cannot be planted (the state file, tasks with their answers, accounts) the paths are tried.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.base.content import content_folder
from engine.base.paths import Home
from engine.isolation.canary import Listeners
from engine.isolation.folders import remove_tree
from engine.isolation.planted import planted_name, planting_places, remove_planted_in

FOLDER = "promises"
"""How folders begin that are made for the attempts; the process's number follows."""
VARIABLE = "M4REVIEW_PLANTED"
"""A variable with a secret that must not be found inside, in no environment and no memory."""
_PLACES = ("/root", "/home", "/var", "/run", "/sys", "/tmp", "/etc")  # noqa: S108 - looked at
_SOCKETS = (
    *("/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock"),
    *("/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"),
    *("/tmp/.X11-unix/X0", "/run/snapd.socket", "/run/cups/cups.sock"),  # noqa: S108
)


class Plants:
    """Canary files and listeners of the host; to be used in a ``with``.

    Args:
        home: its folders get canary files; its scratch folder holds what has to lie in the open.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._stack = contextlib.ExitStack()
        self.token = secrets.token_hex(16)
        """The secret in every planted file."""
        self.variable_token = secrets.token_hex(16)
        """The secret in this process's environment while the attempts run."""
        self.files: tuple[str, ...] = ()
        """The planted files."""
        self.existing: tuple[str, ...] = ()
        """Private files and folders of the host that are there anyway."""
        self.sockets: tuple[str, ...] = ()
        """Unix sockets of the host, one of them ours and listening."""

    def __enter__(self) -> Plants:
        with contextlib.ExitStack() as stack:
            self._home.scratch.mkdir(parents=True, exist_ok=True)
            _remove_folders_of_the_dead(Path(tempfile.gettempdir()))
            self.place = self._folder(self._home.scratch, stack)
            public = self._folder(Path(tempfile.gettempdir()), stack)
            public.chmod(0o755)
            (self.place / "private").mkdir()
            private = [self.place / "private" / "secret.txt", public / "secret.txt"]
            for file in private:
                self._write(file)
            self.files = (*map(str, private), *self._plant(stack))
            self.existing = tuple(map(str, _existing(self._home)))
            os.environ[VARIABLE] = self.variable_token
            stack.callback(os.environ.pop, VARIABLE, None)
            self.listeners = stack.enter_context(Listeners())
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(str(public / "s"))
            unix.listen()
            (public / "s").chmod(0o666)
            self.unix_path = str(public / "s")
            self.sockets = (self.unix_path, *_sockets())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _plant(self, stack: contextlib.ExitStack) -> Iterator[str]:
        for folder in _folders(self._home):
            remove_planted_in([folder])
            file = folder / planted_name()
            with contextlib.suppress(OSError):  # a folder that we cannot write
                # Taken away even if it could be made but not filled.
                stack.callback(file.unlink, missing_ok=True)
                self._write(file)
                yield str(file)

    def _write(self, file: Path) -> None:
        file.write_text(self.token, encoding="ascii")
        file.chmod(0o644)  # its permissions shall not be what protects it

    @staticmethod
    def _folder(place: Path, stack: contextlib.ExitStack) -> Path:
        folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}-{os.getpid()}-", dir=place))
        stack.callback(remove_tree, folder)
        return folder


def inodes() -> Iterator[tuple[str, list[int]]]:
    """What the host's own folders are, so that they are recognised inside."""
    for place in _PLACES:
        with contextlib.suppress(OSError):
            found = Path(place).stat()
            yield place, [found.st_dev, found.st_ino]


def _folders(home: Home) -> tuple[Path, ...]:
    """Where canary files are planted: what is there of it."""
    wanted = [*planting_places(home), *filter(None, (_first(home.runs), _first(home.sources)))]
    return tuple(dict.fromkeys(wanted))


def _existing(home: Home) -> Iterator[Path]:
    """What nobody inside may see, and where nothing can be planted."""
    tasks = content_folder("tasks")
    wanted = [
        home.state,
        home.settings,
        home.audit,
        tasks,
        *sorted(tasks.glob("*/*/task.toml"))[:3],
    ]
    wanted += [Path(__file__).resolve(), Path("/etc/shadow"), Path("/etc/machine-id")]
    wanted += [Path("/root/.bash_history"), Path("~/.bash_history").expanduser()]
    yield from filter(_is_there, wanted)


def _is_there(path: Path) -> bool:
    """Can it be seen from here? An ordinary user may not look everywhere."""
    with contextlib.suppress(OSError):
        return path.exists()
    return False


def _first(folder: Path) -> Path | None:
    """One folder in `folder`: another run, a source."""
    with contextlib.suppress(OSError):
        return next((path for path in sorted(folder.iterdir()) if path.is_dir()), None)
    return None


def _sockets() -> Iterator[str]:
    yield from (name for name in _SOCKETS if _is_there(Path(name)))
    for variable in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"):
        value = os.environ.get(variable, "").removeprefix("unix:path=").split(",")[0]
        if value.startswith("/"):
            yield value


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _remove_folders_of_the_dead(temporary: Path) -> None:
    """Our public folders of programs that were killed."""
    for folder in temporary.glob(f"{FOLDER}-*"):
        owner = folder.name.split("-")[1]
        with contextlib.suppress(OSError):
            ours = folder.lstat().st_uid == _user() and not folder.is_symlink()
            if ours and owner.isdigit() and not Path(f"/proc/{owner}").exists():
                remove_tree(folder)
