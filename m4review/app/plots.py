"""What every picture of pyqtgraph needs before it is a well-behaved widget of ours."""

from __future__ import annotations

from typing import Any

import pyqtgraph


def calm(plot: pyqtgraph.PlotWidget) -> None:
    """No menus and buttons of its own; make the plot with ``enableMenu=False``."""
    plot.setMenuEnabled(False)
    plot.hideButtons()
    item: Any = plot.getPlotItem()
    # It is made without a parent, so that it would outlive the plot.
    item.ctrlMenu.setParent(plot, item.ctrlMenu.windowFlags())
