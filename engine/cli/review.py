"""`m4bench review`: double review without the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from engine.base.errors import JudgedFailed, M4Error, UsageError
from engine.base.text import neutralise
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.review_forms import CONTENT, FORMS, desk_of
from engine.cli.review_words import (
    brief_words,
    figure_words,
    item_document,
    outcome_document,
    problem_document,
)
from engine.reviews import Desk, acts, bundle, index, ledger, provenance
from engine.reviews.chains import ahead, cut
from engine.reviews.entry import now
from engine.reviews.identity import Fingerprint, compared, find_author, my_author, note_compared
from engine.reviews.problem import Problem
from engine.reviews.state import State, state_of
from engine.reviews.texts import Content
from engine.reviews.worklist import worklist


@click.group(name="review")
@click.option(
    "--content", metavar="DIR", help="A folder with tasks/ and skills/ instead of the shipped ones."
)
@click.pass_context
def command(ctx: click.Context, content: str | None) -> None:
    """Double review of tasks and skills, sealed until every reviewer has signed."""
    root = existing(content) if content else None
    if root is not None and not (root / "tasks").is_dir():
        raise UsageError("There is no folder tasks/ in that content.")
    ctx.meta[CONTENT] = Content(root)


for _each in FORMS:
    command.add_command(_each)


def _known(state: State) -> dict[str, str]:
    return {author: person.name for author, person in state.people.items()}


@command.command()
@click.option("--name", help="Your name; makes the identity of this workstation.")
@click.option("--role", help="What makes you fit to judge, e.g. intensivist.")
@click.option("--compare", metavar="WHO", help="Somebody whose fingerprint you have been told.")
@click.option("--fingerprint", metavar="TEXT", help="What you were told: words or hex digits.")
@pass_context
def identity(
    context: CliContext,
    *,
    name: str | None,
    role: str | None,
    compare: str | None,
    fingerprint: str | None,
) -> None:
    """Make or show identities, and compare fingerprints.

    The key is kept in the keyring of the operating system. Read the fingerprint out to your
    colleagues (not by the way the bundle takes); what was compared counts on this machine.
    """
    desk = desk_of(context)
    if name is not None or role is not None:
        if not (name and role):
            raise UsageError("An identity has a name and a role.", todo="Give --name and --role.")
        acts.make_identity(desk, name=name, role=role)
    state = desk.state()
    if compare is not None:
        if not fingerprint:
            raise UsageError("What were you told?", todo="Give it with --fingerprint.")
        note_compared(desk.place, find_author(compare, _known(state)), fingerprint, now())
    me, checked = my_author(desk.place), compared(desk.place)
    people = [
        {
            "name": person.name,
            "role": person.role,
            "author": author,
            "fingerprint": Fingerprint(author).groups,
            "words": Fingerprint(author).words,
            "me": author == me,
            "compared": checked.get(author),
        }
        for author, person in state.people.items()
    ]
    shown = [
        {
            "name": f"{neutralise(str(each['name']))}{' (you)' if each['me'] else ''}",
            "role": neutralise(str(each["role"])),
            "fingerprint": each["fingerprint"],
            "in_words": each["words"],
            "compared": str(each["compared"] or "no")[:10] if not each["me"] else "",
        }
        for each in people
    ]
    context.result({"me": me, "people": people}, rows=shown)


@command.command()
@click.argument("task")
@click.option("--reviewer", "reviewers", multiple=True, metavar="WHO", help="Two or more times.")
@click.option("--adjudicator", metavar="WHO", required=True, help="Decides where they differ.")
@click.option("--again", is_flag=True, help="Another round: only what no longer holds.")
@pass_context
def assign(
    context: CliContext, task: str, *, reviewers: Sequence[str], adjudicator: str, again: bool
) -> None:
    """Ask people for their reviews of TASK.

    WHO is a name or the beginning of a fingerprint; merge the bundles with their identities first.
    """
    desk = desk_of(context)
    known = _known(desk.state())
    entry = acts.assign(
        desk,
        task,
        reviewers=[find_author(who, known) for who in reviewers],
        adjudicator=find_author(adjudicator, known),
        again=again,
    )
    items = entry.body["items"]
    text = f"{entry.body['task']} is assigned: {len(items)} items. Export a bundle for them."
    context.result({"assignment": entry.id, **entry.body}, text=text)


@command.command()
@pass_context
def status(context: CliContext) -> None:
    """What waits for you, and how far every task is."""
    desk = desk_of(context)
    state = desk.state()
    acts.forget_signed(desk, state)
    found = worklist(desk, state)
    problems = (*state.problems, *found.problems)
    index.rebuild(desk)
    document = {
        "me": found.me,
        "waits": [asdict(wait) for wait in found.waits],
        "tasks": [outcome_document(state, outcome) for outcome in found.outcomes],
        "unassigned": list(found.unassigned),
        "problems": [problem_document(problem) for problem in problems],
    }
    lines = [f"{w.task}: {w.what} since {w.since[:10]}. {w.why}" for w in found.waits]
    lines = lines or ["Nothing waits for you."]
    settled = sum(outcome.settled for outcome in found.outcomes)
    total = len(found.outcomes) + len(found.unassigned)
    lines += ["", f"{settled} of {total} tasks are settled, {len(found.outcomes)} assigned."]
    lines += [f"  {outcome.task}: {brief_words(outcome)}" for outcome in found.outcomes]
    context.result(document, text=neutralise("\n".join(lines)))
    for problem in problems:
        context.say(f"{problem.what}: {problem.words}")


@command.command()
@click.argument("task")
@pass_context
def show(context: CliContext, task: str) -> None:
    """What was said about TASK, as far as it may be read here, and your own verdicts."""
    desk = desk_of(context)
    state = desk.state()
    name = desk.content.task(task).name
    desk.now([name])  # where its texts cannot be read, nobody can say where it stands
    found = [o for o in worklist(desk, state).outcomes if o.task == name]
    if not found:
        raise UsageError(f"Nobody was asked to review {name}.")
    document = outcome_document(state, found[0])
    document["items"] = [item_document(state, each) for each in found[0].items]
    me = my_author(desk.place)
    sealed = found[0].round
    if me in sealed.reviews and not sealed.revealed:
        own = acts.own_verdicts(desk, sealed)
        document["own"] = [verdict.model_dump() for verdict in (own or {}).values()]
    lines = [f"{name}: {brief_words(found[0])}"]
    lines += [
        f"  you said, under seal: {v['item']}: {v['verdict']} {v['text']}".rstrip()
        for v in document.get("own", [])
    ]
    for item in document["items"]:
        lines.append(f"  {item['title']}: {item['words']}")
        lines += [f"    {v['by']}: {v['verdict']} {v['text']}".rstrip() for v in item["verdicts"]]
        if item["decision"]:
            differs = ", ".join(item["differs_from"])
            lines.append(f"    decided: {item['decision']}: {item['reason']}")
            lines += [f"    differs from {differs}"] if differs else []
    context.result(document, text=neutralise("\n".join(lines)))


@command.command()
@click.argument("file")
@click.option("--with-rows", is_flag=True, help="Also rows of credentialed sources; recorded.")
@pass_context
def export(context: CliContext, file: str, *, with_rows: bool) -> None:
    """Write the ledger into FILE (a zip) for other workstations."""
    done = bundle.export(desk_of(context), existing(file), with_rows=with_rows)
    text = f"{done.entries} entries, {done.texts} texts, {done.annexes} sets of rows."
    context.result({"file": file, **asdict(done)}, text=text)
    if done.kept_back:
        context.say(
            f"{done.kept_back} sets of rows of credentialed sources stay here. Whoever gets them "
            "must be allowed to see them: --with-rows adds them, and the audit log records it."
        )


@command.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@pass_context
def merge(context: CliContext, paths: Sequence[str]) -> None:
    """Take bundles (or ledger folders on a share), in any order, as often as you like.

    Keys that are due are given at once. Exit status 1 when the ledger does not hold after it.
    """
    desk = desk_of(context)
    merged = [bundle.merge(desk, existing(path)) for path in paths]
    given, why = _reveal(desk)
    problems = [problem for problem in merged[-1].problems if problem.serious]
    document = {
        "merged": [
            {**asdict(each), "file": Path(path).name, "problems": None}
            for path, each in zip(paths, merged, strict=True)
        ],
        "revealed": given,
        "problems": [problem_document(problem) for problem in merged[-1].problems],
    }
    new = sum(each.entries for each in merged)
    text = f"{new} new entries, {sum(each.known for each in merged)} known."
    if given:
        text += f" {given} of your reviews can be opened now: export a bundle with the key."
    context.result(document, text=text)
    if why:
        context.say(why)
    _say(context, merged[-1].problems)
    if problems:
        click.get_current_context().exit(JudgedFailed.exit_code)


@command.command()
@pass_context
def reveal(context: CliContext) -> None:
    """Give the keys of your reviews whose every reviewer has signed."""
    made = acts.reveal_due(desk_of(context))
    text = f"{len(made)} keys are given." if made else "No key is due."
    context.result({"revealed": [entry.body["review"] for entry in made]}, text=text)


@command.command()
@pass_context
def verify(context: CliContext) -> None:
    """Check every file, signature, chain, seal and clock. Exit status 1 if something is wrong."""
    desk = desk_of(context)
    found = ledger.read(desk.place.ledger)
    state = state_of(found.entries)
    known = ledger.heads(desk.place)
    problems = sorted(
        {
            *found.damaged,
            *state.problems,
            *cut(state.chains, known),
            *ahead(state.chains, datetime.now(UTC)),
        }
    )
    serious = [problem for problem in problems if problem.serious]
    document = {
        "holds": not serious,
        "entries": len(found.entries),
        "people": len(state.people),
        "problems": [problem_document(problem) for problem in problems],
    }
    text = f"{len(found.entries)} entries of {len(state.people)} people: " + (
        "something is wrong." if serious else "the ledger holds."
    )
    context.result(document, text=text)
    _say(context, problems)
    if serious:
        click.get_current_context().exit(JudgedFailed.exit_code)


@command.command(name="agreement")
@click.option("--task", help="Of one task only.")
@pass_context
def agreement_(context: CliContext, *, task: str | None) -> None:
    """How far first verdicts agree: raw, Cohen's kappa, Gwet's AC1 and AC2, with intervals."""
    from engine.reviews import agreement  # noqa: PLC0415 - scipy, only here

    state = desk_of(context).state()
    pairs = agreement.pairs_of(state, task)
    found = agreement.agreements(pairs)
    rows = [
        {
            "reviewers": " and ".join(map(state.name, each.reviewers)) or "all",
            "tasks": each.tasks,
            "items": each.raw.items,
            **{name: figure_words(getattr(each, name)) for name in ("raw", "kappa", "ac1", "ac2")},
        }
        for each in found
    ]
    context.result({"level": agreement.LEVEL, "agreement": [asdict(a) for a in found]}, rows=rows)


@command.command(name="provenance")
@click.argument("family", nargs=-1, metavar="[FAMILY…]")
@pass_context
def provenance_(context: CliContext, family: Sequence[str]) -> None:
    """Write PROVENANCE.yaml and the tiers of skills from the ledger (default: all families)."""
    desk = desk_of(context)
    wanted = family or provenance.families(desk)
    done = [provenance.write_provenance(desk, name) for name in wanted]
    document = [{**asdict(each), "path": str(each.path)} for each in done]
    lines = []
    for each in done:
        lines.append(
            f"{each.family}: {each.reviews} reviews{'' if each.changed else ' (as they were)'}"
        )
        for tier in each.tiers:
            arrow = f"{tier.before} → {tier.after}" if tier.before != tier.after else tier.after
            lines.append(f"  {tier.skill}: {arrow}")
            lines += [f"    {why}" for why in tier.why]
    context.result({"families": document}, text="\n".join(lines))


def _reveal(desk: Desk) -> tuple[int, str]:
    """Give what is due; a keyring that cannot be asked now is no failure of a merge."""
    if my_author(desk.place) is None:
        return 0, ""
    state = desk.state()
    me = my_author(desk.place) or ""
    if not any(acts.due(state, assignment, me) for assignment in state.assignments.values()):
        return 0, ""
    try:
        return len(acts.reveal_due(desk)), ""
    except M4Error as error:
        return 0, f"Your key is due and could not be given: {error} Then: m4bench review reveal"


def _say(context: CliContext, problems: Sequence[Problem]) -> None:
    for problem in problems:
        context.say(f"{problem.what}: {problem.words}")
