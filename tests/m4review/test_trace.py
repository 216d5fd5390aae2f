"""Steps of a trace: filters, the table model, the view-model on kept runs of the published kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from engine.agents.traces import Tokens, TraceStep, WrittenFile
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.workbench import Workbench
from m4review.app.jobs import JobRunner
from m4review.app.theme import LIGHT
from m4review.app.window import MainWindow
from m4review.trace.chart import tokens_of
from m4review.trace.table import EXIT, WHAT, StepTable, make_ready
from m4review.trace.view import TracePane
from m4review.trace.viewmodel import TraceViewModel
from m4review.trace.words import StepFilter, exit_words, one_line, seconds_words, since

RUN = "mimic-sofa_no-skill_codex_m_t1_20260101_000000"


def step(number: int, **values: object) -> TraceStep:
    return TraceStep(number=number, line=number, **{"kind": "message", **values})  # type: ignore[arg-type]


STEPS = (
    step(1, kind="start"),
    step(2, text="I look."),
    step(3, kind="usage", tokens=Tokens(input=10, output=2)),
    step(4, kind="command", command="ls\x1b[31m nowhere", exit_code=2, failed=True, seconds=0.04),
    step(5, kind="command", command="duckdb", sql=("SELECT 1",), exit_code=0, output="one row"),
    step(6, kind="file", text="write a.py", writes=(WrittenFile(path="a.py", how="add"),)),
    step(7, kind="usage", tokens=Tokens(input=30, output=None)),
)


@pytest.mark.parametrize(
    ("show", "words", "numbers"),
    [
        ("all", "", [1, 2, 4, 5, 6]),
        ("commands", "", [4, 5]),
        ("sql", "", [5]),
        ("files", "", [6]),
        ("errors", "", [4]),
        ("talk", "", [2]),
        ("all", "ROW one", [5]),
        ("all", "a.py", [6]),
        ("errors", "row", []),
    ],
)
def test_filters(show: str, words: str, numbers: list[int]):
    assert StepFilter(show, words).rows(STEPS) == numbers


def test_steps_in_words():
    assert one_line(STEPS[3]) == "ls␛[31m nowhere"
    assert [exit_words(s) for s in STEPS[3:5]] == ["✗ 2", "✓ 0"]
    assert exit_words(step(1, running=True)) == "…"
    assert one_line(step(1, text="x" * 1000)).endswith("…")
    assert [seconds_words(s) for s in (None, 0.04, 12.3, 75)] == ["", "0.0 s", "12 s", "1 min 15 s"]
    assert since(0.0, "1970-01-01T01:02:03Z") == "1:02:03"
    assert since(0.0, "nonsense") == ""


def test_the_table_takes_new_steps_and_changed_ones(qtmodeltester: ModelTester):
    table = StepTable(lambda: LIGHT)
    qtmodeltester.check(table)
    table.load(make_ready(STEPS[:3], StepFilter()))
    table.put(STEPS[3:5])
    table.put([step(5, kind="command", command="duckdb", exit_code=7), STEPS[5]])
    shown = [table.step(row) for row in range(table.rowCount())]
    assert [s.number for s in shown if s] == [1, 2, 4, 5, 6]
    assert table.index(3, EXIT).data() == "✗ 7"
    assert table.index(4, WHAT).data() == "write a.py"
    assert table.row_of(3) == 2  # it has no row itself: the next one that has
    assert table.row_of(7) is None
    assert table.at_line(5) == 5
    table.load(make_ready(table.steps, StepFilter("errors")))
    assert table.rowCount() == 2
    table.put([step(4, kind="command", command="ls", exit_code=0)])  # not an error any more
    assert table.rowCount() == 1


def test_tokens_by_the_trace_and_by_the_gateway():
    told = tokens_of(STEPS)
    assert [(p.input, p.output, p.step) for p in told.points] == [(10, 2, 3), (40, 2, 7)]
    assert not told.timed
    lines = [
        {"ts": "2026-01-01T00:00:00+00:00", "input_tokens": 5, "output_tokens": 1},
        {"ts": "2026-01-01T00:00:03+00:00", "input_tokens": None, "output_tokens": None},
        {"ts": "2026-01-01T00:00:07+00:00", "input_tokens": 6, "output_tokens": True},
    ]
    seen = tokens_of(STEPS, lines)
    assert [(p.at, p.input, p.output) for p in seen.points] == [(0.0, 5, 1), (7.0, 11, 1)]
    assert seen.timed
    many = [step(n, kind="usage", tokens=Tokens(input=1, output=1)) for n in range(1, 20_001)]
    thinned = tokens_of(many).points
    assert len(thinned) <= 5_001
    assert thinned[-1].input == 20_000


def kept_run(folder: Path, events: list[dict[str, object]]) -> Workbench:
    """A home with an imported run of these events."""
    place = folder / "results" / RUN
    (place / "agent").mkdir(parents=True)
    (place / "agent" / "notes.txt").write_text("a note\x1b")
    (place / "agent" / "link").symlink_to("/etc/passwd")
    record = {
        "task": "mimic-sofa", "agent": "codex", "model": "m", "condition": "no-skill", "trial": 1,
        "timestamp": "2026-01-01T00:00:00", "run_id": RUN,
    }  # fmt: skip
    (place / "result.json").write_text(json.dumps(record))
    (place / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    bench = Workbench(open_home(folder / "home"))
    bench.import_runs(folder / "results", job=SimpleJob())
    return bench


def command(text: str, output: str, code: int = 0) -> dict[str, object]:
    item = {
        "id": text, "type": "command_execution", "command": text, "aggregated_output": output,
        "exit_code": code, "status": "completed",
    }  # fmt: skip
    return {"type": "item.completed", "item": item}


def test_a_kept_trace_is_read_filtered_and_unfolded(
    tmp_path: Path, runner: JobRunner, qtbot: QtBot
):
    whole = "\n".join(f"line {n}" for n in range(3_000))
    query = "duckdb db -c 'SELECT a, b FROM t WHERE a = 1 AND b IN (2, 3)'"
    events = [
        {"type": "thread.started", "thread_id": "x"},
        command("ls", whole),
        command(query, ""),
    ]
    model = TraceViewModel(kept_run(tmp_path, events), runner)
    table = StepTable(lambda: LIGHT)
    model.loaded.connect(table.load)
    model.grown.connect(table.put)
    with qtbot.waitSignal(model.read_out):
        model.show(RUN)
    assert not model.reading
    assert [s.kind for s in table.steps] == ["start", "command", "command"]
    listing, query_step = table.steps[1:]
    assert len(listing.output) < len(whole)
    with qtbot.waitSignal(model.output_read) as read:
        model.read_output(listing)
    assert read.args == [listing.number, whole]
    with qtbot.waitSignal(model.sql_laid_out) as laid:
        model.lay_out_sql(query_step)
    assert laid.args[1].startswith("SELECT\n  a,\n  b\nFROM t")
    model.ask(StepFilter("sql"))
    assert table.rowCount() == 1
    with qtbot.waitSignal(model.read_out):
        model.refresh()  # nothing came since
    assert len(table.steps) == 3


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/job/notes.txt", "a note␛"),
        ("./notes.txt", "a note␛"),
        ("gone.txt", None),
        ("link", None),
        ("../result.json", None),
        ("/etc/passwd", None),
    ],
)
def test_files_that_were_kept(
    tmp_path: Path, runner: JobRunner, qtbot: QtBot, path: str, text: str | None
):
    model = TraceViewModel(kept_run(tmp_path, []), runner)
    model.show(RUN)
    qtbot.waitUntil(lambda: not model.reading)
    with qtbot.waitSignal(model.file_read) as read:
        model.read_file(path)
    assert (read.args[1].text if read.args[1] else None) == text


def test_a_trace_that_is_gone_has_no_steps(tmp_path: Path, runner: JobRunner, qtbot: QtBot):
    bench = kept_run(tmp_path, [])
    (tmp_path / "results" / RUN / "trace.jsonl").unlink()
    model = TraceViewModel(bench, runner)
    with qtbot.waitSignal(model.read_out):
        model.show(RUN)
    with qtbot.waitSignal(model.failed):
        model.show("no-such-run")


def test_a_long_trace_is_looked_into_when_somebody_looks(
    tmp_path: Path, open_window: Callable[..., MainWindow], qtbot: QtBot
):
    texts = ["cat > a.sql <<'EOF'\nSELECT a FROM t\nEOF", "duckdb db -f a.sql", "ls"]
    events = [command(f"{n}", "x" * 4_000) for n in range(120)]
    events[50:50] = [command(text, "y") for text in texts]
    bench = kept_run(tmp_path, events)
    window = open_window(bench.home.root)
    model = TraceViewModel(bench, window.context.runner, window)
    pane = TracePane(window.context, model)
    qtbot.addWidget(pane)
    with qtbot.waitSignal(model.read_out, timeout=60_000):
        model.show(RUN)
    assert len(pane.table.steps) == 123
    assert not pane.table.steps[51].looked
    with qtbot.waitSignal(model.sql_laid_out, timeout=60_000):
        pane.go_to(52)
    assert pane.detail.step is not None
    assert pane.detail.step.sql == ("SELECT a FROM t",)
    pane.chips["sql"].click()
    qtbot.waitUntil(lambda: pane.table.rowCount() == 2, timeout=60_000)
    assert pane.count.text() == "2 of 123 steps"
    assert pane.current == 52
    pane.chips["files"].click()
    assert [pane.table.step(row).number for row in range(pane.table.rowCount())] == [51, 52]  # type: ignore[union-attr]
    pane.clear_filter()
    assert pane.table.rowCount() == 123
    with qtbot.waitSignal(model.read_out):
        model.refresh()  # nothing can come
    pane.close_down()
