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
from engine.diagnosis.lineage.conditions import NOT_MET, text_of
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
        joined = (c for conditions in at.outer.values() for c in conditions)
        asked = [*([] if output is None else [output]), *at.conditions, *joined]
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
        is_base = not below(place.at.sources[place.alias], self.columns)
        what = self.ways.addresses(table, place.alias, "" if is_base else place.column)
        query = f"SELECT {what} AS a FROM {table} AS {place.alias}"  # noqa: S608 - our own SQL
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
        at, output = place.at, place.output
        met = at.met(place.alias)
        told = " AND ".join(text_of(c) for c in met)
        with_ = self.ways.with_sql(at)
        if at.around is not None:
            outer = at.around.without(*_LATER, more=at.conditions)
            found = f"EXISTS (SELECT 1 {outer})"
            query = f"{with_} SELECT {what} AS a FROM {table} AS {place.alias} WHERE {found}"  # noqa: S608
            yield f"not met together: {told}", query
            return
        mine = self._of_the_row(at) if place.top else ()
        body = at.without(*_LATER, more=mine)
        if met:
            yield f"not met together: {told}", f"{with_} SELECT {what} AS a {body}"
        if output is None:
            return
        yield (
            f"makes no value: {self._spelled(at, output)}",
            f"SELECT a FROM ({with_} SELECT {what} AS a, {_has_value(output)} AS v {body}) WHERE v",  # noqa: S608
        )
        for firsts in _going_before(place):
            none = " AND ".join(f"({text_of(f)}) IS NULL" for f in firsts)
            yield (
                f"another value goes before it: {', '.join(text_of(f) for f in firsts)}",
                f"SELECT a FROM ({with_} SELECT {what} AS a, {none} AS v {body}) WHERE v",  # noqa: S608
            )
        if (clause := at.select.args.get("having")) is not None:
            grouped = at.without("qualify", more=mine)
            yield (
                f"{NOT_MET}{text_of(clause.this)}",
                f"{with_} SELECT flatten(list({what})) AS a {grouped}",
            )
        if (clause := at.select.args.get("qualify")) is not None:
            first = at.without(more=mine)
            yield f"{BEFORE_IT}{text_of(clause.this)}", f"{with_} SELECT {what} AS a {first}"

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
