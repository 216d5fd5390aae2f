"""Tests of the app may open its window."""

from window_fixtures import app, open_window, runner

__all__ = ["app", "open_window", "runner"]
