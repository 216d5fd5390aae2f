"""Where a table of pairs may stand when it is scrolled sideways.

A pair whose left part is cut shows the end of a value as if it were the whole value, so the table
stops at pairs only. Pure arithmetic; the grid gives the widths and moves the scroll bar.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def stops(pairs: Sequence[Sequence[int]], view: int) -> list[int]:
    """The offsets at which the table may stand, ascending, from 0.

    Args:
        pairs: the widths of the columns of each pair, in pixels; hidden ones are left out.
        view: pixels that can be seen at once.

    Returns:
        The left edge of each pair, up to the first one from which the end can be seen. A pair
        wider than the view has stops of its own at its second column, and a column wider than
        the view one each view's width.
    """
    found: list[int] = []
    left = 0
    for widths in pairs:
        within = sum(widths) > view
        at = left
        for number, width in enumerate(widths):
            if number == 0 or within:
                found.append(at)
            if view > 0:
                found += range(at + view, at + width, view)
            at += width
        left = at
    last = bisect_left(found, left - view)
    return found[: last + 1] or [0]


def nearest(places: Sequence[int], offset: int) -> int:
    """The stop next to `offset`."""
    at = bisect_left(places, offset)
    around = places[max(0, at - 1) : at + 1]
    return min(around, key=lambda place: abs(place - offset))


def beside(places: Sequence[int], offset: int, direction: int) -> int:
    """The next stop to the right (1) or to the left (-1) of `offset`; the outermost at the end."""
    if direction > 0:
        return places[min(bisect_right(places, offset), len(places) - 1)]
    return places[max(bisect_left(places, offset) - 1, 0)]


def showing(places: Sequence[int], offset: int, left: int, right: int, view: int) -> int:
    """The stop that shows `left` to `right` whole and is nearest to where the table stands.

    Where they do not fit into the view, the last stop that does not cut their left edge.
    """
    fitting = [place for place in places if place <= left and right - place <= view]
    if fitting:
        return min(fitting, key=lambda place: abs(place - offset))
    return places[max(bisect_right(places, left) - 1, 0)]
