"""Whether the long proofs run whole: ``make proofs`` says so; `make test` takes a part of each."""

from __future__ import annotations

import os

WHOLE = os.environ.get("M4REVIEW_TEST_PROOFS") == "all"
"""Every planted error, and a thousand cells of every target."""
