"""Two reviewers and an adjudicator at three workstations, with files as the only carrier."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from review_people import TASK, Person, doubt, fill
from ruamel.yaml import YAML

Somebody = Callable[[str], Person]
WORD = "xylocarpous"  # in A's sealed verdict, and nowhere else


def team(person: Somebody) -> tuple[Person, Person, Person]:
    """Two reviewers and an adjudicator who have each other's identities; the task is assigned."""
    a, b, c = (person(name).begins() for name in ("Anna", "Berta", "Clara"))
    a.gives(c)
    b.gives(c)
    c.does("assign", TASK, "--reviewer", "Anna", "--reviewer", "Berta", "--adjudicator", "Clara")
    c.gives(a, b)
    return a, b, c


def holds(folder: Path, word: str) -> list[str]:
    """Files below a folder that hold a word, also inside archives."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            parts = [path.read_bytes()]
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    parts += [archive.read(name) for name in archive.namelist()]
            if any(word.encode() in part for part in parts):
                found.append(str(path))
    return found


def waits(person: Person) -> list[tuple[str, str]]:
    return [(each["task"], each["what"]) for each in person.does("status")["waits"]]


@pytest.mark.slow
def test_double_review_from_assignment_to_validated(  # noqa: PLR0915 - one story
    person: Somebody, content: Path
) -> None:
    a, b, c = team(person)
    assert waits(a) == waits(b) == [(TASK, "review")]
    assert waits(c) == []
    provenance = content / "tasks" / "sirs" / "PROVENANCE.yaml"
    skill = content / "skills" / "sirs" / "SKILL.md"
    written, body = provenance.read_bytes(), skill.read_text("utf-8")
    assert "tier: community" in body

    anchors = [{"text": "skill:sirs", "lines": "3-5"}]
    done = a.reviews(windows={**doubt(f"{WORD} window"), "anchors": anchors})
    assert done["revealed"] == 0
    a.gives(b, c)
    # Not a word of A's on B's or C's machine; A alone can read what A said.
    # Nor beside them: the form that A filled in is there, and empty.
    assert (a.home.parent / "Anna.yaml").exists()
    assert holds(a.home.parent, WORD) == []
    shown = a.does("show", TASK)
    assert WORD in str(shown["own"])
    assert WORD not in str([person.does("show", TASK) for person in (b, c)])
    assert waits(a) == []
    assert waits(b) == [(TASK, "review")]
    b.does("reveal")
    c.does("provenance", "sirs")
    assert provenance.read_bytes() == written

    b.reviews(units=doubt("which unit?", "cannot judge"))
    b.gives(a)  # A's key is given as soon as B has signed
    assert holds(b.home, WORD) == []
    a.gives(b, c)
    assert WORD in str(b.does("show", TASK))
    assert waits(a) == waits(b) == []
    assert waits(c) == [(TASK, "adjudication")]
    assert b.does("agreement")["agreement"][0]["raw"]["value"] == pytest.approx(10 / 12)

    form = c.home.parent / "decide.yaml"
    c.does("open", TASK, "--out", str(form))
    text = form.read_text("utf-8")
    assert WORD in text
    assert "Anna" not in text
    assert "Reviewer 1" in text
    refused = c.does("adjudicate", str(form), fails=3)
    assert "units has no decision" in refused["text"]
    fill_decisions(form, "agree", "Looked at both texts.")
    c.does("adjudicate", str(form))
    c.gives(a, b)
    shown = {item["item"]: item for item in a.does("show", TASK)["items"]}
    assert shown["windows"]["differs_from"] == ["Anna"]
    assert shown["units"]["differs_from"] == ["Berta"]
    assert {item["standing"] for item in shown.values()} == {"agree"}

    # Validated only after the fingerprints were compared out of band.
    told = c.does("provenance")["families"][0]
    assert told["tiers"][0]["after"] == "community"
    assert "not compared" in told["tiers"][0]["why"][0]
    people = {each["name"]: each for each in c.does("identity")["people"]}
    for name in ("Anna", "Berta", "Clara"):
        words = people[name]["words"]
        c.does("identity", "--compare", name, "--fingerprint", words)
    told = c.does("provenance")["families"][0]
    assert told["tiers"][0] == {
        "skill": "sirs", "before": "community", "after": "validated", "why": [],
    }  # fmt: skip
    assert skill.read_text("utf-8") == body.replace("tier: community", "tier: validated")
    reviews = YAML(typ="safe").load(provenance.read_text("utf-8"))["reviews"]
    assert [each["by"] for each in reviews].count("Clara") == 1
    assert {each["by"] for each in reviews} == {"Anna", "Berta", "Clara"}
    assert all(each["ledger"] and each["date"] and each["scope"] for each in reviews)
    # The tier is the ledger's; it makes no signature stale, and writing again changes nothing.
    before = provenance.read_bytes()
    assert not c.does("provenance")["families"][0]["changed"]
    assert provenance.read_bytes() == before
    for each in (a, b, c):
        assert each.does("verify")["holds"]
        assert waits(each) == []


def fill_decisions(form: Path, decision: str, reason: str) -> None:
    yaml = YAML()
    data = yaml.load(form.read_text("utf-8"))
    for entry in data["items"]:
        entry.update(decision=decision, reason=reason)
    with form.open("w", encoding="utf-8") as file:
        yaml.dump(data, file)


@pytest.mark.slow
def test_a_change_makes_stale_what_rests_on_it_and_only_that_is_asked(
    person: Somebody, content: Path
) -> None:
    a, b, c = team(person)
    a.reviews()
    b.reviews()
    a.gives(b)
    b.gives(a, c)
    a.gives(b, c)
    assert c.does("status")["tasks"][0]["settled"]
    with (content / "tasks" / "sirs" / TASK / "task.toml").open("a", encoding="utf-8") as file:
        file.write("# another tolerance\n")
    (task,) = c.does("status")["tasks"]
    stale = sorted(item for item, standing in task["standing"].items() if standing == "stale")
    assert stale == ["agreement", "output-grain", "suitability"]
    assert task["changed"] == ["task.toml"]
    assert waits(c) == [(TASK, "again")]
    again = ["--reviewer", "Anna", "--reviewer", "Berta", "--adjudicator", "Clara", "--again"]
    c.does("assign", TASK, *again)
    c.gives(a, b)
    form = a.fills_in()
    assert form.read_text("utf-8").count("- item:") == 3
    a.does("submit", str(form))
    b.reviews(agreement=doubt("it does not", "disagree"), suitability=doubt("no", "disagree"))
    a.gives(b)
    b.gives(a, c)
    a.gives(c)
    (task,) = c.does("status")["tasks"]
    assert task["standing"]["agreement"] == "open"
    assert task["standing"]["units"] == "agree"
    assert not task["settled"]


@pytest.mark.slow
def test_nothing_is_ticked_and_an_open_item_is_refused_in_words(person: Somebody) -> None:
    a, _, _ = team(person)
    form = a.home.parent / "form.yaml"
    a.does("open", TASK, "--out", str(form))
    assert "verdict: agree" not in form.read_text("utf-8")
    text = a.does("submit", str(form), fails=3)["text"]
    assert "Units (units) is not answered" in text
    assert text.count("is not answered") == 12
    fill(form, {"units": {"verdict": "concern"}, "windows": doubt("stay 30012345 has none")})
    text = a.does("submit", str(form), fails=3)["text"]
    assert "units) needs a severity" in text
    assert "units) needs words" in text
    assert "windows) holds a number that may name a patient" in text
    fill(form, {"units": doubt("x"), "windows": {"text": "", "verdict": "agree", "severity": None,
                "anchors": [{"text": "instruction", "lines": "999"}]}})  # fmt: skip
    assert "999-999 is none of them" in a.does("submit", str(form), fails=3)["text"]
    fill(form, {"windows": {"anchors": []}})
    a.does("submit", str(form))
    assert "never change" in a.does("submit", str(form), fails=2)["text"]


@pytest.mark.slow
def test_a_text_that_changed_while_the_form_was_open_is_asked_again(
    person: Somebody, content: Path
) -> None:
    a, _, _ = team(person)
    form = a.fills_in(units=doubt("kept", "concern"))
    with (content / "tasks" / "sirs" / TASK / "task.toml").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert "task.toml was changed" in a.does("submit", str(form), fails=3)["text"]
    a.does("open", TASK, "--out", str(form))
    text = a.does("submit", str(form), fails=3)["text"]
    assert text.count("is not answered") == 3
    assert "kept" in form.read_text("utf-8")
    # Blanks at the end of a line and the tier of a skill change nothing.
    fill(form, {})
    skill = content / "skills" / "sirs" / "SKILL.md"
    changed = skill.read_text("utf-8").replace("tier: community", "tier: expert")
    skill.write_bytes(changed.replace("\n", " \r\n").encode())
    a.does("submit", str(form))


def test_evidence_with_small_counts_cannot_be_signed(person: Somebody) -> None:
    a, _, _ = team(person)
    piece = {"query": "SELECT 1", "source_sha256": "0" * 64, "date": "2026-01-01",
             "source": "nowhere", "result": {"item": 7, "rows": 400, "stays": 7}}  # fmt: skip
    form = a.fills_in(units={"evidence": [piece]})
    told = a.does("submit", str(form), fails=3)
    assert "units: a piece of evidence tells a count below 11 of nowhere" in told["text"]
    fill(form, {"units": {"evidence": [{**piece, "result": {"rows": 400, "stays": "suppressed"}}]}})
    a.does("submit", str(form))


def test_somebody_else_cannot_sign(person: Somebody) -> None:
    a, b, c = team(person)
    form = a.fills_in()
    assert "not asked" in c.does("submit", str(form), fails=2)["text"]
    stranger = person("Dora")
    assert "Nobody signs" in stranger.does("submit", str(form), fails=4)["text"]
    b.sit_down = lambda: None  # at A's keyring
    a.sit_down()
    assert "does not hold the key" in b.does("submit", str(form), fails=4)["text"]


def test_people_are_different_and_known(person: Somebody) -> None:
    a = person("Anna").begins()
    for words in (["--reviewer", "Anna", "--reviewer", "Anna"], ["--reviewer", "Anna"]):
        a.does("assign", TASK, *words, "--adjudicator", "Anna", fails=2)
    told = a.does("assign", TASK, "--reviewer", "Emil", "--adjudicator", "Anna", fails=2)
    assert "knows nobody called Emil" in told["text"]
    print_ = a.does("identity")["people"][0]
    a.does("identity", "--compare", "Anna", "--fingerprint", "0" * 32, fails=3)
    a.does("identity", "--compare", "Anna", "--fingerprint", print_["fingerprint"])
    a.does("identity", "--name", "Anna", "--role", "x", fails=2)
