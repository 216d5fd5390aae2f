"""What somebody wrote into a form is never lost, and never left where it can be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from review_people import TASK, Person, doubt, fill
from ruamel.yaml import YAML
from test_review_forms import draft_of, entries, window, writes
from test_review_journey import WORD, Somebody, holds, team

from engine.base.errors import UsageError
from engine.reviews import acts, drafts, form_files, texts

OTHER = "mimic-meld-24h-raw"
ROOT = Path(__file__).parents[3]


def edited(path: Path, item: str, change: dict[str, Any]) -> None:
    yaml = YAML()
    form = yaml.load(path.read_text("utf-8"))
    next(entry for entry in form["items"] if entry["item"] == item).update(change)
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(form, file)


def complete_draft(who: Person) -> None:
    path = Path(who.does("open", TASK)["form"])
    fill(path, {})
    who.does("save", str(path))


def test_a_private_form_is_not_deleted_unread_by_a_signature(
    person: Somebody, tmp_path: Path
) -> None:
    a, _, _ = team(person)
    complete_draft(a)
    opened = window(a).review_page(TASK).sheet
    assert opened is not None
    private = Path(a.does("open", TASK)["form"])
    writes(private, {"units": doubt(f"{WORD} after all")})
    for words in (["--task", TASK], [str(a.fills_in())]):
        assert "units" in a.does("submit", *words, fails=2)["text"]
        assert "save" in a.said
    with pytest.raises(UsageError):
        window(a).sign_review(opened.draft)
    assert entries(private)["units"]["text"] == f"{WORD} after all"
    a.does("save", str(private))
    a.does("submit", "--task", TASK)
    own = {each["item"]: each for each in a.does("show", TASK)["own"]}
    assert own["units"]["text"] == f"{WORD} after all"


def test_what_lies_behind_a_link_does_not_stay_there(person: Somebody, tmp_path: Path) -> None:
    a, _, _ = team(person)
    link, behind = tmp_path / "sheet.yaml", tmp_path / "shared.yaml"
    a.does("open", TASK, "--out", str(behind))
    link.symlink_to(behind)
    writes(behind, {"units": doubt(f"{WORD} here")})
    a.does("open", TASK, "--out", str(link))  # brought up to date
    assert link.is_symlink()
    a.does("save", str(link))
    assert holds(tmp_path, WORD) == []


def test_copies_in_the_private_folder_go_with_the_form(person: Somebody) -> None:
    a, _, _ = team(person)
    path = Path(a.does("open", TASK)["form"])
    for name in (f"{path.name}~", f".{path.name}.swp", f".{path.name}.x1.part", f"{path.name}.bak"):
        path.with_name(name).write_text(WORD)
    fill(path, {})
    a.does("submit", str(path))
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("how", ["unknown", "twice", "no list"])
def test_an_answer_that_cannot_be_kept_stays_in_its_form(
    person: Somebody, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    a, _, _ = team(person)
    path = Path(a.does("open", TASK)["form"])
    writes(path, {"units": doubt(WORD)})
    said = {
        "unknown": {"item": "unist"},
        "twice": {"item": "windows"},
        "no list": {"evidence": "see my notes"},
    }[how]
    writes(path, {"windows": doubt("w")})
    edited(path, "units", said)
    before = path.read_bytes()
    a.does("save", str(path), fails=3)
    a.does("open", TASK, fails=3)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "true")
    assert "edit" in a.does("edit", TASK, fails=3)["todo"]
    assert path.read_bytes() == before


def test_a_form_is_not_written_over_answers_about_another_task(
    person: Somebody, content: Path, tmp_path: Path
) -> None:
    for kind in ("tasks", "skills"):
        shutil.copytree(ROOT / kind / "meld", content / kind / "meld")
    a, _, c = team(person)
    c.does("assign", OTHER, "--reviewer", "Anna", "--reviewer", "Berta", "--adjudicator", "Clara")
    c.gives(a)
    path = tmp_path / "sheet.yaml"
    a.does("open", TASK, "--out", str(path))
    a.does("open", OTHER, "--out", str(path))  # nothing was in it
    a.does("open", TASK, "--out", str(path))
    writes(path, {"units": doubt(WORD)})
    assert "another task" in a.does("open", OTHER, "--out", str(path), fails=3)["text"]
    assert entries(path)["units"]["text"] == WORD


def test_what_a_crash_left_of_a_signed_review_goes(
    person: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, _ = team(person)
    complete_draft(a)
    path = Path(a.does("open", TASK)["form"])
    edited(path, "units", doubt(WORD))

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as crash:
        crash.setattr(acts, "forget_drafts", killed)
        with pytest.raises(Killed):
            form_files.submit(a.desk(), path)
    assert holds(a.home, WORD)
    a.does("status")
    assert holds(a.home, WORD) == []
    assert list(path.parent.iterdir()) == []


def test_what_is_written_while_it_is_saved_is_not_taken_out(
    person: Somebody, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a, _, _ = team(person)
    path = tmp_path / "sheet.yaml"
    a.does("open", TASK, "--out", str(path))
    writes(path, {"units": doubt("first")})
    keep = drafts.write_draft

    def slow(*given: Any) -> None:
        keep(*given)
        writes(path, {"windows": doubt("meanwhile")})

    monkeypatch.setattr(drafts, "write_draft", slow)
    assert not a.does("save", str(path))["left"]["emptied"]
    assert "still holds" in a.said
    assert entries(path)["windows"]["text"] == "meanwhile"
    monkeypatch.undo()


def test_answers_about_a_source_are_not_lost_to_a_form_without_one(
    person: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, _ = team(person)
    real = texts.texts_of

    def with_reference(home: Any, task: Any, content: Any, source: str | None = None) -> Any:
        found = real(home, task, content, None)
        return {**found, "manifest": "rows 1"} if source else found

    path = Path(a.does("open", TASK)["form"])  # without a source
    monkeypatch.setattr(texts, "texts_of", with_reference)
    (asked,) = a.desk().state().assignments.values()
    rests = next(item.id for item in asked.checklist.items if item.rests_on("manifest"))
    other = Path(
        a.does("open", TASK, "--source", "s", "--out", str(path.parent / "o.yaml"))["form"]
    )
    writes(other, {rests: doubt("about the reference")})
    a.does("save", str(other))
    writes(path, {"units": doubt("x")})
    saved = a.does("save", str(path))
    assert (saved["answered"], saved["again"]) == (2, [])
    path = Path(a.does("open", TASK)["form"])
    monkeypatch.undo()
    assert draft_of(a)[rests]["text"] == "about the reference"
    fill(path, {})
    assert rests in a.does("save", str(path))["again"]  # the source is gone: it is told
