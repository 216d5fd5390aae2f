"""Find and replace: what is looked for, where it is, and what it becomes. No widget in here.

Qt's regular expressions are used: they give up where Python's would not come back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QRegularExpression

from engine.base.errors import UsageError

MOST = 10_000
"""Places that are counted and marked."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for."""

    text: str
    """Words, or a pattern."""
    pattern: bool = False
    """Is it a regular expression?"""
    case: bool = False
    """Does the case matter?"""
    whole: bool = False
    """Only whole words?"""

    def expression(self) -> QRegularExpression:
        """As a regular expression.

        Raises:
            UsageError: the pattern is none; says why and where.
        """
        source = self.text if self.pattern else QRegularExpression.escape(self.text)
        if self.whole:
            source = rf"(?<!\w)(?:{source})(?!\w)"
        option = QRegularExpression.PatternOption
        options = option.MultilineOption | option.UseUnicodePropertiesOption
        if not self.case:
            options |= option.CaseInsensitiveOption
        made = QRegularExpression(source, options)
        if not made.isValid():
            raise UsageError(
                f"This is no pattern: {made.errorString()}.",
                todo="Mend it, or switch patterns off to look for these very characters.",
            )
        return made


def places(wanted: Wanted, text: str) -> list[tuple[int, int]]:
    """Where it is: begin and end of each place, as positions of Qt's; at most `MOST`.

    Raises:
        UsageError: the pattern is none, or takes too long on this text.
    """
    if not wanted.text:
        return []
    found: list[tuple[int, int]] = []
    matches = wanted.expression().globalMatch(text)
    while matches.hasNext() and len(found) < MOST:
        match = matches.next()
        if match.capturedLength():
            found.append((match.capturedStart(), match.capturedEnd()))
    return found


def replaced(wanted: Wanted, text: str, by: str) -> tuple[str, int]:
    """The text with every place replaced, and how many there were.

    In a pattern's replacement a backslash and a number stand for that group, with n for a new line.

    Raises:
        UsageError: the pattern is none.
    """
    if not wanted.text:
        return text, 0
    data = text.encode("utf-16-le", "surrogatepass")
    parts: list[bytes] = []
    at = count = 0
    matches = wanted.expression().globalMatch(text)
    while matches.hasNext():
        match = matches.next()
        if not match.capturedLength():
            continue
        new = _filled(by, match.capturedTexts()) if wanted.pattern else by
        parts += [data[at : match.capturedStart() * 2], new.encode("utf-16-le", "surrogatepass")]
        at = match.capturedEnd() * 2
        count += 1
    parts.append(data[at:])
    return b"".join(parts).decode("utf-16-le", "surrogatepass"), count


def _filled(by: str, groups: list[str]) -> str:
    def one(match: re.Match[str]) -> str:
        sign = match.group(1)
        if sign == "n":
            return "\n"
        if sign == "t":
            return "\t"
        if sign.isdecimal():
            number = int(sign)
            return groups[number] if number < len(groups) else ""
        return sign

    return re.sub(r"\\(\d|.)", one, by)
