"""Input that cannot be used: refused with file, line and column, and without a cell's value."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable

import pytest
from tests_sources_helpers import refused

from engine.base.errors import UsageError
from engine.sources import find_source, list_sources

CHART = "icu/chartevents.csv"
SECRET = "Zz9-secret"


def test_cell_that_is_no_number(mini) -> None:
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", f"11:05:00,{SECRET}"))
    error = refused(mini)
    assert (error.place.line, error.place.column) == (2, "itemid")
    assert error.place.file.endswith("chartevents.csv")
    assert "whole number" in error.text
    assert SECRET not in str(error) + str(error.details)


@pytest.mark.parametrize(
    ("old", "new", "line", "column"),
    [
        ("81.5,81.5,", f"81.5,{SECRET},", 3, "valuenum"),
        ("81.5,81.5,", "81.5,inf,", 3, "valuenum"),
        ("81.5,81.5,", "81.5,nan,", 3, "valuenum"),
        ("81.5,81.5,", "81.5,1e999,", 3, "valuenum"),
        ("2150-01-01 13:00:00", SECRET, 4, "charttime"),
        ("2150-01-01 13:00:00", "2150-13-01 13:00:00", 4, "charttime"),
        ("2150-01-01 13:00:00", "infinity", 4, "charttime"),
        ("bpm,0\n10,20,30,,", "bpm,0.5\n10,20,30,,", 2, "warning"),
        ("10,20,30,,", "10,20,99999999999999999999,,", 3, "stay_id"),
        ("10,20,30,,", "10,20,15e-1,,", 3, "stay_id"),
        ("10,20,30,,", "10,20,15E-1,,", 3, "stay_id"),
        ("10,20,30,,", "10,20,-1.5,,", 3, "stay_id"),
    ],
)
def test_cell_is_never_changed_to_fit(mini, old, new, line, column) -> None:
    text = mini.text(CHART)
    assert old in text
    mini.write(CHART, text.replace(old, new))
    error = refused(mini)
    assert (error.place.line, error.place.column) == (line, column)
    assert SECRET not in str(error) + str(error.details)


def test_a_date_with_a_time_is_not_cut(mini) -> None:
    mini.write(
        "hosp/patients.csv", mini.text("hosp/patients.csv").replace("02-03", "02-03 12:30:00")
    )
    error = refused(mini)
    assert (error.place.line, error.place.column) == (2, "dod")


def test_whole_numbers_and_midnight_are_accepted(mini, rows_of) -> None:
    mini.write(CHART, mini.text(CHART).replace("10,20,30,,", "10.0,-20,3e1,,"))
    mini.write(
        "hosp/patients.csv", mini.text("hosp/patients.csv").replace("02-03", "02-03 00:00:00")
    )
    mini.add()
    sql = "SELECT subject_id, hadm_id, stay_id FROM mimiciv_icu.chartevents"
    assert rows_of(sql) == [(10, 20, 30), (10, -20, 30), (10, 20, 30)]
    assert rows_of("SELECT max(dod)::VARCHAR FROM mimiciv_hosp.patients") == [("2151-02-03",)]


@pytest.mark.parametrize("packed", [False, True])
def test_line_is_the_files_line_even_after_line_ends_in_texts(mini, packed) -> None:
    text = mini.text(CHART).replace('"Alert, ""ok"""', '"Alert\n\nand\nok"')
    text += f"10,20,30,1,2150-01-01 14:00:00,2150-01-01 14:05:00,{SECRET},1,1,bpm,0\n"
    mini.write(CHART, text)
    if packed:
        mini.gzip(CHART)
    error = refused(mini)
    assert (error.place.line, error.place.column) == (8, "itemid")


def test_ragged_line(mini) -> None:
    text = mini.text(CHART).replace(",80,80,bpm,0", ",80,80,bpm")
    mini.write(CHART, text)
    error = refused(mini)
    assert error.place.line == 2
    assert "fields" in error.text


def test_ragged_line_too_long(mini) -> None:
    mini.write(CHART, mini.text(CHART).replace(",81.5,81.5,", f",81.5,81.5,{SECRET},"))
    error = refused(mini)
    assert error.place.line == 3
    assert "12 fields" in error.text
    assert SECRET not in str(error)


def test_quotation_mark_left_open(mini) -> None:
    mini.write(CHART, mini.text(CHART).replace(",81.5,81.5", ',"81.5,81.5'))
    error = refused(mini)
    assert error.place.file.endswith("chartevents.csv")
    assert error.place.line == 3


def test_bytes_that_are_not_utf8(mini) -> None:
    mini.write(CHART, mini.text(CHART).encode().replace(b",81.5,81.5", b",\xff\xfe,81.5"))
    error = refused(mini)
    assert error.place.line == 3
    assert "UTF-8" in error.text


def test_hostile_cell_cannot_pose_as_another_error(mini) -> None:
    cell = "no space left on device / Could not set lock"
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", f"11:05:00,{cell}"))
    error = refused(mini)
    assert (error.place.line, error.place.column) == (2, "itemid")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [("itemid", "item_id", "item_id"), ("charttime", "time", "not there")],
)
def test_required_column_missing(mini, old, new, says) -> None:
    mini.write(CHART, mini.text(CHART).replace(f",{old},", f",{new},"))
    error = refused(mini)
    assert (error.place.line, error.place.column) == (1, old)
    assert says in error.text


def test_wrong_header_is_refused_before_any_row_is_read(mini, home) -> None:
    mini.write(CHART, mini.text(CHART).replace("itemid", "item_id"))
    refused(mini)
    assert list_sources(home) == []
    assert not (home.sources / "mini").exists()


def test_columns_that_nobody_reads_may_be_missing(mini, rows_of) -> None:
    lines = [line.rsplit(",", 1)[0] for line in mini.text(CHART).splitlines()]
    mini.write(CHART, "\n".join(lines) + "\n")
    mini.add()
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(3,)]
    assert any("warning" in message for message in mini.messages)


def test_unknown_columns_come_along_with_detected_types(mini, rows_of) -> None:
    lines = mini.text(CHART).splitlines()
    extra = ["Extra,Seen", "1,2150-01-01", "2.5,2150-01-02", "NA,"]
    mini.write(CHART, "".join(f"{e},{row}\n" for row, e in zip(lines, extra, strict=True)))
    mini.add()
    described = rows_of("DESCRIBE mimiciv_icu.chartevents")
    assert [row[:2] for row in described[-2:]] == [("extra", "DOUBLE"), ("seen", "DATE")]
    assert described[0][0] == "subject_id"


def test_column_twice(mini) -> None:
    mini.write(CHART, mini.text(CHART).replace("caregiver_id", "ITEMID"))
    error = refused(mini)
    assert error.place.line == 1
    assert "twice" in error.text


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separator(mini, separator) -> None:
    mini.write(CHART, mini.text(CHART).replace(",", separator))
    assert "commas" in refused(mini).text


def test_empty_file(mini) -> None:
    mini.write(CHART, "")
    error = refused(mini)
    assert "empty" in error.text
    assert error.place.file.endswith("chartevents.csv")


def test_empty_gzip(mini) -> None:
    mini.write(CHART, "")
    mini.gzip(CHART)
    assert "empty" in refused(mini).text


def test_header_alone_is_an_empty_table(mini, rows_of) -> None:
    mini.write(CHART, mini.text(CHART).splitlines()[0])
    mini.add()
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(0,)]
    types = dict(row[:2] for row in rows_of("DESCRIBE mimiciv_icu.chartevents"))
    assert types["valuenum"] == "DOUBLE"


def _many(count: int = 60_000) -> bytes:
    """Chartevents whose text does not compress away."""
    rng = random.Random(5)
    row = "10,20,30,1,2150-01-01 11:00:00,2150-01-01 11:05:00,{},{},{},bpm,0"
    numbers = [round(rng.uniform(0, 300), 4) for _ in range(count)]
    lines = [row.format(rng.randrange(220000, 230000), n, n) for n in numbers]
    header = "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum"
    return "\n".join([f"{header},valueuom,warning", *lines, ""]).encode()


@pytest.mark.parametrize("kept", ["half", "all but the checksum", "all but a byte"])
def test_truncated_gzip(mini, kept) -> None:
    data = gzip.compress(_many())
    end = {"half": len(data) // 2, "all but the checksum": -8, "all but a byte": -1}[kept]
    (mini.root / CHART).unlink()
    mini.write(CHART + ".gz", data[:end])
    error = refused(mini)
    assert "too early" in error.text
    assert error.place.file.endswith("chartevents.csv.gz")


def test_gzip_with_a_wrong_checksum(mini) -> None:
    data = bytearray(gzip.compress(mini.text(CHART).encode()))
    data[-6] ^= 0x55
    (mini.root / CHART).unlink()
    mini.write(CHART + ".gz", bytes(data))
    assert "damaged" in refused(mini).text


def test_gzip_of_several_members(mini, rows_of) -> None:
    header, *lines = mini.text(CHART).splitlines(keepends=True)
    (mini.root / CHART).unlink()
    parts = [gzip.compress(part.encode()) for part in (header, "".join(lines), lines[0])]
    mini.write(CHART + ".gz", b"".join(parts))
    mini.add()
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(4,)]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_garbage(mini, suffix) -> None:
    (mini.root / CHART).unlink()
    mini.write(CHART + suffix, os.urandom(4000))
    error = refused(mini)
    assert error.place.file.endswith("chartevents.csv" + suffix)


def test_garbage_behind_a_good_header(mini) -> None:
    header = mini.text(CHART).splitlines(keepends=True)[0]
    mini.write(CHART, header.encode() + random.Random(1).randbytes(200_000))
    error = refused(mini)
    assert error.place.file.endswith("chartevents.csv")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.slow
def test_a_line_without_end(mini, end) -> None:
    mini.write(CHART, mini.text(CHART) + "x" * 40_000_000 + end)
    error = refused(mini)
    assert error.place.line == 5
    assert "long" in error.text


def test_mixed_line_ends(mini) -> None:
    header, first, *rest = mini.text(CHART).splitlines()
    mini.write(CHART, f"{header}\r\n{first}\n" + "\n".join(rest) + "\n")
    error = refused(mini)
    assert "line ends" in (error.todo or "")
    assert error.place.file.endswith("chartevents.csv")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda t: t.replace("\n", "\r\n"), id="windows line ends"),
        pytest.param(lambda t: "\ufeff" + t, id="byte order mark"),
        pytest.param(lambda t: t.rstrip("\n"), id="no line end at the end"),
        pytest.param(lambda t: t + "\n\n", id="blank lines at the end"),
        pytest.param(lambda t: t.replace("caregiver_id", "CareGiver_ID"), id="upper case"),
    ],
)
def test_harmless_ways_to_write_csv(mini, rows_of, change: Callable[[str], str]) -> None:
    mini.write(CHART, change(mini.text(CHART)))
    mini.add()
    rows = rows_of("SELECT subject_id, caregiver_id, value, warning FROM mimiciv_icu.chartevents")
    assert rows == [(10, 1, "80", 0), (10, None, "81.5", 0), (10, 1, 'Alert, "ok"', 1)]


def test_dangling_link(mini) -> None:
    (mini.root / CHART).unlink()
    (mini.root / CHART).symlink_to(mini.root / "nowhere.csv")
    assert "cannot be read" in refused(mini).text


def test_link_is_followed(mini, tmp_path, rows_of) -> None:
    moved = tmp_path / "elsewhere.csv"
    (mini.root / CHART).rename(moved)
    (mini.root / CHART).symlink_to(moved)
    mini.add()
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(3,)]


def test_path_missing(mini) -> None:
    mini.root = mini.root / "absent"
    assert "no such" in refused(mini).text


def test_path_that_cannot_be_looked_at(mini) -> None:
    # A name too long for the system stands for a folder that may not be entered: root may, always.
    mini.root = mini.root / ("x" * 300)
    assert "cannot be looked at" in refused(mini).text


def test_path_is_one_csv(mini) -> None:
    mini.root = mini.root / CHART
    assert "neither a folder nor" in refused(mini).text


def test_folder_without_tables_lists_what_was_looked_for(mini, tmp_path) -> None:
    mini.root = tmp_path / "other"
    mini.write("icustay.csv", "a\n1\n")
    error = refused(mini)
    assert "icustays" in error.text
    assert "nursecharting" in (error.details or "")


def test_both_kinds_need_a_word(mini) -> None:
    mini.write("patient.csv", "patientunitstayid\n1\n")
    assert "--kind" in (refused(mini).todo or "")
    assert mini.add(kind="mimic-iv").kind == "mimic-iv"


def test_other_modules_beside_it_do_not_disturb(mini) -> None:
    mini.write("ed/diagnosis.csv", "subject_id\n1\n")
    mini.write("note/discharge.csv", "note_id\n1\n")
    mini.write("files/p10/p100/deep/icustays.csv", "x\n1\n")
    mini.write("LICENSE.txt", "x")
    assert mini.add().kind == "mimic-iv"
    (message,) = [text for text in mini.messages if text.startswith("Not read")]
    assert "diagnosis.csv, discharge.csv" in message
    assert "LICENSE" not in message


def test_the_indispensable_table(mini, tmp_path) -> None:
    mini.root = tmp_path / "other"
    mini.write("hospital.csv", "hospitalid\n1\n")
    mini.write("physicalExam.csv", "physicalexamid\n1\n")
    assert "eicu_crd.patient" in refused(mini).text


def test_table_twice(mini) -> None:
    mini.write("icu/chartevents.csv.gz", gzip.compress(b"x"))
    assert "more than once" in refused(mini).text


def test_names_of_folders_are_no_patterns(mini, tmp_path) -> None:
    odd = tmp_path / "in[a-z]put * 'quoted'"
    mini.root.rename(odd)
    mini.root = odd
    assert len(mini.add().tables) == 4


@pytest.mark.parametrize("name", ["", "Upper", "a b", "../x", "a" * 41, "ä"])
def test_names(mini, name) -> None:
    with pytest.raises(UsageError):
        mini.add(name)


def test_unknown_kind(mini) -> None:
    with pytest.raises(UsageError):
        mini.add(kind="omop")


def test_an_error_in_a_late_table_keeps_the_early_ones(mini, home) -> None:
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", "11:05:00,x"))
    refused(mini)
    info = find_source(home, "mini")
    assert info.state == "importing"
    assert {t.name for t in info.tables} == {
        "mimiciv_hosp.patients",
        "mimiciv_hosp.d_labitems",
        "mimiciv_icu.icustays",
    }


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(lambda t: t.replace("50802,Base,", "50802,"), 3, id="ragged"),
        pytest.param(lambda t: t.replace("50802,Base", '50802,"Base'), 3, id="open quotation"),
        pytest.param(lambda t: t + "x" * 40_000_000, 4, id="long line"),
        pytest.param(lambda t: t.encode().replace(b"Base", b"B\xe9se"), 3, id="not UTF-8"),
    ],
)
def test_tables_with_detected_types_are_checked_too(mini, change, line) -> None:
    name = "hosp/d_labitems.csv"
    mini.write(name, change(mini.text(name)))
    error = refused(mini)
    assert error.place.line == line
    assert error.place.file.endswith("d_labitems.csv")


def test_detected_types(mini, rows_of) -> None:
    columns = {
        "whole": ("BIGINT", "1", "NA", "-3"),
        "real": ("DOUBLE", "1", "2.5", ""),
        "day": ("DATE", "2150-01-01", "", "2150-01-02"),
        "moment": ("TIMESTAMP", "2150-01-01 00:00:00", "___", "2150-01-01 10:00:01"),
        "clock": ("TIME", "10:00:00", "23:59:59", "N/A"),
        "code": ("VARCHAR", "007", "1", "2"),
        "nothing": ("VARCHAR", "", "NULL", ""),
        "huge": ("VARCHAR", "99999999999999999999", "1", "2"),
        "other_date": ("VARCHAR", "01/02/2150", "01/02/2150", ""),
        "late_text": ("VARCHAR", "1", "2", "three"),
    }
    lines = [",".join(columns)] + [",".join(c[i] for c in columns.values()) for i in (1, 2, 3)]
    mini.write("hosp/d_hcpcs.csv", "\n".join(lines) + "\n")
    mini.add()
    described = dict(row[:2] for row in rows_of("DESCRIBE mimiciv_hosp.d_hcpcs"))
    assert described == {name: cells[0] for name, cells in columns.items()}


def test_memory_limit_is_a_size(mini) -> None:
    with pytest.raises(UsageError, match="3GB"):
        mini.add(memory_limit="much")


def test_a_pipe_is_refused_and_not_waited_for(mini) -> None:
    path = mini.root / CHART
    path.unlink()
    os.mkfifo(path)
    error = refused(mini)
    assert error.place.file.endswith("chartevents.csv")
    assert "no file but a pipe" in error.text
