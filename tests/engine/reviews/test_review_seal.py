"""Sealed until everybody has signed, whoever tries what."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from review_world import (
    ITEMS,
    TEXTS,
    A,
    B,
    C,
    assignment,
    decide,
    desk_at,
    identities,
    reveal,
    review,
    review_body,
    say,
    verdicts,
)

from engine.base.errors import BadInput
from engine.reviews import ledger
from engine.reviews.canonical import canonical, read_canonical
from engine.reviews.entry import parse
from engine.reviews.identity import Fingerprint
from engine.reviews.place import Place, place_of
from engine.reviews.sealing import Sealed, seal, unseal
from engine.reviews.state import State, bound, state_of


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = place_of(desk_at(tmp_path / "home").home)
    identities(here)
    return here


def state(place: Place) -> State:
    return state_of(ledger.read(place.ledger).entries)


def told(place: Place) -> dict[str, str]:
    return {problem.what: problem.words for problem in state(place).problems}


def test_a_key_that_comes_early_opens_nothing_and_is_told(place: Place) -> None:
    asked = assignment(place)
    one = review(place, A, asked, units="concern")
    reveal(place, A, one)
    found = state(place).assignments[asked.id]
    assert found.reviews[A.author].verdicts is None
    assert "before every reviewer had signed" in told(place)["early"]
    # Who signs after that was not blind, and says so.
    review(place, B, asked)
    reviews = state(place).assignments[asked.id].reviews
    assert reviews[A.author].blind
    assert not reviews[B.author].blind
    assert "not-blind" in told(place)


def test_first_verdicts_stand(place: Place) -> None:
    asked = assignment(place)
    one = review(place, A, asked, units="concern")
    review(place, A, asked, units="disagree")
    two = review(place, B, asked)
    reveal(place, A, one)
    reveal(place, B, two)
    found = state(place).assignments[asked.id]
    assert found.revealed
    assert found.answers("units") == ["concern", "agree"]
    assert found.open_items == ("units",)
    assert "first verdicts stand" in told(place)["ignored"]
    decide(place, asked, [one, two], ["units"])
    again = decide(place, asked, [one, two], ["units"])
    done = state(place).assignments[asked.id].adjudication
    assert done is not None
    assert done.entry.id != again.id


def test_who_was_not_asked_and_what_is_not_open_do_not_count(place: Place) -> None:
    asked = assignment(place)
    review(place, C, asked)
    one, two = review(place, A, asked, units="concern"), review(place, B, asked)
    decide(place, asked, [one, two], ["units"])
    assert "not asked" in told(place)["ignored"]
    assert "cannot be read here yet" in told(place)["missing"]
    reveal(place, A, one)
    reveal(place, B, two)
    decide(place, asked, [one, two], ["units", "windows"])
    found = state(place).assignments[asked.id]
    assert set(found.reviews) == {A.author, B.author}
    assert found.adjudication is None
    words = " ".join(p.words for p in state(place).problems if p.what == "broken")
    assert "decides before the verdicts could be read" in words
    assert "other reviews or items than are open" in words
    decide(place, asked, [one, two], ["units"])
    decided = state(place).assignments[asked.id].adjudication
    assert decided is not None
    assert list(decided.decisions) == ["units"]


def test_a_key_of_another_review_and_a_review_without_an_answer_open_nothing(place: Place) -> None:
    asked = assignment(place)
    one = review(place, A, asked)
    body, _ = review_body(B, asked, verdicts()[1:])
    two = say(place, B, "review", body)
    wrong = base64.b64encode(bytes(32)).decode()
    say(place, A, "reveal", {"review": one.id, "key": wrong})
    reveal(place, B, two)
    found = state(place).assignments[asked.id]
    assert not found.revealed
    words = " ".join(p.words for p in state(place).problems if p.what == "sealed")
    assert "does not open" in words
    assert "Definition (definition) is not answered" in words


def test_a_seal_fits_one_key_one_text_and_one_place() -> None:
    place = bound("0" * 64, A.author, TEXTS)
    sealed, key = seal(A, verdicts(units="concern"), place)
    assert unseal(sealed, key, place) == verdicts(units="concern")
    assert key == A.sealing_key(bytes.fromhex(sealed.salt))
    again, other = seal(A, verdicts(units="concern"), place)
    assert (again.data, other) != (sealed.data, key)
    assert len(seal(A, verdicts(), place)[0].data) == len(sealed.data)  # says nothing of its length
    for changed, opened_with, at in (
        (sealed, other, place),
        (sealed, key, bound("1" * 64, A.author, TEXTS)),
        (sealed, key, bound("0" * 64, B.author, TEXTS)),
        (sealed.model_copy(update={"commitment": "0" * 64}), key, place),
        (Sealed(salt=sealed.salt, data=again.data, commitment=sealed.commitment), key, place),
    ):
        with pytest.raises(BadInput):
            unseal(changed, opened_with, at)


def test_an_entry_is_its_authors_and_stands_where_it_was_signed(place: Place) -> None:
    first = say(place, A, "reveal", {"review": "0" * 64, "key": "x"})
    fields = first.model_dump()
    for change in (
        {"at": "2030-01-01T00:00:00.000Z"},
        {"sequence": 9},
        {"author": B.author},
        {"key": base64.b64encode(B.public).decode()},
        {"author": B.author, "key": base64.b64encode(B.public).decode()},
        {"body": {"review": "1" * 64, "key": "x"}},
        {"format": 2},
    ):
        with pytest.raises(BadInput):
            parse(canonical({**fields, **change}))
    with pytest.raises(BadInput, match="canonical form"):
        parse(first.data.replace(b'":', b'" :', 1))
    assert parse(first.data) == first


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"a":1.5}', b'{"a":1,"a":1}', b"[" * 9999])
def test_what_is_no_entry_is_told(data: bytes) -> None:
    with pytest.raises(BadInput):
        parse(data)
    if data == b"[1]":
        assert read_canonical(data) == [1]


def test_fingerprints_can_be_spoken() -> None:
    shown = Fingerprint(A.author)
    assert len(shown.words.split("-")) == 8
    assert shown.groups.replace(" ", "") == A.author[:32]
    assert len({Fingerprint(s.author).words for s in (A, B, C)}) == 3
    # The encoding's published example: 127.0.0.1 is lusab-babad.
    assert Fingerprint("7f000001" + "0" * 56).words.startswith("lusab-babad")
    assert "01" * 8 not in repr(A)
    assert len(ITEMS) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"task": "../../x"},
        {"checklist": {"kind": "../x", "version": 1, "sha256": "0" * 64}},
        {"checklist": {"kind": "/x", "version": 1, "sha256": "0" * 64}},
        {"items": ["no-such-item"]},
        {"items": []},
        {"reviewers": [A.author]},
        {"reviewers": [A.author, A.author]},
        {"adjudicator": A.author},
        {"more": 1},
    ],
)
def test_an_assignment_that_makes_no_sense_is_told_and_no_more(
    place: Place, change: dict[str, object]
) -> None:
    body = assignment(place).body
    say(place, C, "assign", {**body, **change})
    found = state(place)
    assert len(found.assignments) == 1
    assert len(found.problems) == 1


def test_a_time_that_cannot_be_reckoned_with_is_no_time(place: Place) -> None:
    for at in ("0001-01-01T00:00:00.000Z", "2026-11-30", "20261130T000000Z", "2026-13-01T00:00"):
        with pytest.raises(BadInput):
            say(place, A, "reveal", {"review": "0" * 64, "key": "x"}, at=at)
