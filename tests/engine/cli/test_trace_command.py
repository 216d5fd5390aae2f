"""`m4bench runs trace` tells an imported run's steps and writes them for other programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from click.testing import CliRunner

from engine.agents.traces.atif import from_atif
from engine.cli.main import cli

TRACES = Path(__file__).parents[2] / "material" / "traces"
RUN = "mimic-sofa-24h_no-skill_codex_gpt-5_t1_20260504_053051"


def test_steps_and_atif(tmp_path: Path):
    folder = tmp_path / "results" / RUN
    folder.mkdir(parents=True)
    shutil.copy(TRACES / "codex-tools.jsonl", folder / "trace.jsonl")
    (folder / "instruction.md").write_text("Write output.csv.\n")
    record = {"task": "mimic-sofa-24h", "condition": "no-skill", "agent": "codex", "model": "gpt-5"}
    record |= {"trial": 1, "run_id": RUN, "timestamp": "2026-05-04T05:30:51"}
    (folder / "result.json").write_text(json.dumps(record))

    def m4bench(*words: str) -> str:
        done = CliRunner().invoke(cli, ["--home", str(tmp_path / "home"), *words])
        assert done.exit_code == 0, done.output
        return done.output

    m4bench("runs", "import", str(tmp_path / "results"))
    assert "echo out; echo err >&2; exit 3" in m4bench("runs", "trace", RUN)
    told = json.loads(m4bench("--json", "runs", "trace", RUN))
    assert told["summary"]["skills_read"] == ["csv-writer"]
    m4bench("runs", "trace", RUN, "--atif", str(tmp_path / "t.json"))
    document = json.loads((tmp_path / "t.json").read_text())
    assert document["steps"][0]["message"] == "Write output.csv.\n"
    assert from_atif(document).summary.commands == 3
