"""Which paths an agent really tried to read: by the commands in its trace, not by its word.

A path counts when a program that reads or lists was started with it, when a file tool was given
it, or when a program of the agent's that was started opens it. Printing it, naming it in a comment
or in the report does not count, and neither does a command that was not let through.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from engine.agents.traces.launchers import all_calls
from engine.agents.traces.model import TraceStep
from engine.agents.traces.python import look_python
from engine.agents.traces.shell import Call

READERS = frozenset(
    {
        *("cat", "head", "tail", "less", "more", "nl", "tac", "cut", "awk", "sed", "sort", "wc"),
        *("ls", "dir", "vdir", "tree", "stat", "file", "find", "du", "readlink", "realpath"),
        *("test", "[", "[[", "grep", "egrep", "fgrep", "rg", "xxd", "od", "hexdump", "strings"),
        *("dd", "cp", "cmp", "diff", "md5sum", "sha1sum", "sha256sum", "base64"),
        *("tar", "zip", "gzip", "rsync", "cd", "pushd", "source", ".", "namei", "getfacl"),
        *("sqlite3", "duckdb", "xargs", "fold", "paste"),
    }
)
"""Programs that try to reach what they are given."""
_SHELLS = ("sh", "bash", "dash")
_OTHER_PROGRAMS = ("node", "perl", "ruby", "php", "lua", "deno", "bun")
_READS = re.compile(
    r"\bopen\s*\(|read_text|read_bytes|readFile|readdir|listdir|scandir|iterdir|\.stat\(|statSync"
    r"|existsSync|\.exists\(|os\.access|os\.walk|glob|subprocess|exec\w*\(|File\.|\bopendir\b"
)
_FOR = re.compile(r"\bfor\s+(\w+)\s+in\s+(.*?)(?:;|\n)\s*do\b(.*?)\bdone\b", re.DOTALL)
_WHILE = re.compile(
    r"\bwhile\b[^\n;]*?\bread\b(?:\s+-\w+)*\s+(\w+).*?\bdo\b(.*?)\bdone\b", re.DOTALL
)
_BRACKETS = re.compile(r"\[\[?\s((?:!\s+)?-[a-zA-Z]\s.*?)\s\]\]?", re.DOTALL)
"""Looking whether a file is there or can be read."""
_TOOLS = re.compile(r"read|list|ls|glob|grep|find|search|cat|view|stat", re.IGNORECASE)
_MOST_TEXT = 1 << 20


def probed(
    paths: Sequence[str],
    *,
    steps: Iterable[TraceStep] = (),
    opened: Iterable[str] = (),
    files: dict[str, str] | None = None,
) -> frozenset[str]:
    """Those of `paths` that were really tried.

    Args:
        paths: absolute paths inside.
        steps: the agent's trace.
        opened: lines of ``probes.jsonl`` (a watched script).
        files: programs that the agent left in its folder: name -> text.
    """
    known = dict(files or {})
    found: set[str] = set()
    left = list(dict.fromkeys(paths))
    for step in steps:
        for file in step.writes:
            if file.content is not None:
                known[file.path.rsplit("/", 1)[-1]] = file.content
        if step.running or (step.error is not None and step.error.kind == "denied"):
            continue
        tried = _of_step(step, left, known)
        found |= tried
        left = [path for path in left if path not in found]
    for line in opened:
        found |= _of_event(line, left)
    return frozenset(found)


def _of_step(step: TraceStep, paths: Sequence[str], known: dict[str, str]) -> set[str]:
    if step.command is not None:
        return _of_command(step.command[:_MOST_TEXT], paths, known)
    if step.kind not in ("file", "tool", "skill"):
        return set()
    found = {path for path in paths if path in map(_plain, step.reads)}
    if step.tool is not None and _TOOLS.search(step.tool):
        given = set(map(_plain, _texts(step.data)))
        found |= {path for path in paths if path in given}
    return found


def _of_command(text: str, paths: Sequence[str], known: dict[str, str]) -> set[str]:
    if not any(path in text for path in paths) and not known:
        return set()
    found: set[str] = set()
    for call in all_calls(text):
        found |= _of_call(call, paths, known)
    bare = _without_comments(text)
    for variable, listed, body in _FOR.findall(bare):
        if _reads_variable(body, variable):
            found |= set(paths) & set(map(_plain, _words(listed)))
    for variable, body in _WHILE.findall(bare):
        if _reads_variable(body, variable):
            lines = {line.strip().strip("'\"") for line in bare.splitlines()}
            found |= set(paths) & set(map(_plain, lines))
    for inner in _BRACKETS.findall(bare):
        found |= set(paths) & set(map(_plain, _words(inner)))
    return found


def _of_call(call: Call, paths: Sequence[str], known: dict[str, str]) -> set[str]:
    if not call.words:
        return set()
    given = _given(call)
    found = {path for path in paths if path in given}
    name = call.name
    if is_python(name) or name in _OTHER_PROGRAMS:
        for program in _programs(call, known):
            found |= _of_program(program, paths, known, python=is_python(name))
        return found
    started = [name] if name in known else []
    if name in _SHELLS:
        started += [word.rsplit("/", 1)[-1] for word in call.words[1:]]
    for script in started:
        if script in known:
            found |= _of_script(known[script], paths, known)
    return found


def _given(call: Call) -> set[str]:
    """What a call would read, as far as its words tell."""
    name, words = call.name, call.words[1:]
    given = {_plain(target) for operator, target in call.redirects if operator.startswith("<")}
    if name not in READERS:
        return given
    given |= {_plain(word.removeprefix("if=")) for word in words}
    if name == "xargs" and call.stdin and any(word in READERS for word in words):
        given |= set(map(_plain, _words(call.stdin)))
    if name in ("duckdb", "sqlite3"):
        text = " ".join([*words, call.stdin or ""])
        given |= {_plain(path) for path in re.findall(r"'([^']*)'", text)}
    return given


def is_python(name: str) -> bool:
    """Is a program called so a Python?"""
    return re.fullmatch(r"python[\d.]*", name) is not None


def _of_script(text: str, paths: Sequence[str], known: dict[str, str]) -> set[str]:
    """A program by its first line; a shell script when it has none."""
    others = {name: body for name, body in known.items() if body != text}  # never in circles
    if "python" in text.partition("\n")[0]:
        return _of_program(text, paths, others, python=True)
    return _of_command(text[:_MOST_TEXT], paths, others)


def _programs(call: Call, known: dict[str, str]) -> Iterator[str]:
    """The texts of programs that a call of an interpreter runs."""
    words = call.words[1:]
    for position, word in enumerate(words):
        if word in ("-c", "-e", "--eval", "-r") and position + 1 < len(words):
            yield words[position + 1]
            return
        if not word.startswith("-") and (text := known.get(word.rsplit("/", 1)[-1])) is not None:
            yield text
            return
    if call.stdin is not None:
        yield call.stdin


def _of_program(
    text: str, paths: Sequence[str], known: dict[str, str], *, python: bool
) -> set[str]:
    found: set[str] = set()
    if python:
        looked = look_python(text)
        found |= set(paths) & set(map(_plain, looked.reads))
        for command, _ in looked.commands:
            line = command if isinstance(command, str) else shlex.join(command)
            found |= _of_command(line, paths, {n: b for n, b in known.items() if b != text})
    if _READS.search(text):  # it opens what it has in a list, whatever its language
        found |= {path for path in paths if re.search(rf"""['"`]{re.escape(path)}/?['"`]""", text)}
    return found


def _of_event(line: str, paths: Sequence[str]) -> set[str]:
    """What Python told of a watched script."""
    try:
        event, arguments = json.loads(line)
        texts = list(_texts(arguments))
    except (ValueError, TypeError, RecursionError):
        return set()
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        words = [text for text in texts if text]
        found = _of_command(words[-1], paths, {}) if words else set()
        if len(words) > 1:
            found |= _of_command(shlex.join(words[1:]), paths, {})
        return found
    given = set(map(_plain, texts))
    return {path for path in paths if path in given}


def _reads_variable(body: str, variable: str) -> bool:
    wanted = (f"${variable}", f"${{{variable}}}")
    for call in all_calls(body):
        words = [*call.words[1:], *(target for _, target in call.redirects)]
        used = any(mark in word for word in words for mark in wanted)
        if used and (call.name in READERS or any(op.startswith("<") for op, _ in call.redirects)):
            return True
    return any(mark in inner for inner in _BRACKETS.findall(body) for mark in wanted)


def _texts(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _without_comments(text: str) -> str:
    return re.sub(r"(?m)(^|\s)#.*$", r"\1", text)


def _plain(path: str) -> str:
    """A path without what makes no difference: a slash or a star at its end."""
    return path.removesuffix("*").rstrip("/") or path
