"""Names of runs, instructions and what is laid out for the agent."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.agents import find_agent
from engine.base.errors import BadInput, HarnessFault, UsageError
from engine.base.files import sha256_of
from engine.catalogue.task import Task, find_task, load_task
from engine.runs import folder
from engine.runs.records import CONDITIONS

TOML = """
[metadata]
name = "mimic-x"
difficulty = "hard"
[database]
source = "mimic-iv"
[evaluation]
key_columns = ["stay_id"]
value_columns = ["v"]
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    place = tmp_path / "tasks" / "family" / "mimic-x"
    (place / "skills" / "good").mkdir(parents=True)
    (place / "skills-decoy" / "other").mkdir(parents=True)
    (place / "task.toml").write_text(TOML)
    (place / "instruction.md").write_text("Write {output_path} from {db_path}.\n\n")
    (place / "skills" / "good" / "SKILL.md").write_text("---\nname: good\n---\n")
    (place / "skills-decoy" / "other" / "SKILL.md").write_text("---\nname: other\n---\n")
    return load_task(place)


@pytest.mark.parametrize(
    ("schema", "model", "expected"),
    [
        ("native", "gpt-5.4-mini", "mimic-x_with-skill_codex_gpt-5.4-mini_t2_20260504_053051"),
        (
            "obfuscated",
            "gpt-oss:20b",
            "mimic-x_with-skill_obfuscated_codex_gpt-oss-20b_t2_20260504_053051",
        ),
        ("native", "../../etc", "mimic-x_with-skill_codex_etc_t2_20260504_053051"),
    ],
)
def test_run_ids_have_the_published_form(schema, model, expected):
    at = datetime(2026, 5, 4, 5, 30, 51, tzinfo=UTC)
    made = folder.run_id(
        task="mimic-x",
        condition="with-skill",
        schema=schema,
        agent="codex",
        model=model,
        trial=2,
        at=at,
    )
    assert made == expected


def test_instruction_has_both_notes_and_inside_paths(task: Task):
    text = folder.instruction_for(task, "no-skill")
    order = [text.index(w) for w in ("closed sandbox", "public concept code", "Write /job")]
    assert order == sorted(order)
    assert text.endswith("Write /job/output.csv from /job/database.duckdb.\n")
    assert "{" not in text


def test_the_operational_spec_is_part_of_the_instruction(task: Task):
    with pytest.raises(UsageError, match="operational-spec"):
        folder.skills_for(task, "operational-spec")
    (task.folder / "operational-spec.md").write_text("Round to two digits.")
    assert folder.skills_for(task, "operational-spec") == ()
    assert folder.instruction_for(task, "operational-spec").endswith("Round to two digits.\n")
    assert "Round" not in folder.instruction_for(task, "with-skill")


def test_conditions_choose_the_skills(task: Task):
    assert folder.skills_for(task, "no-skill") == ()
    assert [p.name for p in folder.skills_for(task, "with-skill")] == ["good"]
    assert [p.name for p in folder.skills_for(task, "with-skill-decoy")] == ["other"]
    with pytest.raises(UsageError, match="with-skill-rawsql"):
        folder.skills_for(task, "with-skill-rawsql")
    with pytest.raises(UsageError, match="no condition"):
        folder.skills_for(task, "with-luck")


def test_what_is_laid_out(task: Task, tmp_path: Path):
    place = tmp_path / "run"
    folder.make(place)
    folder.lay_out(
        place / "work",
        instruction="do",
        files={"script.py": b"pass", ".m4/run.py": b"run"},
        skills=folder.skills_for(task, "with-skill"),
        skills_folder=".skills",
    )
    names = {str(p.relative_to(place / "work")) for p in (place / "work").rglob("*") if p.is_file()}
    assert names == {"instruction.md", "script.py", ".m4/run.py", ".skills/good/SKILL.md"}
    folder.release(place)
    assert list(place.iterdir()) == []
    with pytest.raises(FileExistsError):
        folder.make(place)


def test_no_skill_runs_contain_no_skill(task: Task, tmp_path: Path):
    folder.make(tmp_path / "run")
    folder.lay_out(
        tmp_path / "run" / "work",
        instruction=folder.instruction_for(task, "no-skill"),
        files={},
        skills=folder.skills_for(task, "no-skill"),
        skills_folder=".skills",
    )
    assert not list((tmp_path / "run").rglob("*[sS][kK][iI][lL][lL]*"))


def test_a_runs_skill_is_read_as_it_was_given_and_nothing_else(task: Task, tmp_path: Path):
    place, work = tmp_path / "run", tmp_path / "run" / "work"
    folder.make(place)
    skills = folder.skills_for(task, "with-skill")
    folder.lay_out(work, instruction="", files={}, skills=skills, skills_folder=".skills")
    folder.keep_given(place, work, ".skills", folder.prove_given(work, skills, ".skills"))
    was = (task.folder / "skills" / "good" / "SKILL.md").read_text()
    recorded = {sha256_of(place / "given" / "good" / "SKILL.md")}
    (task.folder / "skills" / "good" / "SKILL.md").write_text("edited since")
    assert folder.given_skill(place, "good", recorded) == was
    assert folder.given_skill(place, "good", {"0" * 64}) is None
    assert folder.given_skill(place, "other", recorded) is None
    (tmp_path / "run" / "SKILL.md").write_text(was)
    assert folder.given_skill(place, "..", recorded) is None
    (place / "given" / "linked").symlink_to(place / "given" / "good")
    assert folder.given_skill(place, "linked", recorded) is None


def test_links_in_a_skill_are_refused(task: Task, tmp_path: Path):
    skill = task.folder / "skills" / "good"
    (skill / "more.md").symlink_to("/etc/passwd")
    (tmp_path / "work").mkdir()
    with pytest.raises(BadInput, match="ordinary files"):
        folder.lay_out(
            tmp_path / "work", instruction="", files={}, skills=(skill,), skills_folder=".skills"
        )


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("agent", ["codex", "claude", "gemini", "pi", "script"])
def test_each_condition_gives_what_it_says_where_the_agent_looks(
    agent: str, condition: str, tmp_path: Path
):
    task = find_task("mimic-sofa-24h")
    place = find_agent(agent).skills_folder
    skills = folder.skills_for(task, condition)
    work = tmp_path / "work"
    work.mkdir()
    text = folder.instruction_for(task, condition)
    folder.lay_out(work, instruction=text, files={}, skills=skills, skills_folder=place)
    found = folder.prove_given(work, skills, place)

    names = [name.removeprefix(f"{place}/").removesuffix("/SKILL.md") for name in found]
    own = [skill.name for skill in task.skill_folders]
    if condition in ("no-skill", "operational-spec"):
        assert names == []
    elif condition == "with-skill":
        assert names == own
    elif condition == "with-skill-all":
        assert set(own) < set(names)
        assert len(names) > 5
    else:
        assert len(names) == 1
        assert names != own
    assert all(name.startswith(f"{place}/") for name in found)
    assert ("## Operational specification" in text) == (condition == "operational-spec")
    assert [text.index(words) for words in ("closed sandbox", "public concept code")] == sorted(
        text.index(words) for words in ("closed sandbox", "public concept code")
    )


@pytest.mark.parametrize(
    "stray",
    [
        ".claude/skills/more/SKILL.md",
        ".agents/skills/more/skill.md",
        "SKILL.md",
        ".m4/home/.codex/skills/x/SKILL.md",
        "AGENTS.md",
        ".m4/home/.claude/CLAUDE.md",
        "GEMINI.md",
    ],
)
def test_what_a_condition_does_not_give_stops_the_run(task: Task, tmp_path: Path, stray: str):
    for condition in ("no-skill", "with-skill"):
        work = tmp_path / condition
        work.mkdir()
        skills = folder.skills_for(task, condition)
        folder.lay_out(
            work, instruction="do", files={}, skills=skills, skills_folder=".agents/skills"
        )
        folder.prove_given(work, skills, ".agents/skills")
        (work / stray).parent.mkdir(parents=True, exist_ok=True)
        (work / stray).write_text("more")
        with pytest.raises(HarnessFault, match="does not give"):
            folder.prove_given(work, skills, ".agents/skills")


def test_a_skill_that_did_not_arrive_stops_the_run(task: Task, tmp_path: Path):
    (tmp_path / "work").mkdir()
    with pytest.raises(HarnessFault, match="lacks"):
        folder.prove_given(
            tmp_path / "work", folder.skills_for(task, "with-skill"), ".agents/skills"
        )


def test_which_of_the_present_texts_a_run_had(tmp_path: Path) -> None:
    task = find_task("mimic-sofa-24h")
    kept = tmp_path / "instruction.md"

    def given(condition: str, files: dict[str, object]) -> frozenset[str]:
        return folder.texts_given(task, condition, tmp_path, files)

    kept.write_text(folder.instruction_for(task, "no-skill"), encoding="utf-8")
    assert given("no-skill", {}) == {"instruction.md"}
    assert given("with-skill-decoy", {}) == {"instruction.md"}
    (skill,) = task.skill_folders
    same = {".skills/sofa/SKILL.md": sha256_of(skill / "SKILL.md")}
    assert given("with-skill", same) == {"instruction.md", "sofa/SKILL.md"}
    assert given("with-skill", {".skills/sofa/SKILL.md": "edited since"}) == {"instruction.md"}
    assert given("operational-spec", {}) == {"instruction.md"}  # it was another one then
    kept.write_text(folder.instruction_for(task, "operational-spec"), encoding="utf-8")
    assert given("operational-spec", {}) == {"instruction.md", "operational-spec.md"}
    kept.write_text("another request", encoding="utf-8")
    assert given("no-skill", {}) == frozenset()
    kept.unlink()  # as of a run of elsewhere that kept none
    assert "sofa/SKILL.md" in given("with-skill", {})
