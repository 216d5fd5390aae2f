"""Rewrites a query so that every value comes with the source rows that it was made of.

The rules, by clause (lists as in `scope`):

* a row of a join needs the rows of both sides and what the conditions read; of an outer join, only
  the side that is kept. What is null-extended counts where its columns are used.
* WHERE, HAVING and QUALIFY add what they read to every row.
* an aggregate needs the rows that it took in; `min`, `max` and `bool_or` need one row that
  gave the value (``decisive``), or are shown with all that competed (``all``).
* a group without such rows needs any one of its rows; to be shown, none.
* a window function needs the rows of its frame; `lag` and `lead` the one they look at; a row that
  is kept for being first needs only itself, since taking others away keeps it first.
* EXISTS needs the rows that it found; what is absent needs nothing.
* an unnested row needs what its list was made of.
* `coalesce` and CASE need what they come to, row by row.

Only the constructs of our own SQL are known; others are refused as a fault of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import sqlglot
from sqlglot import exp

from engine.base.errors import HarnessFault
from engine.diagnosis.lineage.clauses import (
    RANKS,
    argument_of,
    in_window,
    is_null_test,
    keeps_the_first,
    named_outputs,
    over_text,
)
from engine.diagnosis.lineage.scope import (
    NOTHING,
    ROW,
    Relation,
    Scope,
    Seen,
    extreme,
    hidden,
    join_to,
    joined,
    outside,
    same,
)

Mode = Literal["decisive", "all"]
_NEIGHBOURS = (exp.Lag, exp.Lead)


def annotated(sql: str, tables: Mapping[str, Relation], mode: Mode) -> tuple[str, Relation]:
    """The query with hidden lists, and what it then looks like.

    Args:
        sql: one SELECT in DuckDB's dialect.
        tables: every table that it reads, by ``schema.table``.
        mode: see the module.

    Raises:
        HarnessFault: a construct that is not known here.
    """
    tree = sqlglot.parse_one(sql, read="duckdb")
    query, relation = _Annotator(mode).query(tree, dict(tables), None)
    return query.sql(dialect="duckdb", comments=False), relation


class _Annotator:
    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    # --- queries

    def query(
        self, tree: exp.Expr, env: dict[str, Relation], parent: Scope | None
    ) -> tuple[exp.Expr, Relation]:
        """Annotate any query; `env` holds tables and the CTEs so far."""
        env = dict(env)
        with_ = tree.args.get("with_") or tree.args.get("with")
        if with_ is not None:
            for cte in with_.expressions:
                body, relation = self.query(cte.this, env, parent)
                names = tuple(c.name.lower() for c in cte.args["alias"].args.get("columns") or ())
                if names:
                    relation = Relation(names, relation.row, relation.own)
                    if relation.row:
                        raise HarnessFault("A CTE with named columns reads a table.")
                cte.set("this", body)
                env[cte.alias.lower()] = relation
        if isinstance(tree, exp.Subquery):
            body, relation = self.query(tree.this, env, parent)
            tree.set("this", body)
            return tree, relation
        if isinstance(tree, exp.Values):
            return tree, _values(tree)
        if isinstance(tree, exp.Union):
            return self._union(tree, env, parent)
        if isinstance(tree, exp.Select):
            return self._select(tree, env, parent)
        raise HarnessFault(f"The lineage of a {tree.key} is not known.")

    def _union(
        self, tree: exp.Union, env: dict[str, Relation], parent: Scope | None
    ) -> tuple[exp.Expr, Relation]:
        left, first = self.query(tree.this, env, parent)
        right, second = self.query(tree.expression, env, parent)
        position = {name: n for n, name in enumerate(first.columns)}
        own = {*first.own, *(first.columns[second.columns.index(c)] for c in second.own)}
        relation = Relation(first.columns, first.row or second.row, frozenset(own))
        sides = [
            self._aligned(left, first, relation, position),
            self._aligned(right, second, relation, position),
        ]
        both = f"{sides[0]} UNION ALL {sides[1]}"
        if tree.args.get("distinct") and relation.row:
            names = ", ".join(relation.columns)
            lists = joined([ROW, *(hidden(c) for c in sorted(own))])
            both = (
                f"SELECT {names}, {self._one_of(lists)} AS {ROW} FROM ({both}) AS united "  # noqa: S608
                f"GROUP BY {names}"
            )
            relation = Relation(relation.columns, row=True)
        elif tree.args.get("distinct"):
            both = f"{sides[0]} UNION {sides[1]}"
        united = sqlglot.parse_one(both, read="duckdb")
        for key in ("with_", "with"):
            if tree.args.get(key) is not None:
                united.set(key, tree.args[key])
        return united, relation

    @staticmethod
    def _aligned(
        side: exp.Expr, has: Relation, wants: Relation, position: Mapping[str, int]
    ) -> str:
        parts = [
            f"{name} AS {wants.columns[n]}" if name != wants.columns[n] else name
            for n, name in enumerate(has.columns)
        ]
        row = ROW if has.row else NOTHING
        if wants.row:
            parts.append(f"{row} AS {ROW}")
        for column in sorted(wants.own):
            name = has.columns[position[column]]
            parts.append(f"{hidden(name) if name in has.own else row} AS {hidden(column)}")
        inner = side.sql(dialect="duckdb", comments=False)
        return f"SELECT {', '.join(parts)} FROM ({inner}) AS side"  # noqa: S608 - our own SQL

    # --- one SELECT

    def _select(
        self, tree: exp.Select, env: dict[str, Relation], parent: Scope | None
    ) -> tuple[exp.Expr, Relation]:
        scope, conditions, extra = self._from(tree, env, parent)
        outputs = named_outputs(tree, scope)
        scope.named = dict(outputs)
        scope.windows = {w.name.lower(): w for w in tree.args.get("windows") or ()}
        one = _One(self, scope, env, conditions, extra)
        grouped = tree.args.get("group") is not None or any(
            isinstance(node, exp.AggFunc) and not in_window(node)
            for _, e in outputs
            for node in e.walk(prune=lambda n: isinstance(n, (exp.Select, exp.Exists)))
        )
        if tree.args.get("distinct") is not None:
            row, lists = self._distinct(tree, one, outputs)
        elif grouped:
            row, lists = self._grouped(tree, one, outputs)
        else:
            row, lists = self._plain(tree, one, outputs)
        relation = Relation(tuple(n for n, _ in outputs), row is not None, frozenset(lists))
        if row is None:
            return tree, relation  # of constants only
        shown = [exp.alias_(e.copy(), name) for name, e in outputs]
        if row is not None:
            shown.append(exp.alias_(exp.Var(this=row), ROW))
        shown += [exp.alias_(exp.Var(this=text), hidden(n)) for n, text in lists.items()]
        tree.set("expressions", shown)
        return tree, relation

    def _from(
        self, tree: exp.Select, env: dict[str, Relation], parent: Scope | None
    ) -> tuple[Scope, list[exp.Expr], list[str]]:
        """The scope, the conditions that every row has met, and lists of semi-joined rows."""
        scope = Scope(parent=parent)
        conditions: list[exp.Expr] = []
        extra: list[str] = []
        from_ = tree.args.get("from_") or tree.args.get("from")
        if from_ is not None:
            alias, relation = self._source(from_.this, env, parent)
            scope.aliases[alias] = Seen(relation)
        for join in tree.args.get("joins") or ():
            alias, relation = self._source(join.this, env, parent)
            on = join.args.get("on")
            if str(join.kind).upper() == "SEMI":
                extra.append(self._found(join.this, alias, relation, on, scope))
                # What the condition reads of the rows that are kept.
                read = on.find_all(exp.Column) if on is not None else ()
                conditions += [column for column in read if scope.find(column)]
            else:
                conditions += join_to(scope, join, alias, relation)
        where = tree.args.get("where")
        if where is not None:
            conditions.append(where.this)
        return scope, conditions, extra

    def _source(
        self, node: exp.Expr, env: dict[str, Relation], parent: Scope | None
    ) -> tuple[str, Relation]:
        if isinstance(node, exp.Table):
            name = f"{node.db}.{node.name}".lower() if node.db else node.name.lower()
            if name not in env:
                raise HarnessFault(f"The lineage does not know the table {name}.")
            return (node.alias or node.name).lower(), env[name]
        if isinstance(node, exp.Subquery):
            body, relation = self.query(node.this, env, parent)
            node.set("this", body)
            return node.alias.lower(), relation
        if isinstance(node, exp.Values):
            return node.alias.lower(), _values(node)
        raise HarnessFault(f"The lineage of FROM {node.key} is not known.")

    @staticmethod
    def _found(
        node: exp.Expr,
        alias: str,
        relation: Relation,
        on: exp.Expr | None,
        scope: Scope,
    ) -> str:
        """Rows of a semi-join's right side that were matched, as a correlated subquery."""
        if not relation.row or on is None:
            return NOTHING
        inner = Scope({alias: Seen(relation)}, parent=scope)
        own = {c for s, a, c in inner.columns(on) if s is inner and c in relation.own}
        lists = joined([f"{alias}.{hidden(c)}" for c in own] or [f"{alias}.{ROW}"])
        table, condition = node.sql(dialect="duckdb"), on.sql(dialect="duckdb", comments=False)
        return f"(SELECT {same(lists)} FROM {table} WHERE {condition})"  # noqa: S608

    def _plain(
        self, tree: exp.Select, one: _One, outputs: list[tuple[str, exp.Expr]]
    ) -> tuple[str | None, dict[str, str]]:
        always: list[exp.Expr] = []
        qualify = tree.args.get("qualify")
        first = qualify is not None and keeps_the_first(qualify.this)
        if qualify is not None:
            named = dict(outputs)
            bare = [c.name.lower() for c in qualify.find_all(exp.Column) if not c.table]
            always += [qualify.this, *(named[name] for name in bare if name in named)]
        always += [e for _, e in outputs if e.find(exp.Explode, exp.Unnest)]
        base = one.need(always, first_rank=first)
        lists: dict[str, str] = {}
        for name, expression in outputs:
            needed = one.need([expression, *always], first_rank=first, ranks_of=expression)
            if needed != base:
                lists[name] = joined(needed)
        if not base and not lists:
            return None, {}
        return joined(base), lists

    def _distinct(
        self, tree: exp.Select, one: _One, outputs: list[tuple[str, exp.Expr]]
    ) -> tuple[str | None, dict[str, str]]:
        if tree.args.get("group") is not None or tree.args["distinct"].args.get("on"):
            raise HarnessFault("The lineage of this DISTINCT is not known.")
        needed = one.need([e for _, e in outputs])
        if not needed:
            return None, {}
        tree.set("distinct", None)
        tree.set("group", exp.Group(expressions=[e.copy() for _, e in outputs]))
        return self._one_of(joined(needed)), {}

    def _one_of(self, lists: str) -> str:
        """Of rows that are the same one will do; to be shown are all."""
        if self._mode == "decisive":
            return same(lists)
        return f"list_distinct(flatten(list({lists})))"

    def _grouped(
        self, tree: exp.Select, one: _One, outputs: list[tuple[str, exp.Expr]]
    ) -> tuple[str | None, dict[str, str]]:
        group = tree.args.get("group")
        keys = list(group.expressions) if group is not None else []
        witness = one.need(keys)
        having = tree.args.get("having")
        kept = list(self._aggregates(one, having.this, keys)) if having is not None else []
        any_row = same(joined(witness)) if keys else NOTHING
        if not witness and not kept:
            return None, {}
        lists = {}
        for name, expression in outputs:
            found = [*self._aggregates(one, expression, keys)]
            if not found:
                continue
            taken = joined([*found, *kept])
            lists[name] = taken
            if self._mode == "decisive":  # that the group is there has to be shown by some row
                lists[name] = f"CASE WHEN len({taken}) > 0 THEN {taken} ELSE {any_row} END"
        return joined([any_row, *kept]), lists

    def _aggregates(self, one: _One, expression: exp.Expr, keys: list[exp.Expr]) -> Iterator[str]:
        """The lists of rows that each aggregate of an expression took in."""
        for node in expression.walk(
            prune=lambda n: isinstance(n, (exp.Select, exp.Exists, exp.AggFunc))
        ):
            if not isinstance(node, exp.AggFunc):
                continue
            if in_window(node):
                raise HarnessFault("The lineage of a window over groups is not known.")
            parent = node.parent
            condition = None
            if isinstance(parent, exp.Filter):
                condition = parent.expression.this
            yield self._aggregate(one, node, condition, keys)

    def _aggregate(
        self,
        one: _One,
        node: exp.AggFunc,
        condition: exp.Expr | None,
        keys: list[exp.Expr],
        over: str = "",
    ) -> str:
        argument = argument_of(node)
        parts = [*keys, *([argument] if argument is not None else [])]
        parts += [condition] if condition is not None else []
        needed = joined(one.need(parts))
        # In a window what the condition leaves out may still lend to what it lets in.
        narrowed = condition is not None and not over
        tests = []
        if condition is not None and narrowed:
            tests.append(condition.sql(dialect="duckdb", comments=False))
        value = None if argument is None else argument.sql(dialect="duckdb", comments=False)
        decided = self._mode == "decisive" and (narrowed or condition is None)
        if value is not None and argument is not None and decided:
            narrow = {exp.Min: "min", exp.Max: "max", exp.LogicalOr: "max"}
            if (function := narrow.get(type(node))) is not None:
                cast = f"CAST({value} AS INTEGER)" if isinstance(node, exp.LogicalOr) else value
                tests.append(f"({value}) IS NOT NULL")
                filter_ = f" FILTER (WHERE {' AND '.join(f'({t})' for t in tests)})"
                # Of equal values always the same row, each time that the cell is looked at.
                pair = f"row({cast}, list_sort({needed}))"
                best = extreme(function, pair, f"{filter_}{over}")
                return f"coalesce(struct_extract({best}, 2), {NOTHING})"
        if value is not None and not over:
            tests.append(f"({value}) IS NOT NULL")
        filter_ = f" FILTER (WHERE {' AND '.join(f'({t})' for t in tests)})" if tests else ""
        return f"coalesce(list_distinct(flatten(list({needed}){filter_}{over})), {NOTHING})"


class _One:
    """What the expressions of one SELECT need."""

    def __init__(
        self,
        annotator: _Annotator,
        scope: Scope,
        env: dict[str, Relation],
        conditions: list[exp.Expr],
        extra: list[str],
    ) -> None:
        self._annotator = annotator
        self._scope = scope
        self._env = env
        self._conditions = conditions
        self._extra = [text for text in extra if text != NOTHING]
        self._decides = annotator._mode == "decisive"  # noqa: SLF001 - one algorithm in two classes

    def need(
        self,
        expressions: Iterable[exp.Expr],
        *,
        first_rank: bool = False,
        ranks_of: exp.Expr | None = None,
    ) -> frozenset[str]:
        """Lists (as SQL) that suffice for the row to exist and these expressions to hold.

        Args:
            expressions: what is read beside the conditions.
            first_rank: a rank in them is only compared with 1.
            ranks_of: in this expression a rank counts whole all the same.
        """
        asked = [*self._conditions, *expressions]
        columns: set[tuple[str, str]] = set()
        texts: set[str] = set(self._extra)
        for expression in asked:
            whole = not first_rank or expression is ranks_of
            self._collect(self._looked_at(expression), columns, texts, ranks=whole)
        return self._lists(columns, texts, self._inner)

    @property
    def _inner(self) -> set[str]:
        """Relations whose rows are needed for a row to be there."""
        return {a for a, seen in self._scope.aliases.items() if not seen.optional}

    def _looked_at(self, expression: exp.Expr) -> exp.Expr:
        """To be shown: without tests of whether something is there, if anything else is read."""
        if self._decides:
            return expression
        bare = expression.copy()
        for branch in bare.find_all(exp.If):
            if is_null_test(branch.this):
                branch.set("this", exp.true())
        return bare if bare.find(exp.Column) is not None else expression

    def _lists(
        self, columns: set[tuple[str, str]], texts: set[str], inner: set[str]
    ) -> frozenset[str]:
        """Lists of columns of this SELECT, and of the relations `inner` whose rows are needed."""
        columns, lists = set(columns), set(texts)
        todo = {alias for alias, _ in columns}
        done: set[str] = set()
        while todo - done:  # an optional relation also needs what it was matched by
            alias = (todo - done).pop()
            done.add(alias)
            seen = self._scope.aliases[alias]
            for on in seen.on if seen.optional else ():
                more: set[tuple[str, str]] = set()
                self._collect(on, more, lists, ranks=True, short=False)
                columns |= more
                todo |= {a for a, _ in more}
        for alias in inner | {a for a, _ in columns}:
            relation = self._scope.aliases[alias].relation
            own = {c for a, c in columns if a == alias and c in relation.own}
            if own:
                lists |= {f"{alias}.{hidden(c)}" for c in own}
            elif relation.row:
                lists.add(f"{alias}.{ROW}")
        return frozenset(lists)

    def _collect(
        self,
        expression: exp.Expr,
        columns: set[tuple[str, str]],
        texts: set[str],
        *,
        ranks: bool,
        short: bool = True,
    ) -> None:
        """Columns of this SELECT in an expression; lists of windows, subqueries and parents.

        With `short` what coalesce or CASE does not come to is needed only where it does; to be
        shown is all that a CASE looked at.
        """
        skip = (exp.Exists, exp.Select, exp.Window)
        choices = (exp.Coalesce, exp.Case, exp.If) if self._decides else exp.Coalesce

        def shortened(node: exp.Expr) -> bool:
            return short and isinstance(node, choices) and self._is_of_one_row(node)

        for node in expression.walk(prune=lambda n: isinstance(n, skip) or shortened(n)):
            if isinstance(node, exp.Coalesce) and shortened(node):
                self._coalesce(node, columns, texts, ranks=ranks)
            elif isinstance(node, (exp.Case, exp.If)) and shortened(node):
                self._case(node, columns, texts, ranks=ranks)
            elif isinstance(node, exp.Exists):
                texts.add(self._exists(node, columns, texts))
            elif isinstance(node, exp.Select):
                _, relation = self._annotator.query(node.copy(), self._env, self._scope)
                if relation.row:  # a list of constants needs nothing
                    raise HarnessFault("The lineage of a scalar subquery is not known.")
            elif isinstance(node, exp.Window):
                self._window(node, columns, texts, ranks=ranks)
            elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                self._column(node, columns, texts, ranks=ranks)

    def _is_of_one_row(self, node: exp.Expr) -> bool:
        """Is it worked out of columns of this SELECT's relations, row by row?"""
        across = (exp.AggFunc, exp.Window, exp.Exists, exp.Select)
        return node.find(*across) is None and all(
            self._scope.find(column) is not None for column in node.find_all(exp.Column)
        )

    def _coalesce(
        self, node: exp.Expr, columns: set[tuple[str, str]], texts: set[str], *, ranks: bool
    ) -> None:
        before: list[exp.Expr] = [node.this]
        self._collect(node.this, columns, texts, ranks=ranks)
        for each in node.expressions:
            read: set[tuple[str, str]] = set()
            lists: set[str] = set()
            self._collect(each, read, lists, ranks=ranks, short=False)
            needed = self._lists(read, lists, set())
            if needed:
                missing = " AND ".join(
                    f"({b.sql(dialect='duckdb', comments=False)}) IS NULL" for b in before
                )
                texts.add(f"CASE WHEN {missing} THEN {joined(needed)} ELSE {NOTHING} END")
            before.append(each)

    def _case(
        self,
        node: exp.Case | exp.If,
        columns: set[tuple[str, str]],
        texts: set[str],
        *,
        ranks: bool,
    ) -> None:
        """What each branch needs beside what is needed anyway; the first condition always is."""
        whole = isinstance(node, exp.Case)
        branches = node.args["ifs"] if whole else [node]
        default = node.args.get("default" if whole else "false")
        operand = node.this if whole else None
        for each in (operand, branches[0].this):
            if each is not None:
                self._collect(each, columns, texts, ranks=ranks)
        always = self._lists(columns, set(), self._inner)
        read, lists = set[tuple[str, str]](), set[str]()
        cases: list[tuple[str, frozenset[str]]] = []
        for branch in branches:
            self._collect(branch.this, read, lists, ranks=ranks, short=False)
            taken, own = set(read), set(lists)
            self._collect(branch.args["true"], taken, own, ranks=ranks, short=False)
            test = branch.this if operand is None else exp.EQ(this=operand, expression=branch.this)
            condition = test.sql(dialect="duckdb", comments=False)
            cases.append((f"WHEN {condition} THEN", self._lists(taken, own, set()) - always))
        if default is not None:
            self._collect(default, read, lists, ranks=ranks, short=False)
        cases.append(("ELSE", self._lists(read, lists, set()) - always))
        if any(needed for _, needed in cases):
            texts.add(f"CASE {' '.join(f'{when} {joined(n)}' for when, n in cases)} END")

    def _column(
        self, node: exp.Column, columns: set[tuple[str, str]], texts: set[str], *, ranks: bool
    ) -> None:
        found = self._scope.find(node)
        if found is not None:
            columns.add(found)
        elif (named := self._scope.output(node)) is not None:
            self._collect(named, columns, texts, ranks=ranks)
        else:
            texts |= outside(self._scope, node)

    def _exists(self, node: exp.Exists, columns: set[tuple[str, str]], texts: set[str]) -> str:
        """The rows that an EXISTS found."""
        select = node.this.copy()
        if not isinstance(select, exp.Select):
            raise HarnessFault("The lineage of this EXISTS is not known.")
        scope, conditions, extra = self._annotator._from(select, self._env, self._scope)  # noqa: SLF001
        below = _One(self._annotator, scope, self._env, conditions, extra)
        for condition in conditions:  # what the outer row lends to the conditions
            for owner, alias, name in scope.columns(condition):
                if owner is self._scope:
                    columns.add((alias, name))
        found = {text for text in below.need([]) if not text.startswith("outer:")}
        if not found:
            return NOTHING
        select.set("expressions", [exp.Var(this=f"flatten(list({joined(found)}))")])
        return f"({select.sql(dialect='duckdb', comments=False)})"

    def _window(
        self, node: exp.Window, columns: set[tuple[str, str]], texts: set[str], *, ranks: bool
    ) -> None:
        function: exp.Expr = node.this
        condition = None
        if isinstance(function, exp.Filter):
            condition, function = function.expression.this, function.this
        if isinstance(function, exp.IgnoreNulls):
            raise HarnessFault("The lineage of IGNORE NULLS is not known.")
        spec = self._spec(node)
        placed = [*(spec.args.get("partition_by") or ())]
        if (order := spec.args.get("order")) is not None:
            placed += [ordered.this for ordered in order.expressions]
        for part in placed:
            self._collect(part, columns, texts, ranks=True)
        over = over_text(node)
        if isinstance(function, RANKS):
            if ranks:
                texts.add(f"flatten(list({joined(self.need(placed))}){over})")
            return
        argument = argument_of(function)
        parts = [*placed, *([argument] if argument is not None else [])]
        if isinstance(function, _NEIGHBOURS):
            name = "lag" if isinstance(function, exp.Lag) else "lead"
            offset = function.args.get("offset")
            step = f", {offset.sql(dialect='duckdb')}" if offset is not None else ""
            texts.add(f"{name}({joined(self.need(parts))}{step}){over}")
            return
        if not isinstance(function, exp.AggFunc):
            raise HarnessFault(f"The lineage of {function.key} over a window is not known.")
        aggregate = self._annotator._aggregate  # noqa: SLF001 - one algorithm in two classes
        texts.add(aggregate(self, function, condition, placed, over))

    def _spec(self, node: exp.Window) -> exp.Expr:
        name = node.alias or ""
        if name and name.lower() in self._scope.windows:
            return self._scope.windows[name.lower()]
        return node


def _values(node: exp.Values) -> Relation:
    named = node.args["alias"].args.get("columns") if node.args.get("alias") else None
    if named:
        return Relation(tuple(column.name.lower() for column in named))
    return Relation(tuple(f"col{n}" for n in range(len(node.expressions[0].expressions))))
