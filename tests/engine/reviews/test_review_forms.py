"""Forms as files: blank where answers are encrypted, private, emptied when they were taken in."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from review_people import TASK, Person, doubt, fill
from ruamel.yaml import YAML
from test_review_journey import WORD, Somebody, holds, team

from engine.reviews import drafts
from engine.reviews.form_traces import empty
from engine.reviews.forms import laid_over, over
from engine.reviews.identity import my_signer
from engine.workbench import Workbench

ROWS = ["m4review://timeline/x?source=s&key.stay_id=30012345"]


@pytest.fixture
def umask() -> Any:
    """Whatever is made is open to everybody, unless it is said otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """An editor that runs Python on the text (`text`) and keeps what it saw beside it."""

    def which(code: str) -> Path:
        script, saw = tmp_path / "editor.py", tmp_path / "saw.txt"
        script.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text('utf-8')\n"
            f"saw = pathlib.Path({str(saw)!r})\n"
            "saw.write_text(f'{path.stat().st_mode:o}\\n{text}', 'utf-8')\n"
            f"{code}\n"
            "path.write_text(text, 'utf-8')\n"
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        return saw

    return which


def entries(path: Path) -> dict[str, dict[str, Any]]:
    data = YAML(typ="safe").load(io.StringIO(path.read_text("utf-8")))
    return {entry["item"]: entry for entry in data["items"]}


def draft_of(who: Person) -> dict[str, dict[str, Any]]:
    """What is in the encrypted draft, by item."""
    desk = who.desk()
    (asked,) = desk.state().assignments.values()
    draft = drafts.read_draft(desk.place, my_signer(desk.place), asked.id)
    return {entry["item"]: entry for entry in (draft or {"items": []})["items"]}


def window(who: Person) -> Workbench:
    desk = who.desk()
    return Workbench(desk.home, content=desk.content.root)


def writes(path: Path, answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Answer some items and leave the others empty."""
    yaml = YAML()
    form = yaml.load(path.read_text("utf-8"))
    for entry in form["items"]:
        entry.update(answers.get(entry["item"], {}))
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(form, file)


def test_a_form_is_its_owners_alone(umask: None, person: Somebody, tmp_path: Path) -> None:
    a, _, _ = team(person)
    out = tmp_path / "sheet.yaml"
    out.write_text("items: []\n")
    out.chmod(0o666)
    inside = Path(a.does("open", TASK)["form"])
    a.does("open", TASK, "--out", str(out))
    for path in (inside, out):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert inside.parent == a.home / "reviews" / "drafts"
    inside.parent.chmod(0o755)  # from a copy, or an earlier version
    fill(inside, {})
    a.does("save", str(inside))
    for folder in (inside.parent, inside.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (draft,) = inside.parent.iterdir()
    assert draft.suffix == ".draft"
    assert stat.S_IMODE(draft.stat().st_mode) == 0o600


@pytest.mark.parametrize("where", ["inside", "linked"])
def test_what_is_saved_is_encrypted_and_signed_without_being_written_again(
    person: Somebody, tmp_path: Path, where: str
) -> None:
    a, b, _ = team(person)
    out = [] if where == "inside" else ["--out", str(tmp_path / "sheet.yaml")]
    path = Path(a.does("open", TASK, *out)["form"])
    if where == "linked":
        kept_elsewhere = tmp_path / "other.yaml"
        path.replace(kept_elsewhere)
        path.symlink_to(kept_elsewhere)
    writes(path, {"units": {**doubt(f"{WORD} unit"), "rows": ROWS}})
    (path.parent / f"{path.name}~").write_text("kept by an editor")
    saved = a.does("save", str(path))
    assert (saved["answered"], saved["asked"], saved["left"]["emptied"]) == (1, 12, True)
    if where == "inside":  # the folder is the program's own
        assert not list(path.parent.glob("*~"))
    else:
        assert f"Look at {path.name}~ beside it" in a.said
    assert path.exists() == (where != "inside")
    assert holds(tmp_path, WORD) == holds(tmp_path, "30012345") == []

    opened = a.does("open", TASK, *out)  # a blank sheet, that says where the answer is
    assert opened["kept"] == 1
    text = Path(opened["form"]).read_text("utf-8")
    assert text.count("Your answer is kept") == 1
    assert all(entry["verdict"] is None and not entry["rows"] for entry in entries(path).values())
    assert "Windows (windows) is not answered" in a.does("submit", str(path), fails=3)["text"]
    writes(path, {name: {"verdict": "agree"} for name in entries(path) if name != "units"})
    done = a.does("submit", str(path))
    assert done["emptied"]
    assert holds(tmp_path, WORD) == []
    assert not list((a.home / "reviews" / "drafts").glob("*.draft"))
    own = {each["item"]: each for each in a.does("show", TASK)["own"]}
    assert (own["units"]["verdict"], own["units"]["text"]) == ("concern", f"{WORD} unit")
    assert own["windows"]["verdict"] == "agree"
    if where != "inside":
        assert "taken out of it when it was signed" in path.read_text("utf-8")
        assert "never change" in a.does("submit", str(path), fails=2)["text"]
    a.gives(b)
    assert holds(b.home, WORD) == []


def test_what_the_window_keeps_is_signed_with_a_form_and_the_other_way_round(
    person: Somebody, tmp_path: Path
) -> None:
    a, _, _ = team(person)
    bench = window(a)
    sheet = bench.review_page(TASK).sheet
    assert sheet is not None
    by_item = {entry["item"]: entry for entry in sheet.draft["items"]}
    by_item["units"].update(doubt(f"{WORD} in the window"), rows=ROWS)
    bench.keep_review(sheet.draft)
    path = Path(a.does("open", TASK)["form"])
    assert WORD not in path.read_text("utf-8")
    writes(path, {"windows": doubt("by editor"), "units": doubt("now I see", "disagree")})
    # The window takes in what was written with an editor; it is the newer of the two.
    sheet = window(a).review_page(TASK).sheet
    assert sheet is not None
    assert not path.exists()
    by_item = {entry["item"]: entry for entry in sheet.draft["items"]}
    assert by_item["windows"]["text"] == "by editor"
    assert (by_item["units"]["verdict"], by_item["units"]["text"]) == ("disagree", "now I see")
    assert by_item["units"]["rows"] == ROWS
    assert draft_of(a) == by_item
    assert holds(a.home, "by editor") == []
    # An empty form takes nothing away, and stays where somebody may be writing in it.
    path = Path(a.does("open", TASK)["form"])
    assert window(a).open_review(TASK)
    window(a).review_page(TASK)
    assert path.exists()
    assert draft_of(a) == by_item


def test_an_editor_shows_everything_and_leaves_nothing(
    person: Somebody, editor: Callable[[str], Path], tmp_path: Path
) -> None:
    a, _, _ = team(person)
    saw = editor(
        "text = text.replace('verdict:', 'verdict: agree', 5)"
        f".replace('    text:', '    text: {WORD} #', 1)"
    )
    assert a.does("edit", TASK)["answered"] == 5
    assert saw.read_text().startswith("100600\n")
    assert holds(a.home, WORD) == []
    assert not list((a.home / "reviews" / "drafts").glob("*.yaml"))
    saw = editor("text = text.replace('verdict: agree', 'verdict:', 1)")
    assert a.does("edit", TASK)["answered"] == 4  # what is taken away is away
    assert WORD in saw.read_text()
    # What cannot be read stays as it was left, and is opened again.
    saw = editor("text = text.replace('items:', 'items: [', 1)")
    told = a.does("edit", TASK, fails=3)
    assert told["line"]
    assert "m4bench review edit" in told["todo"]
    saw = editor(
        "text = text.replace('items: [', 'items:', 1)"
        ".replace('verdict:', 'verdict: agree').replace('agree agree', 'agree')"
    )
    assert a.does("edit", TASK)["answered"] == 12
    assert "items: [" in saw.read_text()
    saw.unlink()
    assert holds(tmp_path, WORD) == []
    a.does("submit", "--task", TASK)
    assert {each["verdict"] for each in a.does("show", TASK)["own"]} == {"agree"}
    assert "Nothing about" in a.does("edit", TASK, fails=2)["text"]


def test_an_editor_that_is_not_there_and_a_draft_that_is_not_there(
    person: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, c = team(person)
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    assert "could not be used" in a.does("edit", TASK, fails=4)["text"]
    assert "no draft" in a.does("submit", "--task", TASK, fails=2)["text"]
    a.does("submit", fails=2)
    a.does("submit", "x.yaml", "--task", TASK, fails=2)
    form = a.fills_in()
    assert "does not wait for you" in c.does("save", str(form), fails=2)["text"]
    assert all(entry["verdict"] == "agree" for entry in entries(form).values())


def test_decisions_are_kept_like_answers(person: Somebody, editor: Callable[[str], Path]) -> None:
    a, b, c = team(person)
    a.reviews(units=doubt("x"), windows=doubt("y"))
    b.reviews()
    a.gives(b)
    b.gives(a, c)
    a.gives(b, c)
    path = Path(c.does("open", TASK)["form"])
    writes(path, {"units": {"decision": "agree", "reason": f"{WORD} reason"}})
    c.does("open", TASK)
    assert entries(path)["units"]["reason"] == f"{WORD} reason"
    assert c.does("save", str(path))["answered"] == 1
    assert holds(c.home, WORD) == []
    path = Path(c.does("open", TASK)["form"])
    assert entries(path)["units"]["decision"] is None
    assert "windows has no decision" in c.does("adjudicate", str(path), fails=3)["text"]
    docket = window(c).docket(TASK)
    assert [e["reason"] for e in docket.draft["items"]] == [f"{WORD} reason", ""]
    saw = editor(
        "text = text.replace('decision:\\n', 'decision: disagree\\n')"
        ".replace(\"reason: ''\", 'reason: seen')"
    )
    assert c.does("edit", TASK, "--names")["answered"] == 2
    assert "Anna" in saw.read_text()
    done = c.does("adjudicate", "--task", TASK)
    assert [each["verdict"] for each in done["decisions"]] == ["agree", "disagree"]
    assert not list((c.home / "reviews" / "drafts").iterdir())


def test_a_form_that_cannot_be_emptied_is_told(
    person: Somebody, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a, _, _ = team(person)
    form = a.fills_in()
    real = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self == form and args[:1] == ("r+",):
            raise PermissionError(13, "no")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    assert not a.does("submit", str(form))["emptied"]
    assert "still holds what you said" in a.said
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not empty(a.desk().place, pipe, "0" * 64, "signed").emptied


def test_forms_of_toml_are_emptied_too(person: Somebody, tmp_path: Path) -> None:
    a, _, _ = team(person)
    data = YAML(typ="safe").load(a.fills_in().read_text("utf-8"))
    lines = [f'assignment = "{data["assignment"]}"', "[texts]"]
    lines += [f'"{name}" = "{digest}"' for name, digest in data["texts"].items()]
    for entry in data["items"]:
        lines += ["[[items]]", f'item = "{entry["item"]}"', 'verdict = "concern"',
                  'severity = "minor"', f'text = "{WORD}"']  # fmt: skip
    path = tmp_path / "form.toml"
    path.write_text("\n".join(lines))
    assert a.does("save", str(path))["answered"] == 12
    assert WORD not in path.read_text()
    a.does("submit", str(path))  # an empty form signs the draft
    assert {each["text"] for each in a.does("show", TASK)["own"]} == {WORD}


def test_a_form_laid_over_an_older_one() -> None:
    old = {"item": "x", "verdict": "concern", "severity": "minor", "text": "why", "rows": ["a"]}
    empty_ = {"item": "x", "verdict": None, "severity": None, "text": "", "rows": []}
    assert over(old, empty_) == old
    assert over(old, {"item": "x"}) == old
    assert over(old, {**empty_, "text": "because"})["text"] == "because"
    assert over(old, {"item": "x", "verdict": "agree"}) == {
        "item": "x", "verdict": "agree", "severity": None, "text": None, "rows": ["a"],
    }  # fmt: skip
    assert over(old, {**empty_, "rows": ["b", "a"]})["rows"] == ["a", "b"]
    both = laid_over(
        {"items": [old, {"item": "y", "verdict": "agree"}]}, {"items": [empty_, empty_], "z": 1}
    )
    assert [entry["item"] for entry in both["items"]] == ["x", "x", "y"]  # twice is told later
    assert both["z"] == 1
