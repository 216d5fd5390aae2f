"""Forms as files: opened, edited, saved, submitted; the command line's way of answering.

A form is plain, since people fill it in with an editor. So it never says more than was written into
it: an answer that is in the encrypted draft is not written into a file that stays, and what was
submitted or saved is taken out of its file. Never in here: a signature, a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.base.errors import BadInput, M4Error, UsageError
from engine.base.files import write_text
from engine.reviews import acts, drafts, texts
from engine.reviews.acts import Desk
from engine.reviews.entry import Entry
from engine.reviews.form_traces import Left, empty, inside
from engine.reviews.forms import (
    check_items,
    decision_form,
    decisions_so_far,
    kept_answers,
    laid_over,
    read_form,
    review_form,
    says,
)
from engine.reviews.identity import my_author, my_signer
from engine.reviews.place import Place
from engine.reviews.state import Assignment, State

Kind = Literal["review", "adjudication"]

_PRIVATE = 0o600


@dataclass(frozen=True)
class Opened:
    """A form that can be filled in."""

    path: Path
    """The file."""
    kind: Kind
    """What it asks for."""
    kept: int
    """Items whose answer is in the encrypted draft and not in the file."""


@dataclass(frozen=True)
class Saved:
    """What was taken into the encrypted draft."""

    task: str
    """Its name."""
    kind: Kind
    """What was asked."""
    answered: int
    """Items with an answer."""
    asked: int
    """Items that are asked."""
    left: Left
    """What became of the file."""
    again: tuple[str, ...] = ()
    """Items to answer again: a text that their answer rests on is another now."""


def open_form(
    desk: Desk, task: str, *, to: Path | None = None, source: str | None = None, names: bool = False
) -> Opened:
    """Write the form that waits for this workstation's person.

    What already stands in that file is kept in it, as far as it rests on unchanged texts; what is
    in the encrypted draft is not written into it, only that it is there.

    Args:
        desk: this workstation.
        task: its name.
        to: where to write it; in the private drafts when None.
        source: the source that is looked at; its reference's manifest is bound. That of the
            draft when None.
        names: show the adjudicator who said what.

    Raises:
        UsageError: nothing about the task waits for this person.
        BadInput: the file is there and is no form, or holds answers about something else.
    """
    place, state = desk.place, desk.state()
    asked, kind = _waiting(desk, state, task)
    # A link is followed: what the file behind it says is brought over, and must not stay there.
    path = to.resolve() if to else _private_path(place, asked)
    there = [read_form(path)] if path.exists() else []
    for data in there:
        _check_is_of(asked, data, path)
    draft = _draft(desk, asked)
    if kind == "review":
        chosen, now = _texts_now(desk, asked, source, [*_given(draft), *there])
        hashes = texts.hashes(now)
        answers = kept_answers(asked.checklist, asked.body.items, hashes, _given(draft))
        kept = {item.id for item, entry, _ in answers if draft and entry["verdict"]}
        form = _review_text(asked, hashes, chosen, there, kept)
    else:
        kept = {n for n, e in decisions_so_far(asked.open_items, _given(draft)).items() if says(e)}
        form = _decision_text(state, asked, names=names, before=there)
    write_text(path, form, "writing the form", mode=_PRIVATE)
    return Opened(to or path, kind, len(kept))


def edit_form(
    desk: Desk,
    task: str,
    editor: Callable[[Path], None],
    *,
    source: str | None = None,
    names: bool = False,
) -> Saved:
    """Open the whole draft in an editor and take it back; nothing plain is left.

    While the editor is open the form lies in the private folder. Where it cannot be read
    afterwards it stays there, and the next call opens it as it is.

    Args:
        desk: this workstation.
        task: its name.
        editor: edits the file and returns when that is done.
        source: as for `open_form`.
        names: as for `open_form`.

    Raises:
        UsageError: nothing about the task waits for this person.
        BadInput: what was written is no valid form (the line is named).
    """
    place, state = desk.place, desk.state()
    asked, kind = _waiting(desk, state, task)
    path = _private_path(place, asked)
    before = _given(_draft(desk, asked))
    try:
        if path.exists():
            there = read_form(path)
            _check_is_of(asked, there, path)
            before.append(there)
    except BadInput:
        pass  # it is opened as it stands
    else:
        if kind == "review":
            chosen, now = _texts_now(desk, asked, source, before)
            form = _review_text(asked, texts.hashes(now), chosen, before, ())
        else:
            form = _decision_text(state, asked, names=names, before=before)
        write_text(path, form, "writing the form", mode=_PRIVATE)
    editor(path)
    try:
        data = read_form(path) if path.exists() else None
    except BadInput as error:
        raise _still_there(error) from error
    if data is None:  # the window took it meanwhile, or the editor was left without a file
        return _saved(asked, kind, _draft(desk, asked) or {"items": []}, Left(True, ()))
    try:
        saved, again = _keep(desk, asked, kind, data, [data], named=names)
    except BadInput as error:
        raise _still_there(error) from error
    drafts.forget_form(place, asked.body.task, asked.id)
    return _saved(asked, kind, saved, Left(True, ()), again)


def _still_there(error: BadInput) -> BadInput:
    return BadInput(
        error.text,
        place=error.place,
        todo="It is still there, as you left it. Mend it: m4bench review edit TASK",
    )


def save_form(desk: Desk, form: Path) -> Saved:
    """Take what stands in a form into the encrypted draft, and out of its file.

    Raises:
        BadInput: it is no form.
        UsageError: what it belongs to does not wait for this person.
    """
    data, state = read_form(form), desk.state()
    asked = state.assignments.get(str(data.get("assignment")))
    kind = _kind(asked, my_author(desk.place)) if asked is not None else None
    if asked is None or kind is None:
        raise UsageError(
            "What this form belongs to does not wait for you.", todo="See m4bench review status."
        )
    saved, again = _draft(desk, asked), tuple[str, ...]()
    if saved is None or any(map(says, data["items"])):
        saved, again = _keep(desk, asked, kind, data, [*_given(saved), data], named=False)
    return _saved(asked, kind, saved, empty(desk.place, form, asked.id, "saved", data), again)


def submit(desk: Desk, form: Path) -> tuple[Entry, Left]:
    """Sign and seal a filled-in form, with the encrypted draft's answers where it says nothing.

    The first verdicts stand for ever. What the form said is taken out of its file.

    Raises:
        BadInput: an item is unanswered or incomplete, or a text was changed since the form was
            opened (both named).
        UsageError: not assigned, or submitted already.
    """
    data = read_form(form)
    entry = acts.sign(desk, _with_draft(desk, data, "review"))
    return entry, empty(desk.place, form, str(data["assignment"]), "signed", data)


def submit_draft(desk: Desk, task: str) -> Entry:
    """As `submit`, of what is in the encrypted draft.

    Raises:
        UsageError: also where there is no draft.
    """
    return acts.sign(desk, _own_draft(desk, task, "review"))


def adjudicate(desk: Desk, form: Path, *, named: bool = False) -> Entry:
    """Sign decisions about the open items; what an empty one says is taken from the draft.

    Raises:
        BadInput: an item without decision or reason.
        UsageError: not the adjudicator, too early, or done already.
    """
    data = _with_draft(desk, read_form(form), "adjudication")
    entry = acts.decide(desk, data, named=named or bool(data.get("named")))
    if inside(desk.place, form):
        form.unlink(missing_ok=True)
    return entry


def adjudicate_draft(desk: Desk, task: str, *, named: bool = False) -> Entry:
    """As `adjudicate`, of what is in the encrypted draft.

    Raises:
        UsageError: also where there is no draft.
    """
    draft = _own_draft(desk, task, "adjudication")
    return acts.decide(desk, draft, named=named or bool(draft.get("named")))


def _waiting(desk: Desk, state: State, task: str) -> tuple[Assignment, Kind]:
    me, name = my_author(desk.place), desk.content.task(task).name
    for asked in reversed(list(state.assignments.values())):
        kind = _kind(asked, me) if asked.body.task == name else None
        if kind is not None:
            return asked, kind
    raise UsageError(f"Nothing about {name} waits for you.", todo="See m4bench review status.")


def _check_is_of(asked: Assignment, data: Mapping[str, Any], path: Path) -> None:
    """Answers about another task are not written over."""
    if any(map(says, data["items"])):
        if data.get("task", asked.body.task) != asked.body.task:
            raise BadInput(
                f"{path.name} holds answers about another task.",
                todo=f"Take them in first (m4bench review save {path}), or name another file.",
            )
        check_items(data, [item.id for item in asked.checklist.items])


def _kind(asked: Assignment, me: str | None) -> Kind | None:
    if me in asked.body.reviewers and me not in asked.reviews:
        return "review"
    return "adjudication" if acts.adjudicable(asked) and me == asked.body.adjudicator else None


def _draft(desk: Desk, asked: Assignment) -> drafts.Draft | None:
    return drafts.read_draft(desk.place, my_signer(desk.place), asked.id)


def _given(draft: drafts.Draft | None) -> list[Mapping[str, Any]]:
    return [] if draft is None else [draft]


def _texts_now(
    desk: Desk, asked: Assignment, source: str | None, before: Iterable[Mapping[str, Any]]
) -> tuple[str | None, dict[str, str]]:
    """The source that is looked at (asked for, or that of the newest form) and the texts."""
    task = desk.content.task(asked.body.task)
    if source is None:
        for data in before:
            source = str(data.get("source") or "") or source
        try:
            return source, texts.texts_of(desk.home, task, desk.content, source)
        except M4Error:
            source = None  # it is gone, or its reference is; the answers that rest on it go too
    return source, texts.texts_of(desk.home, task, desk.content, source)


def _review_text(
    asked: Assignment,
    hashes: Mapping[str, str],
    source: str | None,
    before: list[Mapping[str, Any]] | list[dict[str, Any]],
    kept: Iterable[str],
) -> str:
    return review_form(
        assignment=asked.id,
        task=asked.body.task,
        checklist=asked.checklist,
        items=asked.body.items,
        texts=hashes,
        source=source,
        before=before,
        kept=set(kept),
    )


def _decision_text(state: State, asked: Assignment, *, names: bool, before: list[Any]) -> str:
    return decision_form(
        assignment=asked.id,
        task=asked.body.task,
        checklist=asked.checklist,
        said=acts.said(state, asked, names=names),
        before=before,
    )


def _keep(
    desk: Desk,
    asked: Assignment,
    kind: Kind,
    form: Mapping[str, Any],
    parts: list[Any],
    *,
    named: bool,
) -> tuple[drafts.Draft, tuple[str, ...]]:
    """Keep the parts, each laid over the one before, as the draft; and what to answer again."""
    check_items(form, asked.body.items if kind == "review" else asked.open_items)
    draft: drafts.Draft = {"assignment": asked.id, "task": asked.body.task}
    again: tuple[str, ...] = ()
    if kind == "review":
        # A form that was opened without a source takes away none that the draft looks at.
        source, now = _texts_now(desk, asked, None, parts)
        hashes = texts.hashes(now)
        answers = kept_answers(asked.checklist, asked.body.items, hashes, parts)
        draft |= {"source": source, "texts": hashes, "items": [entry for _, entry, _ in answers]}
        again = tuple(item.id for item, _, is_again in answers if is_again)
    else:
        items = decisions_so_far(asked.open_items, parts)
        named = named or any(part.get("named") for part in parts)
        draft |= {"adjudication": True, "named": named, "items": list(items.values())}
    drafts.write_draft(desk.place, my_signer(desk.place), draft)
    return draft, again


def _saved(
    asked: Assignment,
    kind: Kind,
    draft: Mapping[str, Any],
    left: Left,
    again: tuple[str, ...] = (),
) -> Saved:
    items = asked.body.items if kind == "review" else asked.open_items
    name = "verdict" if kind == "review" else "decision"
    answered = sum(bool(entry.get(name)) for entry in draft["items"])
    return Saved(asked.body.task, kind, answered, len(items), left, again)


def _with_draft(desk: Desk, form: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """A form with the draft's answers where it gives none; as it is where it does not count."""
    asked = desk.state().assignments.get(str(form.get("assignment")))
    if asked is None or _kind(asked, my_author(desk.place)) != kind:
        return form  # whoever signs says why not
    draft = _draft(desk, asked)
    if draft is None or not form["items"]:
        return form if draft is None else draft  # a form that was saved is empty
    if kind == "review":
        opened = form.get("texts")
        hashes = {str(k): str(v) for k, v in opened.items()} if isinstance(opened, Mapping) else {}
        kept = kept_answers(asked.checklist, asked.body.items, hashes, [draft])
        draft = {**draft, "items": [entry for _, entry, _ in kept]}
    return {**laid_over(draft, form), "named": draft.get("named")}


def _own_draft(desk: Desk, task: str, kind: Kind) -> dict[str, Any]:
    asked, waits = _waiting(desk, desk.state(), task)
    draft = _draft(desk, asked) if waits == kind else None
    if draft is None:
        raise UsageError(
            f"There is no draft of your {kind} of {asked.body.task}.",
            todo=f"Write it: m4bench review edit {asked.body.task}",
        )
    return draft


def _private_path(place: Place, asked: Assignment) -> Path:
    drafts.private_folder(place)
    return drafts.form_path(place, asked.body.task, asked.id)
