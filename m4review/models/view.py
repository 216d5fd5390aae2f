"""Models and policy, the window side: endpoints and keys, who may see what, the audit log."""

from __future__ import annotations

import getpass
from typing import get_args

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.audit import Entry
from engine.base.errors import M4Error
from engine.gateway.interface import Api, Endpoint
from engine.sources import Policy
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.flow import FlowLayout
from m4review.app.links import Place
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import (
    ErrorPanel,
    badge,
    button,
    clear,
    label,
    page_layout,
    set_tone,
)
from m4review.data.viewmodel import ACCESS
from m4review.models.viewmodel import EndpointLine, ModelsViewModel
from m4review.run.words import when

_APIS = {
    "responses": "OpenAI Responses",
    "messages": "Anthropic Messages",
    "chat": "OpenAI chat completions",
    "generate": "Google generateContent",
}


class ModelsScreen(Screen):
    """Which models can be reached, which of them may see what, and what was done with the data."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = ModelsViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        theme = lambda: context.theme  # noqa: E731 - one word for three tables
        self.endpoints: RecordModel[EndpointLine] = RecordModel(
            [
                Column("Name", lambda line: line.endpoint.name),
                Column("Speaks", lambda line: _APIS[line.endpoint.api]),
                Column("Where", lambda line: "this machine" if line.local else "elsewhere"),
                Column("Address", lambda line: line.endpoint.url),
                Column("Key", lambda line: line.endpoint.key or "needs none"),
                Column(
                    "Keyring",
                    lambda line: {"stored": "✓ stored", "missing": "✗ missing"}.get(
                        line.key, line.key
                    ),
                    tone=lambda line: {"stored": "good", "missing": "warn"}.get(line.key, ""),
                ),
                Column("Whose", lambda line: "your own" if line.own else "built in"),
            ],
            theme,
        )
        self.policies: RecordModel[Policy] = RecordModel(
            [
                Column("Source", lambda policy: policy.source),
                Column("Access", lambda policy: ACCESS.get(policy.access, policy.access)),
                Column("Who may see it", lambda policy: policy.words),
            ],
            theme,
        )
        self.log: RecordModel[Entry] = RecordModel(
            [
                Column("When", lambda entry: when(entry.at)),
                Column("Who", lambda entry: entry.actor),
                Column("What", lambda entry: entry.what),
                Column("", lambda entry: "" if entry.stage == "done" else str(entry.stage)),
                Column("Source", lambda entry: entry.source or "–"),
                Column("Of it", lambda entry: entry.object),
                Column("Facts", _facts),
            ],
            theme,
        )
        self.tabs = QTabWidget()
        self.banner = label("", wrap=True)
        self.banner_frame = QFrame()
        self.tabs.addTab(self._endpoints_tab(), "Endpoints and keys")
        self.tabs.addTab(self._policy_tab(), "Who may see what")
        self.tabs.addTab(self._audit_tab(), "Audit log")
        page = page_layout(self, context)
        page.addWidget(label("Models and policy", "title"))
        page.addWidget(self.errors)
        page.addWidget(self.banner_frame)
        page.addWidget(self.tabs, 1)
        row = QHBoxLayout(self.banner_frame)
        row.addWidget(self.banner, 1)
        self.banner_frame.setObjectName("errorPanel")
        self.banner_frame.hide()
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self.errors.show_error)
        self.model.told.connect(context.told.emit)
        self.model.key_moves.connect(self._key_moves)

    # --- building

    def _endpoints_tab(self) -> QWidget:
        context = self.context
        page, rows = _tab(context)
        rows.addWidget(
            label(
                "Agents reach a model only through the gateway of their run. Keys are kept in the "
                "operating system's keyring, never in a file, and are never shown again.",
                "muted",
                wrap=True,
            )
        )
        self.endpoint_table = ListTable(context, "Endpoints")
        self.endpoint_table.setModel(self.endpoints)
        rows.addWidget(self.endpoint_table, 1)
        bar = FlowLayout(spacing=context.px(6))
        self.key_button = button(context, "Enter its key…", self._key, icon="keyboard", main=True)
        self.unkey_button = button(context, "Remove its key…", self._unkey)
        self.test_button = button(
            context, "Try it", self._test, icon="play", tip="Ask it for its models"
        )
        self.remove_button = button(context, "Remove…", self._remove, icon="trash-2")
        for each in (self.key_button, self.unkey_button, self.test_button, self.remove_button):
            bar.addWidget(each)
        rows.addLayout(bar)
        rows.addWidget(label("Add an endpoint", "heading"))
        self.name, self.url, self.key = QLineEdit(), QLineEdit(), QLineEdit()
        self.api = QComboBox()
        for api in get_args(Api):
            self.api.addItem(_APIS[api], api)
        self.api.setCurrentIndex(self.api.findData("chat"))
        self.url.setPlaceholderText("http://127.0.0.1:11434 or https://…")
        self.key.setPlaceholderText("empty where it needs none")
        form = QGridLayout()
        form.setColumnStretch(1, 3)  # a name or an address is longer than what stands in a list
        form.setColumnStretch(3, 2)
        self.api.setMinimumContentsLength(12)
        self.api.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        for at, (title, widget) in enumerate(
            (("Name", self.name), ("Speaks", self.api), ("Address", self.url),
             ("Name of its key", self.key))
        ):  # fmt: skip
            words = label(title)
            words.setBuddy(widget)
            widget.setAccessibleName(title)
            form.addWidget(words, at // 2, at % 2 * 2)
            form.addWidget(widget, at // 2, at % 2 * 2 + 1)
        self.add_button = button(context, "Add", self._add, icon="plus")
        form.addWidget(self.add_button, 1, 4)
        self.url.returnPressed.connect(self._add)
        rows.addLayout(form)
        return page

    def _policy_tab(self) -> QWidget:
        context = self.context
        page, rows = _tab(context)
        rows.addWidget(
            label(
                "Credentialed data may be seen by models on this machine only, until somebody "
                "allows an endpoint by its name, with a reason. Every decision is recorded.",
                "muted",
                wrap=True,
            )
        )
        self.policy_table = ListTable(context, "Sources and who may see them")
        self.policy_table.setModel(self.policies)
        rows.addWidget(self.policy_table, 1)
        self.history = QVBoxLayout()
        rows.addLayout(self.history)
        rows.addWidget(label("Allow an endpoint", "heading"))
        self.provider = QComboBox()
        self.by = QLineEdit(getpass.getuser())
        self.why = QLineEdit()
        self.why.setPlaceholderText("e.g. the number of the agreement that permits it")
        form = QGridLayout()
        form.setColumnStretch(1, 1)
        form.setColumnStretch(3, 1)
        self.allow_button = button(context, "Allow…", self._allow)
        self.revoke_button = button(context, "Take back…", self._revoke)
        for at, (title, widget) in enumerate(
            (("Endpoint", self.provider), ("Who decides", self.by), ("Reason", self.why))
        ):
            words = label(title)
            words.setBuddy(widget)
            widget.setAccessibleName(title)
            form.addWidget(words, at // 2, at % 2 * 2)
            form.addWidget(widget, at // 2, at % 2 * 2 + 1)
        form.addWidget(self.allow_button, 1, 2)
        form.addWidget(self.revoke_button, 1, 3, Qt.AlignmentFlag.AlignLeft)
        rows.addLayout(form)
        self.policy_table.selectionModel().currentRowChanged.connect(lambda *_: self._chose())
        return page

    def _audit_tab(self) -> QWidget:
        context = self.context
        page, rows = _tab(context)
        head = QHBoxLayout()
        self.verdict = label("", wrap=True)
        head.addWidget(self.verdict, 1)
        head.addWidget(button(context, "Check every entry", self.model.verify, icon="circle-check"))
        rows.addLayout(head)
        self.log_table = ListTable(context, "Audit log, newest first")
        self.log_table.setModel(self.log)
        rows.addWidget(self.log_table, 1)
        return page

    # --- the screen

    @property
    def title(self) -> str:
        return "Models and policy"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self.model.reload()

    def bind(self, actions: Actions) -> None:
        self.endpoint_table.setFocus()

    # --- commands

    @property
    def endpoint(self) -> EndpointLine | None:
        """The chosen endpoint."""
        return self.endpoints.record(self.endpoint_table.currentIndex().row())

    @property
    def policy(self) -> Policy | None:
        """The policy of the chosen source."""
        return self.policies.record(self.policy_table.currentIndex().row())

    def _add(self) -> None:
        self.errors.dismiss()
        self.model.add(
            self.name.text(), str(self.api.currentData()), self.url.text(), self.key.text()
        )

    def _key_moves(self, endpoint: Endpoint, words: str) -> None:
        if self.context.interaction.confirm(
            f"Send the key {endpoint.key} to another host?",
            f"{words} Whoever runs that server could use it. To keep them apart, give this "
            "endpoint's key a name of its own.",
            yes="Send it there",
        ):
            self.model.keep(endpoint, move_key=True)

    def _remove(self) -> None:
        line = self.endpoint
        if line is not None and self.context.interaction.confirm(
            f"Forget the endpoint {line.endpoint.name}?",
            "Its key stays in the keyring until it is removed there.",
            yes="Forget it",
        ):
            self.model.remove(line.endpoint.name)

    def _key(self) -> None:
        line = self.endpoint
        if line is None or line.endpoint.key is None:
            return
        self.errors.dismiss()
        text = self.context.interaction.ask_secret(
            f"Key of {line.endpoint.name}",
            f"It is kept in the keyring as {line.endpoint.key}, and never shown again:",
        )
        if text:
            try:
                self.model.store_key(line.endpoint.key, text)
            except M4Error as error:
                self.errors.show_error(error)

    def _unkey(self) -> None:
        line = self.endpoint
        if (
            line is not None
            and line.endpoint.key
            and self.context.interaction.confirm(
                f"Remove the key {line.endpoint.key}?",
                "Runs that need it cannot be started until it is entered again.",
                yes="Remove the key",
            )
        ):
            self.model.delete_key(line.endpoint.key)

    def _test(self) -> None:
        line = self.endpoint
        if line is not None:
            self.errors.dismiss()
            self.model.test(line.endpoint)

    def _allow(self) -> None:
        policy, provider = self.policy, self.provider.currentText()
        if policy is None or not provider:
            return
        self.errors.dismiss()
        if self.context.interaction.confirm(
            f"Let {provider} see {policy.source}?",
            "Agents may send rows of this source to that provider's models. It is recorded with "
            "your name and reason, and can be taken back.",
            yes="Allow it",
        ):
            self.model.allow(policy.source, provider, by=self.by.text(), why=self.why.text())

    def _revoke(self) -> None:
        policy = self.policy
        if policy is None:
            return
        named = self.provider.currentText()
        provider = named if named in policy.providers else None
        if self.context.interaction.confirm(
            f"Take back what {provider or 'everybody'} may see of {policy.source}?",
            "Runs that are at work go on; later ones are refused.",
            yes="Take it back",
        ):
            self.model.revoke(policy.source, provider)

    # --- filling

    def _fill(self) -> None:
        page = self.model.page
        if page is None:
            return
        self.endpoints.update_records(page.endpoints, lambda line: line.endpoint.name)
        self.policies.update_records(page.policies, lambda policy: policy.source)
        self.log.update_records(page.entries, lambda entry: entry.sequence)
        for table in (self.endpoint_table, self.policy_table, self.log_table):
            if not table.currentIndex().isValid():
                table.selectRow(0)
        self.endpoint_table.selectionModel().currentRowChanged.connect(
            self._buttons, Qt.ConnectionType.UniqueConnection
        )
        chosen = self.provider.currentText()
        self.provider.clear()
        self.provider.addItems([x.endpoint.name for x in page.endpoints if not x.local])
        self.provider.setCurrentText(chosen)
        verdict = page.verdict
        shown = len(page.entries)
        more = f" The newest {shown:,} are shown." if shown < page.entries_in_all else ""
        sign = "✓" if verdict.ok else "✗"
        self.verdict.setText(f"{sign} {verdict.words}{more}")
        set_tone(self.verdict, "good" if verdict.ok else "bad")
        self.banner.setText("" if verdict.ok else verdict.words)
        self.banner_frame.setVisible(not verdict.ok)
        self._buttons()
        self._chose()

    def _buttons(self, *_: object) -> None:
        line = self.endpoint
        keyed = line is not None and line.endpoint.key is not None
        self.key_button.setEnabled(keyed)
        self.unkey_button.setEnabled(keyed and line is not None and line.key == "stored")
        self.test_button.setEnabled(line is not None)
        self.remove_button.setEnabled(line is not None and line.own)

    def _chose(self) -> None:
        clear(self.history)
        policy = self.policy
        closed = policy is not None and not policy.free
        for each in (self.allow_button, self.provider, self.by, self.why):
            each.setEnabled(closed)
        self.revoke_button.setEnabled(closed and policy is not None and bool(policy.providers))
        if policy is None:
            return
        for ruling in policy.history[-6:]:
            row = QHBoxLayout()
            row.addWidget(
                badge("in force" if ruling.holds else "past", "good" if ruling.holds else "plain")
            )
            words = f"{when(ruling.at)}: {ruling.by} – {ruling.act} {ruling.provider or ''}"
            row.addWidget(label(f"{words}. {ruling.why}", wrap=True), 1)
            self.history.addLayout(row)


def _tab(context: Context) -> tuple[QWidget, QVBoxLayout]:
    page = QWidget()
    rows = QVBoxLayout(page)
    edge = context.px(12)
    rows.setContentsMargins(edge, edge, edge, edge)
    return page, rows


def _facts(entry: Entry) -> str:
    return ", ".join(f"{name}: {value}" for name, value in entry.facts.items())
