"""What two columns of values alone are consistent with."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from diagnosis_cases import Row, on_values
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.catalogue.task import find_task
from engine.diagnosis import Diagnosis

URINE = (
    "stay_id,charttime,weight,uo,urineoutput_6hr,urineoutput_12hr,urineoutput_24hr,"
    "uo_mlkghr_6hr,uo_mlkghr_12hr,uo_mlkghr_24hr,uo_tm_6hr,uo_tm_12hr,uo_tm_24hr"
)
START = datetime(2150, 3, 1, 8)  # noqa: DTZ001 - MIMIC times have no zone


def urine_rows() -> list[list[object]]:
    rows: list[list[object]] = []
    for stay in range(1, 9):
        for hour in range(10):
            n = stay * 10 + hour
            weight = 61.37 + stay * 3.21
            volume = 35 + (n * 37) % 90
            rows.append(
                [
                    stay, START + timedelta(hours=hour, minutes=7 * stay), weight, volume,
                    volume * 4, volume * 9, volume * 17, round(volume / weight, 3),
                    round(volume / weight / 1.3, 3), None if hour < 3 else round(volume / 70, 3),
                    6.25, 12.5, 24.75,
                ]
            )  # fmt: skip
    return rows


def urine(folder: Path, change: Callable[[list[object]], None]) -> Diagnosis:
    reference = urine_rows()
    output = [list(row) for row in reference]
    for row in output:
        change(row)
    return on_values(folder, "mimic-urine-output-rate-raw", URINE, reference, output)


def set_to(place: int, of: Callable[[list[object]], object]) -> Callable[[list[object]], None]:
    def change(row: list[object]) -> None:
        row[place] = of(row)

    return change


@pytest.mark.parametrize(
    ("place", "of", "name", "parameter"),
    [
        (2, lambda r: r[2] * 2.2046226218, "unit-factor", ("factor", 2.2046226218)),
        (2, lambda r: r[2] * 1.37, "constant-factor", ("factor", 1.37)),
        (3, lambda r: r[3] + 12, "constant-offset", ("offset", 12.0)),
        (7, lambda r: round(r[7], 1), "rounding", ("digits", 1)),
        (9, lambda r: 0 if r[9] is None else r[9], "null-versus-zero", ("agent", "zero")),
        (9, lambda r: 0.5 if r[9] is None else r[9], "null-versus-normal", ("agent", "value")),
        (4, lambda r: r[5], "copied-column", ("other", "urineoutput_12hr")),
        (10, lambda _: 1.0, "constant", None),
    ],
    ids=["pounds", "factor", "offset", "decimals", "zero", "normal", "copied", "constant"],
)
def test_numbers(
    tmp_path: Path,
    place: int,
    of: Callable[[list[object]], object],
    name: str,
    parameter: tuple[str, object] | None,
) -> None:
    diagnosis = urine(tmp_path, set_to(place, of))
    if parameter is None:  # the reference's column is itself one value: a factor explains it
        assert diagnosis.ranked[0].id in {"constant-factor", "constant-offset", "capped"}
        return
    first = diagnosis.ranked[0]
    assert first.id == name
    assert first.parameters[parameter[0]] == pytest.approx(parameter[1])
    assert first.explained == diagnosis.mismatches
    assert first.broken == 0
    assert diagnosis.unexplained == 0
    assert first.words.startswith("Consistent with ")
    assert first.evidence == "values"


@given(factor=st.floats(1.05, 9.5).filter(lambda f: abs(f - round(f)) > 0.02))
@example(factor=2.53125)  # near inches to centimetres, but not it
@example(factor=2.2)  # pounds, roughly
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_factor_is_found(tmp_path_factory: pytest.TempPathFactory, factor: float) -> None:
    folder = tmp_path_factory.mktemp("factor")
    diagnosis = urine(folder, set_to(2, lambda r: r[2] * factor))  # type: ignore[operator]
    first = diagnosis.ranked[0]
    assert first.id in {"constant-factor", "unit-factor"}
    assert first.parameters["factor"] == pytest.approx(factor, rel=1e-6)


VENTILATION = "stay_id,ventilation_seq,starttime,endtime,ventilation_status"


def episodes() -> list[list[object]]:
    rows: list[list[object]] = []
    for stay in range(1, 16):
        at = START + timedelta(days=stay)
        for number in range(1, 5):
            end = at + timedelta(hours=3 + (stay + number) % 5, minutes=11)
            status = ("InvasiveVent", "HFNC", "None", "SupplementalOxygen")[(stay + number) % 4]
            rows.append([stay, number, at, end, status])
            at = end
    return rows


def ventilated(folder: Path, output: list[Row]) -> Diagnosis:
    return on_values(folder, "mimic-ventilation-raw", VENTILATION, episodes(), output)


def test_times_off_by_an_hour_in_both_columns(tmp_path: Path) -> None:
    hour = timedelta(hours=1)
    output = [[s, n, b + hour, e + hour, v] for s, n, b, e, v in episodes()]  # type: ignore[operator]
    first = ventilated(tmp_path, output).ranked[0]
    assert (first.id, first.columns) == ("off-by-hour", ("starttime", "endtime"))
    assert first.explained == 2 * len(episodes())


def test_dates_without_a_time(tmp_path: Path) -> None:
    output = [[s, n, b, e.date(), v] for s, n, b, e, v in episodes()]  # type: ignore[attr-defined]
    assert ventilated(tmp_path, output).ranked[0].id == "date-only"


def test_labels_in_another_spelling_and_under_another_name(tmp_path: Path) -> None:
    output = [[s, n, b, e, str(v).lower()] for s, n, b, e, v in episodes()]
    assert ventilated(tmp_path, output).ranked[0].id == "label-spelling"
    renamed = [[s, n, b, e, "mech" if v == "InvasiveVent" else v] for s, n, b, e, v in episodes()]
    diagnosis = ventilated(tmp_path, renamed)
    assert diagnosis.ranked[0].id == "label-renamed"
    assert "mech" in diagnosis.ranked[0].local_words
    assert "mech" not in json.dumps(diagnosis.as_dict())


def test_merged_intervals(tmp_path: Path) -> None:
    output: list[Row] = []
    for row in episodes():
        stay, number, begin, end, status = row
        if number == 2:
            continue  # its time goes to the one before
        if number == 1:
            end = next(r[3] for r in episodes() if r[0] == stay and r[1] == 2)
        output.append([stay, max(1, int(str(number)) - 1), begin, end, status])
    first = ventilated(tmp_path, output).ranked[0]
    assert first.id == "interval-merged"


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (lambda rows: rows[:40], "truncated-output"),
        (lambda rows: rows + rows[::3], "one-to-many-join"),
        (lambda rows: [[s, n - 1, b, e, v] for s, n, b, e, v in rows], "shifted-keys"),
    ],
    ids=["cut", "join", "zero-based"],
)
def test_keys(tmp_path: Path, output: Callable[[list[list[object]]], list[Row]], name: str) -> None:
    diagnosis = ventilated(tmp_path, output(episodes()))
    assert diagnosis.keys.signatures[0].id == name
    assert diagnosis.keys.residual.count == 0


def test_keys_numbered_otherwise_explain_the_values_under_them(tmp_path: Path) -> None:
    output = [[stay, n - 1, *rest] for stay, n, *rest in episodes()]
    diagnosis = ventilated(tmp_path, output)
    assert [s.id for s in diagnosis.ranked] == ["shifted-keys"]
    assert diagnosis.unexplained == 0
    assert set(diagnosis.ranked[0].columns) >= {"starttime", "endtime"}


def test_what_many_matches_contradict_is_not_told(tmp_path: Path) -> None:
    """A few scores one level too high among very many right ones are no shifted threshold."""
    task = find_task("mimic-sapsii-24h")
    columns = task.evaluation.value_columns
    header = ",".join(["stay_id", *columns])
    reference = [[stay, *[(stay * 7 + n) % 3 for n in range(len(columns))]] for stay in range(300)]
    output = [list(row) for row in reference]
    for row in output[5:300:30]:
        row[2] = 1 if row[2] == 0 else row[2]
    diagnosis = on_values(tmp_path, task.name, header, reference, output)
    assert diagnosis.mismatches > 2
    for s in diagnosis.ranked:
        assert s.explained > s.broken, s.words
        assert (s.counter_example is None) == (s.broken == 0)


def test_two_errors_are_told_apart_without_counting_twice(tmp_path: Path) -> None:
    def change(row: list[object]) -> None:
        row[2] = float(str(row[2])) * 2.2046226218
        row[9] = 0 if row[9] is None else row[9]

    diagnosis = urine(tmp_path, change)
    assert [s.id for s in diagnosis.ranked] == ["unit-factor", "null-versus-zero"]
    assert sum(s.gained for s in diagnosis.ranked) == diagnosis.mismatches


def test_chance_is_not_explained(tmp_path: Path) -> None:
    state = [7]

    def noise(row: list[object]) -> object:
        state[0] = (state[0] * 1103515245 + 12345) % 2**31
        return int(str(row[3])) + 1 + state[0] % 977 / 7

    diagnosis = urine(tmp_path, set_to(3, noise))
    assert diagnosis.unexplained > 0.8 * diagnosis.mismatches


def test_a_right_output_has_no_signature(tmp_path: Path) -> None:
    diagnosis = ventilated(tmp_path, episodes())
    assert diagnosis.mismatches == 0
    assert diagnosis.ranked == ()
    assert diagnosis.columns == ()


def test_conditions_choose_the_rows_they_count(tmp_path: Path) -> None:
    diagnosis = urine(tmp_path, set_to(9, lambda r: 0 if r[9] is None else r[9]))
    signature = diagnosis.columns[0].signatures[0]
    with duckdb.connect(str(tmp_path / "diff.duckdb"), read_only=True) as con:
        for rows in (signature.rows, signature.against, diagnosis.columns[0].residual):
            counted = con.execute(f"SELECT count(*) FROM diff WHERE {rows.condition}").fetchall()
            assert counted[0][0] == rows.count


def test_small_counts_are_not_told_outside(tmp_path: Path) -> None:
    rows = episodes()
    output = [list(row) for row in rows]
    for row in output[:4]:
        row[4] = "HFNC " if row[4] == "HFNC" else f"{row[4]} "
    said = ventilated(tmp_path, output).as_dict()
    assert said["mismatches"] == "<11"
    text = json.dumps(said)
    assert "condition" not in text
    assert "local_words" not in text
