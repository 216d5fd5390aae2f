"""What a test lacks: a reason to skip on a user's machine, a failure where all must be there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def absent(what: str) -> NoReturn:
    """Skip, or fail where everything must be there."""
    if os.environ.get("M4REVIEW_TEST_REQUIRE") == "all":
        pytest.fail(f"{what} is missing, and everything is required here")
    pytest.skip(f"{what} is missing")
