"""What every screen is given: the engine, jobs, settings, theme, a way to go elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from m4review.app.links import Place
from m4review.app.theme import LIGHT, Theme

if TYPE_CHECKING:
    from engine.workbench import Workbench
    from m4review.app.actions import Actions
    from m4review.app.interaction import Interaction
    from m4review.app.jobs import JobRunner
    from m4review.app.settings import Settings


class Context(QObject):
    """One per window."""

    theme_changed = Signal()
    """Other colours or another size."""
    went = Signal(object)
    """Somebody wants to go to a `Place`."""
    announced = Signal(str)
    """What changed: "sources", "runs", "references" or "reviews"; each screen decides whether it
    cares."""
    synthetic_asked = Signal()
    """Somebody wants to make synthetic data; the data page offers its form."""
    bundle_asked = Signal()
    """Somebody wants to write a bundle of reviews for the others."""
    reviews_asked = Signal(str)
    """Ask people for reviews of a task (again)."""
    rows_asked = Signal(str, object, str, str)
    """Show rows of a run's diff: run id, the engine's `Rows`, what they are in words, and the
    scored column that they speak of (or nothing)."""
    told = Signal(str)
    """One line for the status bar."""

    def __init__(
        self,
        *,
        workbench: Workbench,
        runner: JobRunner,
        settings: Settings,
        interaction: Interaction,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.workbench = workbench
        self.runner = runner
        self.settings = settings
        self.interaction = interaction
        self.theme: Theme = LIGHT
        self.zoom = 1.0

    def go(self, place: Place) -> None:
        """Go to a place."""
        self.went.emit(place)

    def px(self, pixels: float) -> int:
        """A length at the present zoom, in logical pixels."""
        return max(1, round(pixels * self.zoom))


class Screen(QWidget):
    """One page of the window."""

    title_changed = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context

    @property
    def title(self) -> str:
        """Name of what is shown."""
        return ""

    def show_place(self, place: Place) -> None:
        """Show what the place names; called each time it is gone to."""

    def place(self) -> Place | None:
        """The address of what is shown now, as exact as can be; None: as it was gone to."""
        return None

    def bind(self, actions: Actions) -> None:
        """Bind this screen's commands; called when it is shown."""

    def leave(self, actions: Actions) -> None:
        """Unbind them; called when another one is shown."""

    def close_down(self) -> None:
        """The window closes: let files and threads go."""
