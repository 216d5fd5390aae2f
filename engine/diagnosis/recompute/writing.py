"""A query as SQL with one change made, cut down to what bears on the columns in question."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Set

from sqlglot import exp

from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.slicing import Parsed

_LOCK = threading.Lock()


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
