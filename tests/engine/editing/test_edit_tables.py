"""Tables and forms: what is changed changes, every other letter stays."""

from __future__ import annotations

import difflib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engine.base.content import content_folder
from engine.base.errors import BadInput
from engine.catalogue.skill import list_skills, parse_skill
from engine.catalogue.task import list_tasks, parse_task
from engine.editing import tables
from engine.editing.form import skill_form, task_form, with_skill_field, with_task_field
from engine.editing.tables import Change, Place, Table, table_at

TEXT = [
    "before", "", "| item | label | unit |", "|---|:-:|---|",
    "| 1 | a \\| b | mg |", "| 22 | | `x` |",
    "", "after",
]  # fmt: skip


def table(lines: list[str] = TEXT, line: int = 4) -> Table:
    found = table_at(lines, line)
    assert found is not None
    return found


def applied(change: Change | None, lines: list[str] = TEXT) -> list[str]:
    assert change is not None
    return [*lines[: change.first], *change.lines, *lines[change.first + change.old :]]


def cells(lines: list[str], line: int) -> list[list[str]]:
    return [[cell.strip() for cell in row.cells] for row in table(lines, line).rows]


CELL = st.text(alphabet="ab |\\`é漢", max_size=5)


@given(
    st.lists(CELL, min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "  "]),
)
def test_a_row_taken_apart_is_the_line(
    parts: list[str], lead: bool, tail: bool, indent: str
) -> None:
    line = indent + ("|" if lead else "") + "|".join(parts) + ("| " if tail else "")
    row = tables.row_of(line)
    assert str(row) == line
    for (begin, end), cell in zip(row.spans(), row.cells, strict=True):
        assert line[begin:end] == cell.strip()


def test_tables_are_found_where_they_are() -> None:
    assert table().first == 2
    assert len(table().rows) == 4
    assert cells(TEXT, 2)[2] == ["1", "a \\| b", "mg"]
    assert table_at(TEXT, 0) is None
    assert table_at(["```", *TEXT, "```"], 5) is None
    assert table_at(["a | b", "no rule | here"], 0) is None


def test_going_from_cell_to_cell_passes_over_the_dashes() -> None:
    one = table()
    assert one.next_cell(Place(2, 2), 1) == Place(4, 0)
    assert one.next_cell(Place(4, 0), -1) == Place(2, 2)
    assert one.next_cell(Place(5, 2), 1) is None
    assert tables.place_at(one, 4, 12) == Place(4, 1)


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda t: tables.add_row(t, 4), [0, 1, 2, None, 3]),
        (lambda t: tables.add_row(t, 4, above=True), [0, 1, None, 2, 3]),
        (lambda t: tables.add_row(t, 2), [0, 1, None, 2, 3]),
        (lambda t: tables.delete_row(t, 4), [0, 1, 3]),
        (lambda t: tables.move_row(t, 4, 1), [0, 1, 3, 2]),
        (lambda t: tables.move_row(t, 5, -1), [0, 1, 3, 2]),
    ],
)
def test_rows_change_and_other_lines_stay(
    change: Callable[[Table], Change], rows: list[int | None]
) -> None:
    after = applied(change(table()))
    expected = ["|  |  |  |" if row is None else TEXT[2 + row] for row in rows]
    assert after == [*TEXT[:2], *expected, *TEXT[6:]]


def test_heading_and_dashes_stay() -> None:
    assert tables.delete_row(table(), 2) is None
    assert tables.move_row(table(), 4, -1) is None
    assert tables.move_row(table(), 2, 1) is None


def test_columns() -> None:
    wider = applied(tables.add_column(table(), Place(4, 0)))
    assert cells(wider, 4)[1:3] == [["---", "---", ":-:", "---"], ["1", "", "a \\| b", "mg"]]
    narrower = applied(tables.delete_column(table(), Place(4, 1)))
    assert cells(narrower, 4)[2] == ["1", "mg"]
    moved = applied(tables.move_column(table(), Place(4, 2), -1))
    assert cells(moved, 4)[2] == ["1", "mg", "a \\| b"]
    assert tables.move_column(table(), Place(4, 2), 1) is None


def test_aligned_cells_stand_below_each_other() -> None:
    after = applied(tables.align(table(), Place(4, 0)))
    assert after[2:6] == [
        "| item | label  | unit |",
        "| ---- | :----: | ---- |",
        "| 1    | a \\| b | mg   |",
        "| 22   |        | `x`  |",
    ]
    again = [*after[:2], *tables.align(table(after), Place(4, 0)).lines, *after[6:]]
    assert again == after


def test_a_spreadsheet_is_pasted() -> None:
    assert tables.is_sheet("1\t2\r\n")
    assert not tables.is_sheet("some words\n")
    given_cells = tables.sheet('5\tx|y\r\n6\t"two\nlines"\r\n')
    assert given_cells == [["5", "x\\|y"], ["6", "two lines"]]
    after = applied(tables.paste(table(), Place(5, 2), given_cells))
    assert cells(after, 4) == [
        ["item", "label", "unit", ""],
        ["---", ":-:", "---", "---"],
        ["1", "a \\| b", "mg", ""],
        ["22", "", "5", "x\\|y"],
        ["", "", "6", "two lines"],
    ]  # fmt: skip
    fresh = applied(tables.paste(None, Place(1, 0), given_cells))
    assert fresh[1:4] == ["| 5 | x\\|y |", "|---|---|", "| 6 | two lines |"]


@pytest.mark.parametrize("skill", list_skills(), ids=lambda skill: skill.name)
def test_one_field_of_a_skill_is_one_changed_place(skill: object) -> None:
    path = skill.path  # type: ignore[attr-defined]
    text = path.read_text(encoding="utf-8")
    words = "Another: description, with # signs and 'quotes'."
    after = with_skill_field(text, "description", words)
    assert parse_skill(after, path.parent).description == words
    changed = [
        line for line in difflib.ndiff(text.split("\n"), after.split("\n")) if line[0] in "+-"
    ]
    assert len(changed) == 2
    assert with_skill_field(after, "description", skill.description) in (  # type: ignore[attr-defined]
        text, after.replace(f'"{words}"', skill.description),  # type: ignore[attr-defined]
    )  # fmt: skip


FRONT = """---
# who wrote it
name: x   # the folder
description: >
  folded words
  go on
extra: [1, 2]
other: "q"
---
# Body
"""


def test_comments_and_unknown_fields_stay() -> None:
    after = with_skill_field(FRONT, "name", "y")
    assert after == FRONT.replace("name: x ", "name: y ")
    after = with_skill_field(FRONT, "description", "short")
    assert after == FRONT.replace(">\n  folded words\n  go on\n", "short\n")
    after = with_skill_field(FRONT, "category", "clinical")
    assert after == FRONT.replace('other: "q"\n', 'other: "q"\ncategory: clinical\n')
    assert {f.name: f.value for f in skill_form(FRONT)}["extra"] == "[1, 2]"
    with pytest.raises(BadInput):
        with_skill_field(FRONT, "extra", "3")
    with pytest.raises(BadInput, match="front matter"):
        skill_form("# no front\n")
    with pytest.raises(BadInput, match="YAML"):
        skill_form("---\na: [\n---\n")


@given(st.text(max_size=20))
def test_any_words_come_back(words: str) -> None:
    try:
        after = with_skill_field(FRONT, "name", words)
    except BadInput:
        return
    front = after.split("\n---\n")[0].removeprefix("---\n")
    data = YAML(typ="safe", pure=True).load(front)
    assert data["name"] == words
    assert data["other"] == "q"


@pytest.mark.parametrize("task", list_tasks()[:6], ids=lambda task: task.name)
def test_a_key_of_a_task_is_one_changed_place(task: object) -> None:
    folder = task.folder  # type: ignore[attr-defined]
    text = (folder / "task.toml").read_text(encoding="utf-8")
    assert {f.name: f.value for f in task_form(text)}["metadata.name"] == task.name  # type: ignore[attr-defined]
    after = with_task_field(text, "metadata.description", "Something else.")
    assert parse_task(after, folder).description == "Something else."
    diff = list(difflib.unified_diff(text.split("\n"), after.split("\n"), lineterm="", n=0))
    assert len([line for line in diff[2:] if line[0] in "+-"]) == 2
    after = with_task_field(text, "evaluation.accuracy_threshold", 0.8)
    assert parse_task(after, folder).evaluation.accuracy_threshold == 0.8
    after = with_task_field(text, "metadata.tags", ("one", "two"))
    assert parse_task(after, folder).tags == ("one", "two")


def test_a_broken_task_is_said() -> None:
    with pytest.raises(BadInput, match="TOML"):
        task_form("[metadata\n")
    assert content_folder("tasks").is_dir()
