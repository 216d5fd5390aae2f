"""Reading CSV that nobody vouches for: the same cells as pandas, or a reason, never a crash."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.base import duck
from engine.scoring.output import MAX_CELL, MAX_LINE, Unreadable, open_table
from engine.scoring.sides import load_output
from engine.scoring.values import define_macros

PIECES = st.sampled_from(
    ["1", "2.5", "", ",", ",", ",", "\n", "\n", "\n", "\r\n", "\r", '"', '""', '"a"', '"x,y"', " ",
     "\t", "é", "b",
     '"l1\nl2"', "2150-01-01 00:00:00", "True", "#", "\\", "'", ";", "NA"]
)  # fmt: skip


def our_cells(path: Path, wanted: tuple[str, ...] = ("a", "b")) -> list[list[str | None]]:
    """The wanted columns' cells as texts, in file order."""
    con = duck.connect()
    try:
        define_macros(con)
        with open_table(path, job=None) as table:
            side = load_output(con, table, wanted, job=None)
        if not side.columns:
            return [[] for _ in range(side.rows)]
        shown = ", ".join(f"{c.sql}::VARCHAR" for c in side.columns.values())
        rows = con.execute(f"SELECT {shown} FROM agent ORDER BY rn").fetchall()
        return [list(row) for row in rows]
    finally:
        con.close()


def pandas_cells(path: Path, wanted: tuple[str, ...] = ("a", "b")) -> list[list[str | None]]:
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=str)
    frame = frame[[name for name in wanted if name in frame.columns]]
    return [[None if pd.isna(v) else v for v in row] for row in frame.itertuples(index=False)]


def same(ours: str | None, theirs: str | None) -> bool:
    """Cells are kept as what the column is; compare as that."""
    if ours is None or theirs is None:
        return ours is theirs
    if ours == theirs or ours == theirs.lower():
        return True
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


@pytest.mark.slow
@given(st.lists(PIECES, max_size=30).map("".join))
@example('1,2\n3,"4" \n')
@example('1,2\n3, "4"\n')
@example("1,2\n\n3,4\n")
@example("1\n3,4\n")
@example('1,"2\n')
@example("1,2\r3,4\r\n")
@example("\r,1\n5,6\n")
@example("\r,")
@example("1,,")
@example("1,2,\n3,4,\n")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_cells_are_pandas_cells(body: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "o.csv"
        path.write_bytes(b"a,b\n" + body.encode())
        try:
            expected = pandas_cells(path)
        except (pd.errors.ParserError, UnicodeDecodeError):
            with pytest.raises(Unreadable):
                our_cells(path)
            return
        found = our_cells(path)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert all(same(o, t) for o, t in zip(ours, theirs, strict=True)), (ours, theirs)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,x\r\n", [["1", "x"]]),
        (b'"a","b"\n"1","x, y"\n', [["1", "x, y"]]),
        (b"b,c,a\n7,8,9\n", [["9", "7"]]),
        (b"a,b,a\n1,2,3\n", [["1", "2"]]),  # the first of two equal names
        (b"a,,b\n1,2,3\n", [["1", "3"]]),
        (b"\n\na,b\n1,2\n", [["1", "2"]]),
        (b"a;b\n1;2\n", [[]]),
        (b"a,b\n1\x000,2\n", [["1\x000", "2"]]),
    ],
    ids=["bom-crlf", "quoted", "order", "twice", "unnamed", "blank-first", "semicolons", "nul"],
)
def test_spellings(tmp_path: Path, content: bytes, expected: list[list[str]]) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(content)
    assert our_cells(path) == expected


def refused(path: Path, **more: int) -> Unreadable:
    with pytest.raises(Unreadable) as caught, open_table(path, job=None, **more):
        pass
    return caught.value


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    real = tmp_path / "real.csv"
    real.write_text("a,b\n1,2\n")
    (tmp_path / "link.csv").symlink_to(real)
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "folder.csv").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("link", "fifo", "folder", "socket", "zero", "missing"):
        fault = refused(tmp_path / f"{name}.csv")
        assert fault.diagnostic == "output_exists", name
    assert "no output" in refused(tmp_path / "missing.csv").text


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)  # sparse
    fault = refused(path)
    assert "10,000,000,000 bytes" in fault.text
    path.write_text("a,b\n1,2\n")
    assert refused(path, max_bytes=3).diagnostic == "output_exists"


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    for content in (b"", b"\n\n", b"\xef\xbb\xbf"):
        path.write_bytes(content)
        assert refused(path).diagnostic == "has_rows"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n1,2,3\n", "line 3"),
        (b'a,b\n1,"2\n', "row 1"),
        (b"a,b\n\xff,2\n", "UTF-8"),
    ],
    ids=["ragged", "open-quote", "latin"],
)
def test_what_is_no_table_is_said_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        our_cells(path)
    assert words in caught.value.text


@pytest.mark.parametrize("head", [b"a,b\n", b"", b"a,b\n1,2\n3,"], ids=["row", "header", "late"])
@pytest.mark.parametrize("tail", [b"", b"\n4,5\n"], ids=["to-the-end", "then-more"])
def test_an_endless_line_is_refused(tmp_path: Path, head: bytes, tail: bytes) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(head + b"x" * (3 * MAX_LINE) + tail)
    fault = refused(path)
    line = head.count(b"\n") + 1
    assert f"Line {line} " in fault.text
    assert "bytes" in fault.text


def test_the_longest_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    names = ["a", "b", *(f"c{i}" for i in range(MAX_LINE // MAX_CELL - 2))]
    long = ["x" * (MAX_CELL - 1) for _ in names[2:]]
    rows = [names, ["1", "y" * MAX_CELL, *long], ["2", "", *long]]
    path.write_text("".join(f"{','.join(row)}\n" for row in rows))
    found = our_cells(path)
    assert [row[0] for row in found] == ["1", "2"]
    assert found[0][1] == "y" * MAX_CELL


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", [0, 1, 3_000, 150_000])
def test_a_long_cell_is_found_wherever_it_lies(tmp_path: Path, end: str, before: int) -> None:
    path = tmp_path / "o.csv"
    head, long = f"a,b{end}" + f"1,2345{end}" * before, "x" * MAX_CELL
    path.write_bytes(f"{head}3,{long}{end}4,5{end}".encode())
    assert len(our_cells(path)) == before + 2
    path.write_bytes(f"{head}3,{long}x{end}4,5{end}".encode())
    with pytest.raises(Unreadable) as caught:
        our_cells(path)
    assert f"data row {before + 1} " in caught.value.text


def test_a_long_cell_of_many_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(b'a,b\n1,2\n3,"' + b"xxxxxxx\n" * (MAX_CELL // 2) + b'"\n4,5\n')
    with pytest.raises(Unreadable) as caught:
        our_cells(path)
    assert "data row 2 " in caught.value.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["line", "quote"])
def test_half_a_gigabyte_on_one_line_takes_no_memory(tmp_path: Path, kind: str) -> None:
    """In a process of its own, whose peak memory is asked for."""
    path = tmp_path / "o.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1," if kind == "line" else b'a,b\n1,"')
        block = b"x" * (1 << 20) if kind == "line" else b"xxxxxxx\n" * (1 << 17)
        for _ in range(500):
            file.write(block)
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from engine.catalogue.task import TableEvaluation\n"
        "from engine.scoring import score_table\n"
        "e = TableEvaluation(key_columns=('a',), value_columns=('b',))\n"
        "s = score_table(e, Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(s.reward, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    reference = tmp_path / "r.csv"
    reference.write_text("a,b\n1,2\n")
    done = subprocess.run(
        [sys.executable, "-c", code, path, reference],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    reward, peak = done.stdout.split()
    assert float(reward) == 0
    assert int(peak) < 1_500_000, "kilobytes"


def test_very_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    names = [f"n{i}" for i in range(3_000)]
    cells = ["0"] * len(names)
    path.write_text(",".join([*names, "a", "b"]) + "\n" + ",".join([*cells, "1", "x"]) + "\n")
    assert our_cells(path) == [["1", "x"]]
