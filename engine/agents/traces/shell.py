"""What a shell command line would run: calls with their words, redirects and standard input.

Read with a real grammar; nothing is executed. Words are given as the shell would make them as
far as that is certain: quotes are taken away, variables that were set to fixed text are put in,
what is only known when it runs stays as it stands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

MAX_TEXT = 1 << 20
"""A longer text is not looked at; no kernel takes such a command line."""
_DEPTH = 200


@dataclass(frozen=True, kw_only=True)
class Call:
    """One program that is started, or a shell builtin."""

    words: tuple[str, ...]
    """Name and arguments."""
    line: int
    """Line of the command text, from 1."""
    stdin: str | None = None
    """What it reads from standard input, where that is known (here document, fixed text)."""
    stdin_line: int = 1
    """Line of the command text on which `stdin` begins."""
    redirects: tuple[tuple[str, str], ...] = ()
    """Operator (``>``, ``>>``, ``<`` …) and target."""

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


@dataclass
class _State:
    text: bytes
    first: int
    variables: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def calls_in(text: str, *, line: int = 1) -> tuple[Call, ...]:
    """Every call in a command line, also those in substitutions, loops and functions.

    Args:
        text: what the shell is given; what is no valid shell gives what can be made out.
        line: the line on which the text begins.
    """
    if len(text) > MAX_TEXT or not text.strip():
        return ()
    data = text.encode("utf-8", "replace")
    tree = Parser(_language()).parse(data)
    state = _State(data, line)
    _walk(tree.root_node, state, 0, None)
    return tuple(state.calls)


def _walk(node: Node, state: _State, depth: int, stdin: tuple[str, int] | None) -> str | None:
    """Take the calls below `node`; gives the fixed text that it would print, if that is known."""
    if depth > _DEPTH:
        return None
    match node.type:
        case "variable_assignment":
            _assign(node, state, depth)
        case "command":
            return _command(node, state, depth, _Around(stdin))
        case "redirected_statement":
            return _redirected(node, state, depth, stdin)
        case "pipeline":
            return _pipeline(node.children, state, depth, stdin)
        case _:
            printed = None
            for child in node.named_children:
                printed = _walk(child, state, depth + 1, stdin)
            return printed if node.type in ("subshell", "compound_statement") else None
    return None


def _assign(node: Node, state: _State, depth: int) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None:
        state.variables[_text(name)] = "" if value is None else _word(value, state, depth)


def _pipeline(
    nodes: list[Node], state: _State, depth: int, stdin: tuple[str, int] | None
) -> str | None:
    given = stdin
    printed: str | None = None
    for node in nodes:
        if not node.is_named:
            continue
        printed = _walk(node, state, depth + 1, given)
        line = node.start_point[0] + state.first
        given = None if printed is None else (printed, line)
    return printed


@dataclass
class _Around:
    """What stands around a command: redirects, standard input, and what follows in its line."""

    stdin: tuple[str, int] | None
    redirects: list[tuple[str, str]] = field(default_factory=list)
    rest: list[Node] = field(default_factory=list)

    @property
    def into_file(self) -> bool:
        return any(operator.startswith((">", "&>")) for operator, _ in self.redirects)

    def take(self, node: Node, state: _State, depth: int) -> None:
        match node.type:
            case "file_redirect":
                self.redirects.append(_redirect(node, state, depth))
            case "herestring_redirect":
                line = node.start_point[0] + state.first
                self.stdin = (_last_word(node, state, depth) + "\n", line)
            case "heredoc_redirect":
                self._heredoc(node, state, depth)
            case _ if node.is_named and node.type != "heredoc_end":
                self.rest.append(node)

    def _heredoc(self, node: Node, state: _State, depth: int) -> None:
        fixed, tabs = False, False
        self.stdin = ("", node.start_point[0] + state.first + 1)
        for child in node.children:
            if child.type == "heredoc_start":
                fixed = _text(child)[:1] in ("'", '"', "\\")
            elif child.type == "<<-":
                tabs = True
            elif child.type == "heredoc_body":
                text = _text(child)
                if not fixed:
                    text = _put_in(text, state.variables)
                    for inner in child.children:
                        _walk(inner, state, depth + 1, None)
                text = re.sub(r"(?m)^\t+", "", text) if tabs else text
                self.stdin = (text, child.start_point[0] + state.first)
            else:
                self.take(child, state, depth)


def _redirected(node: Node, state: _State, depth: int, stdin: tuple[str, int] | None) -> str | None:
    body = node.child_by_field_name("body")
    around = _Around(stdin)
    for child in node.children:
        if child != body:
            around.take(child, state, depth)
    printed = None
    if body is not None and body.type == "command":
        printed = _command(body, state, depth + 1, around)
    else:
        before = len(state.calls)
        if body is not None:
            printed = _walk(body, state, depth + 1, around.stdin)
        if len(state.calls) == before:
            state.calls.append(Call(words=(), line=node.start_point[0] + state.first))
        # The redirects of a group or a pipeline belong to what runs last in it.
        last = state.calls[-1]
        state.calls[-1] = replace(last, redirects=last.redirects + tuple(around.redirects))
    printed = None if around.into_file else printed
    for other in around.rest:
        if other.type == "pipeline":
            pipe = None if printed is None else (printed, around.stdin[1] if around.stdin else 1)
            printed = _pipeline(other.children, state, depth + 1, pipe)
        else:
            printed = _walk(other, state, depth + 1, None)
    return printed


def _redirect(node: Node, state: _State, depth: int) -> tuple[str, str]:
    operator = "".join(
        child.type for child in node.children if not child.is_named and child.type != "\n"
    )
    return operator, _last_word(node, state, depth)


def _last_word(node: Node, state: _State, depth: int) -> str:
    named = [child for child in node.children if child.is_named and not child.is_error]
    return _word(named[-1], state, depth) if named else ""


def _command(node: Node, state: _State, depth: int, around: _Around) -> str | None:
    words: list[str] = []
    for child in node.children:
        if child.type == "variable_assignment":
            _assign(child, state, depth)
        elif child.type.endswith("_redirect"):
            around.take(child, state, depth)
        elif child.type == "command_name":
            # A variable without quotes may hold several words.
            name = "".join(_word(inner, state, depth) for inner in child.children)
            words += name.split() or [name]
        else:
            word = _word(child, state, depth)
            words += word.split() if child.type.endswith("expansion") else [word]
    call = Call(
        words=tuple(words),
        line=node.start_point[0] + state.first,
        stdin=None if around.stdin is None else around.stdin[0],
        stdin_line=1 if around.stdin is None else around.stdin[1],
        redirects=tuple(around.redirects),
    )
    state.calls.append(call)
    return None if around.into_file else printed(call)


def printed(call: Call) -> str | None:
    """What `echo`, `printf` and `cat` print, where their arguments say it all."""
    words = call.words[1:]
    if call.name == "echo":
        while words and re.fullmatch(r"-[neE]+", words[0]):
            words = words[1:]
        return " ".join(words) + "\n"
    if call.name == "printf" and words:
        form = words[1] if words[0] == "--" and len(words) > 1 else words[0]
        text = form.replace("%s", "\0").replace("%%", "%")
        for word in words[1:]:
            text = text.replace("\0", word.replace("\0", ""), 1)
        return _escapes(text.replace("\0", ""))
    if call.name == "cat" and set(words) <= {"-"}:
        return call.stdin
    return None


def _word(node: Node, state: _State, depth: int) -> str:
    text = _text(node)
    if depth > _DEPTH:
        return text
    depth += 1
    match node.type:
        case "raw_string":
            return text[1:-1]
        case "ansi_c_string":
            return _escapes(text[2:-1])
        case "string":
            return _string(node, state, depth)
        case "concatenation":
            return "".join(_word(child, state, depth) for child in node.children)
        case "word":
            return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)
    printed = None
    for child in node.named_children:
        printed = _walk(child, state, depth, None)
    if node.type == "command_substitution" and printed is not None:
        return printed.rstrip("\n")
    if node.type in ("simple_expansion", "expansion") and node.named_child_count == 1:
        return state.variables.get(_text(node.named_children[0]), text)
    return text


def _string(node: Node, state: _State, depth: int) -> str:
    """Between double quotes; the grammar leaves out white space between its parts."""
    pieces: list[bytes] = []
    place = node.start_byte + 1
    for child in node.children:
        if child.type == '"':
            continue
        pieces.append(state.text[place : child.start_byte])
        if child.type == "string_content":
            plain = re.sub(rb'\\([$`"\\])', rb"\1", (child.text or b"").replace(b"\\\n", b""))
            pieces.append(plain)
        else:
            pieces.append(_word(child, state, depth).encode("utf-8", "replace"))
        place = child.end_byte
    pieces.append(state.text[place : max(place, node.end_byte - 1)])
    return b"".join(pieces).decode("utf-8", "replace")


def _put_in(text: str, variables: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return variables.get(match[1] or match[2], match[0])

    text = re.sub(r"(?<!\\)\$(?:(\w+)|\{(\w+)\})", value, text)
    return re.sub(r"\\([$`\\])", r"\1", text)


def _escapes(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        try:
            return str(ast.literal_eval(f'"{match[0]}"'))
        except (ValueError, SyntaxError):
            return match[1]

    return re.sub(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|[abfnrtv\\'\"])", value, text)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
