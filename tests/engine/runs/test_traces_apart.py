"""Long traces: read in their own process, kept, looked into later; the same steps as at once."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from engine.agents.traces import Looker, TraceStep, read_trace
from engine.agents.traces.open import FORMS, trace_reader
from engine.agents.traces.packed import head_of, marks_of, unpack
from engine.agents.traces.sql import is_query, is_sql
from engine.base.errors import Cancelled, M4Error
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.base.text import neutralise
from engine.runs import apart
from engine.runs.apart import is_long, steps_apart
from engine.runs.tracing import TraceOf

MATERIAL = sorted((Path(__file__).parents[2] / "material" / "traces").glob("*.jsonl"))
RUN = "run-1"


def command(number: int, text: str, output: str = "") -> list[dict[str, object]]:
    """The events of a command of codex."""
    item = {"id": f"c{number}", "type": "command_execution", "command": text}
    done = {"aggregated_output": output, "exit_code": 0, "status": "completed"}
    return [
        {"type": "item.started", "item": item},
        {"type": "item.completed", "item": item | done},
    ]


SCRIPTS = (
    "cat > a.py <<'EOF'\nimport duckdb\nduckdb.sql('SELECT a FROM first')\nEOF",
    "python a.py",
    "duckdb db -c 'SELECT 1 FROM t WHERE x > 2'",
    "cat > make.sh <<'EOF'\ncat > b.sql <<'END'\nSELECT c FROM made;\nEND\nEOF",
    "bash make.sh",
    "duckdb db -f b.sql",
    "echo 'SELECT a FROM second' > a.sql",
    "cat > a.py <<'EOF'\nprint(open('b.csv').read())\nEOF",
    "python a.py",
    "cat .agents/skills/sofa/SKILL.md\x1b",
    "ls",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


@pytest.fixture
def of(tmp_path: Path) -> TraceOf:
    """A long trace."""
    folder = tmp_path / "run"
    folder.mkdir()
    events: list[dict[str, object]] = [{"type": "thread.started", "thread_id": "x"}]
    for number in range(3 * len(SCRIPTS)):
        text = SCRIPTS[number % len(SCRIPTS)]
        events += command(number, text, output=f"{number} é \ud800 " + "x" * 9_000)
    (folder / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return TraceOf(folder=str(folder), agent="codex", named=True, skills=("sofa",), version=None)


def read(home: Home, of: TraceOf, **options: bool) -> list[TraceStep]:
    """All steps, each in its last state."""
    found: dict[int, TraceStep] = {}
    for batch in steps_apart(home, RUN, of, job=SimpleJob(), **options):
        for packed in batch:
            step = unpack(packed)
            assert head_of(packed) == (step.number, step.kind, step.line, marks_of(step))
            found[step.number] = step
    return [found[number] for number in sorted(found)]


def test_a_process_of_its_own_tells_the_same_steps(home: Home, of: TraceOf):
    whole = read_trace(of.path, "codex", skills=of.skills).steps
    assert is_long(of)
    assert read(home, of, looking=True) == list(whole)
    assert any(step.sql for step in whole)


def test_steps_are_kept_until_the_trace_is_another(
    home: Home, of: TraceOf, monkeypatch: pytest.MonkeyPatch
):
    first = read(home, of)
    assert not all(step.looked for step in first)
    kept = home.traces / f"{RUN}.steps"
    assert kept.stat().st_mode & 0o077 == 0 or home.traces.stat().st_mode & 0o077 == 0

    def nobody(*_: object, **__: object) -> None:
        raise AssertionError("The trace was read again.")

    with monkeypatch.context() as patched:
        patched.setattr(apart.subprocess, "Popen", nobody)
        assert read(home, of) == first
        with pytest.raises(AssertionError):  # kept without having been looked into
            read(home, of, looking=True)
    looked = read(home, of, looking=True)
    with monkeypatch.context() as patched:
        patched.setattr(apart.subprocess, "Popen", nobody)
        assert read(home, of) == looked
    kept.write_bytes(kept.read_bytes()[:-200])  # a crash
    assert read(home, of, looking=True) == looked
    os.utime(of.path, (1, 1))
    with of.path.open("a") as file:
        file.write('{"type":"turn.completed","usage":{}}\n')
    assert read(home, of)[-1].kind == "end"
    assert not list(home.traces.glob("*.part*"))


def test_it_stops_when_told_and_leaves_nothing(home: Home, of: TraceOf):
    job = SimpleJob()
    batches = steps_apart(home, RUN, of, job=job)
    next(batches)
    job.cancel()
    with pytest.raises(Cancelled):
        list(batches)
    assert not list(home.traces.iterdir())
    of.path.unlink()
    assert not is_long(of)
    with pytest.raises(M4Error):
        list(steps_apart(home, RUN, of, job=SimpleJob()))


def test_a_full_disk_only_means_that_nothing_is_kept(home: Home, of: TraceOf):
    home.traces.rmdir()
    home.traces.write_text("")  # no folder
    assert len(read(home, of)) == 1 + 3 * len(SCRIPTS)


def test_a_damaged_line_is_told_and_not_kept(home: Home, of: TraceOf):
    read(home, of)
    kept = home.traces / f"{RUN}.steps"
    head, *_ = kept.read_bytes().split(b"\n", 1)
    kept.write_bytes(head + b"\nnonsense\nend\n")
    with pytest.raises(M4Error):
        read(home, of)
    assert not kept.exists()


@pytest.mark.parametrize("path", MATERIAL, ids=lambda path: path.stem)
def test_looking_later_finds_what_looking_at_once_finds(path: Path):
    form = path.stem.split("-")[0]
    assert form in FORMS
    compare(form, path.read_bytes())


def test_scripts_that_are_written_and_changed_are_looked_into_later(of: TraceOf):
    looked = compare("codex", of.path.read_bytes())
    sql = [step.sql for step in looked if step.command is not None]
    assert sql[1] == ("SELECT a FROM first",)
    assert sql[5] == ("SELECT c FROM made;",)
    assert sql[8] == ()


def compare(form: str, data: bytes) -> list[TraceStep]:
    """Read at once and later, in order and backwards; the same comes out."""
    at_once, later = (trace_reader(form, looking=looking) for looking in (True, False))
    for reader in (at_once, later):
        reader.feed(data)
        reader.close()
    whole = list(at_once.steps)
    assert [replace(s, looked=True, sql=(), reads=(), writes=(), skill=None) for s in whole] == [
        replace(s, looked=True, sql=(), reads=(), writes=(), skill=None) for s in later.steps
    ]
    for order in (later.steps, later.steps[::-1]):
        looker = Looker()
        found = {step.number: looker.look(step, later.steps) for step in order}
        assert [found[step.number] for step in whole] == whole
    return whole


@pytest.mark.parametrize(
    "text",
    [
        "select a from b", "Select me please", "with x as (select 1) select 2", "with you",
        "from t select a", "from here to there", "SELECT 'from' , x", "select .5", "select a1",
        "select *", "  select (a)", "selected from", "with t insert from",
    ],
)  # fmt: skip
def test_plain_sql_is_told_without_tokens_as_with_them(text: str):
    assert is_sql(text) == is_query(text)


def test_plain_text_is_left_as_it_is():
    every = "".join(map(chr, range(0x300))) + "\ud800\u202e"
    assert neutralise("a\tb\n~") == "a\tb\n~"
    assert "\x1b" not in neutralise(every)
    for one in every:  # letter by letter as in one text
        assert neutralise(one) in neutralise(f"é{one}é")
