"""What a Python program of an agent's would do: SQL, files, other programs, the network.

Read by its syntax tree; never run, never imported.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from engine.agents.traces.sql import MAX_SQL, REMOTE, fetches, is_sql, written_by

MAX_PYTHON = 512 << 10
"""Characters; a longer program is not looked at."""

_MODULES = {
    "requests",
    "httpx",
    "aiohttp",
    "urllib3",
    "pycurl",
    "ftplib",
    "smtplib",
    "poplib",
    "imaplib",
    "telnetlib",
    "paramiko",
    "websocket",
    "websockets",
    "wget",
    "gdown",
    "openai",
    "anthropic",
    "boto3",
    "kaggle",
    "huggingface_hub",
    "xmlrpc.client",
    "mechanize",
    "selenium",
    "playwright",
}
"""Modules whose calls reach other machines."""
_CALLS = {
    "urllib.request.urlopen": "http_client",
    "urllib.request.urlretrieve": "http_client",
    "urllib.request.build_opener": "http_client",
    "urllib.request.URLopener": "http_client",
    "http.client.HTTPConnection": "http_client",
    "http.client.HTTPSConnection": "http_client",
    "socket.create_connection": "network_socket",
    "socket.getaddrinfo": "network_socket",
    "socket.gethostbyname": "network_socket",
    "asyncio.open_connection": "network_socket",
    "asyncio.open_unix_connection": "network_socket",
    "datasets.load_dataset": "http_client",
    "webbrowser.open": "http_client",
    "pip.main": "package_install",
    "pip._internal.main": "package_install",
    "pip._internal.cli.main.main": "package_install",
    "ensurepip.bootstrap": "package_install",
}
_HARMLESS = re.compile(
    r"(?:requests\.(?:exceptions|utils|structures|codes|Request|certs)"
    r"|urllib3\.(?:exceptions|util|disable_warnings)|httpx\.(?:URL|Timeout|Limits|\w*Error)"
    r"|aiohttp\.(?:ClientTimeout|\w*Error)|boto3\.__|openai\.\w*Error|websockets?\.exceptions)"
)
_SHELLS = {
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "asyncio.create_subprocess_exec",
    "os.execvp",
    "os.execv",
    "os.execlp",
    "pty.spawn",
}
_RUNS_SQL = {"execute", "sql", "query", "executemany", "read_sql", "read_sql_query", "from_query"}
_OPENERS = re.compile(r"read_\w+|from_\w+|scan_\w+|urlopen|urlretrieve|open|genfromtxt|loadtxt")
_WRITERS = {"to_csv", "to_parquet", "to_json", "to_excel", "write_csv", "write_parquet"}
_IMPORTERS = {"__import__", "importlib.import_module"}
_FAKE = "\x00"


@dataclass
class Program:
    """What was found in a program."""

    sql: list[str] = field(default_factory=list)
    """Texts of SQL, as written."""
    writes: list[str] = field(default_factory=list)
    """Files that it writes, where they are named by fixed text."""
    reads: list[str] = field(default_factory=list)
    """Files that it opens to read."""
    commands: list[tuple[str | tuple[str, ...], int]] = field(default_factory=list)
    """Command lines or argument lists that it starts, with the line."""
    reaches: list[tuple[str, int]] = field(default_factory=list)
    """Rule and line of what leaves the sandbox."""


def look_python(code: str) -> Program:
    """Read a program; one that is no valid Python is looked at by its words."""
    found = Program()
    if len(code) > MAX_PYTHON:
        return found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the agent's code
            tree = ast.parse(code)
        _Walk(found).module(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found.reaches += _by_words(code)
    return found


class _Walk:
    def __init__(self, found: Program) -> None:
        self._found = found
        self._names: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._sockets: set[str] = set()

    def module(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._bind(node)
        sql: dict[str, None] = {}
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                text = self._fixed(node)
                if text and is_sql(text):
                    sql.setdefault(text.replace(_FAKE, "{}"))
        self._found.sql += _without_pieces(sql)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                self._names[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            call = node.context_expr
            if isinstance(call, ast.Call) and self._dotted(call.func) == "socket.socket":
                self._sockets.add(node.optional_vars.id)

    def _assign(self, target: ast.expr, node: ast.Assign) -> None:
        if isinstance(target, ast.Name):
            if (text := self._fixed(node.value)) is not None:
                self._texts[target.id] = text
            elif isinstance(node.value, ast.Call):
                name = self._dotted(node.value.func)
                if name in _IMPORTERS and (module := self._argument(node.value)):
                    self._names[target.id] = module
                elif name == "socket.socket":
                    self._sockets.add(target.id)

    def _call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else name
        argument = self._argument(node)
        rule = _rule_of(name)
        if rule is None and self._is_connect(node):
            rule = "network_socket"
        if rule is None and argument and REMOTE.match(argument) and _OPENERS.fullmatch(method):
            rule = "http_client"
        if rule is not None:
            self._found.reaches.append((rule, node.lineno))
        if name in _SHELLS:
            self._start(node)
        elif name in ("exec", "eval") and argument:
            inner = look_python(argument)
            self._found.reaches += [(rule, node.lineno) for rule, _ in inner.reaches]
            self._found.commands += [(command, node.lineno) for command, _ in inner.commands]
        elif name == "runpy.run_module" and argument == "pip":
            self._found.reaches.append(("package_install", node.lineno))
        if method in _RUNS_SQL and argument and len(argument) <= MAX_SQL:
            self._found.reaches += [(fetch.rule, node.lineno) for fetch in fetches(argument)]
            self._found.writes += written_by(argument)
        self._files(node, name, method, argument)

    def _files(self, node: ast.Call, name: str, method: str, argument: str | None) -> None:
        if name in ("open", "io.open", "gzip.open") and argument:
            mode = self._fixed(node.args[1]) if len(node.args) > 1 else None
            for keyword in node.keywords:
                mode = self._fixed(keyword.value) if keyword.arg == "mode" else mode
            writes = mode is not None and any(letter in mode for letter in "wax+")
            (self._found.writes if writes else self._found.reads).append(argument)
        elif method in _WRITERS and argument:
            self._found.writes.append(argument)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            path = self._argument(node.func.value)
            if path and self._dotted(node.func.value.func) in ("pathlib.Path", "Path"):
                if method in ("write_text", "write_bytes"):
                    self._found.writes.append(path)
                elif method in ("read_text", "read_bytes", "open"):
                    self._found.reads.append(path)

    def _start(self, node: ast.Call) -> None:
        if not node.args:
            return
        first = node.args[0]
        if isinstance(first, ast.List | ast.Tuple):
            words = tuple(self._word(item) for item in first.elts)
            self._found.commands.append((words, node.lineno))
        elif len(node.args) > 1 and "exec" in self._dotted(node.func):
            words = tuple(self._word(item) for item in node.args)
            self._found.commands.append((words, node.lineno))
        elif (text := self._fixed(first)) is not None:
            self._found.commands.append((text.replace(_FAKE, "X"), node.lineno))

    def _word(self, node: ast.expr) -> str:
        if self._dotted(node) == "sys.executable":
            return "python3"
        return (self._fixed(node) or "?").replace(_FAKE, "X")

    def _is_connect(self, node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr not in ("connect", "connect_ex", "sendto"):
            return False
        holder = node.func.value
        known = isinstance(holder, ast.Name) and holder.id in self._sockets
        direct = isinstance(holder, ast.Call) and self._dotted(holder.func) == "socket.socket"
        pair = (
            "socket" in self._names.values()
            and any(
                isinstance(item, ast.Tuple) and len(item.elts) == 2  # noqa: PLR2004 - host and port
                for item in node.args[:1]
            )
        )
        return known or direct or pair

    def _dotted(self, node: ast.AST) -> str:
        """A name with its module, as far as imports say what it is."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self._names.get(node.id, node.id if not parts else f"?{node.id}"))
        elif isinstance(node, ast.Call) and self._dotted(node.func) in _IMPORTERS:
            parts.append(self._argument(node) or "?")
        elif isinstance(node, ast.Call):
            parts.append("?()")
        else:
            parts.append("?")
        return ".".join(reversed(parts))

    def _argument(self, node: ast.Call) -> str | None:
        if node.args:
            return self._fixed(node.args[0])
        values = (
            keyword.value
            for keyword in node.keywords
            if keyword.arg in ("url", "query", "path", "path_or_buf", "filepath_or_buffer")
        )
        return next((text for value in values if (text := self._fixed(value))), None)

    def _fixed(self, node: ast.AST) -> str | None:
        """The text that an expression has for certain; a mark in place of what it puts in."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self._texts.get(node.id)
        if isinstance(node, ast.JoinedStr):
            parts = (
                self._fixed(part.value if isinstance(part, ast.FormattedValue) else part)
                for part in node.values
            )
            return "".join(_FAKE if part is None else part for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._fixed(node.left), self._fixed(node.right)
            return None if left is None else left + (_FAKE if right is None else right)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("strip", "format", "dedent", "replace")
        ):
            inner = node.args[0] if node.func.attr == "dedent" and node.args else None
            return self._fixed(inner or node.func.value)
        return None


def _rule_of(name: str) -> str | None:
    if name in _CALLS:
        return _CALLS[name]
    if _HARMLESS.match(name):
        return None
    top = name.split(".", 1)[0]
    if "." in name and (top in _MODULES or name.rsplit(".", 1)[0] in _MODULES):
        return "http_client"
    return None


def _without_pieces(texts: Mapping[str, None]) -> Iterator[str]:
    """Without the fixed parts of a text that stands there as a whole."""
    every = list(texts)
    for text in every:
        if not any(text != other and text in other for other in every):
            yield text


def _by_words(code: str) -> list[tuple[str, int]]:
    """For a program that this Python's grammar refuses: it may be a newer one's."""
    found: list[tuple[str, int]] = []
    for number, line in enumerate(code.splitlines(), 1):
        bare = re.sub(r"#.*", "", line)
        if re.search(
            r"\b(?:requests|httpx)\s*\.\s*(?:get|post|put|head|request|Session|Client)\s*\("
            r"|\burl(?:open|retrieve)\s*\(|\bread_\w+\(\s*[frb]?['\"]https?://",
            bare,
        ):
            found.append(("http_client", number))
    return found
