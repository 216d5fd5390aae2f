"""No tool tip takes a value, a name or an agent's words for HTML."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import Qt, QTextDocument

import m4review
from m4review.app.tips import as_written, in_lines

pytestmark = pytest.mark.gui
HOSTILE = '<img src="file:///etc/hostname"><b>7 mg</b>\n  a < b & c'
SHOWING = {"setToolTip": -1, "showText": 1}


def test_what_is_no_html_stays_as_it_is() -> None:
    for text in ("", "7 mg", "a < b", "x > 3 & y", "two\nlines"):
        assert as_written(text) == text


def test_what_looks_like_html_is_shown_letter_by_letter() -> None:
    assert Qt.mightBeRichText(HOSTILE)
    shown = QTextDocument()  # what a tip draws its HTML with
    shown.setHtml(as_written(HOSTILE))
    assert shown.toPlainText() == HOSTILE
    assert not any(part.isImageFormat() for part in shown.allFormats())
    shown.setHtml(HOSTILE)
    assert any(part.isImageFormat() for part in shown.allFormats())  # as it would have been


def test_a_tip_is_never_as_wide_as_the_screen() -> None:
    rule = "not met: (" + "a.charttime > b.charttime AND " * 20 + "a.x = 1)"
    lines = in_lines(f"Rule\n{rule}").split("\n")
    assert lines[0] == "Rule"
    assert max(map(len, lines)) <= 88
    assert " ".join(lines[1:]) == rule
    for text in ("", "7 mg", "two\nlines", "x" * 200):
        assert in_lines(text) == text


def shown_tips() -> Iterator[tuple[str, ast.expr]]:
    """Everything that the window's code gives out as a tool tip."""
    for path in sorted(Path(m4review.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr == "showText" and ast.unparse(node.func) != "QToolTip.showText":
                continue
            if node.func.attr in SHOWING:
                yield f"{path.name}:{node.lineno}", node.args[SHOWING[node.func.attr]]


def test_every_tip_that_is_not_a_fixed_text_is_shown_as_written() -> None:
    tips = list(shown_tips())
    assert len(tips) > 40
    loose = [
        where
        for where, text in tips
        if not isinstance(text, ast.Constant)
        and not (isinstance(text, ast.Call) and ast.unparse(text.func) == "as_written")
    ]
    assert loose == []


def test_every_model_gives_its_tips_as_written() -> None:
    for path in sorted(Path(m4review.__file__).parent.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "ToolTipRole" in source:
            assert "as_written" in source, path.name
