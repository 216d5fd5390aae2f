"""Claims are read with their place; what is not understood is listed; nothing breaks the reader."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.claims import extract_claims

TEXT = """---
name: x
description: From 6 hours before ICU admission.
tier: community
category: clinical
---
# Rules
| item | label | unit | kept if |
|---|---|---|---|
| 50983 | Sodium | mEq/L | 0 < v ≤ 200 |

Take `Face tent`, `Trach mask␠`, `a. b`. Missing ones as motor 6.
Use 7 doublings.

## Worked examples
| item | label |
|---|---|
| 50971 | Potassium |
"""


def test_claims_stand_where_they_are_written() -> None:
    claims, unread = extract_claims("skill", TEXT)
    lines = TEXT.split("\n")
    found = {(claim.kind, claim.shown): claim for claim in claims}
    for claim in claims:
        if claim.kind not in ("text", "grain"):
            assert lines[claim.line - 1][claim.column - 1 :].startswith(claim.shown), claim
    assert found["item", "50983"].facts == {
        "item": 50983, "label": "Sodium", "head": "label", "denied": False,
    }  # fmt: skip
    limits = found["range", "0 < v ≤ 200"].facts or {}
    assert (limits["low"], limits["high"]) == (0, 200)
    assert (limits["closed_low"], limits["closed_high"]) == (False, True)
    assert ("unit", "mEq/L") in found
    assert ("item", "50971") not in found  # an example
    window = found["window", "6 hours"].facts or {}
    assert (window["seconds"], window["direction"], window["admission"]) == (21600, "-", True)
    texts = [claim.shown for claim in claims if claim.kind == "text"]
    assert texts == ["Face tent", "Trach mask ", "a. b"]
    assert [(number.shown, number.line) for number in unread] == [("7", 13)]
    assert len({claim.id for claim in claims}) == len(claims)


@given(text=st.text(st.sampled_from("|-#`:[]{}()<>≤×.,;0123456789 ab\r\n'\"!") | st.characters()))
@example(text="| item | label |\n|---|---|\n| 50912")
@example(text="---\ndescription: a\n---\n| a |\x0b\n|---|\n|\u2028b|")
@example(text="> | a |\n> |---|\n> | 1 |")
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_reader(text: str) -> None:
    claims, unread = extract_claims("skill", text)
    for found in (*claims, *unread):
        assert found.line >= 1
        assert found.column >= 1
