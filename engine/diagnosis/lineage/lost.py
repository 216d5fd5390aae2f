"""Where a row that no condition alone refuses is lost on its way to the cell.

Goes down from the cell, SELECT by SELECT, to the first that reads the row and does not hand it on,
and asks there, in this order: do its conditions let it in together, does a value come of it, does
another value go before it in a `coalesce`, does another row (QUALIFY) or a condition on the whole
group (HAVING). What none of these tells is told by the place alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, Columns, aggregates, below
from engine.diagnosis.lineage.clauses import argument_of
from engine.diagnosis.lineage.conditions import NOT_MET, is_only_of, text_of
from engine.diagnosis.lineage.model import Value
from engine.diagnosis.lineage.ways import Ways

BEFORE_IT = "another row goes before it: "
_LATER = ("group", "having", "qualify")
"""Parts of a SELECT that come after its rows were let in."""


def lost(
    ways: Ways,
    block: Block,
    column: str,
    columns: Columns,
    key: Mapping[str, Value],
    *,
    rows: frozenset[int],
) -> dict[int, str]:
    """By address where, and as far as it can be told why, a row is lost.

    Args:
        ways: the cell's database.
        block: the target's SELECT.
        column: one of its outputs.
        columns: columns of the source's tables.
        key: the cell's row.
        rows: addresses that take no part in the cell.
    """
    search = _Search(ways, columns, key, rows)
    waiting, known = deque([(block, column)]), {(id(block), column)}
    while waiting and len(search.told) < len(rows):
        at, name = waiting.popleft()
        for step in search.look(at, name, top=at is block):
            if (mark := (id(step[0]), step[1])) not in known:
                known.add(mark)
                waiting.append(step)
    return {**search.places, **search.told}


@dataclass(frozen=True)
class _Place:
    """A relation's column in a SELECT, on the way to one of the SELECT's outputs."""

    at: Block
    name: str
    output: exp.Expr | None
    """None in an EXISTS."""
    alias: str
    column: str
    top: bool
    """Is the SELECT the target's own?"""


@dataclass
class _Search:
    ways: Ways
    columns: Columns
    key: Mapping[str, Value]
    rows: frozenset[int]
    read: dict[str, frozenset[int]] = field(default_factory=dict)
    """By query the rows, not explained by then, that a relation's column holds."""
    told: dict[int, str] = field(default_factory=dict)
    """Rows whose reason is known."""
    places: dict[int, str] = field(default_factory=dict)
    """Rows of which only the place is known."""

    def look(self, at: Block, name: str, *, top: bool) -> Iterator[tuple[Block, str]]:
        """Explain what is lost in a SELECT on its way to an output; the SELECTs below follow."""
        output = at.outputs.get(name) if at.around is None else None
        asked = [*([] if output is None else [output]), *at.conditions]
        # An outer join bears on the value only where the value reads what it joins.
        read = {alias for each in asked for alias, _ in at.columns(each)}
        asked += [c for alias, met in at.outer.items() if alias in read for c in met]
        for alias, column in sorted({pair for each in asked for pair in at.columns(each)}):
            blocks = below(at.sources[alias], self.columns)
            self._explain(_Place(at, name, output, alias, column, top=top))
            yield from ((block, column) for block in blocks if column in block.outputs)
        for each in asked:
            yield from ((inner, name) for inner in at.exists(each))

    def _explain(self, place: _Place) -> None:
        table = self.ways.table(place.at, place.alias)
        if table is None:
            return
        blocks = below(place.at.sources[place.alias], self.columns)
        what = self.ways.addresses(table, place.alias, place.column if blocks else "")
        query = f"SELECT {what} AS a FROM {table} AS {place.alias}"  # noqa: S608 - our own SQL
        if not blocks:
            # Of a source table the rows of the items that are read here.
            mine = [c for c in place.at.met(place.alias) if is_only_of(place.at, c, place.alias)]
            query += "".join(
                f" {'AND' if n else 'WHERE'} ({text_of(c)})" for n, c in enumerate(mine)
            )
        if query not in self.read:
            self.read[query] = self._of(query) or frozenset()
        left = self.read[query] - set(self.told)
        if not left:
            return
        for address in left:
            self.places.setdefault(address, f"takes no part in {place.at.query.name}.{place.name}")
        for rule, query in self._questions(place, table, what):
            if (kept := self._of(query)) is not None:
                self.told |= dict.fromkeys(left - kept, rule)
                left &= kept

    def _of(self, lists: str) -> frozenset[int] | None:
        """Of the rows not yet explained those in the lists ``a`` of a query.

        None for what cannot be asked alone.
        """
        self.ways.job.check()
        try:
            found = self.ways.con.execute(
                f"SELECT DISTINCT u FROM (SELECT unnest(a) AS u FROM ({lists})) "  # noqa: S608
                "WHERE u IN (SELECT unnest(?::BIGINT[]))",
                [sorted(self.rows - set(self.told))],
            ).fetchall()
        except duckdb.Error:
            return None
        return frozenset(int(address) for (address,) in found)

    def _questions(self, place: _Place, table: str, what: str) -> Iterator[tuple[str, str]]:
        """What a row has to meet, in order, each with a query for the lists that do."""
        at = place.at
        mine = self._of_the_row(at) if place.top else ()
        with_, body = self.ways.body(at, *_LATER, more=mine)
        let_in = f"{with_} SELECT {what} AS a {body}"
        if at.around is not None:
            with_, around = self.ways.body(at.around, *_LATER, more=at.conditions)
            let_in = (
                f"{with_} SELECT {what} AS a FROM {table} AS {place.alias} "  # noqa: S608
                f"WHERE EXISTS (SELECT 1 {around})"
            )
        if met := [text_of(c) for c in at.met(place.alias)]:
            yield f"{'not met together: ' if met[1:] else NOT_MET}{' AND '.join(met)}", let_in
        if at.around is not None:
            return
        for rule, test in self._of_value(place):
            yield rule, f"SELECT a FROM ({with_} SELECT {what} AS a, {test} AS v {body}) WHERE v"  # noqa: S608
        if (clause := at.select.args.get("having")) is not None:
            with_, grouped = self.ways.body(at, "qualify", more=mine)
            kept = f"{with_} SELECT flatten(list({what})) AS a {grouped}"
            yield f"{NOT_MET}{text_of(clause.this)}", kept
        if (clause := at.select.args.get("qualify")) is not None:
            with_, whole = self.ways.body(at, more=mine)
            yield f"{BEFORE_IT}{text_of(clause.this)}", f"{with_} SELECT {what} AS a {whole}"

    def _of_value(self, place: _Place) -> Iterator[tuple[str, str]]:
        """What a row has to meet to make the output, if that reads the relation at all."""
        output = place.output
        if output is None or place.alias not in {a for a, _ in place.at.columns(output)}:
            return
        if filters := " OR ".join(f"({text_of(f)})" for f in _filters(output)):
            yield f"{NOT_MET}{filters}", f"({filters})"
        yield f"makes no value: {self._spelled(place.at, output)}", f"({_has_value(output)})"
        for firsts in _going_before(place):
            texts = [text_of(first) for first in firsts]
            none = " AND ".join(f"({text}) IS NULL" for text in texts)
            yield f"another value goes before it: {', '.join(texts)}", f"({none})"

    def _spelled(self, at: Block, output: exp.Expr) -> str:
        """What has to have a value: the arguments of aggregates, or the output.

        A column that is passed on is spelled out as what it is made of.
        """
        found = [a for each in aggregates(output) if (a := argument_of(each)) is not None]
        return ", ".join(dict.fromkeys(self._origin(at, each) for each in found or [output]))

    def _origin(self, at: Block, value: exp.Expr) -> str:
        while isinstance(value, exp.Column):
            ((alias, column),) = at.columns(value)
            outputs = [
                (b, b.outputs[column])
                for b in below(at.sources[alias], self.columns)
                if column in b.outputs
            ]
            if len(outputs) != 1:
                break
            ((at, value),) = outputs
        return text_of(value)

    def _of_the_row(self, at: Block) -> tuple[exp.Expr, ...]:
        """Conditions that only the cell's row meets."""
        return tuple(
            exp.NullSafeEQ(this=at.outputs[name].copy(), expression=exp.convert(value))
            for name, value in self.key.items()
            if name in at.outputs and not at.outputs[name].find(exp.Window, exp.AggFunc)
        )


def _filters(output: exp.Expr) -> list[exp.Expr]:
    """What the aggregates of an output ask of their rows; empty where one asks nothing."""
    asked = [
        each.parent.expression.this if isinstance(each.parent, exp.Filter) else None
        for each in aggregates(output)
    ]
    found = [each for each in asked if each is not None]
    return found if len(found) == len(asked) else []


def _has_value(output: exp.Expr) -> str:
    """SQL: does a row, before it is grouped, give the output a value?"""
    tests = []
    for each in aggregates(output):
        argument = argument_of(each)
        test = "TRUE" if argument is None else f"({text_of(argument)}) IS NOT NULL"
        if isinstance(each.parent, exp.Filter):
            test = f"({test} AND ({text_of(each.parent.expression.this)}))"
        tests.append(test)
    return " OR ".join(tests) if tests else f"({text_of(output)}) IS NOT NULL"


def _going_before(place: _Place) -> Iterator[list[exp.Expr]]:
    """What stands before the relation's column in a coalesce that reads it only later."""
    for node in place.output.find_all(exp.Coalesce) if place.output is not None else ():
        values = [node.this, *node.expressions]
        reading = [(place.alias, place.column) in set(place.at.columns(v)) for v in values]
        if any(reading) and not reading[0]:
            yield values[: reading.index(True)]
