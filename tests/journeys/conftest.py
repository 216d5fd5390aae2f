"""Journeys open the real window."""

from window_fixtures import app, open_window, runner

__all__ = ["app", "open_window", "runner"]
