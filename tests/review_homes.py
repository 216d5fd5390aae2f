"""Homes in which one task is assigned for review, each with a keyring of its own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import keyring
import pytest

from engine.base.paths import open_home
from engine.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent
TASK = "mimic-sirs-24h-raw"


class Keyring:
    """Keeps secrets in memory: a keyring of a session of its own."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text


def sirs_content(folder: Path, family: str = "sirs") -> Path:
    """A copy of one family of tasks and its skill, to be changed at will."""
    for name in ("tasks", "skills"):
        shutil.copytree(ROOT / name / family, folder / name / family)
    return folder


@dataclass
class Team:
    """Anna and Berta review, Clara adjudicates; all know of it."""

    folder: Path
    content: Path
    rings: dict[str, Keyring]
    benches: dict[str, Workbench]
    monkeypatch: pytest.MonkeyPatch

    def at(self, name: str) -> Workbench:
        """Somebody sits down at the own keyring."""
        ring = self.rings[name]
        self.monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
        return self.benches[name]

    def author(self, name: str) -> str:
        """Somebody's fingerprint."""
        (me,) = [each for each in self.at(name).reviews().people if each.me]
        return me.author

    def gives(self, name: str, *others: str) -> Path:
        """A bundle for others, who import it."""
        file = self.folder / f"{name}.zip"
        self.at(name).export_reviews(file)
        for other in others:
            self.at(other).merge_reviews([file])
        return file

    def reviews(self, name: str, **doubts: str) -> None:
        """Agree to everything but what is doubted, and sign."""
        bench = self.at(name)
        sheet = bench.review_page(TASK).sheet
        assert sheet is not None
        for entry in sheet.draft["items"]:
            doubt = doubts.get(entry["item"].replace("-", "_"))
            entry["verdict"] = "concern" if doubt else "agree"
            if doubt:
                entry.update(severity="major", text=doubt)
        bench.sign_review(sheet.draft)


def make_team(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, task: str = TASK, family: str = "sirs"
) -> Team:
    """Three homes below a folder."""
    content = sirs_content(folder / "content", family)
    names = ("anna", "berta", "clara")
    benches = {name: Workbench(open_home(folder / name), content=content) for name in names}
    team = Team(folder, content, {name: Keyring() for name in names}, benches, monkeypatch)
    for name in names:
        team.at(name).make_reviewer(name.title(), "intensivist")
    team.gives("anna", "clara")
    team.gives("berta", "clara")
    people = [team.author(name) for name in names]
    team.at("clara").assign_review(task, reviewers=people[:2], adjudicator=people[2])
    team.gives("clara", "anna", "berta")
    return team
