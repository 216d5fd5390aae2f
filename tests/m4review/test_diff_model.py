"""The table model: right by Qt's own tester, bounded, and deaf to late answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from diff_factory import make_diff
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QImage, QPainter
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from engine.base.jobs import SimpleJob
from m4review.app.theme import LIGHT
from m4review.diff.drawing import CellDrawing, Lane, Page
from m4review.diff.layout import CellStatus
from m4review.diff.loader import PLAIN_BLOCK, BlockLoader
from m4review.diff.looks import look_of
from m4review.diff.query import Query, Sort
from m4review.diff.reader import DiffFile
from m4review.diff.table import MAX_BLOCKS, DiffModel, TableColumn, as_tsv, spoken

ROWS = 60_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiffFile]:
    opened = DiffFile(make_diff(tmp_path_factory.mktemp("model") / "diff.duckdb", ROWS).path)
    yield opened
    opened.close()


@pytest.fixture
def model(file: DiffFile, qapp: object) -> Iterator[DiffModel]:
    loader = BlockLoader(file)
    yield DiffModel(file.layout, loader, file.view(Query(), SimpleJob()))
    loader.close()


def load(model: DiffModel, row: int) -> None:
    model.ensure(row, row, wait=10)
    assert model.record(row) is not None


def test_qts_own_tester_is_content(
    model: DiffModel, file: DiffFile, qtmodeltester: ModelTester
) -> None:
    few = file.view(Query(only_mismatches=True, text="3000000"), SimpleJob())
    model.set_view(few)
    load(model, 0)
    qtmodeltester.check(model)


def test_row_count_is_known_before_any_row(model: DiffModel) -> None:
    assert model.rowCount() == ROWS
    assert model.record(0) is None
    assert model.data(model.index(0, 0)) is None


def test_rows_come_and_are_announced(model: DiffModel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(model.dataChanged):
        model.ensure(1_000, 1_010)
    record = model.record(1_005)
    assert record is not None
    assert record[0] == 1_005


def test_cache_is_bounded_and_what_is_seen_stays(model: DiffModel) -> None:
    for block in range(0, ROWS // PLAIN_BLOCK, 1):
        load(model, block * PLAIN_BLOCK)
        assert model.blocks_held <= MAX_BLOCKS
    assert ROWS // PLAIN_BLOCK > MAX_BLOCKS
    assert model.record((ROWS // PLAIN_BLOCK - 1) * PLAIN_BLOCK) is not None
    assert model.record(0) is None


def test_blocks_of_a_former_view_never_show(model: DiffModel, file: DiffFile) -> None:
    backwards = file.view(Query(sort=(Sort("row", True),)), SimpleJob())
    for _ in range(20):
        model.ensure(0, 100)  # asked, not waited for
        model.set_view(backwards)
        load(model, 0)
        first = model.record(0)
        assert first is not None
        assert first[0] == ROWS - 1
        model.set_view(file.view(Query(), SimpleJob()))


def test_newest_request_comes_first(file: DiffFile, qapp: object) -> None:
    loader = BlockLoader(file)
    try:
        loader.use(file.view(Query(), SimpleJob()))
        loader.request(range(200))  # scrolled past
        loader.request([230])
        loader.wait([230], 10)
        got = loader.collect()
        assert 230 in got
        assert len(got) < 50
    finally:
        loader.close()
    assert not [t for t in threading.enumerate() if t.name == "diff blocks" and t.is_alive()]


def test_blocks_side_by_side_come_in_one_read_and_none_twice(
    file: DiffFile, qapp: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[tuple[int, int]] = []
    begun, go_on = threading.Event(), threading.Event()
    read = DiffFile.read

    def slow(self: DiffFile, cursor: Any, view: Any, first: int, count: int) -> Any:
        reads.append((first, count))
        begun.set()
        assert go_on.wait(10)
        return read(self, cursor, view, first, count)

    monkeypatch.setattr(DiffFile, "read", slow)
    loader = BlockLoader(file)
    try:
        loader.use(file.view(Query(), SimpleJob()))
        loader.request([7, 8])
        assert begun.wait(10)
        loader.request([7, 8])  # the other half of the table paints while they are read
        go_on.set()
        loader.wait([7, 8], 10)
        got = loader.collect()
        loader.request([20])
        loader.wait([20], 10)
    finally:
        loader.close()
    assert {at: records[0][0] for at, records in got.items()} == {
        7: 7 * PLAIN_BLOCK, 8: 8 * PLAIN_BLOCK,
    }  # fmt: skip
    assert reads == [(7 * PLAIN_BLOCK, 2 * PLAIN_BLOCK), (20 * PLAIN_BLOCK, PLAIN_BLOCK)]


def test_records_of_a_page_lie_across_blocks(model: DiffModel) -> None:
    load(model, PLAIN_BLOCK)
    model.ensure(ROWS - 1, ROWS - 1, wait=10)
    page = model.records(PLAIN_BLOCK - 2, PLAIN_BLOCK + 1)
    assert [record and record[0] for record in page] == [
        None, None, PLAIN_BLOCK, PLAIN_BLOCK + 1,
    ]  # fmt: skip
    assert [record and record[0] for record in model.records(ROWS - 1, ROWS + 5)] == [ROWS - 1]


def test_null_zero_empty_and_absent_look_different(model: DiffModel, file: DiffFile) -> None:
    columns = {(c.part, c.title): c for c in model.columns}
    texts = columns["agent", "status"]
    numbers = columns["agent", "score"]
    record = [0, 0, 0, 30000000, 1, 61.0, 61.0, 0, 0, 0, 0, None, None, 5, "", "", 0]
    looks = {
        "zero": look_of(tuple(record), numbers),
        "empty": look_of(tuple(record), texts),
        "both null": look_of(tuple(record), columns["agent", "starttime"]),
    }
    record[12], record[13] = None, int(CellStatus.AGENT_NULL)
    looks["null"] = look_of(tuple(record), columns["agent", "starttime"])
    missing = (0, 1, 15, 30000000, 1, 61.0, None, 6, 0, None, 6, None, None, 6, "", None, 6)
    looks["absent"] = look_of(missing, numbers)
    shown = {(look.text, look.glyph, look.tone, look.hatched) for look in looks.values()}
    assert len(shown) == len(looks)
    assert looks["zero"].text == "0"
    assert looks["empty"].text != ""


def test_a_row_that_is_not_loaded_is_drawn_as_bars_where_its_values_will_stand(
    model: DiffModel,
) -> None:
    drawing = CellDrawing()
    drawing.set_look(LIGHT, QFont())
    height = drawing.row_height
    lanes = [Lane(model.columns[0], 0, 200), Lane(model.columns[1], 200, 200)]  # right, left
    picture = QImage(400, 2 * height, QImage.Format.Format_RGB32)
    with QPainter(picture) as painter:
        page = Page(lanes, 0, 0, height, [None, None], 400)
        drawing.paint(painter, page, picture.rect())
    rows = [
        "".join("█" if picture.pixelColor(x, y).name() == LIGHT.line else " " for x in range(400))
        for y in (height // 2, height + height // 2)
    ]
    assert rows[0] == rows[1]
    right, left = rows[0][:200], rows[0][200:]
    assert right[:100].isspace()
    assert len(right.rstrip()) > 180
    assert left[100:].isspace()
    assert len(left.lstrip()) > 180
    assert len(set(rows[0].split())) == 1
    colours = {picture.pixelColor(x, y).name() for x in range(400) for y in range(2 * height)}
    assert colours == {LIGHT.surface, LIGHT.line}


def test_every_departure_has_a_sign_besides_its_colour(model: DiffModel, file: DiffFile) -> None:
    status = model.columns[1]
    signs = {}
    for key_status, mismatches in ((0, 0), (0, 1), (1, 15), (2, 15), (3, 15)):
        record = (0, key_status, mismatches, 1, 1, *([None, None, 5] * 4))
        look = look_of(record, status)
        signs[key_status, mismatches] = (look.glyph, look.text)
    assert len(set(signs.values())) == len(signs)
    assert all(glyph for glyph, _ in signs.values())


def test_a_screen_reader_is_told_value_and_status(model: DiffModel) -> None:
    load(model, 3)
    column = next(i for i, c in enumerate(model.columns) if c.part == "agent")
    words = model.data(model.index(3, column), Qt.ItemDataRole.AccessibleTextRole)
    assert words == spoken(model.record(3), model.columns[column])  # type: ignore[arg-type]
    assert "heart_rate (agent) 70.75, different" in words


def test_copied_text_has_one_line_a_row() -> None:
    columns = [TableColumn("key", "a", 3, "k0"), TableColumn("key", "b", 4, "k1")]
    records = [(0, 0, 0, "x\ty\nz", None), (1, 0, 0, 2.0, "")]
    assert as_tsv(records, columns, headers=True) == 'a\tb\nx y z\tnull\n2\t""'


def test_tool_tips_and_headers_are_words(model: DiffModel) -> None:
    tip = model.headerData(4, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "match" in tip
    assert "tolerance 0.5" in tip


def test_rows_that_cannot_be_read_are_told_and_the_thread_lives_on(
    tmp_path: Path, qtbot: QtBot
) -> None:
    path = make_diff(tmp_path / "d.duckdb", 200_000).path
    opened = DiffFile(path)
    loader = BlockLoader(opened)
    try:
        loader.use(opened.view(Query(), SimpleJob()))
        size = path.stat().st_size
        with path.open("r+b") as broken:  # the disk loses the rows under the reader
            broken.seek(3 * 4096)
            broken.write(b"\xff" * (size - 4 * 4096))
        with qtbot.waitSignal(loader.failed) as caught:
            loader.request([600])
        assert caught.args[0].text
        with qtbot.waitSignal(loader.failed):
            loader.request([500])
    finally:
        loader.close()
        opened.close()
