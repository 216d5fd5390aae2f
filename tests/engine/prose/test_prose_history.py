"""Versions from git are read without running anything that the repository names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from absence import absent

from engine.base.errors import BadInput
from engine.prose.history import commits_of, text_at


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        absent("git")
    root = tmp_path / "content"
    (root / "skills" / "x").mkdir(parents=True)
    path = root / "skills" / "x" / "SKILL.md"
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=A B", "-c", "user.email=a@b", *words],
            cwd=root,
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    for number in (1, 2):
        path.write_text(f"version {number}\n", encoding="utf-8")
        git("add", ".")
        git("commit", "-q", "-m", f"Change {number}", "-m", "more")
    for name in ("core.pager", "core.fsmonitor", "diff.external", "gpg.program", "diff.t.textconv"):
        git("config", name, str(program))
    git("config", "log.showSignature", "true")
    (root / ".gitattributes").write_text("* diff=t filter=t\n")
    git("config", "filter.t.smudge", str(program))
    return path


def test_versions_newest_first_and_nothing_is_run(repository: Path, tmp_path: Path) -> None:
    commits = commits_of(repository)
    assert [c.subject for c in commits] == ["Change 2", "Change 1"]
    assert [text_at(repository, c.id) for c in commits] == ["version 2\n", "version 1\n"]
    assert commits[0].author == "A B"
    assert commits[0].at >= commits[1].at
    assert not (tmp_path / "ran").exists()


def test_no_work_tree_and_no_git_are_no_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lone = tmp_path / "SKILL.md"
    lone.write_text("x")
    assert commits_of(lone) == ()
    assert commits_of(tmp_path / "nowhere" / "SKILL.md") == ()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert commits_of(repository) == ()


@pytest.mark.parametrize("commit", ["HEAD", "--version", "0" * 40, ""])
def test_only_commits_are_read(repository: Path, commit: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        text_at(repository, commit)
