"""The `m4bench` program: global options, command groups, errors to exit codes.

Each area's commands live in a module of their own and are imported when called, so that
``m4bench --help`` is quick.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from typing import NoReturn

import click

from engine import __version__
from engine.base.errors import Cancelled, HarnessFault, M4Error, UsageError
from engine.cli.context import CliContext

# command -> (module in engine.cli, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "source": ("source", "Register, make, list and remove sources of data."),
    "concepts": ("concepts", "Build the derived tables of a source."),
    "references": ("references", "Build, verify and audit the reference tables."),
    "tasks": ("tasks", "The catalogue of tasks, and the lint of their texts."),
    "workspace": ("workspace", "The database that an agent would get."),
    "score": ("score", "Score one output against its reference."),
    "diff": ("diff", "The aligned rows of an output and its reference."),
    "endpoint": ("endpoint", "Which models can be reached, and their keys."),
    "diagnose": ("diagnose", "What the mismatches of an output are consistent with."),
    "lineage": ("lineage", "The rows of a source that a value of a reference was made of."),
    "sandbox": ("sandbox", "Is isolation possible here, and does it hold."),
    "run": ("run", "Run an agent on a task in the sandbox and score it."),
    "queue": ("queue", "Runs that are to be made: add, order, pause, cancel, carry out."),
    "campaign": ("campaign", "Many runs from one file: check, run, look, go on, stop."),
    "runs": ("runs", "List and show runs."),
    "review": ("review", "Double review: assign, sign, adjudicate, exchange, verify."),
    "audit": ("audit", "What touched the sources, and whether the record of it holds."),
    "canary": ("canary", "Ask an agent to look for private things; it must find none."),
    "evidence-check": ("evidence_check", "The claims of a task's skill against the data."),
    "doctor": ("doctor", "What works on this machine and what is missing."),
}


class _Lazy(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"engine.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", metavar="DIR", help="Where everything is kept (or $M4REVIEW_HOME).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option("--events", type=click.Choice(["ndjson"]), help="Progress as JSON lines on stderr.")
@click.version_option(__version__, prog_name="m4bench")
@click.pass_context
def cli(ctx: click.Context, home: str | None, as_json: bool, events: str | None) -> None:
    """Build, run, score and inspect the tasks of a clinical benchmark, without a window."""
    ctx.obj = CliContext(home_option=home, json=as_json, events=events)


def _tell(error: M4Error, context: CliContext) -> None:
    if context.events == "ndjson":
        context.event("error", **error.as_dict())
    else:
        context.err.print(f"{error.title}: {error}", style="red", markup=False)
        if error.details:
            context.err.print(error.details, markup=False)
    _document(error, context)


def _document(error: M4Error, context: CliContext) -> None:
    """With ``--json`` stdout holds one document, also where something went wrong."""
    if context.json:
        click.echo(json.dumps(error.as_dict(), ensure_ascii=False))


GLOBAL_FLAGS = ("--json",)
GLOBAL_VALUES = ("--home", "--events")


def _global_first(arguments: list[str]) -> list[str]:
    """Let the global options stand anywhere: `m4bench score … --json` works too."""
    front: list[str] = []
    rest: list[str] = []
    items = iter(arguments)
    for item in items:
        if item == "--":
            rest += [item, *items]
        elif item in GLOBAL_FLAGS or item.startswith(tuple(f"{g}=" for g in GLOBAL_VALUES)):
            front.append(item)
        elif item in GLOBAL_VALUES:
            front += [item, *([value] if (value := next(items, None)) is not None else [])]
        else:
            rest.append(item)
    return front + rest


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit code."""
    arguments = _global_first(arguments)
    context = CliContext(json="--json" in arguments)
    try:
        with cli.make_context("m4bench", arguments) as ctx:
            try:
                cli.invoke(ctx)
            finally:  # errors too are told as the options say
                if isinstance(ctx.obj, CliContext):
                    context = ctx.obj
    except M4Error as error:
        _tell(error, context)
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        wrong = UsageError(error.format_message())
        if context.events == "ndjson":
            context.event("error", **wrong.as_dict())
        else:
            error.show()  # with the usage line
        _document(wrong, context)
        return wrong.exit_code
    except (click.Abort, KeyboardInterrupt):
        _tell(Cancelled(), context)
        return Cancelled.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception:
        traceback.print_exc()
        bug = HarnessFault("This is a bug of ours; the state is as it was before.")
        context.err.print(bug.text, style="red")
        _document(bug, context)
        return bug.exit_code
    return 0


def entry() -> NoReturn:
    """Console script."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    entry()
