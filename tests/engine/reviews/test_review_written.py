"""What is written from a ledger: PROVENANCE.yaml, tiers, index; and what a bundle may hold."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from review_people import TASK, Person, doubt
from review_world import A, B, assignment, desk_at, identities, reveal, review
from ruamel.yaml import YAML

from engine.audit import read_log
from engine.base.errors import BadInput
from engine.reviews import Desk, acts, bundle, index, provenance
from engine.reviews.checklist import checklists
from engine.reviews.place import place_of
from engine.reviews.texts import Content, Now, normalise, since, texts_of

ROOT = Path(__file__).resolve().parents[3]
Somebody = Callable[[str], Person]


def two_reviews(person: Somebody, **answers: dict[str, object]) -> tuple[Person, Person]:
    """Anna and Berta have signed and can read each other; Berta's machine is up to date."""
    a, b = person("Anna").begins(), person("Berta").begins()
    c = person("Clara").begins()
    a.gives(c)
    b.gives(c)
    c.does("assign", TASK, "--reviewer", "Anna", "--reviewer", "Berta", "--adjudicator", "Clara")
    c.gives(a, b)
    a.reviews(**answers)
    a.gives(b)
    b.reviews()
    b.gives(a)
    a.gives(b)
    return a, b


@pytest.mark.slow
def test_provenance_keeps_what_people_wrote(person: Somebody, content: Path) -> None:
    path = content / "tasks" / "sirs" / "PROVENANCE.yaml"
    own = (
        "reviews:\n"
        "  # asked by mail\n"
        "  - by: 'Somebody: with a colon'\n"
        "    date: 2026-01-02\n"
        "    scope: all\n"
        '    notes: "yes"  # really\n'
    )
    text = path.read_text("utf-8").replace("reviews: []\n", own)
    assert own in text
    path.write_text(text, "utf-8")
    _, b = two_reviews(person, units=doubt("- a: [b", "disagree"))
    b.does("provenance", "sirs")
    written = path.read_text("utf-8")
    assert own in written
    head, tail = text.split(own)
    assert written.startswith(head)
    assert written.endswith(tail)
    data = YAML(typ="safe").load(written)
    assert [each["by"] for each in data["reviews"]] == ["Somebody: with a colon", "Anna", "Berta"]
    assert data["reviews"][1]["notes"] == "11 agree, 1 disagree"
    assert "waits for the adjudicator" in data["reviews"][1]["standing"]
    # A text changes: the entries say so, and are no more than before.
    with (content / "tasks" / "sirs" / TASK / "task.toml").open("a", encoding="utf-8") as file:
        file.write("# x\n")
    b.does("provenance", "sirs")
    data = YAML(typ="safe").load(path.read_text("utf-8"))
    assert len(data["reviews"]) == 3
    assert "a text was changed since it was signed" in data["reviews"][1]["standing"]
    path.write_text("reviews: [\n", "utf-8")
    told = b.does("provenance", "sirs", fails=3)
    assert told["line"]
    assert path.read_text("utf-8") == "reviews: [\n"


@pytest.mark.parametrize("path", sorted(ROOT.glob("tasks/*/PROVENANCE.yaml")), ids=str)
def test_nothing_but_the_reviews_would_be_written_differently(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "PROVENANCE.yaml"
    text = path.read_text("utf-8")
    copy.write_text(text, "utf-8")
    entry = {"by": "A", "date": "2026-01-01", "scope": "s", "ledger": "0" * 64}
    _, with_one = provenance._written(copy, [entry])
    copy.write_text(with_one, "utf-8")
    assert [line for line in text.splitlines() if line not in with_one] == (
        ["reviews: []"] if "reviews: []" in text else []
    )
    assert provenance._written(copy, [entry]) == (with_one, with_one)
    _, without = provenance._written(copy, [])
    data = YAML(typ="safe").load(io.StringIO(without))
    assert data == YAML(typ="safe").load(io.StringIO(text))


def test_a_tier_that_no_ledger_bears_out_is_taken_back(content: Path, tmp_path: Path) -> None:
    skill = content / "skills" / "sirs" / "SKILL.md"
    text = skill.read_text("utf-8")
    skill.write_text(text.replace("tier: community", "tier: validated"), "utf-8")
    desk = Desk(desk_at(tmp_path / "home").home, Content(content))
    (tier,) = provenance.write_provenance(desk, "sirs").tiers
    assert (tier.before, tier.after) == ("validated", "community")
    assert "nobody was asked" in tier.why[0]
    assert skill.read_text("utf-8") == text


def rows_in(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [name for name in archive.namelist() if name.startswith("annexes/")]


@pytest.mark.slow
def test_rows_leave_only_where_the_policy_lets_them(person: Somebody, tmp_path: Path) -> None:
    row = "m4review://timeline/x?source=s&key.stay_id=30012345"
    a, b = two_reviews(person, units={"rows": [row]})
    desk = a.desk()
    (asked,) = desk.state().assignments.values()
    signed = asked.reviews[asked.body.reviewers[0]]
    assert acts.rows_of(desk, signed) == {"units": [row]}
    # Nobody said what the data are: they count as credentialed.
    out = tmp_path / "out.zip"
    assert bundle.export(desk, out).kept_back == 1
    assert rows_in(out) == []
    assert acts.rows_of(b.desk(), signed) is None
    assert bundle.export(a.desk(), out, with_rows=True).annexes == 1
    assert len(rows_in(out)) == 1
    assert b"30012345" not in out.read_bytes()
    assert "export.reviews" in [entry.what for entry in read_log(desk.home)]
    assert b.does("merge", str(out))["merged"][0]["annexes"] == 1
    assert acts.rows_of(b.desk(), signed) == {"units": [row]}
    form = a.home.parent / "again.yaml"
    assert not form.exists()


def test_the_index_holds_what_the_ledger_reveals(tmp_path: Path) -> None:
    desk = desk_at(tmp_path / "home")
    place = place_of(desk.home)
    identities(place)
    asked = assignment(place)
    one, two = review(place, A, asked, units="concern"), review(place, B, asked)
    reveal(place, A, one)

    def verdicts() -> int:
        connection = sqlite3.connect(index.rebuild(desk))
        try:
            return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])
        finally:
            connection.close()

    assert verdicts() == 12  # A's key is here: B has signed
    before = place.index.stat().st_mtime_ns
    assert verdicts() == 12
    assert place.index.stat().st_mtime_ns == before  # the ledger is the same
    reveal(place, B, two)
    assert verdicts() == 24
    place.index.write_bytes(b"no database")
    assert verdicts() == 24
    place.index.unlink()
    assert verdicts() == 24


def test_texts_are_hashed_by_what_they_say(content: Path, tmp_path: Path) -> None:
    assert normalise("a \r\nb\t\r\n\r\n") == "a\nb\n" == normalise("\ufeffa\nb")
    assert normalise("a\n\n b") == "a\n\n b\n"
    assert normalise("e\u0301") == normalise("\u00e9")
    front = "---\nname: x\ntier: {}\n---\ntier: is a word here\n"
    one, two = (normalise(front.format(tier), skill=True) for tier in ("expert", "validated"))
    assert one == two
    assert "tier: is a word here" in one
    assert normalise(front.format("expert")) != normalise(front.format("validated"))
    here = Content(content)
    home = desk_at(tmp_path / "home").home
    texts = texts_of(home, here.task(TASK), here)
    assert {"instruction", "task.toml", "operational-spec", "skill:sirs", "sql:sirs-24h"} <= set(
        texts
    )
    with pytest.raises(BadInput, match="references build"):
        texts_of(home, here.task(TASK), here, "nowhere")


def test_every_item_rests_on_texts_that_exist(content: Path, tmp_path: Path) -> None:
    here = Content(content)
    names = [*texts_of(desk_at(tmp_path / "home").home, here.task(TASK), here), "manifest"]
    for checklist in checklists("table"):
        for item in checklist.items:
            assert all(
                any(text in (name, name.partition(":")[0]) for name in names) for text in item.texts
            )
        assert any(item.rests_on(name) for name in names for item in checklist.items)
        assert all(any(item.rests_on(name) for item in checklist.items) for name in names)


def test_a_manifest_is_compared_only_where_there_is_one() -> None:
    signed = {"instruction": "1" * 64, "manifest": "2" * 64}
    reference = checklists("table")[-1].item("reference")
    for here, changed in (((), []), (("2" * 64, "3" * 64), []), (("3" * 64,), ["manifest"])):
        now = Now({"instruction": "1" * 64}, frozenset(here))
        assert [change.text for change in since(signed, now)] == changed
        assert [change.text for change in since(signed, now, reference)] == changed
    now = Now({"instruction": "9" * 64, "sql:new": "4" * 64}, frozenset())
    told = [change.words for change in since(signed, now)]
    assert told == ["instruction was changed", "sql:new was added"]
    assert [change.text for change in since(signed, now, reference)] == ["sql:new"]
