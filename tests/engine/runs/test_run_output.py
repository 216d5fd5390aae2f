"""Logs and traces: bounded, complete as files, harmless when shown."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import StorageFull
from engine.base.text import neutralise
from engine.runs import output
from engine.runs.output import RunLog, shown_log


@given(st.text())
def test_neutral_text_steers_nothing(text: str):
    for character in neutralise(text):
        if character not in "\n\t":
            assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert character not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff"


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]) | st.just(" ")))
def test_ordinary_text_stays(text: str):
    assert neutralise(text) == text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("bell\x07, delete\x7f", "bell␇, delete␡"),
        ("right\u202eto left", "right�to left"),
        ("tab\tstays", "tab\tstays"),
        ("\x9b31m", "�31m"),
    ],
)
def test_control_characters_become_visible(given: str, shown: str):
    assert neutralise(given) == shown


def test_output_is_kept_raw_and_told_neutralised(tmp_path: Path):
    events = []
    with contextlib.closing(RunLog("r", tmp_path, events.append)) as log:
        log.event("start", text="python3")
        log.output("stdout", b"gr\xc3")  # a character in two pieces
        log.output("stderr", b"\x1b]0;title\x07")
        log.output("stdout", b"\xbcn \xff\n")
        log.event("exit", returncode=0)
        assert log.tail("stdout") == "grün �\n"
    assert (tmp_path / "stdout.log").read_bytes() == b"gr\xc3\xbcn \xff\n"
    assert (tmp_path / "stderr.log").read_bytes() == b"\x1b]0;title\x07"
    assert [(e.kind, e.stream, e.text) for e in events] == [
        ("log", "stdout", "gr"),
        ("log", "stderr", "␛]0;title␇"),
        ("log", "stdout", "ün �\n"),
    ]
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["start", "output", "output", "output", "exit"]
    assert all(line["at"].endswith("Z") for line in lines)
    assert shown_log(tmp_path) == "gr␛]0;title␇ün �\n"


def test_a_flood_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(output, "_TRACE_CHARS", 1000)
    monkeypatch.setattr(output, "EVENT_CHARS", 1000)
    events = []
    with contextlib.closing(RunLog("r", tmp_path, events.append)) as log:
        for _ in range(100):
            log.output("stdout", b"x" * 100)
        assert len(log.tail("stdout")) == 10_000
    assert (tmp_path / "stdout.log").stat().st_size == 10_000
    assert sum(len(e.text) for e in events) <= 1100
    shown = shown_log(tmp_path)
    assert len(shown) < 1300
    assert "further output" in shown


def test_a_long_log_is_shown_with_both_ends(tmp_path: Path):
    with contextlib.closing(RunLog("r", tmp_path)) as log:
        log.output("stdout", b"begin" + b"x" * (2 << 20) + b"end")
    shown = shown_log(tmp_path)
    assert shown.startswith("begin")
    assert shown.endswith("end")
    assert len(shown) < output.SHOWN_BYTES + 100


def test_half_a_line_of_a_killed_run_is_passed_over(tmp_path: Path):
    with contextlib.closing(RunLog("r", tmp_path)) as log:
        log.output("stdout", b"whole")
    with (tmp_path / "trace.jsonl").open("ab") as file:
        file.write(b'{"kind": "output", "text": "ha')
    assert shown_log(tmp_path) == "whole"
    assert shown_log(tmp_path / "nothing") == ""


def test_a_full_disk_stops_the_log_in_words(tmp_path: Path):
    log = RunLog("r", tmp_path)
    with contextlib.closing(log), Path("/dev/full").open("wb", buffering=0) as full:
        log._raw["stdout"].close()
        log._raw["stdout"] = full
        with pytest.raises(StorageFull, match="no room left"):
            log.output("stdout", b"x")
