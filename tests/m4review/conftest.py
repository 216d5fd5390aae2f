"""Tests of the app may open its window."""

from window_fixtures import app, context, open_window, runner

__all__ = ["app", "context", "open_window", "runner"]
