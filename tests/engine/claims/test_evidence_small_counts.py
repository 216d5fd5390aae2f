"""No small count can be worked out from the checks of an evidence, told together or one by one."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from count_reader import Reader
from count_reader import read as told_range
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.disclosure import SMALL
from engine.claims import Check, Evidence, attachment, evidence_document
from engine.claims.disclosing import SUPPRESSED
from engine.claims.exporting import tells_small_counts
from engine.claims.values import histogram_sql

LOW, HIGH = 36.123, 40.456  # quantiles: nobody may read them in a query where they are left out


@dataclass(frozen=True)
class World:
    """What was counted of one item, and the checks that say so."""

    checks: tuple[Check, ...]
    units: dict[str, int]
    unitless: int
    bins: list[int]
    missing: int
    below: int
    above: int
    on_low: int
    closed: bool
    with_range: bool

    @property
    def rows(self) -> int:
        return sum(self.units.values()) + self.unitless

    @property
    def numbers(self) -> int:
        return self.rows - self.missing

    @property
    def outside(self) -> int:
        return self.below + self.above + (0 if self.closed else self.on_low)

    @property
    def evidence(self) -> Evidence:
        return Evidence("t", "s", "d" * 64, "h" * 64, {}, "now", (), (), self.checks)


def outcome(part: int, whole: int) -> Any:
    share = part / whole if whole else 0
    return "disagrees" if share > 0.5 else "look" if share > 0.05 else "agrees"


def check(name: str, verdict: Any, words: str, result: dict[str, Any], query: str = "") -> Check:
    return Check(
        name, verdict, words, "source", "skill", len(name), 1, query=query or name, result=result,
        skill="x",
    )  # fmt: skip


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Counts of one item that fit together, as `checks.measures` and `checks.items` count."""
    few = st.one_of(st.integers(0, 12), st.integers(0, 60), st.integers(0, 3000))
    units = {"mL": draw(few), "L": draw(few), "dL": draw(st.integers(0, 3))}
    units = {unit: n for unit, n in units.items() if n} or {"mL": draw(st.integers(1, 20))}
    unitless = draw(st.integers(0, 12))
    rows = sum(units.values()) + unitless
    missing = min(rows, draw(few))
    numbers = rows - missing
    below = min(numbers, draw(few))
    above = min(numbers - below, draw(few))
    on_low = min(numbers - below - above, draw(st.integers(0, 12)))
    cuts = sorted(draw(st.lists(st.integers(0, numbers), min_size=3, max_size=3)))
    bins = [b - a for a, b in zip([0, *cuts], [*cuts, numbers], strict=True)]
    stays = min(rows, draw(st.integers(1, 40)))
    closed, ranged = draw(st.booleans()), draw(st.booleans())
    plain = World((), units, unitless, bins, missing, below, above, on_low, closed, ranged)
    return with_checks(plain, stays)


def with_checks(plain: World, stays: int) -> World:
    """The checks that say what was counted."""
    rows, numbers, missing, units = plain.rows, plain.numbers, plain.missing, plain.units
    known = {"item": 7, "label": "x", "category": "y", "table": "t", "rows": rows, "stays": stays}
    spread = {
        "item": 7, "rows": rows, "stays": stays, "missing": missing,
        "missing_share": missing / rows, "low": 1.0, "high": 99.0,
        "quantiles": {"0.01": LOW, "0.5": 37.0, "0.99": HIGH},
        "histogram": {
            "from": LOW, "to": HIGH, "rows": {str(n): c for n, c in enumerate(plain.bins)},
        },
    }  # fmt: skip
    united = sum(units.values())
    stated = [unit for unit in units if unit == "mL"]
    other = united - units.get("mL", 0)
    checks = [
        check("item-known", "agrees", "known", known),
        check("distribution", "agrees", "spread", spread,
              histogram_sql("mimiciv_icu.chartevents", 7, LOW, HIGH)),
        check("unit", outcome(other, united), "Item 7 is recorded in a unit.",
              {"item": 7, "units": units, "rows": united, "stated": stated}),
    ]  # fmt: skip
    if plain.with_range:
        share = 100 * plain.outside / numbers if numbers else 0
        inside = {
            "item": 7, "rows": numbers, "below": plain.below, "above": plain.above,
            "on_low": plain.on_low, "on_high": 0, "outside": plain.outside,
            "outside_is": ["below", "above", *(() if plain.closed else ("on_low",))],
        }  # fmt: skip
        words = f"Of the numbers of item 7 {share:.1f} % lie outside “36 to 40”."
        checks.append(check("range", outcome(plain.outside, numbers), words, inside))
    return replace(plain, checks=tuple(checks))


def read_by(world: World, told: dict[str, dict[str, Any]]) -> Reader:
    """What somebody makes of it who reads every check that was told."""
    reader = Reader()

    def sees(name: str, truth: int, *places: Any) -> None:
        found = [p for p in places if p is not None and p != SUPPRESSED]
        small = [p for p in places if p == SUPPRESSED]
        assert len(set(map(str, found))) <= 1
        # "suppressed" says of a count that it is not 0, and no more: large ones are told so too.
        reader.sees(name, truth, found[0] if found else None, silent=not found)
        if small and not found:
            at = reader.names[name]
            reader.ranges[at] = (1, reader.ranges[at][1])

    spread, unit = told["distribution"]["result"], told["unit"]["result"]
    sees("rows", world.rows, told["item-known"]["result"]["rows"], spread["rows"])
    sees("missing", world.missing, spread["missing"])
    limits = told.get("range", {}).get("result", {})
    sees("numbers", world.numbers, limits.get("rows"))
    reader.adds("rows", ["missing", "numbers"])
    if spread["histogram"] is not None:
        for at, n in enumerate(world.bins):
            sees(f"bin {at}", n, spread["histogram"]["rows"][str(at)])
        reader.adds("numbers", [f"bin {at}" for at in range(len(world.bins))])
    sees("united", sum(world.units.values()), unit["rows"])
    for name, n in world.units.items():
        sees(name, n, unit["units"][name])
    reader.adds("united", list(world.units))
    reader.adds("rows", ["united"], rest="unitless")
    if world.with_range:
        for name in ("below", "above", "on_low"):
            sees(name, getattr(world, name), limits[name])
        sees("on_high", 0, limits["on_high"])  # a range may be told of it: then it may be others
        sees("outside", world.outside, limits["outside"])
        parts = ["below", "above", *(() if world.closed else ("on_low",))]
        reader.adds("outside", parts)
        reader.adds("numbers", ["below", "above", "on_low", "on_high"], rest="inside")
    return reader


@settings(max_examples=15, deadline=None)
@given(worlds())
def test_no_small_count_follows_from_what_is_told(world: World) -> None:
    told = {each["name"]: each for each in evidence_document(world.evidence)["checks"]}
    assert read_by(world, told).pinned() == {}
    outcomes_tell_nothing(world, told)
    if told["distribution"]["result"]["histogram"] is None:
        text = json.dumps(list(told.values()))
        assert "36.123" not in text
        assert "40.456" not in text
    if 0 < world.outside < SMALL and world.with_range:
        assert "some lie outside" in told["range"]["words"]


def test_what_lies_within_is_hidden_by_what_may_lie_on_the_other_bound() -> None:
    units = {"mL": 4, "L": 12, "dL": 3}
    world = with_checks(World((), units, 12, [0, 0, 0, 31], 0, 0, 11, 11, False, True), 1)
    told = {each["name"]: each for each in evidence_document(world.evidence)["checks"]}
    assert told["range"]["result"]["on_high"] == "0–19"
    assert read_by(world, told).pinned() == {}


def outcomes_tell_nothing(world: World, told: dict[str, Any]) -> None:
    """What a verdict says of a share, with the whole, may narrow a small part down."""
    other = sum(world.units.values()) - world.units.get("mL", 0)
    stated = "mL" in world.units
    for name, part in (("unit", other if stated else 0), ("range", world.outside)):
        if name not in told or not 0 < part < SMALL:
            continue
        said = told[name]["result"]["rows"]
        least, most = (0, 10**9) if said == SUPPRESSED else told_range(said)
        agrees, look = (told[name]["verdict"] == word for word in ("agrees", "look"))
        low = least // 20 + 1 if look else 1
        high = most // 20 if agrees else most // 2 if look else most
        assert high - low >= SMALL - 2, (name, told[name])


@settings(max_examples=4, deadline=None)
@given(worlds())
def test_one_after_the_other_checks_tell_what_they_tell_together(world: World) -> None:
    told = {each["name"]: each for each in evidence_document(world.evidence)["checks"]}
    for each in world.checks:
        piece = attachment(world.evidence, each)
        assert not tells_small_counts(piece)
        assert piece["words"] == told[each.name]["words"]
        counts = {n: v for n, v in told[each.name]["result"].items() if isinstance(v, int | str)}
        assert {name: piece["result"][name] for name in counts} == counts


def test_what_is_whole_is_whole() -> None:
    result = {"rows": 40, "stays": 3, "missing": 3, "missing_share": 0.075, "low": 1.0,
              "quantiles": {"0.5": 5.0}}  # fmt: skip
    one = check("distribution", "agrees", "words", {"item": 7, **result})
    evidence = Evidence("t", "s", "d", "h", {}, "now", (), (), (one,))
    whole = attachment(evidence, one, whole=True)
    assert (whole["result"]["stays"], whole["result"]["low"]) == (3, "1")
    assert tells_small_counts(whole)
    assert whole["small_counts"] == "shown"
    assert not tells_small_counts(attachment(evidence, one))
    assert not tells_small_counts({"query": "x", "result": "free words"})


def test_quantiles_are_those_of_the_numbers_that_there_are() -> None:
    """With 50 numbers the lowest hundredth is one person's value, however many rows there are."""
    quantiles = {"0.01": LOW, "0.05": 36.5, "0.25": 37.0, "0.5": 38.0, "0.99": HIGH}
    result = {
        "item": 7, "rows": 2000, "stays": 40, "missing": 1950, "missing_share": 0.975,
        "low": 1.0, "high": 99.0, "quantiles": quantiles,
        "histogram": {"from": -LOW, "to": HIGH, "rows": {"0": 30, "19": 20}},
    }  # fmt: skip
    query = histogram_sql("mimiciv_icu.chartevents", 7, -LOW, HIGH)
    one = check("distribution", "agrees", "words", result, query)
    evidence = Evidence("t", "s", "d", "h", {}, "now", (), (), (one,))
    (told,) = evidence_document(evidence)["checks"]
    assert told["result"]["quantiles"] == {"0.25": 37.0, "0.5": 38.0}
    assert told["result"]["histogram"] is None
    for text in (json.dumps(told), json.dumps(attachment(evidence, one))):
        assert str(LOW) not in text
        assert str(HIGH) not in text
    assert told["query"].count("(") == told["query"].count(")")


def test_texts_of_a_few_rows_are_values_of_theirs() -> None:
    result = {
        "column": "t.c",
        "texts": {"Nor": {"rows": 400, "stays": 9}, "Epi": {"rows": 4, "stays": 4}},
        "near": {"Norr": 2, "Nor ": 40},
    }  # fmt: skip
    words = "In t.c there are texts that neither skill nor reference name: “Norr” (like “Nor”)."
    near = check("spellings", "look", words, result, "q")
    lost = check("spelling-missing", "look", "lost", {"missing": ["Nor", "Epi"], "rows": 404}, "q")
    evidence = Evidence("t", "s", "d", "h", {}, "now", (), (), (lost, near))
    piece = attachment(evidence, near)
    assert "Norr" not in json.dumps(piece, ensure_ascii=False)
    assert "“Nor ”, and others; those of fewer than 11 rows are left out" in piece["words"]
    told = piece["result"]["texts"]
    assert told["Epi"] == {"rows": SUPPRESSED, "stays": SUPPRESSED}
    # 404 - 400 would tell.
    both = (told["Nor"]["rows"], attachment(evidence, lost)["result"]["rows"])
    assert both != (400, 404)


@pytest.mark.parametrize(("rows", "keys", "stays"), [(1000, 997, 1000), (40, 40, 43)])
def test_duplicates_and_stays_without_a_row_are_counts_too(
    rows: int, keys: int, stays: int
) -> None:
    grain = check("grain-rows", "disagrees", "words", {"rows": rows, "keys": keys, "stays": stays})
    lost = check("missing-share", "agrees", "w", {"rows": rows, "missing_rows": {"a": rows - 4}})
    evidence = Evidence("t", "s", "d", "h", {}, "now", (), (), (grain, lost))
    told = {c["name"]: c["result"] for c in evidence_document(evidence)["checks"]}
    reader = Reader()
    for name, truth in (("rows", rows), ("keys", keys), ("stays", stays)):
        said = told["grain-rows"][name]
        reader.sees(name, truth, None if said == SUPPRESSED else said, silent=said == SUPPRESSED)
    said = told["missing-share"]["missing_rows"]["a"]
    reader.sees("a", rows - 4, None if said == SUPPRESSED else said, silent=said == SUPPRESSED)
    reader.adds("rows", ["keys"], rest="duplicates")
    reader.adds("rows", ["a"], rest="with a")
    more, less = ("stays", "rows") if stays > rows else ("rows", "stays")
    reader.adds(more, [less], rest="without")
    assert reader.pinned() == {}
