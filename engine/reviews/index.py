"""An SQLite index of the ledger, for lists and searches. Made from it at any time again.

It stands in the home, never on a share, and holds no verdict that the ledger does not reveal.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlite_utils import Database

from engine.base.files import writing
from engine.base.store import in_words
from engine.reviews import ledger
from engine.reviews.acts import Desk
from engine.reviews.canonical import sha256
from engine.reviews.state import State, state_of

FORMAT = 1


def rebuild(desk: Desk, *, force: bool = False) -> Path:
    """The index, made anew if the ledger is not the one that it was made from.

    Raises:
        StorageFull, Busy: it cannot be written; the ledger is as it was.
    """
    place = desk.place
    entries = ledger.read(place.ledger).entries
    digest = sha256(f"{FORMAT}\n{''.join(sorted(entry.id for entry in entries))}".encode())
    if not force and _digest(place.index) == digest:
        return place.index
    state = state_of(entries)
    with writing(place.index, "writing the index of reviews") as part:
        connection = sqlite3.connect(part)
        try:
            _fill(Database(connection), state, digest)
            connection.commit()
        except sqlite3.Error as error:
            raise in_words(error, "writing the index of reviews") from error
        finally:
            connection.close()
    return place.index


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            row = connection.execute("SELECT digest FROM ledger").fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None


def _fill(database: Database, state: State, digest: str) -> None:
    tables: dict[str, tuple[dict[str, type], tuple[str, ...]]] = {
        "ledger": ({"digest": str}, ("digest",)),
        "people": ({"author": str, "name": str, "role": str, "since": str}, ("author",)),
        "assignments": (
            {"id": str, "task": str, "family": str, "checklist": str, "at": str, "by": str,
             "adjudicator": str, "follows": str, "revealed": int},
            ("id",),
        ),
        "reviews": (
            {"id": str, "assignment": str, "author": str, "at": str, "blind": int, "revealed": int},
            ("id",),
        ),
        "texts": ({"review": str, "text": str, "sha256": str}, ("review", "text")),
        "verdicts": (
            {"review": str, "item": str, "verdict": str, "severity": str, "text": str},
            ("review", "item"),
        ),
        "decisions": (
            {"assignment": str, "item": str, "verdict": str, "reason": str},
            ("assignment", "item"),
        ),
        "problems": ({"what": str, "words": str}, ("what", "words")),
    }  # fmt: skip
    for name, (columns, key) in tables.items():
        database.table(name).create(columns, pk=key if len(key) > 1 else key[0])
    database.table("ledger").insert({"digest": digest})
    database.table("people").insert_all(vars(person) for person in state.people.values())
    database.table("problems").insert_all(
        {"what": p.what, "words": p.words} for p in state.problems
    )
    for assignment in state.assignments.values():
        body = assignment.body
        database.table("assignments").insert(
            {
                "id": assignment.id,
                "task": body.task,
                "family": body.family,
                "checklist": f"{assignment.checklist.kind} {assignment.checklist.version}",
                "at": assignment.entry.at,
                "by": assignment.entry.author,
                "adjudicator": body.adjudicator,
                "follows": body.follows,
                "revealed": int(assignment.revealed),
            }
        )
        for author, review in assignment.reviews.items():
            database.table("reviews").insert(
                {
                    "id": review.entry.id,
                    "assignment": assignment.id,
                    "author": author,
                    "at": review.entry.at,
                    "blind": int(review.blind),
                    "revealed": int(review.verdicts is not None),
                }
            )
            database.table("texts").insert_all(
                {"review": review.entry.id, "text": name, "sha256": digest_}
                for name, digest_ in review.body.texts.items()
            )
            database.table("verdicts").insert_all(
                {
                    "review": review.entry.id,
                    **verdict.model_dump(include={"item", "verdict", "severity", "text"}),
                }
                for verdict in (review.verdicts or {}).values()
            )
        if assignment.adjudication is not None:
            database.table("decisions").insert_all(
                {"assignment": assignment.id, **decision.model_dump()}
                for decision in assignment.adjudication.decisions.values()
            )
