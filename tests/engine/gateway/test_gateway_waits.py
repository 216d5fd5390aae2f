"""How long an agent is told to wait: some would sleep through their whole run."""

from __future__ import annotations

import pytest

from engine.gateway.routes import passed_answer_headers


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Retry-After", "0", True),
        ("Retry-After", "20", True),
        ("Retry-After", "21", False),
        ("retry-after", "Fri, 02 Jan 2026 03:05:35 GMT", False),
        ("retry-after", "nan", False),
        ("retry-after-ms", "20000", True),
        ("retry-after-ms", "20001", False),
        ("x-ratelimit-reset-requests", "6m0s", True),
    ],
)
def test_only_short_waits_are_passed_on(name, value, kept):
    assert passed_answer_headers([(name, value)]) == ([(name, value)] if kept else [])
