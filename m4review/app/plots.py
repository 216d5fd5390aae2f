"""What every picture of pyqtgraph needs before it is a well-behaved widget of ours."""

from __future__ import annotations

from typing import Any

import pyqtgraph
from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent


def calm(plot: pyqtgraph.PlotWidget) -> None:
    """No menus and buttons of its own; make the plot with ``enableMenu=False``."""
    plot.setMenuEnabled(False)
    plot.hideButtons()
    item: Any = plot.getPlotItem()
    # It is made without a parent, so that it would outlive the plot.
    item.ctrlMenu.setParent(plot, item.ctrlMenu.windowFlags())


class StillPlot(pyqtgraph.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """A plot that neither zooms nor keeps the wheel from the page around it."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        calm(self)
        self.setMouseEnabled(x=False, y=False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
