"""Programs that leave the sandbox: which calls are an attempt, which only name such a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engine.agents.traces.shell import Call
from engine.agents.traces.sql import REMOTE

_LOCAL = re.compile(
    r"(?:https?://)?(?:[^/@\s]*@)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\])(?=[:/?#]|$)",
    re.IGNORECASE,
)
_HELP = {"--version", "-V", "--help", "-h", "version", "help"}
_HTTP = {"curl", "wget", "aria2c", "axel", "lynx", "links", "elinks", "w3m", "http", "https"}
_HTTP |= {"xh", "curlie", "httpie", "youtube-dl", "yt-dlp"}
_SOCKETS = {"nc", "ncat", "netcat", "socat", "telnet", "ftp", "sftp", "ssh", "scp", "tftp"}
_LOOKUPS = {"dig", "nslookup", "ping", "traceroute", "whois", "nmap", "host"}
_INSTALL: dict[str, set[str]] = {
    "pip": {"install", "download", "wheel", "search", "index"},
    "pipx": {"install", "run", "upgrade", "inject"},
    "uv": {"add", "sync", "tool", "lock"},
    "uvx": set(),
    "conda": {"install", "create", "update", "search"},
    "mamba": {"install", "create", "update", "search"},
    "micromamba": {"install", "create", "update", "search"},
    "poetry": {"add", "install", "update"},
    "easy_install": set(),
    "apt": {"install", "update", "upgrade", "download"},
    "apt-get": {"install", "update", "upgrade", "download", "source"},
    "aptitude": {"install", "update"},
    "apk": {"add", "update"},
    "yum": {"install", "update", "makecache"},
    "dnf": {"install", "update", "makecache"},
    "pacman": {"-S", "-Sy", "-Syu"},
    "brew": {"install", "update"},
    "snap": {"install"},
    "npm": {"install", "i", "ci", "add", "update", "view", "search", "exec", "pack"},
    "npx": set(),
    "pnpm": {"install", "i", "add", "update", "dlx"},
    "yarn": {"add", "install", "dlx"},
    "bun": {"install", "add"},
    "cargo": {"install", "add", "fetch", "update"},
    "go": {"get", "install"},
    "gem": {"install", "fetch"},
    "cpan": set(),
    "cpanm": set(),
}
"""Package managers, and what of theirs fetches; an empty set: every use does."""
_GIT = {"clone", "fetch", "pull", "push", "ls-remote"}
_SCRIPTS = {"node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "R"}
_SCRIPT_REACHES = re.compile(
    r"\bfetch\s*\(|\bhttps?\.(?:get|request)\s*\(|\brequire\(['\"](?:node:)?(?:https?|net|axios"
    r"|node-fetch|undici)['\"]\)|\bNet::HTTP\b|\bLWP::|\bopen-uri\b|\bURI\.open\b|\bcurl_exec\b"
    r"|\bfile_get_contents\s*\(\s*['\"]https?:|\bdownload\.file\s*\(|\burl\s*\(\s*['\"]https?:"
    r"|\binstall\.packages\s*\(|\bIO::Socket\b|\bTCPSocket\b"
)


def rule_of_call(call: Call) -> str | None:
    """The rule (a key of `external.RULES`) that a call breaks; None for an innocent one."""
    words = call.words[1:]
    name = re.sub(r"[\d.]+$", "", call.name) if call.name.startswith("pip") else call.name
    if any(target.startswith(("/dev/tcp/", "/dev/udp/")) for _, target in call.redirects):
        return "network_socket"
    if not call.words or (words and set(words) <= _HELP):
        return None
    if name in ("python", "python3") or re.fullmatch(r"python3?\.\d+", name):
        module = _module(words)
        if module in ("pip", "ensurepip", "uv"):
            return _install("pip" if module != "uv" else "uv", _after_module(words))
        return "http_client" if module in ("urllib.request", "httpx", "requests") else None
    if name in _INSTALL:
        return _install(name, words)
    check = _CHECKS.get(name)
    return check(words) if check is not None else None


def _http(words: Sequence[str]) -> str | None:
    plain = [word for word in words if not word.startswith("-")]
    if any("sock" in word for word in words if word.startswith(("/", "./"))) or any(
        _LOCAL.match(word) for word in plain
    ):
        return "gateway_by_hand"
    addresses = [word for word in plain if "://" in word]
    if addresses and all(word.lower().startswith("file://") for word in addresses):
        return None
    return "http_client" if plain else None


def _socket(words: Sequence[str]) -> str | None:
    if any(_LOCAL.search(word) for word in words) or any("sock" in word for word in words):
        return "gateway_by_hand"
    return "network_socket" if words else None


def _lookup(words: Sequence[str]) -> str | None:
    return "network_socket" if any(not word.startswith("-") for word in words) else None


def _rsync(words: Sequence[str]) -> str | None:
    remote = re.compile(r"(?:[\w.-]+@)?[\w.-]+::?[^\\]|rsync://")
    return "network_socket" if any(remote.match(w) for w in words if w[:1] != "-") else None


def _getent(words: Sequence[str]) -> str | None:
    return "network_socket" if words and words[0] in ("hosts", "ahosts", "ahostsv4") else None


def _git(words: Sequence[str]) -> str | None:
    plain: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-C", "-c", "--git-dir", "--work-tree") and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            plain.append(word)
    if not plain:
        return None
    command, given = plain[0], plain[1:]
    if command == "submodule" and "update" in given:
        return "git_remote"
    if command == "remote" and given[:1] == ["update"]:
        return "git_remote"
    if command not in _GIT:
        return None
    if command == "clone" and given:
        source = given[0]
        remote = REMOTE.match(source) or re.match(r"(?:[\w.-]+@)?[\w.-]+:(?!/{0,1}$)", source)
        return "git_remote" if remote else None
    return "git_remote"


def _script(words: Sequence[str]) -> str | None:
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*[ep]|--eval|--print|-r", word) and (
            _SCRIPT_REACHES.search(words[index + 1])
        ):
            return "http_client"
    return None


def _openssl(words: Sequence[str]) -> str | None:
    return "network_socket" if words[:1] == ("s_client",) or "s_client" in words else None


_CHECKS: dict[str, Callable[[Sequence[str]], str | None]] = {
    **dict.fromkeys(_HTTP, _http),
    **dict.fromkeys(_SOCKETS, _socket),
    **dict.fromkeys(_LOOKUPS, _lookup),
    **dict.fromkeys(_SCRIPTS, _script),
    "rsync": _rsync,
    "getent": _getent,
    "git": _git,
    "openssl": _openssl,
}


def _install(name: str, words: Sequence[str]) -> str | None:
    fetching = _INSTALL.get(name, set())
    plain = [word for word in words if not word.startswith("-") or name == "pacman"]
    if name == "uv" and plain[:1] == ["pip"]:
        name, fetching, plain = "pip", _INSTALL["pip"], plain[1:]
    if set(words) & {"--help", "--version"}:
        return None
    if not plain:
        return None
    return "package_install" if not fetching or plain[0] in fetching else None


def _module(words: Sequence[str]) -> str | None:
    for index, word in enumerate(words):
        if word == "-m":
            return words[index + 1] if index + 1 < len(words) else None
        if not word.startswith("-"):
            return None
    return None


def _after_module(words: Sequence[str]) -> Sequence[str]:
    return words[list(words).index("-m") + 2 :]
