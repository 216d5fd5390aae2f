"""The contamination lint: finds with places, no alarms on innocent words."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import duckdb
import pytest

from engine.base.jobs import SimpleJob
from engine.runs import lint as lint_module
from engine.runs.lint import RULES, Given, lint

OWN = "mimic-ventilation-raw_no-skill_script_right_t1_20260101_000000"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


def given(**values) -> Given:
    known = {
        "run_id": OWN,
        "private": ("/home/ann/.local/share/m4review/references", "/srv/tasks"),
        "files": {},
        "database_sha256": "0" * 64,
        "reference": None,
    }
    return Given(**(known | values))


def finds(place: Path, **values) -> list[tuple[str, str, int | None]]:
    report = lint(place, given(**values), job=SimpleJob())
    assert report.passed == (not report.violations)
    assert set(report.patterns) == set(RULES)
    return [(v.pattern, v.file, v.line) for v in report.violations]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("open('/home/ann/.local/share/m4review/references/x')", "private_path"),
        ("ls /srv/tasks", "private_path"),
        ("reading ground_truth/sofa.csv", "answer_file"),
        ("see references/demo/charlson.parquet", "answer_file"),
        ("cat ventilation.manifest.json", "answer_file"),
        ("PROVENANCE.yaml", "answer_file"),
        ("key = sk-ant-" + "a1B2" * 10, "secret"),
        ("AKIAABCDEFGHIJKLMNOP", "secret"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "secret"),
        ("mimic-sofa-24h_with-skill_codex_gpt-5.4-mini_t2_20260504_053051", "other_run"),
        ("a_no-skill_obfuscated_pi-ollama_gpt-oss-20b_t1_20260504_170533", "other_run"),
    ],
)
def test_a_find_names_rule_file_and_line(place: Path, text: str, rule: str):
    (place / "work" / "sub").mkdir()
    (place / "work" / "sub" / "log.txt").write_text(f"first\nsecond\n  {text} more\n")
    assert finds(place) == [(rule, "sub/log.txt", 3)]


def test_innocent_words_raise_no_alarm(place: Path):
    (place / "work" / "plan.md").write_text(
        "The reference range of creatinine; ground truth is unknown; references:\n"
        "see /job/database.duckdb, /srv/tasksets, no-skill, sk-learn, task-list, answer key\n"
        "with-skill_x_t1; the key is stay_id; ventilation.csv; manifest.json; AKI stage\n"
    )
    (place / "work" / "output.csv").write_text("stay_id,status\n1,None\n")
    (place / "stdout.log").write_bytes(b"sk-short\n\xff\xfe")
    assert finds(place) == []


def test_what_the_sandbox_itself_shows_is_no_find(place: Path):
    home = "/home/ann/.local/share/m4review"
    shown = f"{home}/runs/mimic-x_no-skill_script_a_t1_20260101_000000/work"
    (place / "stdout.log").write_text(f"601 600 254:0 {shown} /job rw - ext4\n")
    assert finds(place, private=(home,), shown=(shown,)) == []
    assert {rule for rule, _, _ in finds(place, private=(home,))} == {"private_path", "other_run"}
    (place / "stdout.log").write_text(f"{shown}\n{home}/runs\n")
    assert finds(place, private=(home,), shown=(shown,)) == [("private_path", "stdout.log", 2)]


def test_output_streams_are_looked_through(place: Path):
    (place / "stdout.log").write_text("a\nb /srv/tasks\n")
    (place / "stderr.log").write_text("/srv/tasks\n")
    assert finds(place) == [("private_path", "stdout.log", 2), ("private_path", "stderr.log", 1)]


def test_given_files_are_passed_over_while_unchanged(place: Path):
    text = b"never name PROVENANCE.yaml"
    (place / "work" / "instruction.md").write_bytes(text)
    known = {"instruction.md": hashlib.sha256(text).hexdigest()}
    assert finds(place, files=known) == []
    (place / "work" / "instruction.md").write_bytes(text + b"!")
    assert finds(place, files=known) == [("answer_file", "instruction.md", 1)]


def test_database_copies(place: Path):
    one, two = place / "work" / "copy.bin", place / "work" / "mine.duckdb"
    with duckdb.connect(str(two)) as con:
        con.execute("CREATE TABLE t AS SELECT 1")
    one.write_bytes(two.read_bytes())
    sha = hashlib.sha256(two.read_bytes()).hexdigest()
    assert finds(place) == [
        ("database_copy", "copy.bin", None),
        ("database_copy", "mine.duckdb", None),
    ]
    assert finds(place, database_sha256=sha) == []


def test_the_mount_point_of_the_given_database_is_no_find(place: Path):
    (place / "work" / "database.duckdb").touch()
    assert finds(place) == []


def test_a_copy_of_the_reference(place: Path, tmp_path: Path):
    reference = tmp_path / "r.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 1 AS a) TO '{reference}'")
    (place / "work" / "mine").write_bytes(reference.read_bytes())
    assert finds(place, reference=reference) == [("reference_copy", "mine", None)]


def test_an_identical_output_is_noted_but_no_violation(place: Path):
    (place / "output.csv").write_text("a\n1\n")
    sha = hashlib.sha256(b"a\n1\n").hexdigest()
    report = lint(place, given(reference_csv_sha256=sha), job=SimpleJob())
    assert (report.passed, report.identical_output) == (True, True)


@pytest.mark.parametrize("offset", range(-14, 15, 2))
def test_finds_at_the_border_of_two_blocks(place: Path, monkeypatch, offset: int):
    monkeypatch.setattr(lint_module, "_BLOCK", 1 << 14)
    start = (1 << 14) + offset
    lines = "x\n" * (start // 2)
    (place / "work" / "a").write_text(f"{lines}/srv/tasks\n/srv/tasks x\n" + "y\n" * 20_000)
    line = start // 2 + 1
    assert finds(place) == [("private_path", "a", line), ("private_path", "a", line + 1)]


def test_many_finds_in_one_file_are_bounded(place: Path):
    (place / "work" / "a").write_text("/srv/tasks\n" * 1000)
    assert len(finds(place)) == lint_module._PER_RULE_AND_FILE


def test_what_cannot_be_checked_is_a_violation(place: Path):
    deep = place / "work"
    for _ in range(40):
        deep = deep / "d"
        deep.mkdir()
    assert finds(place) == [("unchecked", "work", None)]


def test_without_the_work_folder_what_was_kept_is_looked_through(place: Path):
    (place / "work").rmdir()
    (place / "agent").mkdir()
    (place / "agent" / "a.py").write_text("PROVENANCE.yaml")
    (place / "output.csv").write_text("a\n/srv/tasks\n")
    assert finds(place) == [("answer_file", "a.py", 1), ("private_path", "output.csv", 2)]


@pytest.mark.parametrize("piece", ["a-", "a_no-skill_", "references/a", "sk-a ", "x.manifest.jso"])
def test_hostile_text_cannot_make_the_search_endless(place: Path, piece: str):
    """A search that looks back over and over would run into the test's time limit."""
    (place / "work" / "a").write_text(piece * ((4 << 20) // len(piece)))
    assert finds(place) == []


def codex(*items: dict[str, object]) -> bytes:
    events = [{"type": "turn.started"}]
    events += [{"type": "item.completed", "item": {"id": str(n), **i}} for n, i in enumerate(items)]
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def trace_finds(place: Path, *items: dict[str, object], **values) -> list[tuple[str, int, int]]:
    (place / "trace.jsonl").write_bytes(codex(*items))
    report = lint(place, given(agent="codex", **values), job=SimpleJob())
    assert all(v.file == "trace.jsonl" for v in report.violations)
    return [(v.pattern, v.line, v.step) for v in report.violations]


def test_finds_in_the_trace_name_line_and_step(place: Path):
    command = {"type": "command_execution", "exit_code": 0, "command": "/bin/bash -lc 'ls -a'"}
    assert trace_finds(
        place,
        {"type": "agent_message", "text": "I look around."},
        {**command, "aggregated_output": "a\nPROVENANCE.yaml\n"},
        {**command, "command": "/bin/bash -lc 'ls /srv/tasks'", "aggregated_output": ""},
    ) == [("answer_file", 3, 2), ("private_path", 4, 3)]


def test_innocent_words_in_the_trace_raise_no_alarm(place: Path):
    (place / "instruction.md").write_text("Do not look for PROVENANCE.yaml.\n")
    output = (
        f"{OWN}\nthe reference range; ground truth; answer key; references\n"
        "Do not look for PROVENANCE.yaml.\nsk-learn /srv/tasksets\n"
    )
    items = {"type": "command_execution", "command": "cat x", "aggregated_output": output}
    assert trace_finds(place, items) == []


def test_the_trace_of_a_script_is_looked_through_as_its_logs(place: Path):
    (place / "trace.jsonl").write_text('{"kind": "output", "text": "/srv/tasks"}\n')
    assert finds(place) == []


def test_half_a_trace_and_many_finds(place: Path):
    message = {"type": "agent_message", "text": "/srv/tasks"}
    assert len(trace_finds(place, *[message] * 100)) == lint_module._PER_RULE_AND_FILE
    (place / "trace.jsonl").write_bytes(codex() + b'{"type": "item.completed", "x": "/srv/tasks')
    report = lint(place, given(agent="codex"), job=SimpleJob())
    assert [(v.pattern, v.line, v.step) for v in report.violations] == [("private_path", 2, None)]
