"""On the open demos' golden tables: right outputs score 1, flawed ones what the contract says."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from naive_scorer import naive_score

from engine.catalogue.task import Task, list_tasks
from engine.scoring import CELL_WORDS, judge_table, score_table

TASKS = {task.name: task for task in list_tasks()}
FLAWS = {
    "mimic-ventilation": {
        "an hour late": "SELECT * REPLACE (endtime + INTERVAL 1 HOUR AS endtime) FROM truth",
        "last one dropped": "SELECT * FROM truth QUALIFY row_number() OVER "
        "(PARTITION BY stay_id ORDER BY ventilation_seq DESC) > 1",
        "doubled": "SELECT * FROM truth UNION ALL SELECT * FROM truth WHERE stay_id % 3 = 0",
        "ISO times": "SELECT * REPLACE (strftime(starttime, '%Y-%m-%dT%H:%M:%S') AS starttime) "
        "FROM truth",
        "one time as words": "SELECT * REPLACE (CASE WHEN rowid = 7 THEN 'later' ELSE "
        "starttime::VARCHAR END AS starttime) FROM truth",
        "minutes only": "SELECT * REPLACE (strftime(starttime, '%Y-%m-%d %H:%M') AS starttime) "
        "FROM truth",
        "None as nothing": "SELECT * REPLACE (nullif(ventilation_status, 'None') AS "
        "ventilation_status) FROM truth",
        "numbered from 0": "SELECT * REPLACE (ventilation_seq - 1 AS ventilation_seq) FROM truth",
    },
    "mimic-charlson-raw": {
        "flags as words": "SELECT * REPLACE (CASE WHEN renal_disease = 1 THEN 'yes' ELSE 'no' END "
        "AS renal_disease) FROM truth",
        "flags as truth": "SELECT * REPLACE (renal_disease = 1 AS renal_disease) FROM truth",
        "flags as floats": "SELECT * REPLACE (renal_disease::DOUBLE AS renal_disease) FROM truth",
        "index as text": "SELECT * REPLACE (charlson_comorbidity_index::VARCHAR || ' points' AS "
        "charlson_comorbidity_index) FROM truth",
        "half of them": "SELECT * FROM truth WHERE hadm_id % 2 = 0",
    },
}


def truth_of(golden: Path, task: Task) -> Path:
    demo = "mimic-iv-demo" if task.source_kind == "mimic-iv" else "eicu-demo"
    return golden / demo / "targets" / f"{task.target}.parquet"


def written(tmp_path: Path, truth: Path, sql: str) -> tuple[Path, Path]:
    """The output of `sql` over the reference, and the reference as CSV."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE truth AS FROM '{truth}'")
        con.execute(f"COPY truth TO '{tmp_path}/truth.csv'")
        con.execute(f"COPY ({sql}) TO '{tmp_path}/output.csv'")
    return tmp_path / "output.csv", tmp_path / "truth.csv"


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_golden_table_scores_one(tmp_path: Path, golden: Path, name: str) -> None:
    task = TASKS[name]
    truth = truth_of(golden, task)
    output, plain = written(tmp_path, truth, "SELECT * FROM truth ORDER BY ALL DESC")
    for reference in (truth, plain):
        score = score_table(task.evaluation, output, reference)
        assert score.reward == 1
        assert score.strict_pass
        assert not score.warnings
    assert (score.ordered_nmae is None) == name.startswith("mimic-ventilation")


@pytest.mark.parametrize(
    ("name", "flaw"), [(name, flaw) for name, flaws in FLAWS.items() for flaw in flaws]
)
def test_a_flaw_costs_what_the_contract_says(
    tmp_path: Path, golden: Path, name: str, flaw: str
) -> None:
    task = TASKS[name]
    truth = truth_of(golden, task)
    output, plain = written(tmp_path, truth, FLAWS[name][flaw])
    naive = naive_score(task.evaluation, output, plain)
    diff = tmp_path / "d.duckdb"
    score = judge_table(task.evaluation, output, truth, diff=diff)
    assert score.reward == pytest.approx(naive.reward, abs=1e-9)
    assert dict(score.matched) == naive.matched
    assert score.ordered_nmae == (
        None if naive.ordered_nmae is None else pytest.approx(naive.ordered_nmae, abs=1e-9)
    )
    assert [d.passed for d in score.diagnostics] == naive.strict
    assert (score.reward == 1) == (
        flaw in ("ISO times", "flags as truth", "flags as floats") or (flaw == "minutes only")
    )
    states = ", ".join(f"s{i}" for i in range(len(task.evaluation.scored_columns)))
    with duckdb.connect(str(diff), read_only=True) as con:
        found = [
            [CELL_WORDS[s] for s in row]
            for row in con.execute(f"SELECT {states} FROM diff").fetchall()
        ]
    assert sorted(found) == sorted(row for _, row in naive.rows)
