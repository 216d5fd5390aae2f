"""A query as SQL with one change made, cut down to what bears on the columns in question.

Writing a tree takes far longer than running it on a few patients. So the text of a slice is written
once, with marks around its nodes, and a change is put between the marks of what it replaces; only
where that cannot be done is the changed tree written.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.slicing import Parsed

_LOCK = threading.Lock()
_NUMBER = "number_"
_MARK = re.compile("[\x01\x03](\\d+)\x02")


class _Marking(DuckDBGenerator):
    """Writes a tree with marks around each numbered node."""

    def sql(
        self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True
    ) -> str:
        text: str = super().sql(expression, key, comment)
        if key is None and text and isinstance(expression, exp.Expr):
            number = expression.meta.get(_NUMBER)
            if number is not None:
                # Clauses are written with a blank before them, which stays where it is.
                blank = " " if text.startswith(" ") else ""
                return f"{blank}\x01{number}\x02{text[len(blank) :]}\x03{number}\x02"
        return text


@dataclass(frozen=True)
class Piece:
    """A common table expression (CTE) of a query, or the query's end."""

    name: str
    """Of the CTE; empty at the end."""
    text: str
    """Its SQL."""
    columns: tuple[str, ...]
    """Names that its columns are given, where they are."""
    reads: tuple[str, ...]
    """The CTEs before it that it may read."""
    changed: bool = False


class Written:
    """The SQL of one slice of a query, into which changes are put.

    Args:
        parsed: the query.
        sliced: numbers of its nodes that bear on what is wanted.
    """

    def __init__(self, parsed: Parsed, sliced: Set[int]) -> None:
        self._parsed, self._sliced = parsed, sliced
        self.plain = written(parsed, sliced, None)
        marked = _marked(parsed, sliced)
        self._text, self._places = _places(marked)
        self._usable = self._text == self.plain
        self._spans = _spans(parsed, self._text, self._places) if self._usable else ()
        self._pieces = tuple(
            self._piece(n, self._text[a:b], changed=False)
            for n, (_, a, b, _) in enumerate(self._spans)
        )

    def pieces(self, mutation: Mutation | None) -> tuple[Piece, ...] | None:
        """The query as its CTEs and its end, with the edits made; None where it has none.

        None too where an edit is not within one of them.
        """
        if mutation is None or not self._pieces:
            return self._pieces or None
        edits: dict[int, list[tuple[int, int, str]]] = {}
        for edit in mutation.edits:
            if edit.query == self._parsed.name:
                start, end = self._places.get(edit.number, (-1, -1))
                inside = (n for n, (_, a, b, _) in enumerate(self._spans) if a <= start <= end <= b)
                at = next(inside, None)
                if at is None:
                    return None
                edits.setdefault(at, []).append((start, end, edit.sql))
        pieces = list(self._pieces)
        for at, found in edits.items():
            _, first, last, _ = self._spans[at]
            text = self._text[:last]
            for start, end, sql in sorted(found, reverse=True):
                text = f"{text[:start]}{sql}{text[end:]}"
            pieces[at] = self._piece(at, text[first:], changed=True)
        return tuple(pieces)

    def _piece(self, number: int, text: str, *, changed: bool) -> Piece:
        name, _, _, columns = self._spans[number]
        before = tuple(span[0] for span in self._spans[:number])
        return Piece(name, text, columns, _reads(text, before), changed)

    def changed(self, mutation: Mutation) -> str:
        """The SQL with the edits made."""
        edits = [edit for edit in mutation.edits if edit.query == self._parsed.name]
        places = [self._places.get(edit.number) for edit in edits]
        if not self._usable or any(place is None for place in places):
            return written(self._parsed, self._sliced, mutation)
        pieces = [(p, e) for p, e in zip(places, edits, strict=True) if p is not None]
        text = self._text
        for (start, end), edit in sorted(pieces, key=lambda piece: -piece[0][0]):
            text = f"{text[:start]}{edit.sql}{text[end:]}"
        return text


def _places(marked: str) -> tuple[str, Mapping[int, tuple[int, int]]]:
    """The text without marks, and where in it each node that stands there once begins and ends."""
    pieces: list[str] = []
    begun: dict[int, int] = {}
    found: dict[int, tuple[int, int]] = {}
    twice: set[int] = set()
    at = length = 0
    for mark in _MARK.finditer(marked):
        pieces.append(marked[at : mark.start()])
        length += len(pieces[-1])
        at = mark.end()
        number = int(mark.group(1))
        if mark.group(0)[0] == "\x01":
            twice.update({number} & begun.keys())
            begun[number] = length
        else:
            found[number] = (begun[number], length)
    pieces.append(marked[at:])
    return "".join(pieces), {n: place for n, place in found.items() if n not in twice}


def _spans(
    parsed: Parsed, text: str, places: Mapping[int, tuple[int, int]]
) -> tuple[tuple[str, int, int, tuple[str, ...]], ...]:
    """Name, beginning, end and column names of each CTE and of the query's end."""
    with_ = parsed.tree.args.get("with_")
    if with_ is None or with_.args.get("recursive"):
        return ()
    spans = []
    for cte in with_.expressions:
        place = places.get(parsed.number[id(cte.this)])
        if place is None:
            return ()
        alias = cte.args["alias"]
        named = tuple(column.name for column in alias.args.get("columns") or ())
        spans.append((cte.alias, *place, named))
    place = places.get(parsed.number[id(with_)])
    return (*spans, ("", place[1], len(text), ())) if place is not None else ()


def _reads(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of `names` a text may read; one too many does no harm."""
    return tuple(
        name
        for name in names
        if re.search(rf"(?:\bFROM|\bJOIN|,)\s+\"?{re.escape(name)}\b", text, re.IGNORECASE)
    )


def _marked(parsed: Parsed, sliced: Set[int]) -> str:
    undo: list[Callable[[], object]] = []
    with _LOCK:
        try:
            for number, node in enumerate(parsed.nodes):
                node.meta[_NUMBER] = number
            for select in list(parsed.tree.find_all(exp.Select)):
                _cut(select, parsed, sliced, undo)
            return str(_Marking(dialect="duckdb").generate(parsed.tree))
        finally:
            for back in reversed(undo):
                back()
            for node in parsed.nodes:
                node.meta.pop(_NUMBER, None)


def written(parsed: Parsed, sliced: Set[int], mutation: Mutation | None) -> str:
    """The query's SQL with the edits made, without columns and left joins outside the slice.

    The tree is shared: it is changed, written and put back under a lock.

    Args:
        parsed: the query.
        sliced: numbers of its nodes that bear on what is wanted.
        mutation: the change; None for the query as it is.
    """
    undo: list[Callable[[], object]] = []
    tree = parsed.tree
    with _LOCK:
        try:
            if mutation is not None:
                for edit in mutation.edits:
                    if edit.query != parsed.name:
                        continue
                    old, new = parsed.nodes[edit.number], edit.new.copy()
                    if old is tree:
                        tree = new
                    else:
                        old.replace(new)
                        undo.append(functools.partial(new.replace, old))
            for select in list(tree.find_all(exp.Select)):
                _cut(select, parsed, sliced, undo)
            return tree.sql("duckdb")
        finally:
            for back in reversed(undo):
                back()


def _cut(
    select: exp.Select, parsed: Parsed, sliced: Set[int], undo: list[Callable[[], object]]
) -> None:
    """Leave out what is not in the slice; what the change has put in stays."""
    if isinstance(select.parent, exp.SetOperation) or select.args.get("distinct"):
        return

    def outside(node: exp.Expr) -> bool:
        number = parsed.number.get(id(node))
        return number is not None and number not in sliced

    shown = list(select.expressions)
    kept = [node for node in shown if not outside(node)]
    if not kept or all(outside(node) for node in shown):
        return  # nothing of this SELECT is in the slice: a clause of the change may still read it
    if len(kept) < len(shown):
        select.set("expressions", kept)
        undo.append(lambda: select.set("expressions", shown))
    joins = list(select.args.get("joins") or [])
    staying = [join for join in joins if join.side != "LEFT" or not outside(join)]
    if len(staying) < len(joins):
        select.set("joins", staying)
        undo.append(lambda: select.set("joins", joins))
