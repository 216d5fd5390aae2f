"""Our own tasks are clean; folders, SARIF and the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from engine.catalogue.task import Task, find_task, list_tasks, load_task
from engine.cli.main import run
from engine.preflight import TITLES, lint_folder, lint_task, lint_text, sarif
from engine.preflight.facts import reference_facts

TASKS = list_tasks()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_our_tasks_are_clean(task: Task) -> None:
    assert lint_task(task) == ()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A task folder of the published form, with its skill inside."""
    task = find_task("mimic-kdigo-48h")
    family = tmp_path / "tasks" / "kdigo"
    shutil.copytree(task.folder, family / task.name)
    shutil.copy(task.folder.parent / "PROVENANCE.yaml", family)
    for skill in task.skill_folders:
        shutil.copytree(skill, family / task.name / "skills" / skill.name)
    return family / task.name


def test_a_published_folder_is_linted_where_it_is(copied: Path) -> None:
    assert lint_folder(copied) == ()
    provenance = copied.parent / "PROVENANCE.yaml"
    text = provenance.read_text(encoding="utf-8")
    review = "reviews:\n  - {by: A, date: 2026-01-01, scope: all, notes: fine}"
    provenance.write_text(text.replace("reviews: []", review), encoding="utf-8")
    assert lint_folder(copied) == ()  # its authors' own reviews


@pytest.mark.parametrize(
    ("name", "content"), [("run.py", "x"), ("query.SQL", "x"), ("link.md", None), ("tool", "x")]
)
def test_scripts_and_links_in_a_skill_folder(copied: Path, name: str, content: str | None) -> None:
    path = copied / "skills" / "kdigo" / name
    if content is None:
        path.symlink_to("/etc/hostname")
    else:
        path.write_text(content)
        path.chmod(0o755 if name == "tool" else 0o644)
    (found,) = lint_folder(copied)
    assert (found.rule, found.path) == ("skill-files", path)


def test_files_that_cannot_be_read(copied: Path) -> None:
    (copied / "instruction.md").write_bytes(b"\xff\xfe")
    (copied.parent / "PROVENANCE.yaml").unlink()
    found = lint_folder(copied)
    assert {(f.rule, f.path.name) for f in found} == {
        ("unreadable", "instruction.md"),
        ("unreadable", "PROVENANCE.yaml"),
    }
    (copied / "task.toml").write_text("[metadata\n")
    (found_one,) = lint_folder(copied)
    assert found_one.rule == "task-file"


def test_a_window_of_the_instruction_that_the_skill_never_names(copied: Path) -> None:
    path = copied / "instruction.md"
    text = path.read_text(encoding="utf-8").replace("within 48 hours", "within 72 hours")
    path.write_text(text, encoding="utf-8")
    rules = {(f.rule, f.path.name) for f in lint_folder(copied)}
    assert ("window-missing", "SKILL.md") in rules
    assert ("window-missing", "operational-spec.md") in rules
    assert ("window-differs", "instruction.md") in rules


def test_sentences_about_what_does_not_count_name_no_item() -> None:
    task = find_task("mimic-kdigo-48h")
    text = (task.skill_folders[0] / "SKILL.md").read_text(encoding="utf-8")
    for sentence, rules in (
        ("Item 226627 (operating room) does not count.", set()),
        ("Add item 226627 (operating room).", {"item-unknown"}),
    ):
        changed = text.replace("## Step 3", f"{sentence}\n\n## Step 3", 1)
        assert {f.rule for f in lint_text("skill", changed, task)} == rules


def test_facts_are_those_of_the_sql() -> None:
    facts = reference_facts("kdigo-48h")
    assert facts.key == ("stay_id",)
    assert {50912, 227290, 226512, 226559} <= facts.needed_items
    assert 224154 in facts.items - facts.needed_items  # read for the table, not for the stages
    assert {6 * 3600.0, 48 * 3600.0, 7 * 86400.0} <= facts.durations
    assert 5 * 3600.0 not in facts.durations
    assert facts.bounds[150] == {"high"}
    assert (0.3, 3) in facts.bands


def test_bands_listed_as_values_are_facts() -> None:
    facts = reference_facts("apsiii-24h")
    assert "low" in facts.bounds[135]
    assert {(135, 2), (135, 0), (155, 0), (155, 4), (1.95, 4), (1.95, 7)} <= facts.bands
    assert not {result for bound, result in facts.bands if bound == 1.95} - {4, 7}


def test_a_heading_with_a_reference_point_states_rules() -> None:
    task = find_task("mimic-apsiii-24h")
    text = "## Points: variables with a reference point\n| sodium | 145.5 | < 136: 2 |\n"
    assert "number-differs" in {f.rule for f in lint_text("skill", text, task)}
    text = text.replace("Points: variables with a reference point", "References")
    assert "number-differs" not in {f.rule for f in lint_text("skill", text, task)}


def test_sarif_has_what_the_standard_requires(copied: Path, tmp_path: Path) -> None:
    (copied / "skills" / "kdigo" / "run.py").write_text("x")
    document = sarif(lint_folder(copied), tmp_path)
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    (one,) = document["runs"]
    driver = one["tool"]["driver"]
    assert driver["name"] == "m4bench"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(TITLES)
    assert one["columnKind"] == "unicodeCodePoints"
    (result,) = one["results"]
    assert ids[result["ruleIndex"]] == result["ruleId"] == "skill-files"
    assert result["level"] in ("error", "warning")
    assert result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "tasks/kdigo/mimic-kdigo-48h/skills/kdigo/run.py",
        "uriBaseId": "CONTENT",
    }
    assert place["region"]["startLine"] >= 1
    elsewhere = sarif(lint_folder(copied), tmp_path / "other")["runs"][0]["results"][0]
    uri = elsewhere["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")


def test_command_line(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], home_dir: Path
) -> None:
    assert run(["tasks", "lint", "mimic-ventilation", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "passed": True,
        "tasks": {"mimic-ventilation": 0},
        "findings": [],
    }
    (copied / "skills" / "kdigo" / "run.py").write_text("x")
    to = tmp_path / "findings.sarif"
    assert run(["tasks", "lint", str(copied), "--sarif", str(to)]) == 1
    out = capsys.readouterr().out
    assert "run.py:1:1: skill-files: A skill carries no scripts." in out
    assert len(json.loads(to.read_text())["runs"][0]["results"]) == 1
    assert run(["tasks", "lint", str(copied), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert set(found) == {"file", "line", "column", "rule", "level", "message", "fix"}
    assert run(["tasks", "lint", "mimic-ventilatio"]) == 2
    assert not home_dir.exists()


def test_published_tasks_without_a_specification(copied: Path) -> None:
    (copied / "operational-spec.md").unlink()
    assert load_task(copied).operational_spec is None
    assert lint_folder(copied) == ()
