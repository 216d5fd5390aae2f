"""A whole double review as entries, made without files of tasks: what ledgers are tested with."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.base.paths import Home
from engine.reviews import Desk, ledger
from engine.reviews.checklist import newest
from engine.reviews.entry import Entry
from engine.reviews.identity import Signer
from engine.reviews.place import Place, place_of
from engine.reviews.sealing import seal
from engine.reviews.state import bound
from engine.reviews.texts import Content
from engine.reviews.verdicts import Answer, Verdict

CHECKLIST = newest("table")
ITEMS = [item.id for item in CHECKLIST.items]
TEXTS = {"instruction": "1" * 64, "skill:x": "2" * 64, "task.toml": "3" * 64}
SIGNERS = [Signer(bytes([n]) * 64) for n in (1, 2, 3)]
A, B, C = SIGNERS


def desk_at(folder: Path) -> Desk:
    folder.mkdir(exist_ok=True)
    return Desk(Home(folder), Content(folder / "content"))


def verdicts(**answers: Answer) -> list[Verdict]:
    return [
        Verdict(
            item=item,
            verdict=answers.get(item, "agree"),
            severity="minor" if answers.get(item) in ("concern", "disagree") else None,
            text="why" if answers.get(item, "agree") != "agree" else "",
            anchors=[],
            evidence=[],
            places=[],
        )
        for item in ITEMS
    ]


def say(place: Place, signer: Signer, kind: Any, body: dict[str, Any], **more: Any) -> Entry:
    with ledger.locked(place):
        return ledger.append(place, signer, kind, body, **more)


def identities(place: Place, signers: Sequence[Signer] = SIGNERS) -> None:
    for number, signer in enumerate(signers):
        say(place, signer, "identity", {"name": f"P{number}", "role": "clinician"})


def assignment(place: Place, task: str = "mimic-x", items: Sequence[str] = ITEMS) -> Entry:
    body = {
        "task": task,
        "family": "x",
        "checklist": CHECKLIST.named,
        "items": list(items),
        "reviewers": [A.author, B.author],
        "adjudicator": C.author,
        "follows": None,
    }
    return say(place, C, "assign", body)


def review(place: Place, signer: Signer, asked: Entry, **answers: Answer) -> Entry:
    body, _ = review_body(signer, asked, verdicts(**answers))
    return say(place, signer, "review", body)


def review_body(signer: Signer, asked: Entry, given: list[Verdict]) -> tuple[dict[str, Any], bytes]:
    sealed, key = seal(signer, given, bound(asked.id, signer.author, TEXTS))
    body = {
        "assignment": asked.id,
        "checklist": CHECKLIST.named,
        "texts": TEXTS,
        "source": None,
        "sealed": sealed.model_dump(),
        "annex": None,
    }
    return body, key


def reveal(place: Place, signer: Signer, of: Entry) -> Entry:
    key = signer.sealing_key(bytes.fromhex(of.body["sealed"]["salt"]))
    return say(place, signer, "reveal", {"review": of.id, "key": base64.b64encode(key).decode()})


def decide(place: Place, asked: Entry, of: Sequence[Entry], items: Sequence[str]) -> Entry:
    body = {
        "assignment": asked.id,
        "reviews": sorted(entry.id for entry in of),
        "texts": TEXTS,
        "decisions": [{"item": i, "verdict": "agree", "reason": "seen"} for i in items],
        "named": False,
    }
    return say(place, C, "adjudicate", body)


def whole(folder: Path) -> tuple[Entry, ...]:
    """Ten entries: three people, one assignment, reviews, keys, an adjudication, one more round."""
    place = place_of(desk_at(folder).home)
    identities(place)
    asked = assignment(place)
    one = review(place, A, asked, units="concern")
    two = review(place, B, asked)
    reveal(place, A, one)
    reveal(place, B, two)
    decide(place, asked, [one, two], ["units"])
    assignment(place, "mimic-y")
    return ledger.read(place.ledger).entries
