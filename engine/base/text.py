"""Text that came from programs which are not trusted, made harmless before anybody sees it."""

from __future__ import annotations

import re

_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_UNSEEN = [
    0x061C,  # Arabic letter mark
    *range(0x200B, 0x2010),  # zero width, direction marks
    *range(0x202A, 0x202F),  # direction embeddings and overrides
    *range(0x2060, 0x2070),  # joiners, isolates
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
]
_NEUTRAL = {
    **_PICTURES,
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys(_UNSEEN, 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
    **dict.fromkeys(range(0xE0000, 0xE0080), 0xFFFD),  # tags: text that is not seen
}
_PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
_BREAKS = re.compile("\r\n|\r|\x0b|\x0c|\x85|\u2028|\u2029")


def neutralise(text: str) -> str:
    """Text that no terminal and no text field is steered by.

    Line breaks of every kind become newlines; other control characters become visible
    pictures (ESC as "␛"); characters that hide or turn text become "�".
    """
    if text.isascii() and not text.encode("ascii").translate(None, _PLAIN):
        return text  # most of all text there is; many times as fast
    return _BREAKS.sub("\n", text).translate(_NEUTRAL)
