"""Shared by the tests of sources."""

from __future__ import annotations

from typing import Any

import pytest

from engine.base.errors import BadInput


def refused(folder: Any) -> BadInput:
    """Import a folder that must be refused; the error."""
    with pytest.raises(BadInput) as caught:
        folder.add()
    assert caught.value.place is not None
    assert caught.value.todo
    return caught.value
