"""Whole outputs: the agent's faults score 0 with a reason, ours and the reference's raise."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

from engine.base.errors import BadInput, Cancelled, M4Error, StorageFull
from engine.base.jobs import SimpleJob
from engine.catalogue.task import TableEvaluation
from engine.scoring import Score, align, export_diff, judge_table, score_table

EVALUATION = TableEvaluation(
    key_columns=("stay_id", "seq"),
    value_columns=("dose",),
    required_columns=("stay_id", "seq", "dose", "endtime", "label"),
    tolerance={"dose": 0.01},
)
HEADER = "stay_id,seq,dose,endtime,label\n"
ROWS = [
    "1,1,0.5,2150-01-01 00:00:00,HFNC",
    "1,2,1.0,2150-01-01 01:00:00,None",
    "2,1,,2150-01-02 00:00:00,HFNC",
    "2,2,2.5,,HFNC",
]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "reference.csv"
    path.write_text(HEADER + "\n".join(ROWS) + "\n")
    return path


def output(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "output.csv"
    path.write_text(text)
    return path


def with_rows(tmp_path: Path, *rows: str) -> Path:
    return output(tmp_path, HEADER + "\n".join(rows) + "\n")


def failed(score: Score) -> list[str]:
    return [d.name for d in score.diagnostics if not d.passed]


def test_itself_scores_one_in_every_form(tmp_path: Path, reference: Path) -> None:
    packed = tmp_path / "reference.csv.gz"
    packed.write_bytes(gzip.compress(reference.read_bytes()))
    parquet = tmp_path / "reference.parquet"
    duckdb.execute(f"COPY (FROM '{reference}') TO '{parquet}'")
    scores = [score_table(EVALUATION, reference, form) for form in (reference, packed, parquet)]
    assert all(score == scores[0] for score in scores)
    assert scores[0].reward == 1
    assert scores[0].strict_pass
    assert scores[0].compared_as == {"dose": "number", "endtime": "time", "label": "text"}


def test_the_figures_of_a_flawed_output(tmp_path: Path, reference: Path) -> None:
    """Worked by hand: one key missing, one extra, one repeated, one value off, one within."""
    path = with_rows(
        tmp_path,
        "1,1,0.505,2150-01-01 00:00:00,HFNC",  # dose within tolerance
        "1,2,1.0,2150-01-01 01:00:00,",  # None written as nothing
        "2,2,3.5,,HFNC",  # dose off by one
        "1,1,0.5,2150-01-01 00:00:00,HFNC",  # a further row
        "9,9,0.5,2150-01-01 00:00:00,HFNC",  # an extra key
    )
    score = score_table(EVALUATION, path, reference)
    assert score.total == 4 + 1 + 1
    assert dict(score.matched) == {"dose": 2, "endtime": 3, "label": 2}
    assert score.reward == pytest.approx((2 + 3 + 2) / 3 / 6, abs=1e-12)
    assert (score.missing_keys, score.extra_keys, score.duplicate_keys) == (1, 1, 1)
    assert score.key_precision == 3 / 4
    assert score.key_recall == 3 / 4
    assert score.key_f1 == 3 / 4
    # scale 2.5 - 0.5; rows (1,1), (1,2), (2,2)
    assert score.ordered_nmae == pytest.approx((0.005 / 2 + 0 + 1 / 2) / 3, abs=1e-12)
    assert failed(score) == ["key_recall", "accuracy:dose", "accuracy:endtime", "accuracy:label"]
    report = score.as_dict()
    assert report["match_rates"] == {"dose": 0.33333333, "endtime": 0.5, "label": 0.33333333}


def test_the_first_row_of_a_key_counts(tmp_path: Path, reference: Path) -> None:
    wrong = "1,1,9,2150-01-01 00:00:00,HFNC"
    score = score_table(EVALUATION, with_rows(tmp_path, wrong, *ROWS), reference)
    assert dict(score.matched) == {"dose": 3, "endtime": 4, "label": 4}
    score = score_table(EVALUATION, with_rows(tmp_path, *ROWS, wrong), reference)
    assert dict(score.matched) == {"dose": 4, "endtime": 4, "label": 4}
    assert score.total == 5


@pytest.mark.parametrize("cell", ["abc", "nan", "1_0", "2150-01-01"])
def test_one_bad_number_makes_the_column_text(tmp_path: Path, reference: Path, cell: str) -> None:
    rows = [ROWS[0].replace("0.5", cell), ROWS[1].replace("1.0", "1.00"), *ROWS[2:]]
    score = score_table(EVALUATION, with_rows(tmp_path, *rows), reference)
    assert score.compared_as["dose"] == "text"
    assert score.matched["dose"] == 2  # both null, and "2.5"; "1.00" is not "1.0"
    (notice,) = score.warnings
    assert (notice.code, notice.column, notice.count, notice.first_row) == (
        "compared_as_text",
        "dose",
        1,
        1,
    )
    assert cell not in notice.text
    assert "one value of the output, in data row 1, is no number" in notice.text
    assert len(score.diagnostics) == 4 + 3
    assert score.ordered_nmae == pytest.approx((1 + 0 + 0 + 0) / 4)


def test_one_time_of_another_format_makes_the_column_text(tmp_path: Path, reference: Path) -> None:
    rows = [ROWS[0], ROWS[1].replace(" 01:00:00", " 01:00"), *ROWS[2:]]
    score = score_table(EVALUATION, with_rows(tmp_path, *rows), reference)
    assert score.matched["endtime"] == 3
    assert [(w.column, w.count, w.first_row) for w in score.warnings] == [("endtime", 1, 2)]
    # All in one other format: times again.
    rows = [row.replace(" 0", "T0") for row in ROWS]
    score = score_table(EVALUATION, with_rows(tmp_path, *rows), reference)
    assert score.matched["endtime"] == 4
    assert not score.warnings


def test_a_bad_key_makes_the_key_column_text(tmp_path: Path, reference: Path) -> None:
    path = with_rows(tmp_path, *ROWS, "x,1,1,,HFNC")
    score = score_table(EVALUATION, path, reference)
    assert score.reward == 0
    assert (score.missing_keys, score.extra_keys) == (4, 5)
    assert [(w.code, w.column, w.count, w.first_row) for w in score.warnings] == [
        ("key_kind", "stay_id", 1, 5)
    ]


def two_columns(tmp_path: Path, name: str, values: list[str]) -> Path:
    path = tmp_path / name
    path.write_text("k,v\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values)))
    return path


@pytest.mark.parametrize(
    ("tolerance", "there", "near", "far"),
    [
        (0.25, "1.0", "1.25", "1.26"),
        (2, "5", "3", "2"),
        (60, "2150-01-01 00:00:00", "2149-12-31 23:59:00", "2149-12-31 23:58:59"),
        (0, "1.5", "1.50", "1.5000000000000002"),
    ],
)
def test_the_tolerance_is_inclusive(
    tmp_path: Path, tolerance: float, there: str, near: str, far: str
) -> None:
    evaluation = TableEvaluation(
        key_columns=("k",), value_columns=("v",), tolerance={"v": tolerance}
    )
    reference = two_columns(tmp_path, "r.csv", [there, there])
    score = score_table(evaluation, two_columns(tmp_path, "o.csv", [near, far]), reference)
    assert score.matched["v"] == 1


@pytest.mark.parametrize(
    ("reference", "agent", "matched"),
    [
        (["1", "2", "3"], ["1", "2", "x"], 2),
        (["1", "2", "3"], ["1.0", "2", "x"], 1),
        (["1", "", "3"], ["1.0", "", "x"], 2),  # whole numbers beside a hole print as floats
        (["1", "", "3"], ["1", "", "x"], 1),
        (["1.50", "2", "3"], ["1.5", "2.0", "x"], 2),
        (["a", "1", "2"], ["1", "1", "2"], 2),
        (["a", "1", "2"], ["", "1", "2"], 0),
        (["True", "a", "b"], ["True", "TRUE", "false"], 1),
    ],
)
def test_printed_values_are_pandas(
    tmp_path: Path, reference: list[str], agent: list[str], matched: int
) -> None:
    evaluation = TableEvaluation(key_columns=("k",), value_columns=("v",))
    truth = two_columns(tmp_path, "r.csv", reference)
    score = score_table(evaluation, two_columns(tmp_path, "o.csv", agent), truth)
    assert score.compared_as["v"] == "text"
    assert score.matched["v"] == matched


def test_keys_are_one_however_they_are_written(tmp_path: Path, reference: Path) -> None:
    path = with_rows(tmp_path, *(f'"{row[0]}.0", {row[2:]}' for row in ROWS))
    assert score_table(EVALUATION, path, reference).reward == 1


def test_keys_beyond_doubles_are_told_apart(tmp_path: Path) -> None:
    evaluation = TableEvaluation(key_columns=("k",), value_columns=("v",))
    path = tmp_path / "r.csv"
    path.write_text("k,v\n9007199254740992,1\n9007199254740993,2\n9223372036854775807,3\n")
    score = score_table(evaluation, path, path)
    assert (score.reward, score.duplicate_keys) == (1, 0)


def test_null_keys_are_keys(tmp_path: Path) -> None:
    evaluation = TableEvaluation(key_columns=("k", "l"), value_columns=("v",))
    path = tmp_path / "r.csv"
    path.write_text("k,l,v\n1,,1\n1,5,2\n,,3\n")
    assert score_table(evaluation, path, path).reward == 1


def test_missing_columns(tmp_path: Path, reference: Path) -> None:
    text = "stay_id,seq,dose\n" + "".join(",".join(r.split(",")[:3]) + "\n" for r in ROWS)
    score = score_table(EVALUATION, output(tmp_path, text), reference)
    assert dict(score.match_rates) == {"dose": 1, "endtime": 0, "label": 0}
    assert failed(score) == ["required_columns", "accuracy:endtime", "accuracy:label"]
    lacks = TableEvaluation(key_columns=("stay_id", "seq"), value_columns=("dose",))
    text = "stay_id,seq\n" + "".join(",".join(r.split(",")[:2]) + "\n" for r in ROWS)
    score = score_table(lacks, output(tmp_path, text), reference)
    assert (score.reward, score.ordered_nmae) == (0, 1)


@pytest.mark.parametrize(
    ("text", "fails", "words"),
    [
        (HEADER, "has_rows", "0 data rows"),
        ("", "has_rows", "empty"),
        ("stay_id,dose\n1,2\n", "required_columns", "seq"),
        ("stay_id;seq;dose\n1;1;2\n", "required_columns", "stay_id, seq"),
        (HEADER + "1,1,1,1,1\n1,2\n1,1,1,1,1,1\n", "has_rows", "line 4"),
    ],
    ids=["header-only", "empty", "no-key", "semicolons", "ragged"],
)
def test_what_cannot_be_judged_scores_zero(
    tmp_path: Path, reference: Path, text: str, fails: str, words: str
) -> None:
    diff = tmp_path / "d.duckdb"
    score = judge_table(EVALUATION, output(tmp_path, text), reference, diff=diff)
    assert score.reward == 0
    assert not score.strict_pass
    assert fails in failed(score)
    assert words in next(d.detail for d in score.diagnostics if d.name == fails)
    assert len(score.diagnostics) == 4 + 3
    assert (score.total, score.missing_keys) == (4, 4)
    with duckdb.connect(str(diff), read_only=True) as con:
        assert con.execute("SELECT key_status, s0, count(*) FROM diff GROUP BY ALL").fetchall() == [
            (1, 6, 4)
        ]


def test_no_output_and_a_link_score_zero(tmp_path: Path, reference: Path) -> None:
    score = score_table(EVALUATION, tmp_path / "output.csv", reference)
    assert failed(score)[0] == "output_exists"
    (tmp_path / "output.csv").symlink_to(reference)
    score = score_table(EVALUATION, tmp_path / "output.csv", reference)
    assert score.reward == 0
    assert failed(score)[0] == "output_exists"


def test_extreme_numbers_are_wrong_not_fatal(tmp_path: Path, reference: Path) -> None:
    cells = ["1e308", "inf", "-1e309", "1e999999999999"]
    rows = [
        ",".join([*r.split(",")[:2], c, *r.split(",")[3:]])
        for r, c in zip(ROWS, cells, strict=True)
    ]
    score = score_table(EVALUATION, with_rows(tmp_path, *rows), reference)
    assert score.matched["dose"] == 0
    assert score.ordered_nmae == 1
    assert score.compared_as["dose"] == "number"


def test_a_reference_that_cannot_be_used_is_an_error(tmp_path: Path, reference: Path) -> None:
    good = with_rows(tmp_path, *ROWS)
    bad = tmp_path / "bad.csv"
    bad.write_text(HEADER + ROWS[0] + "\n" + ROWS[0].replace("HFNC", "x") + "\n")
    with pytest.raises(BadInput, match="more than once"):
        score_table(EVALUATION, good, bad)
    bad.write_text(HEADER)
    with pytest.raises(BadInput, match="no rows"):
        score_table(EVALUATION, good, bad)
    bad.write_text("stay_id,seq\n1,1\n")
    with pytest.raises(BadInput, match="column dose"):
        score_table(EVALUATION, good, bad)
    with pytest.raises(BadInput, match="no reference file"):
        score_table(EVALUATION, good, tmp_path / "absent.parquet")
    packed = tmp_path / "bad.csv.gz"
    packed.write_bytes(gzip.compress(reference.read_bytes())[:-20])
    with pytest.raises(BadInput, match="cut off"):
        score_table(EVALUATION, good, packed)
    parquet = tmp_path / "bad.parquet"
    parquet.write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(BadInput, match="Parquet"):
        score_table(EVALUATION, good, parquet)


def test_parquet_types_count_as_their_csv(tmp_path: Path) -> None:
    names = ("b", "d", "f", "h", "day", "t", "u")
    evaluation = TableEvaluation(key_columns=("k",), value_columns=names)
    parquet = tmp_path / "r.parquet"
    duckdb.execute(
        "COPY (SELECT i AS k, i % 2 = 0 AS b, (i / 4)::DECIMAL(9, 2) AS d, (i / 10)::FLOAT AS f, "
        "sum(i) OVER (ORDER BY i)::HUGEINT AS h, DATE '2150-01-01' + i::INTEGER AS day, "
        "TIMESTAMP_S '2150-01-01 00:00:00' AS t, i::VARCHAR AS u FROM range(20) x(i)) "
        f"TO '{parquet}'"
    )
    path = tmp_path / "o.csv"
    duckdb.execute(f"COPY (FROM '{parquet}' ORDER BY k DESC) TO '{path}'")
    score = score_table(evaluation, path, parquet)
    assert score.reward == 1
    assert score.compared_as == {
        "b": "number", "d": "number", "f": "number", "h": "number",
        "day": "time", "t": "time", "u": "number",
    }  # fmt: skip


def test_odd_names_and_paths(tmp_path: Path) -> None:
    folder = tmp_path / "it's a [folder]*"
    folder.mkdir()
    names = ('v"1', "select", "rn", "k0", "s0", "c1")
    evaluation = TableEvaluation(key_columns=("k 1",), value_columns=names)
    path = folder / "r.csv"
    header = ",".join('"' + name.replace('"', '""') + '"' for name in ("k 1", *names))
    path.write_text(header + "\n" + "\n".join(f"{i},1,2,3,4,5,6" for i in range(5)) + "\n")
    diff = folder / "d.duckdb"
    assert judge_table(evaluation, path, path, diff=diff).reward == 1
    out = folder / "d.parquet"
    assert export_diff(diff, out) == 5
    parquet = folder / "r.parquet"
    plain = tmp_path / "plain.parquet"
    copied = tmp_path / "plain.csv"
    copied.write_bytes(path.read_bytes())
    duckdb.execute(f"COPY (FROM '{copied}') TO '{plain}'")
    plain.rename(parquet)
    assert score_table(evaluation, path, parquet).reward == 1


def test_the_diff_appears_whole_or_not_at_all(tmp_path: Path, reference: Path) -> None:
    path = with_rows(tmp_path, *ROWS)
    diff = tmp_path / "run" / "diff.duckdb"
    align(EVALUATION, path, reference, to=diff)
    before = diff.read_bytes()
    job = SimpleJob()

    def stop(stage: str, done: float, total: float, text: str) -> None:
        if text.startswith("writing"):
            job.cancel()

    job.on_progress = stop
    with pytest.raises(Cancelled):
        align(EVALUATION, path, reference, to=diff, job=job)
    assert diff.read_bytes() == before
    assert [p.name for p in diff.parent.iterdir()] == ["diff.duckdb"]


def test_a_stopped_job_does_not_begin(tmp_path: Path, reference: Path) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        score_table(EVALUATION, with_rows(tmp_path, *ROWS), reference, job=job)


def test_a_memory_limit_that_is_too_small_is_said(tmp_path: Path) -> None:
    evaluation = TableEvaluation(key_columns=("k",), value_columns=("v",))
    path = tmp_path / "r.csv"
    duckdb.execute(f"COPY (SELECT i AS k, i AS v FROM range(200000) t(i)) TO '{path}'")
    with pytest.raises(StorageFull) as caught:
        score_table(evaluation, path, path, memory_limit="1MB")
    assert isinstance(caught.value, M4Error)
    assert "--memory" in str(caught.value)


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    evaluation = TableEvaluation(key_columns=("k",), value_columns=("v",))
    path = tmp_path / "r.csv"
    duckdb.execute(f"COPY (SELECT i AS k, random() AS v FROM range(100000) t(i)) TO '{path}'")
    with pytest.raises(StorageFull):
        align(evaluation, path, path, to=small_disk / "diff.duckdb")
    assert list(small_disk.iterdir()) == []


def test_the_export_has_readable_names(tmp_path: Path, reference: Path) -> None:
    diff = tmp_path / "d.duckdb"
    rows = [
        ROWS[0].replace("0.5", "0.505"),
        ROWS[1].replace("None", "none"),
        ROWS[3],
        "7,7,1,,x",
        ROWS[3],
    ]
    align(EVALUATION, with_rows(tmp_path, *rows), reference, to=diff)
    out = tmp_path / "d.parquet"
    assert export_diff(diff, out) == 6
    with duckdb.connect() as con:
        found = con.execute(
            "SELECT key_status, stay_id, seq, dose__status, label__reference, label__agent, "
            f"label__status, mismatching_columns FROM '{out}' ORDER BY row"
        ).fetchall()
    everything = ["dose", "endtime", "label"]
    assert found == [
        ("matched", 1, 1, "within tolerance", "HFNC", "HFNC", "equal", []),
        ("matched", 1, 2, "equal", "None", "none", "different", ["label"]),
        ("missing", 2, 1, "no agent value", "HFNC", None, "no agent value", everything),
        ("matched", 2, 2, "equal", "HFNC", "HFNC", "equal", []),
        ("duplicate", 2, 2, "no reference value", None, "HFNC", "no reference value", everything),
        ("extra", 7, 7, "no reference value", None, "x", "no reference value", everything),
    ]
    assert export_diff(diff, out, only_mismatches=True) == 4
    with pytest.raises(BadInput):
        export_diff(tmp_path / "absent.duckdb", out)
    reference.rename(tmp_path / "x.duckdb")
    with pytest.raises(BadInput):
        export_diff(tmp_path / "x.duckdb", out)
