"""`m4bench references build|verify|audit`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from engine.base.duck import connect
from engine.base.errors import BadInput, JudgedFailed
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import list_tasks
from engine.cli.context import CliContext, existing, pass_context
from engine.references import (
    AuditCount,
    audit_source,
    build_references,
    open_reference,
    targets_left_out,
    verify_references,
)
from engine.references.canonical import write_canonical_csv
from engine.references.targets import find_target
from engine.scoring import Score, score_table


@click.group()
def command() -> None:
    """Build and verify the reference tables."""


@command.command()
@click.argument("source")
@click.option("--target", "targets", metavar="KEY", multiple=True, help="Default: all that fit.")
@click.option("--out", metavar="DIR", help="Also write DIR/KEY.parquet.")
@pass_context
@click.pass_context
def build(
    ctx: click.Context,
    context: CliContext,
    *,
    source: str,
    targets: Sequence[str],
    out: str | None,
) -> None:
    """Build reference tables of SOURCE with their manifests, and the concepts they need.

    Leaves with 3 when the source lacks tables that some targets need; the others are built.
    """
    with context.job() as job:
        built = build_references(
            context.home,
            source,
            list(targets) or None,
            job=job,
            out=existing(out) if out else None,
        )
    left_out = targets_left_out(context.home, source) if not targets else ()
    context.result(
        {
            "source": source,
            "left_out": [asdict(item) for item in left_out],
            "references": [
                {
                    "key": item.key,
                    "rows": item.rows,
                    "seconds": item.seconds,
                    "fresh": item.fresh,
                    "duplicate_keys": item.duplicate_keys,
                    "path": str(item.path),
                }
                for item in built
            ],
        },
        rows=[
            {
                "target": item.key,
                "rows": item.rows,
                "status": "fresh" if item.fresh else f"built in {item.seconds:.2f} s",
            }
            for item in built
        ],
    )
    if left_out:
        context.say(
            f"Left out for lack of tables: {', '.join(item.key for item in left_out)}. The source "
            f"lacks {', '.join(sorted({lost for item in left_out for lost in item.missing}))}. "
            "Add the files to the source's folder and register it again."
        )
        ctx.exit(BadInput.exit_code)


@command.command()
@click.argument("source")
@click.option("--target", "targets", metavar="KEY", multiple=True, help="Default: all built.")
@pass_context
def verify(context: CliContext, source: str, targets: Sequence[str]) -> None:
    """Do the manifests of SOURCE hold, and does each reference score 1 against itself?

    Leaves with 1 when one does not.
    """
    with context.job() as job:
        found = verify_references(context.home, source, list(targets) or None, job=job)
        if not found:
            raise BadInput(
                "No reference has been built for this source.",
                todo=f"Run `m4bench references build {source}`.",
            )
        results = [
            (item, _score_itself(context.home, source, item.key, job) if not item.problems else {})
            for item in found
        ]
    documents = [
        {
            "key": item.key,
            "rows": item.rows,
            "holds": not item.problems
            and all(s.reward == 1 and s.strict_pass for s in scores.values()),
            "problems": list(item.problems),
            "self_scores": {task: score.reward for task, score in scores.items()},
        }
        for item, scores in results
    ]
    context.result(
        {"source": source, "references": documents},
        rows=[
            {
                "target": item.key,
                "rows": item.rows,
                "holds": "yes" if document["holds"] else "NO",
                "scores_itself": ", ".join(f"{t}: {s.reward:g}" for t, s in scores.items()),
                "problems": " ".join(item.problems),
            }
            for (item, scores), document in zip(results, documents, strict=True)
        ],
    )
    failed = [str(document["key"]) for document in documents if not document["holds"]]
    if failed and not context.json:
        raise JudgedFailed(
            f"These references do not hold: {', '.join(failed)}.",
            todo=f"Run `m4bench references build {source}`.",
        )
    if failed:
        raise click.exceptions.Exit(JudgedFailed.exit_code)


@command.command()
@click.argument("source")
@click.option("--target", "targets", metavar="KEY", multiple=True, help="Default: all that fit.")
@pass_context
def audit(context: CliContext, source: str, targets: Sequence[str]) -> None:
    """Count in SOURCE the rows that the references' conventions touch.

    Reasons and published definitions are in the reference notes of the tasks' families.
    """
    with context.job() as job:
        counted = audit_source(context.home, source, job=job, targets=list(targets) or None)
    context.result(
        {
            "source": source,
            "audit": [
                {
                    "name": item.question.name,
                    "targets": list(item.question.targets),
                    "counts": item.question.counts,
                    "of": item.question.of,
                    "affected": item.affected,
                    "total": item.total,
                    "share": item.affected / item.total
                    if item.affected is not None and item.total
                    else None,
                    "why": item.question.why,
                    "missing": list(item.missing),
                }
                for item in counted
            ],
        },
        text="\n\n".join(_audited(item) for item in counted),
    )


def _audited(item: AuditCount) -> str:
    question = item.question
    if item.affected is None or item.total is None:
        found = f"not counted: the source lacks {', '.join(item.missing)}"
    else:
        share = f" ({item.affected / item.total:.1%})" if item.total else ""
        found = f"{item.affected} of {item.total} {question.of}{share}"
    return (
        f"{question.name}  [{', '.join(question.targets)}]\n"
        f"  {found}\n  {question.counts} {question.why}"
    )


def _score_itself(home: Home, source: str, key: str, job: Job) -> dict[str, Score]:
    """Score of the reference, written as CSV, against itself, for each task that uses it."""
    tasks = [task for task in list_tasks() if task.target == key]
    if not tasks:
        return {}
    reference = open_reference(home, source, key)
    home.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.scratch) as folder:
        output = Path(folder) / "output.csv"
        con = connect(scratch=home.scratch)
        try:
            write_canonical_csv(con, reference, find_target(key).key, output)
        finally:
            con.close()
        return {
            task.name: score_table(task.evaluation, output, reference, job=job) for task in tasks
        }
