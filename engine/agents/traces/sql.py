"""SQL in an agent's commands and programs: what is a statement, what it writes, what it fetches.

Read by tokens, so that comments and quoted text are known for what they are. Never executed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.dialects.duckdb import DuckDB

# Its warnings quote the statement; no log may hold that.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

MAX_SQL = 128 << 10
"""Characters; a longer text is not looked at."""
_PRETTY = 16 << 10

_QUERY = {
    TokenType.SELECT: {TokenType.FROM, TokenType.NUMBER, TokenType.L_PAREN, TokenType.STAR},
    TokenType.WITH: {TokenType.SELECT, TokenType.INSERT},
    TokenType.FROM: {TokenType.SELECT},
}
"""How a query begins, and what one of its later tokens must be for a text to be one at all."""
_LATER = {
    "select": re.compile(r"\bfrom\b|(?<!\w)\.?\d|[(*]", re.IGNORECASE),
    "with": re.compile(r"\b(?:select|insert)\b", re.IGNORECASE),
    "from": re.compile(r"\bselect\b", re.IGNORECASE),
}
"""The same for a text without quotes and comments."""
_QUOTED = re.compile(r"'[^']*+'|\"[^\"]*+\"")
_NAME = r"(?:[\w.{}$]|\"[^\"\n]++\")++"
_OTHER = re.compile(
    rf"(?:copy\s*(?:\(|{_NAME}\s+(?:to|from)\s+')"
    rf"|create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view|macro|function)\s"
    rf"(?:\s*if\s+not\s+exists\s)?\s*{_NAME}\s*(?:as\b|\()"
    rf"|insert\s+into\s+{_NAME}\s*(?:\(|values\b|select\b|with\b|from\b)"
    rf"|update\s+{_NAME}\s+set\s+{_NAME}\s*=|delete\s+from\s+{_NAME}\s*(?:where\b|;|$)"
    rf"|drop\s+(?:table|view)\s+(?:if\s+exists\s+)?{_NAME}\s*(?:;|cascade\b|$)"
    rf"|alter\s+table\s+{_NAME}\s+(?:add|drop|rename|alter)\b"
    rf"|attach\s+(?:database\s+)?(?:if\s+not\s+exists\s+)?'"
    rf"|describe\s+(?:select\b|{_NAME}\s*;?\s*$)|summarize\s+{_NAME}\s*;?\s*$"
    rf"|show\s+(?:all\s+)?tables\b|pragma\s+\w+\s*(?:[=(;]|$)"
    rf"|explain\s+(?:analyze\s+)?(?:select|with)\b|export\s+database\s+'"
    rf"|(?:force\s+)?install\s+\w+\s*;|load\s+\w+\s*;)",
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"(?:\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_BEGINS = re.compile(r"(?:select|with|from)\b", re.IGNORECASE)
_WRITES = re.compile(r"copy|export", re.IGNORECASE)
# A backslash may stand for a character of the address.
_FETCHES = re.compile(r"install|://|\\", re.IGNORECASE)
_ONE = re.compile(
    r"(?=[^\w;]*+\w)(?:[^'\"$`\\;#{}@/-]|'[^'\\]*+'|\"[^\"\\]*+\"|-(?!-)|/(?![*/]))++;?\s*+"
)
"""A text that is plainly one statement: whole strings, no comments, no other quoting."""
_STRINGS = (TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING)
_READERS = re.compile(r"read_\w+|parquet_\w+|sniff_csv|glob|st_read\w*|\w+_scan|query|delta_scan")
REMOTE = re.compile(
    r"(?:https?|ftps?|s3a?|s3n|gcs|gs|r2|azure|az|abfss?|hf|ssh|sftp|git)://", re.IGNORECASE
)
"""The beginning of an address on another machine."""


@dataclass(frozen=True, kw_only=True)
class Fetch:
    """A place in SQL that leaves the machine."""

    rule: str
    """``remote_table`` or ``package_install``."""
    line: int
    """From 1, within the text."""


def statements(text: str) -> tuple[str, ...]:
    """The statements of an SQL text, as they are written; empty when it cannot be read."""
    if len(text) <= MAX_SQL and _ONE.fullmatch(text):
        return (text.strip(),)  # long traces hold thousands, and tokens cost milliseconds
    return split(text)


def split(text: str) -> tuple[str, ...]:
    """The statements of an SQL text by its tokens; see `statements`."""
    tokens = _tokens(text)
    found: list[str] = []
    begin: int | None = None
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if begin is not None:
                found.append(text[begin : token.end + 1].strip())
            begin = None
        elif begin is None:
            begin = token.start
    if begin is not None:
        found.append(text[begin:].strip())
    return tuple(found)


def is_sql(text: str) -> bool:
    """Is a text of unknown sort SQL? Words that merely begin like it are not."""
    if len(text) > MAX_SQL:
        return False
    begin = _COMMENTS.match(text)
    if _OTHER.match(text, begin.end() if begin else 0):
        return True
    if not re.search(r"\b(?:select|from)\b", text, re.IGNORECASE):
        return False
    # Comments may be nested, which the expression does not see.
    if "/*" not in text and not _BEGINS.match(text, begin.end() if begin else 0):
        return False
    filled = _filled(text)
    if _ONE.fullmatch(filled):  # long traces hold thousands of such
        return _is_plain_query(filled)
    return is_query(filled)


def _is_plain_query(text: str) -> bool:
    """`is_query` of a text that `_ONE` matches."""
    head = re.match(r"\s*+(select|with|from)\b", text, re.IGNORECASE)
    if head is None:
        return False
    return _LATER[head[1].lower()].search(_QUOTED.sub(" ", text[head.end() :])) is not None


def is_query(text: str) -> bool:
    """Does a text's tokens make it a query?"""
    tokens = _tokens(text)
    if not tokens or tokens[0].token_type not in _QUERY:
        return False
    return any(token.token_type in _QUERY[tokens[0].token_type] for token in tokens[1:])


def pretty(text: str) -> str:
    """A statement laid out over lines; the text itself where that cannot be done."""
    if len(text) > _PRETTY:
        return text
    try:
        parts = sqlglot.transpile(text, read="duckdb", write="duckdb", pretty=True)
    except Exception:  # a parser, given text that nobody checked
        return text
    return ";\n".join(parts) + (";" if text.rstrip().endswith(";") else "")


def written_by(text: str) -> tuple[str, ...]:
    """Files that ``COPY … TO`` and ``EXPORT DATABASE`` would write."""
    if not _WRITES.search(text):
        return ()
    tokens = _tokens(text)
    paths: list[str] = []
    copying = exporting = False
    for before, token in pairwise(tokens):
        if before.token_type == TokenType.SEMICOLON:
            copying = exporting = False
        copying |= before.token_type == TokenType.COPY
        exporting |= before.text.upper() == "EXPORT"
        if token.token_type not in _STRINGS:
            continue
        word = before.text.upper()
        if (copying and word == "TO") or (exporting and word == "DATABASE"):
            paths.append(token.text)
    return tuple(paths)


def fetches(text: str) -> tuple[Fetch, ...]:
    """What in an SQL text reads from or writes to another machine, or fetches an extension."""
    if not _FETCHES.search(text):
        return ()
    tokens = _tokens(text)
    found: list[Fetch] = []
    for index, token in enumerate(tokens):
        word = token.text.upper()
        first = index == 0 or tokens[index - 1].token_type == TokenType.SEMICOLON
        forced = index == 1 and tokens[0].text.upper() == "FORCE"
        if (first or forced) and word == "INSTALL" and index + 1 < len(tokens):
            found.append(Fetch(rule="package_install", line=token.line))
        elif (
            token.token_type in _STRINGS and REMOTE.match(token.text) and _is_fetched(tokens, index)
        ):
            found.append(Fetch(rule="remote_table", line=token.line))
    return tuple(found)


def _is_fetched(tokens: Sequence[Token], index: int) -> bool:
    """Does the text at `index` stand where a table or a file is named?"""
    place = index - 1
    # Back over the other items of a list of files.
    while place >= 0 and tokens[place].token_type in (TokenType.COMMA, *_STRINGS):
        place -= 1
    if place < 0:
        return False
    before = tokens[place]
    if before.token_type == TokenType.L_BRACKET:
        place -= 1
        before = tokens[place] if place >= 0 else before
    if before.token_type == TokenType.L_PAREN:
        return place > 0 and _READERS.fullmatch(tokens[place - 1].text.lower()) is not None
    return before.token_type in (
        TokenType.FROM,
        TokenType.JOIN,
        TokenType.ATTACH,
    ) or before.text.upper() in ("FROM", "TO", "DATABASE", "EXISTS", "ATTACH")


@lru_cache(maxsize=8)  # one text is asked about several times, at its start and its end
def _tokens(text: str) -> Sequence[Token]:
    if len(text) > MAX_SQL:
        return ()
    try:
        return DuckDB().tokenize(text)
    except Exception:  # as above
        return ()


def _filled(text: str) -> str:
    """With something in the places that a program fills."""
    return re.sub(r"\{[^{}\n]{0,200}+\}", "x", text)
