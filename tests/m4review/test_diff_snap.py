"""Where the table of pairs may stand."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from m4review.diff.snap import beside, nearest, showing, stops

PAIRS = st.lists(st.lists(st.integers(24, 400), min_size=1, max_size=2), min_size=1, max_size=15)


def test_stops_of_three_pairs() -> None:
    assert stops([[50, 60], [40, 40], [70, 70]], 1_000) == [0]
    assert stops([[50, 60], [40, 40], [70, 70]], 200) == [0, 110, 190]
    assert stops([[50, 60], [40, 40], [70, 70]], 230) == [0, 110]
    assert stops([[150, 160], [40, 40]], 200) == [0, 150, 310]
    assert stops([], 200) == [0]


@given(PAIRS, st.integers(1, 900))
def test_every_pixel_can_be_seen_and_no_pair_that_fits_is_cut(
    pairs: list[list[int]], view: int
) -> None:
    places = stops(pairs, view)
    assert places == sorted(set(places))
    whole = sum(map(sum, pairs))
    assert places[-1] >= whole - view
    assert all(after - before <= view for before, after in pairwise(places))
    left = 0
    for pair in pairs:
        right = left + sum(pair)
        if right - left <= view:
            assert not any(left < place < right for place in places)
            place = showing(places, 0, left, right, view)
            assert place <= left
            assert right - place <= view
        left = right


@given(PAIRS, st.integers(1, 900), st.integers(0, 5_000))
def test_next_stops(pairs: list[list[int]], view: int, offset: int) -> None:
    places = stops(pairs, view)
    assert nearest(places, offset) in places
    right, left = beside(places, offset, 1), beside(places, offset, -1)
    assert right > offset or right == places[-1]
    assert left < offset or left == places[0]
