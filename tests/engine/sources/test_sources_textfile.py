"""The second reader: its count of records is the CSV standard's, and it sees damage."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import BadInput
from engine.sources import textfile
from engine.sources.textfile import SecondReader, blocks, line_of_record

CELLS = st.text(alphabet=st.sampled_from('ab",\n\r é'), max_size=8)


def _nothing() -> None:
    pass


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=20),
    ending=st.sampled_from(["\n", "\r\n"]),
    packed=st.booleans(),
    block=st.sampled_from([1, 2, 3, 7, 1 << 20]),
)
def test_counts_like_pythons_reader(rows, ending, packed, block) -> None:
    text = io.StringIO()
    # The writer leaves a lone carriage return without quotation marks.
    lone = any("\r" in cell for row in rows for cell in row)
    quoting = csv.QUOTE_ALL if lone else csv.QUOTE_MINIMAL
    writer = csv.writer(text, lineterminator=ending, quoting=quoting)
    writer.writerows([["x", "y"], *rows])
    data = text.getvalue().encode()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfile, "_BLOCK", block)
        path = Path(folder) / ("t.csv.gz" if packed else "t.csv")
        path.write_bytes(gzip.compress(data) if packed else data)
        reader = SecondReader(path)
        reader.agree(len(rows), 2, _nothing)
        # Not by the slow way: the quick count itself is right.
        assert reader._records == len(rows) + 1
        if rows:
            with pytest.raises(BadInput, match="could be read"):
                reader.agree(len(rows) - 1, 2, _nothing)


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=12))
def test_line_of_record(rows) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    starts = []
    for row in rows:
        starts.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode())
        for number, start in enumerate(starts, start=1):
            assert line_of_record(path, number, count_blank=False) == start


def test_blank_lines_count_only_where_asked(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n\n\n1,2\n")
    assert line_of_record(path, 2, count_blank=False) == 4
    assert line_of_record(path, 2, count_blank=True) == 2


def test_stray_quotation_marks_are_counted_slowly(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,5" tube\n2,y\n')
    SecondReader(path).agree(2, 2, _nothing)


@pytest.mark.parametrize("pad", [b"", b"\0" * 600])
def test_padding_behind_gzip(tmp_path, pad) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n") + pad)
    assert b"".join(blocks(path)) == b"a\n1\n"


def test_rubbish_behind_gzip(tmp_path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n") + b"rubbish")
    with pytest.raises(BadInput, match="damaged"):
        list(blocks(path))


def test_a_bomb_comes_in_blocks(tmp_path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a" * 50_000_000))
    sizes = [len(block) for block in blocks(path)]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= 1 << 20


def test_stopped_before_its_end(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 5_000_000)
    reader = SecondReader(path)
    reader.stop()
    assert reader.problem is None
    assert reader._records < 5_000_000
