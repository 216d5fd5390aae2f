"""The sample agents on synthetic data, where every rare row occurs: right ones are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.workbench import RunRequest, Workbench

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
TASKS = {
    "charlson": ("mimic-charlson-raw", "mimic"),
    "ventilation": ("mimic-ventilation", "mimic"),
    "ventilation-raw": ("mimic-ventilation-raw", "mimic"),
    "eicu-gcs": ("eicu-gcs", "eicu"),
}
NAMED = {
    "ventilation": ("labels looked for without the blanks", "16 instead of 14 h", "Tracheostomy"),
    "charlson": ("age cut down to whole numbers", "all parts added up where only the highest"),
}
"""What the first finding of a diagnosis must name: all flaws that the samples say they have."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Workbench:
    home = share_sandbox(open_home(tmp_path_factory.mktemp("samples") / "home"), sandbox_store)
    bench = Workbench(home)
    bench.synth_source("mimic", kind="mimic-iv", stays=200, seed=5, job=SimpleJob())
    bench.synth_source("eicu", kind="eicu", stays=200, seed=5, job=SimpleJob())
    return bench


def test_every_sample_is_tried():
    names = {path.stem.removesuffix("-flawed") for path in SAMPLES.glob("*.sql")}
    assert names == set(TASKS)
    assert all((SAMPLES / f"{name}-flawed.sql").is_file() for name in TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_right_samples_score_one_and_flawed_ones_do_not(bench: Workbench, name: str):
    task, source = TASKS[name]

    def run(script: str):
        request = RunRequest(task=task, source=source, script=SAMPLES / f"{script}.sql")
        return bench.run(request, job=SimpleJob()).summary

    right, flawed = run(name), run(f"{name}-flawed")
    assert (right.state, right.reward, right.strict_pass) == ("done", 1.0, True)
    assert flawed.state == "done"
    assert flawed.reward is not None
    assert 0.3 < flawed.reward < 1
    # The raw task is lenient enough for a strict pass with such mistakes.
    assert flawed.strict_pass is False or name == "ventilation-raw"
    if name in NAMED:
        found = bench.diagnose_run(flawed.run_id, job=SimpleJob(), seconds=600)
        first = found.ranked[0].words
        assert [words for words in NAMED[name] if words not in first] == [], first
