"""What a shell command comes to: the SQL in it, the files it reads and writes, its programs.

Follows shells in shells, programs given on the command line or by standard input, and scripts
that the agent wrote before.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.agents.traces.launchers import SHELLS, all_calls
from engine.agents.traces.model import WrittenFile
from engine.agents.traces.python import look_python
from engine.agents.traces.reach import rule_of_call
from engine.agents.traces.shell import Call, printed
from engine.agents.traces.sql import REMOTE, fetches, is_sql, statements, written_by
from engine.base.text import neutralise

_DEEP = 4
_CONTENT = 256 << 10
_KEPT = 500
_PYTHON = re.compile(r"(?:python|pypy|ipython)[\d.]*$")
_FILE = re.compile(r"(?:^|/)\w[^/\s]*\.\w+$")
_DOT = re.compile(r"\s*\.(shell|system|sh|read|output|once)\s+(.+)")
_SQL_SHELLS = {"duckdb", "sqlite3", "psql"}
_LOOKS = {
    *("ls", "find", "test", "[", "stat", "du", "mkdir", "touch", "rm", "echo", "printf", "file"),
    *("realpath", "dirname", "basename", "cd", "wc", "which", "tree", "chmod", "pwd", "export"),
}
"""Calls that name a file without reading it."""
_SQL_WITH_VALUE = {"-c", "-cmd", "-s", "--command", "-init", "-separator", "-nullvalue", "-f"}


class Known:
    """Scripts that the agent wrote, by path, so that running one is known for what it does."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, file: WrittenFile) -> tuple[str, ...]:
        """Take a file over; gives the SQL in it."""
        if file.how == "delete":
            self._texts.pop(_plain(file.path), None)
            return ()
        if file.content is None or len(self._texts) >= _KEPT:
            return ()
        self.put(file.path, file.content)
        return sql_of(file.path, file.content)

    def put(self, path: str, text: str) -> None:
        """Remember a script."""
        self._texts[_plain(path)] = text

    def copy(self) -> Known:
        """The same scripts, apart from what comes later."""
        other = Known()
        other._texts = dict(self._texts)
        return other

    def text(self, path: str) -> str | None:
        """The content of a script, if it was seen being written."""
        path = _plain(path)
        if path in self._texts:
            return self._texts[path]
        name = posixpath.basename(path)
        same = [text for other, text in self._texts.items() if posixpath.basename(other) == name]
        return same[0] if len(same) == 1 else None


class Unlooked(Known):
    """Says to the readers of traces: do not look into commands and files, a `Looker` will."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a command comes to."""

    reaches: tuple[tuple[str, str | None, int], ...]
    """Rule, script (None: the command itself) and line of what leaves the sandbox."""
    sql: tuple[str, ...]
    """SQL texts, each once."""
    writes: tuple[WrittenFile, ...]
    """Files that it writes, each once."""
    reads: tuple[str, ...]
    """Files whose content it opens, as far as words say it."""


def sql_of(path: str, text: str) -> tuple[str, ...]:
    """The SQL in a file, by its kind."""
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in (".sql", ".ddl"):
        found = statements(text)
    elif suffix == ".py":
        found = tuple(look_python(text).sql)
    else:
        found = ()
    return tuple(neutralise(one) for one in found)


def look(command: str, known: Known) -> Found:
    """Say what a command comes to; scripts that it writes are added to `known`."""
    looking = _Look(known)
    looking.command(command)
    return looking.found()


def look_script(path: str, text: str, known: Known | None = None) -> Found:
    """Say what a script of an agent's comes to when it is run."""
    looking = _Look(known or Known())
    looking.content(path, text)
    return looking.found()


def patched(patch: str) -> list[WrittenFile]:
    """The files of a patch between ``*** Begin Patch`` and ``*** End Patch``."""
    files: list[WrittenFile] = []
    content: list[str] | None = None
    for line in patch.splitlines():
        head = re.match(r"\*\*\* (Add|Update|Delete) File: (.+)", line)
        if head:
            if content is not None:
                files[-1] = _with(files[-1], content)
            hows: Mapping[str, Any] = {"Add": "add", "Update": "edit", "Delete": "delete"}
            files.append(WrittenFile(path=neutralise(head[2].strip())[:1000], how=hows[head[1]]))
            content = [] if head[1] == "Add" else None
        elif content is not None and line.startswith("+"):
            content.append(line[1:])
    if content is not None:
        files[-1] = _with(files[-1], content)
    return files


def _with(file: WrittenFile, content: list[str]) -> WrittenFile:
    return WrittenFile(path=file.path, how=file.how, content="\n".join(content) + "\n")


class _Look:
    """Follows a command into all that it starts."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._script: str | None = None
        self._depth = 0
        self._folder = ""
        self._reaches: dict[tuple[str, str | None, int], None] = {}
        self._sql: dict[str, None] = {}
        self._writes: dict[str, WrittenFile] = {}
        self._reads: dict[str, None] = {}

    def found(self) -> Found:
        """What was found."""
        return Found(
            reaches=tuple(self._reaches),
            sql=tuple(self._sql),
            writes=tuple(self._writes.values()),
            reads=tuple(self._reads),
        )

    def command(self, text: str, line: int | None = None) -> None:
        """A command line; all its places are `line` when one is given."""
        if self._depth > _DEEP:
            return
        for call in all_calls(text):
            self._call(call if line is None else replace(call, line=line, stdin_line=line))

    def content(self, path: str, text: str) -> None:
        """A script that is run."""
        if self._depth >= _DEEP:
            return
        head = text[:200].split("\n", 1)[0]
        outer, self._script = self._script, path
        self._depth += 1
        if path.endswith(".py") or (head.startswith("#!") and "python" in head):
            self._python(text)
        elif path.endswith((".sql", ".ddl")):
            self._statements(text, None)
        elif path.endswith((".sh", ".bash")) or head.startswith("#!"):
            self.command(text)
        self._depth -= 1
        self._script = outer

    def _reach(self, rule: str, line: int) -> None:
        self._reaches.setdefault((rule, self._script, line))

    def _call(self, call: Call) -> None:
        if (rule := rule_of_call(call)) is not None:
            self._reach(rule, call.line)
        self._redirects(call)
        words = call.words[1:]
        if call.name == "cd" and words:
            self._folder = posixpath.join(self._folder, words[0])
        if call.name not in _LOOKS:
            for word in words:
                if _FILE.search(word) and not REMOTE.match(word):
                    self._reads.setdefault(posixpath.join(self._folder, word))
        if _PYTHON.fullmatch(call.name):
            self._python_call(call)
        elif call.name in _SQL_SHELLS:
            self._sql_call(call)
        elif call.name in (*SHELLS, "source", "."):
            self._run(next((word for word in words if not word.startswith("-")), ""))
        else:
            self._writer(call)

    def _writer(self, call: Call) -> None:
        words = call.words[1:]
        if call.name == "tee":
            for word in words:
                if not word.startswith("-"):
                    self._write(WrittenFile(path=word, how="redirect", content=call.stdin))
        elif call.name == "apply_patch":
            for file in patched(call.stdin or "\n".join(words)):
                self._write(file)
        elif call.words and ("/" in call.words[0] or call.name.endswith((".sh", ".py"))):
            self._run(call.words[0])

    def _redirects(self, call: Call) -> None:
        for operator, target in call.redirects:
            if not operator.startswith((">", "&>")):
                continue
            if target.isdigit() or target.startswith("/dev/"):
                continue
            content = call.stdin if call.name == "cat" and len(call.words) == 1 else None
            if call.name in ("echo", "printf") and operator == ">":
                content = printed(call)
            self._write(WrittenFile(path=target, how="redirect", content=content))

    def _write(self, file: WrittenFile) -> None:
        if file.content is not None and len(file.content) > _CONTENT:
            file = replace(file, content=None)
        for text in self._known.add(file):
            self._sql.setdefault(text)
        path = neutralise(file.path)[:1000]
        if path:
            self._writes[path] = replace(file, path=path)

    def _run(self, path: str) -> None:
        text = self._known.text(path) if path else None
        if text is not None:
            self.content(path, text)

    def _python_call(self, call: Call) -> None:
        words = call.words[1:]
        for index, word in enumerate(words):
            if re.fullmatch(r"-[a-zA-Z]*c", word):
                if index + 1 < len(words):
                    self._python(words[index + 1])
                return
            if word == "-m":
                return
            if word == "-":
                break
            if not word.startswith("-"):
                self._run(word)
                return
        if call.stdin is not None:
            self._python(call.stdin)

    def _python(self, code: str) -> None:
        program = look_python(code)
        for text in program.sql:
            self._sql.setdefault(neutralise(text))
        for path in program.writes:
            self._write(WrittenFile(path=path, how="call"))
        for path in program.reads:
            self._reads.setdefault(path)
        for rule, line in program.reaches:
            self._reach(rule, line)
        self._depth += 1
        for command, line in program.commands:
            text = command if isinstance(command, str) else shlex.join(command)
            self.command(text, line)
        self._depth -= 1

    def _sql_call(self, call: Call) -> None:
        for operator, target in call.redirects:
            if operator == "<":
                self._run(target)
        given, scripts = _sql_words(call)
        for path in scripts:
            self._run(path)
        for text in (*given, call.stdin or ""):
            self._statements(text, call.line)

    def _statements(self, text: str, line: int | None) -> None:
        """SQL, and the commands of the ``duckdb`` and ``sqlite3`` programs that begin with a dot.

        Their places are `line` when one is given, else those in the text.
        """
        for number, row in enumerate(text.splitlines(), 1):
            dot = _DOT.match(row)
            if dot and dot[1] in ("shell", "system", "sh"):
                self.command(dot[2], line or number)
            elif dot and dot[1] == "read":
                self._run(dot[2].strip("'\" "))
            elif dot:
                self._write(WrittenFile(path=dot[2].strip("'\" "), how="redirect"))
        text = re.sub(r"(?m)^\s*\.\w.*$", "", text)
        for one in statements(text):
            self._sql.setdefault(neutralise(one))
        for path in written_by(text):
            self._write(WrittenFile(path=path, how="copy"))
        for fetch in fetches(text):
            self._reach(fetch.rule, line or fetch.line)


def _sql_words(call: Call) -> tuple[list[str], list[str]]:
    """SQL texts and script files among the words of ``duckdb`` and the like."""
    words = list(call.words[1:])
    given: list[str] = []
    scripts: list[str] = []
    plain = 0
    while words:
        word = words.pop(0)
        if word in _SQL_WITH_VALUE and words:
            value = words.pop(0)
            if word in ("-init", "-f"):
                scripts.append(value)
            elif word in ("-c", "-cmd", "-s", "--command"):
                given.append(value)
        elif not word.startswith("-"):
            plain += 1
            # The first word is the database; what follows is SQL.
            if plain > 1 or is_sql(word):
                given.append(word)
    return given, scripts


def _plain(path: str) -> str:
    return posixpath.normpath(path.removeprefix("/job/"))
