"""What holds for every file of the project."""

from __future__ import annotations

import re
import subprocess
import tomllib
import unicodedata
from pathlib import Path

import engine

ROOT = Path(__file__).resolve().parents[2]
# The words of places where the project is made; they say nothing to those who use it.
FOREIGN = ("sha" + "red/", "/wo" + "rk/", "sub" + "agent")
LONGEST = 600


def tracked(*patterns: str) -> list[Path]:
    """The files under version control that fit one of the patterns (all without one)."""
    # The checkout may belong to someone else than whoever runs the tests.
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z", "--"]
    listed = subprocess.run([*git, *patterns], capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    """Every tracked text file with its content; what holds a NUL byte is no text."""
    files = [(path, path.read_bytes()) for path in tracked()]
    return [(path, data.decode("utf-8")) for path, data in files if b"\0" not in data]


def test_text_files_hold_no_invisible_characters() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: U+{ord(character):04X}"
        for path, text in texts()
        for number, line in enumerate(text.split("\n"), start=1)
        if not line.isascii() or not line.isprintable()
        for character in line
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character != "\t"
    ]
    assert found == []


def test_the_project_speaks_of_itself_alone() -> None:
    home = ROOT / "tests" / "conftest.py"  # where the tests look for data that is not ours
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path, text in texts()
        for word in FOREIGN
        if word in text.lower() and not (path == home and word == FOREIGN[0])
    ]
    assert found == []


def test_modules_stay_small() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked("engine/*.py", "m4review/*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_every_engine_package_says_what_it_is() -> None:
    packages = [path.parent for path in tracked("engine/*/__init__.py")]
    top = [package for package in packages if package.parent == ROOT / "engine"]
    assert top
    assert [p.name for p in top if not (p / "README.md").is_file()] == []


def test_the_licence_is_named_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


def test_the_changelog_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    # A released version has its heading, one on its way stands below "Unreleased".
    assert engine.__version__ in headings or engine.__version__ in text.split("\n## ")[1]


def test_links_in_documents_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path, text in texts()
        if path.suffix == ".md" and not path.is_relative_to(ROOT / "tests")
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if "://" not in target and not (path.parent / target.split("#")[0]).exists()
    ]
    assert broken == []
