"""Both demos, opened once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from finding import Finder, finder

from engine.base.paths import Home


@pytest.fixture(scope="module")
def evidence(mimic_built: Home, eicu_built: Home) -> Iterator[Finder]:
    """Evidence and lint over the built demos."""
    with finder({"mimic-demo": mimic_built, "eicu-demo": eicu_built}) as found:
        yield found
