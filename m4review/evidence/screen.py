"""The evidence of one task as a page of the window."""

from __future__ import annotations

from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.widgets import ElidedLabel, page_layout
from m4review.evidence.view import EvidencePanel


class EvidenceScreen(Screen):
    """`EvidencePanel` under the task's name."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.panel = EvidencePanel(context)
        self._title = ElidedLabel("", "title")
        page = page_layout(self, context)
        page.addWidget(self._title)
        page.addWidget(self.panel, 1)
        context.announced.connect(self._announced)

    @property
    def title(self) -> str:
        return f"Evidence for {self.panel.model.task}" if self.panel.model.task else "Evidence"

    def show_place(self, place: Place) -> None:
        self._title.setText(f"Evidence for {place.name}")
        self.panel.show_task(place.name, place.source)
        self.title_changed.emit()

    def place(self) -> Place | None:
        model = self.panel.model
        return Place("evidence", model.task, source=model.source) if model.task else None

    def bind(self, actions: Actions) -> None:
        actions.bind("app.find", self.panel.begin_search)
        self.panel.take_keyboard()

    def leave(self, actions: Actions) -> None:
        actions.bind("app.find", None)

    def close_down(self) -> None:
        self.panel.model.cancel()

    def _announced(self, _what: str) -> None:
        if self.isVisible() and self.panel.model.task:
            self.panel.show_task(self.panel.model.task)
