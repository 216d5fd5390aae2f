"""Values and differences as they are written: one way for the table, the panels and copies.

Null, empty text, and no value at all are three things, and none of them looks like a value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.diagnosis import Judged

NULL = "∅ null"
EMPTY = "“” empty text"
NO_ROW = "no such row"
NO_COLUMN = "no such column"
_COPIED_WORDS = frozenset({"null", "no such row", "no such column"})
_MINUS = "−"
_WHOLE = 1e15
"""From here on a float's neighbours are no whole numbers."""


def printed(value: Any) -> str:
    """A cell as text: numbers as short as they are exact, times to the second."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return str(value)


def words_of(value: object) -> str:
    """A value in a sentence: null and empty text are told in words."""
    if value is None:
        return NULL
    return printed(value) or EMPTY


def judged_words(judged: Sequence[Judged], *, briefly: bool = False) -> str:
    """Why an output could not be read or lacks columns; unless `briefly`, what the diff then is."""
    if not judged:
        return ""
    what = "The output could not be compared"
    end = " Each row of the reference is therefore without an agent's value."
    told = [item.detail for item in judged if item.name != "required_columns"]
    if not told:  # else columns are missing because nothing could be read
        what, end, told = "The output lacks columns", "", [item.detail for item in judged]
    return f"{what}: {' '.join(told)}{'' if briefly else end}"


def copied(value: Any) -> str:
    """A value in copied text: null is a bare word, an empty text two quotes.

    A text that could be taken for one of these stands in quotes.
    """
    if value is None:
        return "null"
    text = printed(value)
    if isinstance(value, str) and (not text or text.casefold() in _COPIED_WORDS or text[0] == '"'):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


def difference_words(reference: Any, agent: Any) -> str:
    """Agent − reference, with sign and unit; empty where both are not numbers or times."""
    if reference is None or agent is None:
        return ""
    numbers = (int, float, Decimal)
    if isinstance(reference, numbers) and isinstance(agent, numbers):
        return signed(float(agent) - float(reference))
    try:
        seconds = (agent - reference).total_seconds()
    except (TypeError, AttributeError):
        return ""
    return signed_duration(seconds)


def signed(number: float) -> str:
    """A difference of numbers as people read it: "+0.5", "−2" with a minus, not a hyphen."""
    return f"{number + 0.0:+.6g}".replace("-", _MINUS)  # + 0.0: nothing is below zero by nothing


def plain_sign(text: str) -> str:
    """A difference in words, for other programs: they take a hyphen for the sign."""
    return text.replace(_MINUS, "-")


def signed_duration(seconds: float) -> str:
    """A difference of times: "+1 h", "−2 d 3 h", "+12 s"."""
    sign = "+" if seconds >= 0 else _MINUS
    rest = abs(seconds)
    parts = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{int(count)} {name}")
    if rest or not parts:
        parts.append(f"{rest:g} s")
    return sign + " ".join(parts[:3])
