"""The control conditions: the raw SQL runs in the task's own database and scores 1."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from sqlglot import exp, parse_one

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.catalogue.skill import list_skills, parse_skill
from engine.catalogue.task import Task, find_task, list_tasks, load_task
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED
from engine.controls import GeneratedSkill, decoy_name, decoy_skill, every_skill, raw_sql
from engine.controls.decoys import _decoys
from engine.controls.rawsql import _renamed, raw_sql_skill
from engine.references import open_reference
from engine.runs import folder
from engine.scoring import score_table
from engine.sources import find_source
from engine.workspaces import build_workspace
from engine.workspaces.contents import needs_derived, tables_of
from engine.workspaces.proof import tables_in

TASKS = list_tasks()
WORKSPACES: dict[tuple[str, ...], Path] = {}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_raw_sql_reads_only_what_the_task_has(task: Task) -> None:
    sql = raw_sql(task)
    read = {
        f"{t.db}.{t.name}" for t in parse_one(sql, dialect="duckdb").find_all(exp.Table) if t.db
    }
    assert not read & set(task.drop_tables)
    if not needs_derived(task):
        assert DERIVED not in sql
    assert "--" not in sql
    assert sql.startswith(("WITH ", "SELECT"))


def test_raw_sql_skill_has_the_form_of_a_skill(tmp_path: Path) -> None:
    task = find_task("mimic-ventilation-raw")
    made = raw_sql_skill(task)
    skill = parse_skill(made.text, tmp_path)
    assert (made.name, skill.name) == (task.name, task.name)
    prose = skill.body.replace(raw_sql(task), "")
    assert len(prose) < 80  # a heading and the fence, no explanation


def test_renaming_leaves_texts_columns_and_aliases_alone() -> None:
    sql = (
        "-- of mimiciv_derived.bg\n"
        "SELECT bg.ph, 'mimiciv_derived.bg -- no' AS said /* two\nlines */\n"
        "FROM mimiciv_derived.bg -- here\n"
        "LEFT JOIN mimiciv_derived.bg AS other ON bg.ph = other.ph\n"
        "LEFT JOIN mimiciv_derived.bga third ON true"
    )
    assert _renamed(sql, {"bg": "derived_bg"}) == (
        "SELECT bg.ph, 'mimiciv_derived.bg -- no' AS said\n"
        "FROM derived_bg AS bg\n"
        "LEFT JOIN derived_bg AS other ON bg.ph = other.ph\n"
        "LEFT JOIN mimiciv_derived.bga third ON true"
    )


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_raw_sql_runs_in_the_workspace_and_scores_one(
    task: Task, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    built, source = _home(task, request)
    job = SimpleJob()
    reference = open_reference(built, source, task.target)
    tables = tables_of(task, find_source(built, source), frozenset(concept_graph().concepts))
    if tables not in WORKSPACES:  # raw tasks of one source have the same one
        WORKSPACES[tables] = build_workspace(built, task, source, job=job).path
        assert set(tables_in(WORKSPACES[tables])) == set(tables)
    output = tmp_path / "output.csv"
    con = duckdb.connect(str(WORKSPACES[tables]), read_only=True, config={"threads": 2})
    try:
        con.execute(f"COPY ({raw_sql(task)}) TO '{output}' (HEADER)")
    finally:
        con.close()
    score = score_table(task.evaluation, output, reference, job=job)
    assert score.reward == 1
    assert score.strict_pass


def _home(task: Task, request: pytest.FixtureRequest) -> tuple[Home, str]:
    kind = "eicu" if task.source_kind == "eicu" else "mimic"
    return request.getfixturevalue(f"{kind}_built"), f"{kind}-demo"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_has_a_decoy_of_another_family(task: Task) -> None:
    decoy = decoy_skill(task)
    assert decoy is not None
    own = {path.name for path in task.skill_folders}
    assert decoy.name not in own
    (given,) = folder.skills_for(task, "with-skill-decoy")
    assert given == decoy
    assert decoy_name(task) in {skill.name for skill in list_skills()}


def test_the_map_is_of_the_tasks_that_there_are() -> None:
    assert set(_decoys()) == {task.name for task in TASKS}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_condition_has_its_material(task: Task, tmp_path: Path) -> None:
    (made,) = folder.skills_for(task, "with-skill-rawsql")
    assert isinstance(made, GeneratedSkill)
    assert {path.name for path in folder.skills_for(task, "with-skill-all")} == {
        skill.folder.name for skill in list_skills()
    }
    folder.lay_out(
        tmp_path, instruction="", files={}, skills=(made,), skills_folder=".claude/skills"
    )
    laid = tmp_path / ".claude" / "skills" / task.name / "SKILL.md"
    assert laid.read_text(encoding="utf-8") == made.text


def test_a_published_folder_keeps_its_own_controls(tmp_path: Path) -> None:
    ours = find_task("mimic-ventilation")
    for family, name in (("a", "mimic-ventilation"), ("b", "mimic-other")):
        place = tmp_path / family / name
        for path in ("skills/shared", f"skills/{name}-only", "skills-decoy/d", "skills-rawsql/r"):
            (place / path).mkdir(parents=True)
            (place / path / "SKILL.md").write_text("x")
        text = (ours.folder / "task.toml").read_text(encoding="utf-8")
        (place / "task.toml").write_text(text.replace('"mimic-ventilation"', f'"{name}"', 1))
    task = load_task(tmp_path / "a" / "mimic-ventilation")
    for condition, name in (("decoy", "d"), ("rawsql", "r")):
        (given,) = folder.skills_for(task, f"with-skill-{condition}")
        assert isinstance(given, Path)
        assert given.parent.parent == task.folder
        assert given.name == name
    found = every_skill(task)
    assert [path.name for path in found] == ["mimic-other-only", "mimic-ventilation-only", "shared"]
    assert found[2].parents[1].name == "mimic-other"  # the first in sorted order of tasks
