"""The prose diff: applied it gives the other text, identical texts give none, and it reads well."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.base.content import content_folder
from engine.base.errors import UsageError
from engine.prose import ProseDiff, compare_texts, read_units

SKILLS = sorted(content_folder("skills").glob("*/SKILL.md"))
_LINES = st.sampled_from(
    [
        "# Rules", "## Units", "One sentence here. Another one; a third.", "| a | b |", "|---|---|",
        "| 1 | 24 hours before |", "| 2 | 24 hours after |", "- an item of the list. And more.",
        "1. First `a. b` of all. Then the rest.", "```", "x = 1 | 2", "", "   ", "---", "name: x",
        "> quoted. Words.", "Window of 6 hours before admission is used here.", "\ttab", "a|b",
    ]
)  # fmt: skip
_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n"])
TEXTS = st.one_of(
    st.lists(st.tuples(_LINES, _ENDS), max_size=25).map(
        lambda parts: "".join(line + end for line, end in parts)
    ),
    st.text(max_size=200),
)


def check(diff: ProseDiff, before: str, after: str) -> None:
    assert diff.apply(before) == after
    lefts = [s.before for s in diff.steps if s.before is not None]
    rights = [s.after for s in diff.steps if s.after is not None]
    assert sorted(lefts) == list(range(len(diff.before)))
    assert rights == list(range(len(diff.after)))
    for change in diff.changes:
        left = "" if change.before is None else diff.before[change.before].text
        right = "" if change.after is None else diff.after[change.after].text
        if change.pieces:
            assert "".join(p.text for p in change.pieces if p.kind != "added") == left
            assert "".join(p.text for p in change.pieces if p.kind != "removed") == right


@given(TEXTS, TEXTS)
@example("", "x")
@example("\n\n", "a")
@example("---\nname: x\n---\n# T\n", "# T\n---\n")
@settings(max_examples=80)
def test_applying_the_diff_gives_the_other_text(before: str, after: str) -> None:
    check(compare_texts(before, after), before, after)
    check(compare_texts(after, before), after, before)


@given(TEXTS)
@settings(max_examples=60)
def test_identical_texts_give_no_change_and_units_are_the_text(text: str) -> None:
    diff = compare_texts(text, text)
    assert diff.changes == ()
    assert "".join(u.text + u.gap for u in read_units(text)) == text


@given(st.data())
@settings(max_examples=12)
def test_lines_of_real_texts_taken_out_and_swapped(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SKILLS)).read_text("utf-8")
    lines = text.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        a, b = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[a], lines[b] = lines[b], lines[a].replace("24", "48")
    check(compare_texts(text, "\n".join(lines)), text, "\n".join(lines))


BEFORE = """# Sepsis

## Window

From 6 hours before to 24 hours after ICU admission. Both ends count. Nothing later is used.

## Items

| item | label | unit |
|---|---|---|
| 220045 | Heart Rate | /min |
| 223762 | Temperature Celsius | °C |

The first measurement of each hour is taken for the score.
"""


def test_a_changed_number_is_marked_in_its_sentence() -> None:
    diff = compare_texts(BEFORE, BEFORE.replace("24 hours", "48 hours"))
    (change,) = diff.changes
    assert change.kind == "changed"
    told = [(p.kind, p.text) for p in change.pieces if p.kind != "same"]
    assert told == [("removed", "24"), ("added", "48")]
    assert change.after is not None
    unit = diff.after[change.after]
    assert (unit.section, unit.line, unit.kind) == ("Window", 5, "sentence")
    assert unit.text.endswith("ICU admission.")


def test_a_changed_cell_is_named_by_its_column() -> None:
    (change,) = compare_texts(BEFORE, BEFORE.replace("| /min |", "| bpm |")).changes
    (cell,) = change.cells
    assert cell.column == "unit"
    assert [(p.kind, p.text) for p in cell.pieces] == [("removed", "/min"), ("added", "bpm")]


def test_a_new_column_leaves_the_other_cells_alone() -> None:
    wide = BEFORE.replace("| item | label | unit |", "| item | label | range | unit |")
    wide = wide.replace("|---|---|---|", "|---|---|---|---|").replace("| /min |", "| > 0 | /min |")
    change = next(
        c
        for c in compare_texts(BEFORE, wide).changes
        if c.cells and c.cells[0].pieces[0].text == "> 0"
    )
    assert [(c.column, [p.kind for p in c.pieces]) for c in change.cells] == [("range", ["added"])]


def test_what_is_moved_is_told_once_and_is_not_added_and_removed() -> None:
    sentence = "The first measurement of each hour is taken for the score."
    moved = BEFORE.replace(f"\n{sentence}\n", "").replace(
        "## Window\n", f"## Window\n\n{sentence}\n"
    )
    diff = compare_texts(BEFORE, moved)
    assert [c.kind for c in diff.changes] == ["moved"]
    assert sum(s.change is not None and s.change.kind == "moved" for s in diff.steps) == 2


def test_added_removed_and_layout() -> None:
    diff = compare_texts(
        BEFORE, BEFORE.replace(" Both ends count.", "") + "\nWholly new words here.\n"
    )
    assert [c.kind for c in diff.changes] == ["removed", "added"]
    (change,) = compare_texts("a. b.\n", "a.\nb.\n").changes
    assert change.kind == "layout"


def test_a_stop_in_code_and_a_list_mark_end_no_sentence() -> None:
    units = read_units("1. Take `a. b` first. Then 0.5 mg.\n")
    assert [u.text for u in units] == ["1. Take `a. b` first.", "Then 0.5 mg."]


def test_another_text_is_refused() -> None:
    with pytest.raises(UsageError, match="another text"):
        compare_texts("a", "b").apply("c")
