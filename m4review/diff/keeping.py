"""What the diff screen remembers of its table from one session to the next: widths, arrangement."""

from __future__ import annotations

from m4review.app.context import Context
from m4review.diff.arrange import Arrangement, remembered, to_remember
from m4review.diff.grid import DiffGrid
from m4review.diff.layout import Layout


def _keys(grid: DiffGrid) -> list[str]:
    return [f"{column.part}:{column.title}" for column in grid.model.columns]


def remember_widths(context: Context, grid: DiffGrid) -> None:
    """Keep the widths that the user chose."""
    widths = context.settings.get("diff.widths")
    for at, key in enumerate(_keys(grid)):
        if at in grid.widened:
            widths[key] = round(grid.width_of(at) / context.zoom)
    context.settings.set("diff.widths", widths)


def restore_widths(context: Context, grid: DiffGrid) -> None:
    """Give columns the widths that the user once chose."""
    widths = context.settings.get("diff.widths")
    for at, key in enumerate(_keys(grid)):
        width = widths.get(key)
        if isinstance(width, int) and width > 0:
            grid.set_width(at, context.px(width))
            grid.widened.add(at)


def arrangement_of(context: Context, layout: Layout) -> Arrangement:
    """How the user arranged the columns of diffs like this one."""
    return remembered(layout, context.settings.get("diff.columns"))


def keep_arrangement(context: Context, layout: Layout, arrangement: Arrangement) -> None:
    """Keep it for diffs like this one."""
    known = context.settings.get("diff.columns")
    context.settings.set("diff.columns", to_remember(arrangement, layout, known))
