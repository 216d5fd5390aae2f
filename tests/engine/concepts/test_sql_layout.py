"""SQL files are laid out as sqlfluff wants them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlfluff.core import FluffConfig, Linter
from tqdm import tqdm

from engine.concepts.graph import SQL_FOLDER

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ROOT / "engine" / "references" / "targets"
FILES = [*sorted(SQL_FOLDER.rglob("*.sql")), *sorted(TARGETS.glob("*.sql"))]


@pytest.fixture(scope="module")
def linter() -> Linter:
    tqdm.monitor_interval = 0  # sqlfluff brings it along; its thread would outlive the test
    return Linter(config=FluffConfig.from_path(str(ROOT)))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_layout(path: Path, linter: Linter) -> None:
    found = linter.lint_string(path.read_text(encoding="utf-8"), fname=str(path))
    told = [f"line {v.line_no}: {v.rule_code()} {v.desc()}" for v in found.get_violations()]
    assert not told
