"""Skills are read whole, or refused with file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.base.errors import BadInput, UsageError
from engine.catalogue.skill import find_skill, list_skills, load_skill, parse_skill

GOOD = """---
name: thing
description: Does a thing.
tier: community
category: clinical
---

# Thing
---
Body.
"""


def test_front_matter_and_body() -> None:
    skill = parse_skill(GOOD, Path("thing"))
    assert (skill.name, skill.tier, skill.category) == ("thing", "community", "clinical")
    assert skill.body == "\n# Thing\n---\nBody.\n"
    assert GOOD.splitlines()[skill.body_line - 1] == ""
    assert parse_skill(GOOD.replace("\n", "\r\n"), Path("thing")).name == "thing"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("# Thing\n", 1, "must begin with front matter"),
        (GOOD.replace("tier: community\n", ""), 2, "tier: Field required"),
        (GOOD.replace("community", "gold"), 2, "tier: Input should be"),
        (GOOD.replace("tier:", "author: me\ntier:"), 2, "author: Extra inputs"),
        (GOOD.replace("name: thing", "name: 5"), 2, "name: Input should be a valid string"),
        (GOOD.replace("Does a thing.", "[a"), 4, "not valid YAML"),
        ("---\njust text\n---\n", 2, "not a list"),
        ("---\nname: thing\n", 1, "must begin with front matter"),
    ],
)
def test_what_is_wrong_is_told(text: str, line: int, told: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_skill(text, Path("thing"))
    assert told in error.value.text
    assert error.value.place is not None
    assert error.value.place.line == line


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no SKILL\.md"):
        load_skill(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "SKILL.md").write_text(GOOD)
    with pytest.raises(BadInput, match="Two skills are called thing"):
        list_skills(tmp_path)
    (tmp_path / "b" / "SKILL.md").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not UTF-8"):
        list_skills(tmp_path)


def test_the_shipped_ones_lie_in_folders_of_their_name() -> None:
    skills = list_skills()
    assert skills
    assert all(skill.folder.name == skill.name for skill in skills)
    with pytest.raises(UsageError, match="Did you mean ventilation"):
        find_skill("ventilatio")
