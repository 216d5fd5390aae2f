"""`m4bench diff`: the aligned rows of an output and its reference, as Parquet or CSV."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from engine import audit
from engine.base.errors import UsageError
from engine.catalogue.task import find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.score import reference_of, scratch_of
from engine.diagnosis import unmet
from engine.scoring import export_diff, export_form, judge_table
from engine.sources import may_export


@contextlib.contextmanager
def _told(
    context: CliContext, source: str | None, task: str, target: Path
) -> Iterator[dict[str, audit.Fact]]:
    """The audit log hears of rows of a registered source before they are written out.

    Whoever names a file on the command line has said yes; that it is credentialed data is said.
    """
    if source is None:
        yield {}
        return
    decision = may_export(context.home, source)
    if decision.confirm is not None:
        context.say(decision.why)
    with audit.recorded(
        context.home, "export.diff", source=source, object=target.name, facts={"task": task}
    ) as told:
        yield told


def _check_target(target: Path, compared: Iterable[Path]) -> None:
    """Nothing that is compared is written over.

    Raises:
        UsageError: the target is one of the files, or a folder.
    """
    if target.is_dir():
        raise UsageError("The file to write is a folder.", todo="Give --out the name of a file.")
    if any(target.exists() and each.exists() and target.samefile(each) for each in compared):
        raise UsageError(
            "The file to write is one of the two that are compared.",
            todo="Give --out another name.",
        )


@click.command()
@click.argument("task")
@click.argument("output")
@click.option("--source", metavar="SOURCE", help="Compare with this source's own reference.")
@click.option("--reference", metavar="FILE", help="Compare with this Parquet or CSV(.gz) file.")
@click.option(
    "--only",
    type=click.Choice(["mismatches"]),
    help="Leave out rows in which everything matches.",
)
@click.option(
    "--out", metavar="FILE.parquet", required=True, help="The file to write; .csv as well."
)
@click.option("--memory", metavar="SIZE", default="800MB", show_default=True, help="Memory limit.")
@pass_context
def command(
    context: CliContext,
    *,
    task: str,
    output: str,
    source: str | None,
    reference: str | None,
    only: str | None,
    out: str,
    memory: str,
) -> None:
    """Write the aligned rows of OUTPUT and the reference of TASK into a Parquet or CSV file.

    One row per reference row, per extra key and per further row of a key, in the order of the
    keys; the columns are the key, and NAME__reference, NAME__agent, NAME__status for each scored
    column.
    """
    found = find_task(task)
    target = existing(out)
    export_form(target)
    against = reference_of(context, found, source, reference)
    _check_target(target, (existing(output), against))
    scratch = scratch_of(context, source)
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    with (
        context.job() as job,
        tempfile.TemporaryDirectory(prefix="diff-", dir=scratch) as folder,
    ):
        aligned = Path(folder) / "diff.duckdb"
        score = judge_table(
            found.evaluation,
            existing(output),
            against,
            diff=aligned,
            job=job,
            memory_limit=memory,
            scratch=scratch,
        )
        with _told(context, source, task, target) as told:
            rows = export_diff(
                aligned,
                target,
                only_mismatches=only == "mismatches",
                job=job,
                memory_limit=memory,
                scratch=scratch,
            )
            told["rows"] = rows
    unread = [d.detail for d in score.diagnostics if d.name == "output_exists" and not d.passed]
    for why in unread:  # an agent may leave nothing; a person may have mistyped the name
        context.say(f"{why} Every row of the reference counts as missing.")
    lines = [f"{rows:,} rows written to {target} (reward {score.as_dict()['reward']:.8f})."]
    lines += [f"  FAIL  {j.name}: {j.detail}" for j in unmet(score.diagnostics)]
    context.result(
        {"out": str(target), "rows": rows, "only": only, "score": score.as_dict()},
        text="\n".join(lines),
    )
