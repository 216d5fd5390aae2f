"""Three-way merge: both sides' work is there, or somebody is asked; nothing goes silently."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.editing.merge import Merge, matches, merge

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "| x | y |"]), max_size=12)
TEXTS = LINES.map("\n".join)


def side(merged: Merge, which: str) -> str:
    return "\n".join(line for piece in merged.pieces for line in getattr(piece, which))


def both(one: Counter[str], other: Counter[str]) -> bool:
    return not one - other


@given(LINES, LINES)
def test_matches_are_equal_and_in_order(one: list[str], other: list[str]) -> None:
    at, there = 0, 0
    for begin, begin_there, size in matches(one, other):
        assert begin >= at
        assert begin_there >= there
        assert one[begin : begin + size] == other[begin_there : begin_there + size]
        at, there = begin + size, begin_there + size


@given(TEXTS, TEXTS, TEXTS)
def test_the_pieces_make_up_each_version(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs)
    assert side(merged, "base") == base
    assert side(merged, "mine") == mine
    assert side(merged, "theirs") == theirs


@given(TEXTS, TEXTS, TEXTS)
def test_no_line_of_either_side_goes_silently(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs)
    shown = Counter(line for p in merged.pieces if p.kind == "conflict" for line in p.mine)
    shown += Counter(line for p in merged.pieces if p.kind == "conflict" for line in p.theirs)
    stands = Counter(line for p in merged.pieces if p.kind != "conflict" for line in p.taken)
    for version in (mine, theirs):
        new = Counter(version.split("\n")) - Counter(base.split("\n"))
        assert both(new, stands + shown)


@given(TEXTS, TEXTS)
def test_one_sided_changes_are_taken(base: str, changed: str) -> None:
    for merged in (merge(base, changed, base), merge(base, base, changed)):
        assert merged.conflicts == ()
        assert merged.text() == changed
    assert merge(base, changed, changed).text() == changed


@given(st.integers(2, 20), st.data())
def test_changes_that_do_not_touch_are_both_kept(count: int, data: st.DataObject) -> None:
    base = [f"line {number}" for number in range(count * 2)]
    picked = data.draw(st.lists(st.sampled_from("-mt"), min_size=count, max_size=count))
    mine, theirs, both_ways = list(base), list(base), list(base)
    for number, who in enumerate(picked):  # every other line stays as it was
        at = number * 2
        if who == "m":
            mine[at] = both_ways[at] = f"mine {number}"
        elif who == "t":
            theirs[at] = both_ways[at] = f"theirs {number}"
    merged = merge("\n".join(base), "\n".join(mine), "\n".join(theirs))
    assert merged.conflicts == ()
    assert merged.text() == "\n".join(both_ways)


def test_what_both_changed_is_asked() -> None:
    merged = merge("a\nb\nc", "a\nmine\nc", "a\ntheirs\nc")
    (number,) = merged.conflicts
    piece = merged.pieces[number]
    assert (piece.base, piece.mine, piece.theirs) == (("b",), ("mine",), ("theirs",))
    assert merged.text({number: piece.theirs}) == "a\ntheirs\nc"
    assert merged.text({number: [*piece.mine, *piece.theirs]}) == "a\nmine\ntheirs\nc"


def test_a_deletion_against_a_change_is_asked() -> None:
    assert merge("a\nb\nc", "a\nc", "a\nB\nc").conflicts
