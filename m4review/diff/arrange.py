"""Which scored columns are shown, in which order, and which stay beside the keys. A plain value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from m4review.diff.layout import Layout


@dataclass(frozen=True)
class Arrangement:
    """The scored columns as the user wants them; empty: all, as the task names them."""

    order: tuple[int, ...]
    """Every scored column once, by its number in the file."""
    hidden: frozenset[int] = frozenset()
    """Those that are not shown; never all of them."""
    frozen: frozenset[int] = frozenset()
    """Those that stay beside the keys when the table scrolls sideways."""

    def hide(self, column: int, on: bool) -> Arrangement:
        """Hide a column or show it again; the last one that is shown stays."""
        hidden = self.hidden | {column} if on else self.hidden - {column}
        return self if len(hidden) == len(self.order) else replace(self, hidden=hidden)

    def freeze(self, column: int, on: bool) -> Arrangement:
        """Keep a column beside the keys, or let it go."""
        return replace(self, frozen=self.frozen | {column} if on else self.frozen - {column})

    def move(self, column: int, to: int) -> Arrangement:
        """Put a column at a place of the order (from 0)."""
        rest = [other for other in self.order if other != column]
        at = max(0, min(to, len(rest)))
        return replace(self, order=(*rest[:at], column, *rest[at:]))

    def without_matching(self, layout: Layout) -> Arrangement:
        """With the columns hidden that match in every row; all stay where all match."""
        hidden = self.hidden | {at for at in self.order if not layout.mismatches_of(at)}
        return self if len(hidden) == len(self.order) else replace(self, hidden=hidden)

    @property
    def shown(self) -> tuple[int, ...]:
        """The columns as they stand in the table: frozen ones first."""
        seen = [column for column in self.order if column not in self.hidden]
        return tuple(sorted(seen, key=lambda column: column not in self.frozen))


def plain(layout: Layout) -> Arrangement:
    """All columns as the task names them."""
    return Arrangement(tuple(column.index for column in layout.scored))


def signature(layout: Layout) -> str:
    """What an arrangement is remembered for: diffs with the same scored columns."""
    return ", ".join(column.name for column in layout.scored)


def remembered(layout: Layout, known: Mapping[str, Any]) -> Arrangement:
    """The arrangement that was kept for diffs like this one; what does not fit is left out."""
    kept = known.get(signature(layout))
    if not isinstance(kept, dict):
        return plain(layout)
    at = {column.name: column.index for column in layout.scored}
    order = list(dict.fromkeys(at[name] for name in _names(kept, "order") if name in at))
    order += [column.index for column in layout.scored if column.index not in order]
    hidden = frozenset(at[name] for name in _names(kept, "hidden") if name in at)
    frozen = frozenset(at[name] for name in _names(kept, "frozen") if name in at)
    if len(hidden) == len(order):
        hidden = frozenset()
    return Arrangement(tuple(order), hidden, frozen)


def _names(kept: Mapping[str, Any], what: str) -> Sequence[str]:
    names = kept.get(what)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def to_remember(
    arrangement: Arrangement, layout: Layout, known: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings with this arrangement in them."""
    kept = dict(known)
    kept.pop(signature(layout), None)
    if arrangement != plain(layout):
        name = {column.index: column.name for column in layout.scored}
        kept[signature(layout)] = {
            "order": [name[at] for at in arrangement.order],
            "hidden": sorted(name[at] for at in arrangement.hidden),
            "frozen": sorted(name[at] for at in arrangement.frozen),
        }
    return dict(list(kept.items())[-100:])
