"""A skill folder (`SKILL.md`: front matter and body) as a checked, frozen object."""

from __future__ import annotations

import difflib
import functools
import io
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from engine.base.content import content_folder
from engine.base.errors import UsageError, bad_file

Tier = Literal["validated", "expert", "community"]
Category = Literal["clinical", "system"]

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class _FrontMatter(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    tier: Tier
    category: Category


class Skill(BaseModel):
    """One written procedure."""

    model_config = ConfigDict(frozen=True)

    name: str
    """As its front matter says; the name of its folder."""
    description: str
    """When to use it."""
    tier: Tier
    """``community`` until reviewed."""
    category: Category
    """``clinical`` or ``system``."""
    body: str
    """The Markdown below the front matter."""
    folder: Path
    """Where it is."""
    body_line: int
    """Line of the file that the body begins at, counted from 1."""

    @property
    def path(self) -> Path:
        """The SKILL.md."""
        return self.folder / "SKILL.md"


@functools.lru_cache(maxsize=64)  # while somebody types it mostly stays as it is
def _loaded(front: str) -> Any:
    """What the front matter holds.

    Raises:
        YAMLError: it is none.
    """
    return YAML(typ="safe", pure=True).load(io.StringIO(front))


def parse_skill(text: str, folder: Path) -> Skill:
    """Read a skill from its text, e.g. one that is being edited.

    Raises:
        BadInput: names file, line and every field that is wrong.
    """
    path = folder / "SKILL.md"
    match = _FRONT.match(text)
    if match is None:
        raise bad_file(
            path,
            "The file must begin with front matter between two lines `---`.",
            line=1,
            todo="Write name, description, tier and category there.",
        )
    try:
        data = _loaded(match.group(1))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise bad_file(path, "The front matter is not valid YAML.", line=line) from error
    except YAMLError as error:
        raise bad_file(path, "The front matter is not valid YAML.", line=2) from error
    if not isinstance(data, dict):
        raise bad_file(path, "The front matter is not a list of `name: value`.", line=2)
    try:
        front = _FrontMatter.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        raise bad_file(
            path,
            f"The front matter is wrong: {problems}.",
            line=2,
            todo="It has exactly name, description, tier (validated, expert, community) and "
            "category (clinical, system).",
        ) from error
    return Skill(
        **front.model_dump(),
        body=text[match.end() :],
        folder=folder,
        body_line=text.count("\n", 0, match.end()) + 1,
    )


def load_skill(folder: Path) -> Skill:
    """Read and check a skill folder.

    Raises:
        BadInput: names file and line.
    """
    path = folder / "SKILL.md"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise bad_file(path, "There is no SKILL.md in this folder.") from error
    except UnicodeDecodeError as error:
        raise bad_file(path, "The file is not UTF-8 text.") from error
    return parse_skill(text, folder)


def list_skills(root: Path | None = None) -> tuple[Skill, ...]:
    """All skills below `root` (default: the shipped ones), by name.

    Raises:
        BadInput: two bear one name, or one is wrong.
    """
    top = root or content_folder("skills")
    skills: dict[str, Skill] = {}
    for path in sorted(top.glob("*/SKILL.md")):
        skill = load_skill(path.parent)
        if skill.name in skills:
            raise bad_file(path, f"Two skills are called {skill.name}.")
        skills[skill.name] = skill
    return tuple(skills[name] for name in sorted(skills))


def find_skill(name: str, root: Path | None = None) -> Skill:
    """The skill called `name`.

    Raises:
        UsageError: there is none; offers the nearest name.
    """
    skills = {skill.name: skill for skill in list_skills(root)}
    if name in skills:
        return skills[name]
    near = difflib.get_close_matches(name, skills, n=1)
    raise UsageError(
        f"There is no skill called {name}.",
        todo=f"Did you mean {near[0]}?" if near else f"There are {', '.join(skills)}.",
    )
