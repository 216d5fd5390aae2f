"""What every command is given: the home, the way to print, a job that can be interrupted."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from engine.base.errors import M4Error
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home, open_home


@dataclass
class CliContext:
    """Global options, and how a command speaks.

    stdout is data (a table for people, or one JSON document with ``--json``);
    stderr is for people, or one JSON event a line with ``--events ndjson``.
    """

    home_option: str | None = None
    json: bool = False
    events: str | None = None
    _last: dict[str, int] = field(default_factory=dict)
    _telling: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def home(self) -> Home:
        """The home folder, opened at first use; an audit log that does not hold is said."""
        home = open_home(self.home_option)
        if home.audit.exists() or home.state.exists():
            from engine.audit import verify  # noqa: PLC0415 - the help needs no database

            # What keeps it from being looked at is told by whoever needs the same file.
            with suppress(M4Error):
                verdict = verify(home)
                if not verdict.ok:
                    self.say(f"{verdict.words} See m4bench audit verify.")
        return home

    @cached_property
    def err(self) -> Console:
        """Where people are told things."""
        return Console(stderr=True, highlight=False, soft_wrap=True)

    def event(self, kind: str, **values: object) -> None:
        """One NDJSON event on stderr, when asked for."""
        if self.events == "ndjson":
            line = json.dumps({"event": kind, **values})
            with self._telling:  # events come from several threads; a line is never cut into
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line for people."""
        if self.events == "ndjson":
            self.event("message", text=text)
        else:
            self.err.print(text, markup=False)

    def next_steps(self, steps: Sequence[tuple[str, Sequence[str]]]) -> None:
        """For people alone: what may be asked next, with the command for it."""
        if self.json or self.events is not None or not steps:
            return
        self.say("Next:")
        for what, command in steps:
            self.say(f"  {what:<26} m4bench {shlex.join(command)}")

    def result(
        self,
        value: Any,
        *,
        rows: Sequence[Mapping[str, object]] | None = None,
        text: str | None = None,
    ) -> None:
        """The command's outcome: `value` as JSON with ``--json``, else `rows` or `text`."""
        if self.json:
            click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
        elif rows is not None:
            self._table(rows)
        else:
            click.echo(text if text is not None else json.dumps(value, indent=2))

    def _table(self, rows: Sequence[Mapping[str, object]]) -> None:
        if not rows:
            click.echo("(none)")
            return
        table = Table(box=None, pad_edge=False)
        for name in rows[0]:
            table.add_column(name.replace("_", " "), overflow="fold")
        for row in rows:
            table.add_row(*("" if cell is None else str(cell) for cell in row.values()))
        width = None if sys.stdout.isatty() else 200
        Console(width=width, highlight=False, markup=False).print(table)

    @contextmanager
    def job(self) -> Iterator[Job]:
        """A job whose progress goes to stderr and which Ctrl-C and SIGTERM cancel.

        A second signal ends the program at once.
        """
        job = SimpleJob(on_progress=self._progress, on_message=self.say)

        def stop_job() -> None:
            self.say("Stopping …")
            job.cancel()

        def stop(signum: int, _frame: object) -> None:
            if job.cancelled:
                signal.signal(signum, signal.SIG_DFL)
                signal.raise_signal(signum)
            # Not inside the handler: the interrupted code may be printing, which cannot be done
            # twice at once, or hold locks that a stop takes.
            threading.Thread(target=stop_job, name="cancel").start()

        before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield job
        finally:
            for signum, handler in before.items():
                signal.signal(signum, handler)

    def _progress(self, stage: str, done: float, total: float, text: str) -> None:
        percent = int(100 * done / total) if total else 0
        if self.events == "ndjson":
            self.event("progress", stage=stage, done=done, total=total, text=text)
            return
        before = self._last.get(stage, -25)
        if percent < before and done:
            return  # there is more to do than was known: nobody wants to see it run backwards
        if before // 25 != percent // 25:  # each stage: at quarters
            self._last[stage] = percent
            share = " done" if done >= total > 0 else f"{percent:3d} %"
            self.err.print(f"{share}  {text or stage}", markup=False)


pass_context = click.make_pass_decorator(CliContext)


def existing(path: str) -> Path:
    """A path argument; whether it can be read is said by whoever reads it."""
    return Path(path).absolute()
