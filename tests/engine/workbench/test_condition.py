"""The doctor tells whether the record holds, who may see what, and whether a gateway works."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import audit
from engine.base.paths import Home, open_home
from engine.gateway import ground
from engine.isolation.machine import Finding
from engine.sources.state import source_rows
from engine.workbench.care import allow_endpoint
from engine.workbench.condition import data_care


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def found(home: Home) -> dict[str, Finding]:
    return {finding.name: finding for finding in data_care(home)}


def test_a_new_home(home: Home):
    findings = found(home)
    assert {name: finding.state for name, finding in findings.items()} == {
        "audit log": "works",
        "policies": "works",
        "gateway": "works",
    }
    assert "no source yet" in findings["policies"].detail
    assert list(home.scratch.iterdir()) == []


def test_policies_and_a_log_that_was_changed(home: Home):
    for name, access in (
        ("made", "synthetic"),
        ("real", "credentialed"),
        ("other", "credentialed"),
    ):
        with source_rows(home) as rows:
            rows.begin(name, "eicu", access, "mark")  # type: ignore[arg-type]
            rows.finish(name, access, 1, "digest", [])  # type: ignore[arg-type]
    allow_endpoint(home, "real", "openai", by="Ann", why="agreed")
    detail = found(home)["policies"].detail
    assert "made: any model (synthetic)" in detail
    assert "real: models on this machine and openai" in detail
    assert "other: models on this machine only" in detail
    home.audit.write_bytes(home.audit.read_bytes().replace(b"Ann", b"Bob"))
    finding = found(home)["audit log"]
    assert finding.state == "limited"
    assert "Entry 1 was changed" in finding.detail
    assert "audit export" in (finding.todo or "")
    assert not audit.verify(home).ok


def test_a_gateway_that_does_not_work(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ground.Recorded, "all", lambda self: b"")
    finding = found(home)["gateway"]
    assert finding.state == "limited"
    assert "no agent with a model" in finding.detail
