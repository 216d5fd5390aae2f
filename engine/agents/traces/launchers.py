"""Calls that start another call: `env`, `timeout`, `xargs`, `bash -c`, `eval`, and `find -exec`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine.agents.traces.shell import Call, calls_in

_WRAPPERS: Mapping[str, tuple[str, ...]] = {
    # Each with those of its options that take a value.
    "sudo": ("-u", "-g", "-C", "-h", "-p"),
    "doas": ("-u", "-C"),
    "env": ("-u", "-C", "--unset", "--chdir"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "nice": ("-n", "--adjustment"),
    "ionice": ("-c", "-n", "-p"),
    "nohup": (),
    "setsid": (),
    "stdbuf": ("-i", "-o", "-e"),
    "time": ("-f", "-o"),
    "exec": ("-a",),
    "command": (),
    "builtin": (),
    "busybox": (),
    "xargs": ("-n", "-I", "-P", "-d", "-L", "-s", "-a", "-E"),
    "strace": ("-e", "-o", "-p", "-s"),
    "unbuffer": (),
    "proot": ("-r", "-b", "-w"),
    "chronic": (),
    "parallel": ("-j", "-n", "-I"),
}
_ASKS = ("-v", "-V", "--version", "--help")
_SHELLS_DEEP = 5
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish")
"""Programs that take a command line after ``-c``."""


def unwrapped(call: Call) -> Call:
    """The call that a wrapper (`env`, `timeout`, `xargs` …) makes; the call itself without one."""
    for _ in range(8):
        options = _WRAPPERS.get(call.name)
        words = call.words[1:]
        if options is None or (words and words[0] in _ASKS):
            return call
        while words and (words[0].startswith("-") or _is_setting(call.name, words[0])):
            words = words[2:] if words[0] in options else words[1:]
        if call.name == "timeout":
            words = words[1:]
        if not words:
            return call
        if call.name in ("xargs", "parallel"):
            words = (*words, *((call.stdin or "{}").split()[:100]))
        call = replace(call, words=words)
    return call


def _is_setting(name: str, word: str) -> bool:
    return name in ("env", "sudo", "doas") and re.match(r"[A-Za-z_]\w*=", word) is not None


def all_calls(text: str, *, line: int = 1, depth: int = 0) -> Iterator[Call]:
    """Every call in a command line, wrappers taken away, and those of the shells that it starts.

    Args:
        text: the command line.
        line: the line on which it begins.
        depth: how many shells deep it stands; five are followed.
    """
    for call in calls_in(text, line=line):
        bare = unwrapped(call)
        yield bare
        if depth < _SHELLS_DEEP:
            for inner, start in _inner(bare):
                yield from all_calls(inner, line=start, depth=depth + 1)


def _inner(call: Call) -> Iterator[tuple[str, int]]:
    """Command lines that a call gives to another shell, with the line on which each begins."""
    words = call.words[1:]
    if call.name in SHELLS or call.name in ("script", "su"):
        given = _after(words, r"-[a-zA-Z]*c|--command")
        if given is not None:
            yield given, call.line
        elif call.stdin is not None and all(word.startswith("-") for word in words):
            yield call.stdin, call.stdin_line
    elif call.name in ("eval", "watch"):
        yield " ".join(word for word in words if not word.startswith("-")), call.line
    elif call.name == "find":
        for index, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok"):
                yield _quoted(words[index + 1 :]), call.line


def _after(words: tuple[str, ...], option: str) -> str | None:
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(option, word):
            return words[index + 1]
    return None


def _quoted(words: tuple[str, ...]) -> str:
    return shlex.join(word for word in words if word not in (";", "+"))
