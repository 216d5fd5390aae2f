"""One agent of a plan: who, with which models, at which endpoint, how hard it thinks."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLineEdit, QWidget

from engine.runs.records import EFFORTS
from m4review.app.context import Context
from m4review.app.widgets import button, label
from m4review.launcher.view import DropZone
from m4review.plan.choice import AgentChoice
from m4review.plan.viewmodel import Offer

TITLES = {
    "script": "script (a .sql or .py file)",
    "replay": "replay (a recorded run again)",
    "codex": "Codex",
    "claude": "Claude Code",
    "gemini": "Gemini CLI",
    "pi": "Pi (any OpenAI-compatible server)",
}
_USUAL = "the agent's usual one"


class AgentRow(QFrame):
    """The form of one agent."""

    changed = Signal()
    removed = Signal()

    def __init__(self, context: Context, offer: Offer, choice: AgentChoice) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._offer = offer
        self.agent = QComboBox()
        self.agent.setAccessibleName("Agent")
        for name in offer.agents:
            self.agent.addItem(TITLES.get(name, name), name)
        self.agent.setCurrentIndex(max(0, self.agent.findData(choice.agent)))
        self.models = QLineEdit(choice.models)
        self.models.setAccessibleName("Models")
        self.models.setPlaceholderText("as the endpoint calls them; several with commas")
        self.endpoint = QComboBox()
        self.endpoint.setAccessibleName("Endpoint")
        self.effort = QComboBox()
        self.effort.setAccessibleName("Reasoning effort")
        self.effort.addItem("the provider's default", "")
        for effort in EFFORTS:
            self.effort.addItem(effort, effort)
        self.effort.setCurrentIndex(max(0, self.effort.findData(choice.effort)))
        self.script: Path | None = Path(choice.script) if choice.script else None
        self.drop = DropZone(context)
        self.drop.show_file(self.script)
        self.record = QLineEdit(choice.record)
        self.record.setAccessibleName("Recorded run")
        self.record.setPlaceholderText("id or folder of the run")
        self.remove_button = button(context, "Remove", self.removed.emit, icon="trash-2")
        grid = QGridLayout(self)
        grid.setColumnStretch(1, 1)
        grid.addWidget(label("Agent"), 0, 0)
        grid.addWidget(self.agent, 0, 1)
        grid.addWidget(self.remove_button, 0, 2)
        self._rows: list[tuple[QWidget, QWidget, str]] = []
        fields = (
            ("Models", self.models, "model"),
            ("Endpoint", self.endpoint, "model"),
            ("Effort", self.effort, "model"),
            ("File", self.drop, "script"),
            ("Run", self.record, "replay"),
        )
        for row, (name, widget, of) in enumerate(fields, start=1):
            title = label(name)
            title.setBuddy(widget)
            grid.addWidget(title, row, 0)
            grid.addWidget(widget, row, 1, 1, 2)
            self._rows.append((title, widget, of))
        self._fill_endpoints(choice.endpoint)
        self.agent.currentIndexChanged.connect(self._other_agent)
        for combo in (self.endpoint, self.effort):
            combo.activated.connect(lambda _: self.changed.emit())
        for line in (self.models, self.record):
            line.editingFinished.connect(self.changed.emit)
        self.drop.dropped.connect(self._file)

    def _fill_endpoints(self, chosen: str) -> None:
        name = self.agent.currentData()
        names = self._offer.endpoints_of(name)
        with QSignalBlocker(self.endpoint):
            self.endpoint.clear()
            self.endpoint.addItem(_USUAL, "")
            for each in names:
                self.endpoint.addItem(each, each)
            self.endpoint.setCurrentIndex(max(0, self.endpoint.findData(chosen)))
        kind = name if name in ("script", "replay") else "model"
        for title, widget, of in self._rows:
            title.setVisible(of == kind)
            widget.setVisible(of == kind)

    def _other_agent(self) -> None:
        self._fill_endpoints("")
        self.changed.emit()

    def _file(self, path: Path) -> None:
        self.script = path
        self.drop.show_file(path)
        self.changed.emit()

    @property
    def choice(self) -> AgentChoice:
        """What stands in the form, as far as it concerns this agent."""
        name = self.agent.currentData()
        if name == "script":
            return AgentChoice(name, script=str(self.script) if self.script else "")
        if name == "replay":
            return AgentChoice(name, record=self.record.text().strip())
        return AgentChoice(
            name,
            models=self.models.text().strip(),
            endpoint=self.endpoint.currentData() or "",
            effort=self.effort.currentData() or "",
        )
