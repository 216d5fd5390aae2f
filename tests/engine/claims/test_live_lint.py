"""The lint of one text while somebody writes: places, severity, both directions, speed, effect."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import UsageError
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task, list_tasks
from engine.claims.live import TextFinding, live_findings
from engine.workbench import Workbench

SOFA = "mimic-sofa-24h"


def skill_of(name: str) -> tuple[Task, Path, str]:
    task = find_task(name)
    path = task.skill_folders[0] / "SKILL.md"
    return task, path, path.read_text(encoding="utf-8")


def only(found: tuple[TextFinding, ...], rule: str) -> TextFinding:
    (finding,) = [f for f in found if f.rule == rule]
    return finding


def words(text: str, finding: TextFinding) -> str:
    line = text.split("\n")[finding.line - 1]
    return line[finding.column - 1 : finding.column - 1 + finding.length]


def test_a_leak_is_an_error_with_its_exact_place() -> None:
    task, path, text = skill_of(SOFA)
    text = text.replace("## Purpose\n", "## Purpose\nUse a LEFT JOIN here, see mimiciv_derived.\n")
    found = live_findings(task, path, text)
    leak = only(found, "sql")
    assert (leak.severity, words(text, leak)) == ("error", "LEFT JOIN")
    assert words(text, only(found, "schema-name")) == "mimiciv_derived"
    assert all(f.todo and f.message for f in found)


def test_a_number_that_disagrees_is_marked() -> None:
    task, path, text = skill_of("mimic-sapsii-24h")
    text = text.replace("highest ≥ 39.0: 3", "highest ≥ 39.5: 3")
    finding = only(live_findings(task, path, text), "number-differs")
    assert (finding.severity, words(text, finding)) == ("warning", "39.5")


def test_what_disagrees_with_the_instruction_is_told_in_the_text_that_is_edited() -> None:
    task, path, text = skill_of("eicu-gcs")
    request = task.folder / "instruction.md"
    asked = task.instruction.replace("from 6 hours before", "from 7 hours before")
    finding = only(live_findings(task, path, text, {request: asked}), "number-agrees")
    assert finding.message.endswith("here 6, in the instruction 7.")
    assert words(text, finding) == "6"
    edited = text.replace("6 hours before", "7 hours before")
    assert {f.rule for f in live_findings(task, request, task.instruction, {path: edited})} == {
        "number-agrees"
    }


def test_a_window_that_the_instruction_asks_for_is_told_on_both_sides_unsaved() -> None:
    task, path, text = skill_of("mimic-kdigo-48h")
    request = task.folder / "instruction.md"
    asked = task.instruction.replace("within 48 hours", "within 72 hours")
    assert asked != task.instruction
    found = live_findings(task, path, text, {request: asked})
    assert only(found, "window-missing").message == (
        "The instruction speaks of 72 hours, and this text never does."
    )
    assert live_findings(task, path, text) == ()
    told = [f for f in live_findings(task, request, asked) if f.rule == "window-missing"]
    assert {words(asked, finding) for finding in told} == {"72 hours"}
    assert {finding.message for finding in told} == {
        "The skill kdigo never speaks of 72 hours.",
        "The operational specification never speaks of 72 hours.",
    }
    # The skill that is being written says it already.
    said = "Look at the 72 hours after admission.\n\n## Step 3"
    more = {path: text.replace("## Step 3", said, 1)}
    told = [f for f in live_findings(task, request, asked, more) if f.rule == "window-missing"]
    assert [f.message for f in told] == ["The operational specification never speaks of 72 hours."]


def test_an_item_in_prose_is_read_whatever_its_number() -> None:
    task, path, text = skill_of("mimic-kdigo-48h")
    for number in ("12345", "646"):
        changed = text.replace("## Step 3", f"Add item {number} (urine).\n\n## Step 3", 1)
        finding = only(live_findings(task, path, changed), "item-unknown")
        assert words(changed, finding) == number
    for sentence in ("Item 12345 does not count.", "There are 5 items 2 of which count."):
        changed = text.replace("## Step 3", f"{sentence}\n\n## Step 3", 1)
        assert live_findings(task, path, changed) == ()


def test_what_concerns_the_whole_text_has_no_length() -> None:
    task, path, text = skill_of("mimic-kdigo-48h")
    text = text.replace("| 226565 | L Nephrostomy |\n", "")
    finding = only(live_findings(task, path, text), "item-missing")
    assert (finding.line, finding.column, finding.length) == (1, 1, 0)


def test_sound_texts_raise_next_to_nothing() -> None:
    for task in list_tasks()[::5]:
        for path in (task.skill_folders[0] / "SKILL.md", task.folder / "instruction.md"):
            assert live_findings(task, path, path.read_text(encoding="utf-8")) == ()


@given(
    text=st.text(st.sampled_from("|-#`:<>≤.,;0123456789 ab\n\r") | st.characters(), max_size=300)
)
@settings(max_examples=40)
def test_any_text_gives_places_within_it(text: str) -> None:
    task, path, _ = skill_of(SOFA)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in live_findings(task, path, text):
        assert 1 <= finding.line <= len(lines)
        room = len(lines[finding.line - 1]) - finding.column + 1
        assert 0 <= finding.length <= max(room, 0)


def test_another_file_is_no_text_of_a_task() -> None:
    with pytest.raises(UsageError, match="no text of a task"):
        live_findings(find_task(SOFA), Path("notes.md"), "x")


def test_a_keystroke_in_our_largest_skill_is_linted_within_300_ms() -> None:
    name = max(list_tasks(), key=lambda t: (t.skill_folders[0] / "SKILL.md").stat().st_size).name
    task, path, text = skill_of(name)
    live_findings(task, path, text)
    spent = []
    for at in itertools.islice(range(len(text) // 3, len(text), 997), 5):
        typed = text[:at] + "x" + text[at:]
        begin = time.thread_time()  # what others do on this machine does not count
        live_findings(task, path, typed)
        spent.append(time.thread_time() - begin)
    assert min(spent) < 0.3, spent


def test_users_and_effect_of_a_skill(tmp_path: Path) -> None:
    workbench = Workbench(Home(tmp_path))
    _, path, text = skill_of(SOFA)
    users = [user.task for user in workbench.text_users(path)]
    assert users == ["mimic-sofa-24h", "mimic-sofa-24h-raw"]
    effects = workbench.effect_of(path, "\n" * 2 + text.replace("GCS < 6", "GCS < 7"))
    assert [effect.task for effect in effects] == users
    for effect in effects:
        assert "row-agrees" in {f.rule for f in effect.appear}
        assert not effect.stale
    same = workbench.effect_of(path, text)
    assert all(not (e.appear or e.go or e.stale) for e in same)
    (lone,) = workbench.text_users(find_task(SOFA).folder / "instruction.md")
    assert (lone.task, lone.kind) == (SOFA, "instruction")
