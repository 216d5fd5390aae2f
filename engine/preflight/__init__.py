"""The preflight: what a task's texts must keep before anybody runs on them."""

from engine.preflight.finding import Finding, Kind
from engine.preflight.lint import TITLES, lint_folder, lint_task, lint_text
from engine.preflight.sarif import sarif

__all__ = ["TITLES", "Finding", "Kind", "lint_folder", "lint_task", "lint_text", "sarif"]
