"""Reviewers who work with the command line, and forms that are filled in."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from engine.base.paths import open_home
from engine.cli.main import run
from engine.reviews import Desk
from engine.reviews.texts import Content

TASK = "mimic-sirs-24h-raw"


class Keyring:
    """Keeps secrets in memory: a keyring of a session of its own."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@dataclass
class Person:
    """Somebody at a workstation."""

    name: str
    home: Path
    content: Path
    sit_down: Callable[[], None]
    capsys: pytest.CaptureFixture[str]
    said: str = ""

    def does(self, *words: str, fails: int = 0) -> Any:
        """`m4bench review …` with an exit code; what it answered as JSON."""
        self.sit_down()
        self.capsys.readouterr()
        code = run(
            ["--home", str(self.home), "--json", "review", "--content", str(self.content), *words]
        )
        out, self.said = self.capsys.readouterr()
        assert code == fails, f"{code}: {self.said}{out}"
        return json.loads(out)

    def desk(self) -> Desk:
        self.sit_down()
        return Desk(open_home(self.home), Content(self.content))

    def begins(self, role: str = "intensivist") -> Person:
        self.does("identity", "--name", self.name, "--role", role)
        return self

    def gives(self, *others: Person) -> None:
        """A bundle for others, who merge it."""
        bundle = self.home.parent / f"{self.name}.zip"
        self.does("export", str(bundle))
        for other in others:
            other.does("merge", str(bundle))

    def fills_in(self, task: str = TASK, **answers: Mapping[str, Any]) -> Path:
        """Open the form and answer every item: agree but where `answers` (by item) says more."""
        path = self.home.parent / f"{self.name}.yaml"
        path.unlink(missing_ok=True)
        self.does("open", task, "--out", str(path))
        fill(path, answers)
        return path

    def reviews(self, **answers: Mapping[str, Any]) -> Any:
        """Fill in and submit."""
        form = self.fills_in(**answers)
        return self.does("submit", str(form))


def fill(path: Path, answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Answer every open item of a form: agree but where `answers` says otherwise."""
    yaml = YAML()
    form = yaml.load(path.read_text("utf-8"))
    named = {name.replace("_", "-"): said for name, said in answers.items()}
    for entry in form["items"]:
        if entry.get("verdict") is None:
            entry["verdict"] = "agree"
        entry.update(named.pop(entry["item"], {}))
    assert not named
    out = io.StringIO()
    yaml.dump(form, out)
    path.write_text(out.getvalue(), "utf-8")


def doubt(text: str, verdict: str = "concern") -> dict[str, Any]:
    """An answer other than agree."""
    severity = None if verdict == "cannot judge" else "major"
    return {"verdict": verdict, "severity": severity, "text": text}
