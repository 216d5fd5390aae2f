"""Saving a report of one run, or of several beside each other, from any screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from m4review.app.context import Context
from m4review.app.jobs import JobHandle


def save_report(context: Context, run_ids: Sequence[str]) -> JobHandle | None:
    """Ask where to, write the report in the background, and tell where it is.

    Returns:
        The job; None when the user changed her mind.
    """
    runs = tuple(run_ids)
    name = f"{runs[0]}.html" if len(runs) == 1 else f"comparison-of-{len(runs)}-runs.html"
    where = context.interaction.choose_save("Save the report", name, ("Web page (*.html)",))
    if where is None:
        return None
    to = where if where.suffix.lower() in (".html", ".htm") else Path(f"{where}.html")

    def done(files: tuple[Path, Path]) -> None:
        page, facts = files
        context.told.emit(f"The report is saved: {page.name} and {facts.name}.")
        context.interaction.tell(
            "The report is saved",
            f"{page}\n{facts.name} beside it has the same as JSON.\n\nIt holds no row of the data; "
            "counts from 1 to 10 are told as <11. It opens without a network.",
        )

    return context.runner.start(
        "Write the report",
        lambda job: context.workbench.report(runs, to, job=job),
        on_done=done,
        on_failed=context.interaction.error,
    )
