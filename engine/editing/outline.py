"""The headings of a Markdown text, with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)(.*)$")
_FRONT = re.compile(r"^---[ \t]*$")


@dataclass(frozen=True)
class Heading:
    """One heading."""

    line: int
    """Counted from 1."""
    level: int
    """1 is the highest."""
    text: str
    """Without its signs."""


def front_end(lines: list[str]) -> int:
    """How many lines the front matter takes; 0 without one."""
    if not lines or not _FRONT.match(lines[0]):
        return 0
    for number, line in enumerate(lines[1:], start=2):
        if _FRONT.match(line):
            return number
    return 0


def outline(text: str) -> tuple[Heading, ...]:
    """The headings in order; what stands in front matter or in a code block is none."""
    lines = text.split("\n")
    found: list[Heading] = []
    fence = ""
    begin = front_end(lines)
    for number, line in enumerate(lines[begin:], start=begin + 1):
        match = _FENCE.match(line)
        if match is not None:
            if not fence:
                fence = match.group(1)
            elif match.group(1).startswith(fence) and not match.group(2).strip():
                fence = ""
        elif not fence and (heading := _HEADING.match(line)) is not None:
            found.append(Heading(number, len(heading.group(1)), (heading.group(2) or "").strip()))
    return tuple(found)


def section(text: str, line: int) -> tuple[int, str]:
    """The part of a long text around a line (counted from 1): its first line, and the part.

    It reaches from one heading of the first two levels to the next.
    """
    lines = text.split("\n")
    tops = [heading.line for heading in outline(text) if heading.level <= 2]  # noqa: PLR2004
    begin = max((top for top in tops if top <= line), default=1)
    end = min((top for top in tops if top > begin), default=len(lines) + 1)
    return begin, "\n".join(lines[begin - 1 : end - 1])
