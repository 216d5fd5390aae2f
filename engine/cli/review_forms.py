"""`m4bench review`: forms as files: open, edit, save, submit, adjudicate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from engine.base.errors import MissingPrerequisite, UsageError
from engine.cli.context import CliContext, existing, pass_context
from engine.reviews import Desk, acts, form_files
from engine.reviews.form_traces import Left
from engine.reviews.texts import Content

CONTENT = "m4.content"


def desk_of(context: CliContext) -> Desk:
    """The reviews of the home, about the content that was named."""
    content: Content = click.get_current_context().meta[CONTENT]
    return Desk(context.home, content)


@click.command(name="open")
@click.argument("task")
@click.option("--out", metavar="FILE", help="Where to write the form (YAML); private by default.")
@click.option("--source", metavar="NAME", help="The source you look at; its reference is bound.")
@click.option("--names", is_flag=True, help="Adjudicator: show who said what.")
@pass_context
def open_(
    context: CliContext, task: str, *, out: str | None, source: str | None, names: bool
) -> None:
    """Write the form that waits for you: a review, or an adjudication.

    It is a blank sheet: what is in your encrypted draft is not written into it, and is signed with
    it. A form that is there is brought up to date: answers about unchanged texts stay in it.
    """
    to = existing(out) if out else None
    opened = form_files.open_form(desk_of(context), task, to=to, source=source, names=names)
    verb = "submit" if opened.kind == "review" else "adjudicate"
    document = {"form": str(opened.path), "kind": opened.kind, "kept": opened.kept}
    context.result(document, text=str(opened.path))
    if opened.kept:
        context.say(f"{opened.kept} answers are in your encrypted draft and not in this file.")
    context.say(f"Fill it in, then: m4bench review {verb} {opened.path}")
    context.say(
        "What you write is plain in that file until then. To stop before you are done, and leave "
        f"nothing of it there: m4bench review save {opened.path}"
    )


@click.command()
@click.argument("task")
@click.option("--source", metavar="NAME", help="The source you look at; its reference is bound.")
@click.option("--names", is_flag=True, help="Adjudicator: show who said what.")
@pass_context
def edit(context: CliContext, task: str, *, source: str | None, names: bool) -> None:
    """Write your answers in an editor ($VISUAL or $EDITOR) and keep them encrypted.

    What you wrote before, also in the window, stands in it. Nothing plain is left when it is
    closed.
    """

    def editor(path: Path) -> None:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            raise MissingPrerequisite(
                f"The editor could not be used: {error.message}",
                todo="Name one that waits until the file is closed, e.g. export EDITOR=nano.",
            ) from error

    desk = desk_of(context)
    saved = form_files.edit_form(desk, task, editor, source=source, names=names)
    _say_saved(context, saved)


@click.command()
@click.argument("file")
@pass_context
def save(context: CliContext, file: str) -> None:
    """Take what you wrote in FILE into your encrypted draft, and out of the file."""
    path = existing(file)
    saved = form_files.save_form(desk_of(context), path)
    _say_saved(context, saved)
    _say_left(context, path, saved.left)


def _say_saved(context: CliContext, saved: form_files.Saved) -> None:
    text = f"Kept, encrypted: {saved.answered} of {saved.asked} items have an answer."
    context.result(asdict(saved), text=text)
    if saved.again:
        context.say(
            "A text was changed, or another source is looked at, since you answered "
            f"{', '.join(saved.again)}: answer again. Your words are kept."
        )
    verb = "submit" if saved.kind == "review" else "adjudicate"
    context.say(f"To sign it: m4bench review {verb} --task {saved.task}")


def _say_left(context: CliContext, path: Path, left: Left) -> None:
    """What of a form can still be read."""
    if left.emptied:
        context.say(f"What you wrote was taken out of {path.name}.")
    else:
        context.say(f"{path.name} still holds what you said: keep it to yourself, or delete it.")
    if left.copies:
        context.say(
            f"Look at {', '.join(left.copies)} beside it: your editor may have kept a copy."
        )


def _one_of(file: str | None, task: str | None) -> None:
    if (file is None) == (task is None):
        raise UsageError("Give the form's FILE, or the draft's --task.")


@click.command()
@click.argument("file", required=False)
@click.option("--task", metavar="TASK", help="Sign what is in your encrypted draft instead.")
@pass_context
def submit(context: CliContext, file: str | None, *, task: str | None) -> None:
    """Sign the review in FILE (YAML or TOML) and seal it. First verdicts never change.

    What FILE leaves empty is taken from your encrypted draft. Your answers are taken out of FILE.
    """
    _one_of(file, task)
    desk = desk_of(context)
    path = existing(file) if file is not None else None
    left = None
    if path is not None:
        entry, left = form_files.submit(desk, path)
    else:
        entry = form_files.submit_draft(desk, task or "")
    keys = acts.reveal_due(desk)
    text = "Signed and sealed. " + (
        "Every reviewer has signed: your key is given."
        if keys
        else "Your verdicts can be read when every reviewer has signed. Export a bundle for them."
    )
    document = {"review": entry.id, "texts": entry.body["texts"], "revealed": len(keys)}
    document["emptied"] = left.emptied if left is not None else None
    context.result(document, text=text)
    if path is not None and left is not None:
        _say_left(context, path, left)


@click.command()
@click.argument("file", required=False)
@click.option("--task", metavar="TASK", help="Sign what is in your encrypted draft instead.")
@click.option("--named", is_flag=True, help="You worked with the reviewers' names.")
@pass_context
def adjudicate(context: CliContext, file: str | None, *, task: str | None, named: bool) -> None:
    """Sign the decisions in FILE; each has a reason."""
    _one_of(file, task)
    desk = desk_of(context)
    if file is not None:
        entry = form_files.adjudicate(desk, existing(file), named=named)
    else:
        entry = form_files.adjudicate_draft(desk, task or "", named=named)
    decisions = entry.body["decisions"]
    text = f"{len(decisions)} items are decided. Export a bundle for the reviewers."
    context.result({"adjudication": entry.id, "decisions": decisions}, text=text)


FORMS = (open_, edit, save, submit, adjudicate)
