"""Addresses: what is written can be read again, and nonsense is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.errors import UsageError
from m4review.app.links import Place, parse

names = st.text(min_size=1, max_size=40).filter(lambda s: s.strip() == s and s.strip("/"))


@given(st.sampled_from(["run", "task", "launch"]), names)
def test_address_of_a_thing_names_it_again(screen: str, name: str) -> None:
    place = Place(screen, name)  # type: ignore[arg-type]
    assert parse(place.link) == place


@given(names, st.integers(0, 10**9))
def test_address_of_a_row_names_it_again(name: str, row: int) -> None:
    assert parse(Place("diff", name, row).link) == Place("diff", name, row)


def test_diff_without_a_row() -> None:
    assert parse("m4review://run/abc/diff") == Place("diff", "abc")


@pytest.mark.parametrize("screen", ["worklist", "runs", "data"])
def test_screens_have_addresses(screen: str) -> None:
    assert parse(f"m4review://{screen}").screen == screen


def test_plain_run_id() -> None:
    assert parse("mimic-x_no-skill_script_y_t1_20260101_000000").screen == "run"


def test_run_folder(tmp_path: Path) -> None:
    folder = tmp_path / "some-run"
    folder.mkdir()
    (folder / "result.json").write_text("{}")
    assert parse(str(folder)) == Place("run", "some-run")


@pytest.mark.parametrize(
    "text",
    ["m4review://run", "m4review://run/a/row/x", "m4review://elsewhere/a", "/no/such", "", "a/b"],
)
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.todo


keys = st.lists(st.tuples(names, st.text(max_size=30)), max_size=3, unique_by=lambda p: p[0])


@given(names, st.integers(0, 10**9), names)
def test_address_of_a_value_of_a_run_names_it_again(run: str, row: int, column: str) -> None:
    place = Place("timeline", run, row, column=column)
    assert parse(place.link) == place


@given(names, names, keys, names)
def test_address_of_a_value_of_a_reference_names_it_again(
    task: str, source: str, key: list[tuple[str, str]], column: str
) -> None:
    place = Place("timeline", task, source=source, key=tuple(key), column=column)
    assert parse(place.link) == place


@given(names)
def test_places_of_findings_have_addresses(name: str) -> None:
    for place in (Place("timeline", name), Place("diagnosis", name)):
        assert parse(place.link) == place


@given(st.lists(names, max_size=8))
def test_address_of_a_comparison_names_its_runs_in_order(runs: list[str]) -> None:
    place = Place("compare", runs=tuple(runs))
    assert parse(place.link) == place
