"""`m4bench`'s names are a contract: what was promised is there, and what is written works."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from test_tree import ROOT, texts

from engine.cli.main import COMMANDS, cli, run

# command: its arguments, then its options. Add freely; rename nothing.
CONTRACT = {
    "source add": "NAME PATH --kind",
    "source synth": "NAME --kind --stays --seed",
    "source list": "",
    "source show": "NAME",
    "source remove": "NAME",
    "source policy": "NAME --local-only --allow --by --why",
    "concepts build": "SOURCE --only --threads --memory",
    "concepts export": "SOURCE --out",
    "references build": "SOURCE --target --out",
    "references verify": "SOURCE",
    "tasks list": "",
    "tasks show": "TASK",
    "workspace build": "TASK SOURCE --schema --out",
    "score": "TASK OUTPUT --source --reference",
    "diff": "TASK OUTPUT --source --reference --only --out",
    "endpoint list": "",
    "endpoint add": "NAME --api --url --key",
    "endpoint remove": "NAME",
    "endpoint key": "NAME --delete",
    "endpoint test": "NAME",
    "diagnose": "TASK OUTPUT --source --reference --seconds --memory",
    "sandbox check": "--backend",
    "sandbox image build": "--base --agents --save",
    "sandbox image show": "",
    "sandbox image save": "FILE",
    "sandbox image load": "FILE",
    "sandbox agents list": "",
    "sandbox agents install": "NAME",
    "sandbox agents remove": "NAME",
    "run": "TASK SOURCE --agent --script --record --model --endpoint --effort "
    "--max-requests --max-tokens-in --max-tokens-out --time-limit --condition --schema "
    "--trial --backend --results",
    "queue add": "TASK --source --agent --model --condition --schema --trials --name --backend",
    "queue list": "--batch",
    "queue show": "TARGET",
    "queue run": "--batch --keep --at-once --attempts",
    "queue pause": "TARGET",
    "queue resume": "TARGET",
    "queue cancel": "TARGET --all",
    "queue move": "TARGET WHERE",
    "queue retry": "TARGET",
    "queue clear": "TARGET",
    "campaign plan": "FILE",
    "campaign run": "FILE",
    "campaign status": "NAME",
    "campaign resume": "NAME",
    "campaign cancel": "NAME",
    "runs list": "",
    "runs show": "RUN",
    "runs trace": "RUN --atif --inspect",
    "runs import": "PATH --source",
    "runs rescore": "RUN --source",
    "audit list": "--source",
    "audit verify": "",
    "audit export": "FILE",
    "canary": "--agent --script --model --endpoint --source --backend",
    "lineage": "TASK SOURCE --key --column",
    "runs compare": "RUN",
    "runs report": "RUN --out",
    "review identity": "--name --role --compare --fingerprint",
    "review assign": "TASK --reviewer --adjudicator --again",
    "review status": "",
    "review show": "TASK",
    "review open": "TASK --out --source --names",
    "review edit": "TASK --source --names",
    "review save": "FILE",
    "review submit": "FILE --task",
    "review adjudicate": "FILE --task --named",
    "review export": "FILE --with-rows",
    "review merge": "PATH",
    "review reveal": "",
    "review verify": "",
    "review agreement": "--task",
    "review provenance": "FAMILY",
    "evidence-check": "TASK SOURCE --local --all --fresh --memory",
    "doctor": "",
}
GLOBAL = ("--home", "--json", "--events", "--version", "--help")


def found(command: str) -> click.Command | None:
    """The click command of that name."""
    at: click.Command | None = cli
    with click.Context(cli) as context:
        for word in command.split():
            at = at.get_command(context, word) if isinstance(at, click.Group) else None
    return at


def everything(at: click.Command = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its full name."""
    if not isinstance(at, click.Group):
        yield name, at
        return
    with click.Context(at) as context:
        for word in at.list_commands(context):
            below = at.get_command(context, word)
            assert below is not None
            yield from everything(below, f"{name} {word}".strip())


def spoken(command: click.Command) -> set[str]:
    """The names of a command's arguments (in capitals) and options."""
    names: set[str] = set()
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            names.add(str(parameter.name).upper().rstrip("S") if parameter.nargs < 0 else
                      str(parameter.name).upper())  # fmt: skip
        names |= set(parameter.opts + parameter.secondary_opts)
    return names


@pytest.mark.parametrize(("name", "promised"), CONTRACT.items())
def test_what_was_promised_is_there(name: str, promised: str) -> None:
    command = found(name)
    assert command is not None
    assert [word for word in promised.split() if word not in spoken(command)] == []


@pytest.mark.parametrize("name", CONTRACT)
def test_help_and_unknown_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: m4bench ")
    assert run([*name.split(), "--no-such-option"]) == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_every_command_and_option_explains_itself() -> None:
    silent = [
        f"{name} {parameter.opts[0]}"
        for name, command in everything()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert silent == []
    assert [name for name, command in everything() if not (command.help or "").strip()] == []


def test_an_error_as_json(capsys: pytest.CaptureFixture[str], home_dir: object) -> None:
    assert run(["--json", "tasks", "show", "no-such-task"]) == 2
    said = capsys.readouterr()
    error = json.loads(said.out)
    assert set(error) == {"error", "title", "text", "todo", "file", "line", "column", "details"}
    assert error["error"] == "UsageError"
    assert error["text"]


def written() -> list[tuple[str, str]]:
    """Every `m4bench …` line in the code blocks and inline code of the project's documents."""
    found_lines = []
    for path, text in texts():
        if path.suffix != ".md" or path.is_relative_to(ROOT / "tests"):
            continue
        blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
        lines += re.findall(r"`(m4bench [^`\n]+)`", text)
        found_lines += [
            (path.relative_to(ROOT).as_posix(), line.strip().removeprefix(".venv/bin/"))
            for line in lines
        ]
    return [(name, line) for name, line in found_lines if line.startswith("m4bench ")]


@pytest.mark.parametrize(("file", "line"), written())
def test_what_the_documents_say_exists(file: str, line: str) -> None:
    words = [word for word in shlex.split(line, comments=True)[1:] if word != "…"]
    at: click.Command = cli
    with click.Context(cli) as context:
        while words and isinstance(at, click.Group):
            if words[0].startswith("-"):
                assert words.pop(0).split("=")[0] in GLOBAL, line
                continue
            below = at.get_command(context, words.pop(0))
            assert below is not None, f"{file}: {line}"
            at = below
    options = {word.strip("[]").split("=")[0] for word in words if word.strip("[").startswith("--")}
    assert options <= spoken(at) | set(GLOBAL), f"{file}: {line}"


def test_what_the_documents_say_works_more_than_once() -> None:
    """A pattern that fits one file today fits two after the next run."""
    assert [line for _, line in written() if "*" in line] == []


def test_the_readme_names_words_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)\b", (ROOT / "README.md").read_text("utf-8")))
    assert {"demo", "test"} <= named <= targets | {"install"}


def test_the_table_misses_nothing() -> None:
    assert {name.split()[0] for name in CONTRACT} == set(COMMANDS)
