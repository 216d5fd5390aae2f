"""What the start made is out of the way of Python's search for unused cycles; the rest is not."""

from __future__ import annotations

import gc
import weakref

import pytest

from m4review.app.start import spare_what_stays

pytestmark = pytest.mark.gui


class Link:
    """Something that can hold itself."""

    to: Link | None = None


def test_what_stays_is_spared_and_what_comes_later_is_still_found() -> None:
    try:
        spare_what_stays()
        assert gc.get_freeze_count() > 10_000
        later = Link()
        later.to = later
        gone = weakref.ref(later)
        del later
        gc.collect()
        assert gone() is None
    finally:
        gc.unfreeze()
