"""Which counts of the checks may be told: no small one, and none from which a small one follows.

What hangs together is entered with its sums (rows, rows without a number, units, bins of a
histogram, what lies outside a range, what an outcome says of a share), over all checks at once: two
checks that are told one after the other tell no more than both together. Never in here: words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from engine.base.disclosure import SMALL, Ledger
from engine.claims.model import Check

SUPPRESSED = "suppressed"
"""What stands for a small count, and for one that would tell of it."""
_MOST, _SOME = 2, 20
"""One in so many rows: from there on an outcome is another (`checks.measures`)."""

_ORDER = {"range": 0, "spelling-missing": 2}
"""What knows a sum comes before its parts or after them: ranges know how many numbers there are."""

_Path = tuple[str, ...]


def few(value: object) -> bool:
    """Is it a count that is not told?"""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < SMALL


class Counts:
    """The counts of some checks, entered together."""

    def __init__(self, checks: Iterable[Check], histogram: Callable[[Mapping[str, Any]], bool]):
        """Enter and settle.

        Args:
            checks: all that may be told together.
            histogram: is the histogram of a result told at all?
        """
        self._ledger = Ledger()
        self._cells: dict[int, dict[_Path, str]] = {}
        self._numbers = 0
        self._histogram = histogram
        self._ends: dict[str, list[str]] = {}
        self._whole: dict[str, str] = {}
        self._parts: dict[str, set[str]] = {}
        for check in sorted(checks, key=lambda each: _ORDER.get(each.name, 1)):
            if check.result:
                self._cells[id(check)] = self._enter(check, check.result)
        for same in self._ends.values():
            self._nested(same)
        for of, parts in self._parts.items():
            for part in parts:
                self._ledger.total(self._whole.get(of, ""), [part], rest=f"{part}, not")
        self._ledger.settle()

    def told(self, check: Check, path: _Path) -> object:
        """How the count at that place of a result is told; None where it is no count."""
        name = self._cells.get(id(check), {}).get(path)
        if name is None:
            return None
        told = self._ledger.told(name)
        return SUPPRESSED if told is None or str(told).startswith("<") else told

    # --- what hangs together with what

    def _enter(self, check: Check, result: Mapping[str, Any]) -> dict[_Path, str]:
        self._numbers += 1
        item = result.get("item")
        of = f"item {item}" if item is not None else f"of {check.query or self._numbers}"
        enter = {
            "range": self._range,
            "unit": self._unit,
            "item-siblings": self._siblings,
            "grain-rows": self._grain,
            "missing-share": self._missing,
            "spellings": self._texts,
            "spelling-missing": self._lost,
        }.get(check.name, self._rows)
        cells: dict[_Path, str] = {}
        enter(of, check, result, cells)
        return cells

    def _cell(
        self, name: str, value: object, cells: dict[_Path, str] | None = None, *path: str
    ) -> str:
        """Enter a count; told where it stands in a result. Its name holds the value as well."""
        if not isinstance(value, int) or isinstance(value, bool):
            return ""
        name = self._ledger.count(f"{name} = {value}", value, told=cells is not None)
        if cells is not None:
            cells[path] = name
        return name

    def _rows(
        self, of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        whole = self._cell(f"{of} rows", result.get("rows"), cells, "rows")
        self._cell(f"{of} stays", result.get("stays"), cells, "stays")
        lost = self._cell(f"{of} missing", result.get("missing"), cells, "missing")
        self._whole[of] = whole
        if not whole or not lost:
            return
        number = self._cell(f"{of} numbers", result["rows"] - result["missing"])
        self._ledger.total(whole, [lost, number])
        if isinstance(result.get("histogram"), Mapping) and self._histogram(result):
            bins = result["histogram"]["rows"]
            named = [
                self._cell(f"{of} bin {at}", n, cells, "histogram", "rows", str(at))
                for at, n in bins.items()
            ]
            self._ledger.total(number, filter(None, named))

    def _range(
        self, of: str, check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        whole = self._cell(f"{of} numbers", result["rows"], cells, "rows")
        self._parts.setdefault(of, set()).add(whole)
        here = f"{of} at {check.skill}:{check.line}:{check.column}"
        parts = {
            name: self._cell(f"{here} {name}", result[name], cells, name)
            for name in ("below", "above", "on_low", "on_high")
        }
        for name in ("below", "above"):
            self._ends.setdefault(f"{of} {name}", []).append(parts[name])
        self._ledger.total(whole, parts.values(), rest=f"{here} inside")
        out = self._cell(f"{here} outside", result.get("outside"), cells, "outside")
        if out:
            self._ledger.total(out, [parts[name] for name in result["outside_is"]])
            self._share(out, whole, check.verdict)

    def _share(self, part: str, whole: str, verdict: str) -> None:
        """What the outcome tells of a share."""
        if verdict == "disagrees":
            self._more(part, whole, _MOST)
        elif verdict == "look":
            self._more(part, whole, _SOME)
            self._less(part, whole, _MOST)
        elif verdict == "agrees":
            self._less(part, whole, _SOME)

    def _unit(
        self, of: str, check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        units = result["units"]
        whole = self._cell(f"{of} with a unit", result["rows"], cells, "rows")
        self._parts.setdefault(of, set()).add(whole)
        named = {u: self._cell(f"{of} in {u}", n, cells, "units", u) for u, n in units.items()}
        self._ledger.total(whole, named.values())
        most = max(units, key=lambda unit: units[unit])
        for unit, name in named.items():
            if few(units[unit]) and unit != most:
                self._less(name, named[most], 1)
        stated = [unit for unit in result.get("stated", ()) if unit in units]
        if not stated:
            return
        same = self._cell(f"{of} in a stated unit", sum(units[unit] for unit in stated))
        other = self._cell(f"{of} in another unit", result["rows"] - sum(units[u] for u in stated))
        self._ledger.total(same, [named[unit] for unit in stated])
        self._ledger.total(whole, [same, other])
        if check.verdict in ("agrees", "look"):
            self._share(other, whole, check.verdict)
        else:
            self._less(same, whole, _MOST)

    def _siblings(
        self, _of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        for at, each in enumerate(result["siblings"]):
            self._cell(
                f"item {each['item']} rows", each["rows"], cells, "siblings", str(at), "rows"
            )

    def _grain(
        self, _of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        rows = self._cell("reference rows", result["rows"], cells, "rows")
        keys = self._cell("reference keys", result["keys"], cells, "keys")
        self._ledger.total(rows, [keys], rest="reference rows of a known key")
        if stays := self._cell("stays of the source", result.get("stays"), cells, "stays"):
            fewer, more = sorted(
                (rows, stays), key=lambda n: result["rows" if n == rows else "stays"]
            )
            self._ledger.total(more, [fewer], rest="stays without a row, or rows without")

    def _missing(
        self, _of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        whole = self._cell("reference rows", result["rows"], cells, "rows")
        for column, n in result["missing_rows"].items():
            lost = self._cell(f"reference without {column}", n, cells, "missing_rows", column)
            self._ledger.total(whole, [lost], rest=f"reference with {column}")

    def _texts(
        self, of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        for text, numbers in result["texts"].items():
            for what in ("rows", "stays"):
                self._cell(f"{of} {text} {what}", numbers[what], cells, "texts", text, what)
        for text, n in result["near"].items():
            self._cell(f"{of} {text} rows", n, cells, "near", text)

    def _lost(
        self, of: str, _check: Check, result: Mapping[str, Any], cells: dict[_Path, str]
    ) -> None:
        whole = self._cell(f"{of} of lost texts", result["rows"], cells, "rows")
        for at, texts in self._of_query(of):
            if set(result["missing"]) <= texts.keys():
                named = [at[("texts", text, "rows")] for text in result["missing"]]
                self._ledger.total(whole, named)

    def _of_query(self, of: str) -> list[tuple[dict[_Path, str], dict[str, str]]]:
        """Entered texts of the same column."""
        found = []
        for at in self._cells.values():
            texts = {p[1]: n for p, n in at.items() if p[0] == "texts" and n.startswith(f"{of} ")}
            if texts:
                found.append((at, texts))
        return found

    # --- what follows from an outcome

    def _less(self, part: str, whole: str, times: int) -> None:
        """``times`` the part is at most the whole: 20 of it, where it is 5 % at most."""
        self._numbers += 1
        left = self._ledger.value(whole) - times * self._ledger.value(part)
        if left >= 0:
            rest = self._ledger.count(f"left {self._numbers}", left, told=False, slack=True)
            self._ledger.total(whole, {part: times, rest: 1})

    def _more(self, part: str, whole: str, times: int) -> None:
        """``times`` the part is more than the whole."""
        self._numbers += 1
        value = times * self._ledger.value(part)
        left = value - self._ledger.value(whole) - 1
        if left >= 0:
            big = self._ledger.count(f"big {self._numbers}", value, told=False, slack=True)
            rest = self._ledger.count(f"left {self._numbers}", left, told=False, slack=True)
            one = self._ledger.count("one", 1, public=True)
            self._ledger.total(big, {part: times})
            self._ledger.total(big, {whole: 1, one: 1, rest: 1})

    def _nested(self, names: list[str]) -> None:
        """Of two ranges of one item the wider leaves out a part of what the narrower does."""
        ordered = sorted(set(names), key=self._ledger.value)
        for fewer, more in pairwise(ordered):
            self._ledger.total(more, [fewer], rest=f"between {fewer} and {more}")


def related(checks: Iterable[Check], check: Check) -> list[Check]:
    """The checks whose counts hang together with those of one, itself among them."""
    listed = list(checks)
    found, keys = [check], _keys(check)
    while more := [c for c in listed if not any(c is f for f in found) and keys & _keys(c)]:
        found += more
        keys = keys.union(*map(_keys, more))
    return found


def _keys(check: Check) -> set[object]:
    result = check.result or {}
    if check.name in ("grain-rows", "missing-share"):
        return {"reference"}
    if "siblings" in result:
        return {each["item"] for each in result["siblings"]}
    return {result["item"]} if "item" in result else {check.query}
