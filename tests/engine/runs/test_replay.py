"""Recorded runs repeated in a fresh sandbox, and what the record says of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from run_bench import RIGHT, Bench
from sandbox_store import share_sandbox

from engine.agents.interface import AgentRequest
from engine.agents.replay import ReplayAgent, plan
from engine.agents.traces import TraceStep, WrittenFile
from engine.base.errors import BadInput, UsageError

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("bench")).build()
    share_sandbox(bench.home, sandbox_store)
    return bench


def test_a_script_run_is_reproduced(bench: Bench):
    first = bench.run(bench.assign(bench.script(RIGHT, ".sql")))
    again = bench.record(bench.run(bench.repeat(bench.home.runs / first)))
    assert again["agent"] == "replay"
    assert again["reward"] == 1.0
    assert again["replay"] == {
        "of": first,
        "agent": "script",
        "commands": 1,
        "files": 0,
        "from_last_state": 0,
        "skipped": [],
        "ended_differently": None,
        "same_output": True,
        "reward_recorded": 1.0,
        "reward_now": 1.0,
        "same_reward": True,
    }


def test_a_run_that_cannot_be_reproduced(bench: Bench):
    random = (
        "import os\nopen('output.csv','w').write(f'stay_id,value\\n1,{os.urandom(8).hex()}\\n')"
    )
    first = bench.run(bench.assign(bench.script(random)))
    again = bench.record(bench.run(bench.repeat(bench.home.runs / first)))
    assert again["replay"]["same_output"] is False
    # What failed is compared as well.
    failed = bench.run(bench.assign(bench.script("raise SystemExit(4)")))
    again = bench.record(bench.run(bench.repeat(bench.home.runs / failed)))
    assert again["failure_reason"] == "agent_nonzero_exit"
    assert again["replay"]["same_output"] is None
    assert again["replay"]["reward_recorded"] == 0.0
    assert again["replay"]["reward_now"] is None


def test_what_of_a_trace_can_be_repeated():
    edit = {"old_string": "a", "new_string": "b", "replace_all": True}
    steps = [
        TraceStep(number=1, kind="message", line=1, text="I look."),
        TraceStep(number=2, kind="command", line=2, command="ls", exit_code=0),
        TraceStep(number=3, kind="command", line=3, command="pwd", data={"cwd": "/job/x"}),
        file(4, WrittenFile(path="a.py", how="add", content="x")),
        file(5, WrittenFile(path="a.py", how="edit"), arguments=edit),
        file(6, WrittenFile(path="a.py", how="edit"), arguments={"edits": [
            {"oldText": "b", "newText": "c"}, {"oldText": "c", "newText": "d"}]}),
        file(7, WrittenFile(path="a.py", how="edit")),
        file(8, WrittenFile(path="a.py", how="delete")),
        TraceStep(number=9, kind="file", line=9, reads=("a.py",)),
        TraceStep(number=10, kind="file", line=9, failed=True,
                  writes=(WrittenFile(path="b", how="add"),)),
        file(11, WrittenFile(path="big", how="add")),
    ]  # fmt: skip
    actions, skipped = plan(steps)
    assert [(a["step"], a.get("command") or a["how"]) for a in actions] == [
        (2, "ls"), (3, "pwd"), (4, "write"), (5, "replace"), (6, "replace"), (6, "replace"),
        (8, "delete"),
    ]  # fmt: skip
    assert actions[0]["exit_code"] == 0
    assert "exit_code" not in actions[1]
    assert actions[1]["cwd"] == "/job/x"
    assert (actions[3]["old"], actions[3]["new"], actions[3]["all"]) == ("a", "b", True)
    assert [item["step"] for item in skipped] == [7, 11]


def test_a_file_that_the_trace_does_not_hold_is_taken_from_what_was_kept(tmp_path: Path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "sub__a.py").write_text("last")
    (tmp_path / "result.json").write_text('{"agent": "codex", "run_id": "r", "model": "m"}')
    lines = [
        {"type": "thread.started", "thread_id": "t"},
        change("1", "/job/sub/a.py"),
        change("2", "/job/../etc/x"),
        change("3", "gone.py"),
    ]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    launch = ReplayAgent().launch(AgentRequest(instruction="", record=tmp_path))
    told = launch.notes["replay"]
    assert (told["files"], told["from_last_state"], len(told["skipped"])) == (1, 1, 2)
    actions = json.loads(launch.files[".m4/replay.json"])["actions"]
    assert [(a["path"], a["content"]) for a in actions] == [("/job/sub/a.py", "last")]


def change(item: str, path: str) -> dict[str, object]:
    changes = [{"path": path, "kind": "add"}]
    return {"type": "item.completed", "item": {
        "id": item, "type": "file_change", "changes": changes, "status": "completed"}}  # fmt: skip


def file(number: int, written: WrittenFile, **data: object) -> TraceStep:
    return TraceStep(number=number, kind="file", line=number, writes=(written,), data=data)


def test_what_is_no_recorded_run(bench: Bench, tmp_path: Path):
    agent = ReplayAgent()
    with pytest.raises(UsageError):
        agent.launch(AgentRequest(instruction=""))
    for content in (None, "{", "[]", '{"agent": "nobody"}', '{"agent": "script"}'):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        (tmp_path / "run").mkdir()
        if content is not None:
            (tmp_path / "run" / "result.json").write_text(content)
        with pytest.raises(BadInput) as caught:
            agent.launch(AgentRequest(instruction="", record=tmp_path / "run"))
        assert caught.value.text
