"""Before the signature: exactly what it binds."""

from __future__ import annotations

from engine.workbench.review_types import Sheet
from m4review.review.words import tally, text_title

AFTER = (
    "Your answers are encrypted now and can be read when every reviewer has signed. They are your "
    "first verdicts: they can never be changed."
)


def bindings(sheet: Sheet, draft: dict[str, object]) -> list[tuple[str, str]]:
    """What a signature binds, as names and values."""
    checklist = sheet.checklist
    source = str(draft.get("source") or "")
    lines = [
        ("Task", sheet.task),
        (
            "Checklist",
            f"{checklist.title}, version {checklist.version} ({checklist.sha256[:16]}…)",
        ),
        ("Assignment", f"{sheet.assignment.id[:16]}…"),
        ("Data", f"reference built from {source}" if source else "none (texts only)"),
    ]
    return lines + [(text_title(n), f"{digest[:16]}…") for n, digest in sheet.hashes.items()]


def answer_words(sheet: Sheet, draft: dict[str, object]) -> str:
    """What was answered, counted."""
    entries = draft["items"]
    assert isinstance(entries, list)  # noqa: S101 - a form's data
    rows = sum(len(each["rows"]) for each in entries)
    said = tally(str(each["verdict"]) for each in entries)
    more = f"; {rows} flagged rows, kept encrypted beside the ledger" if rows else ""
    return f"{len(sheet.items)} items: {said}{more}"
