"""PROVENANCE.yaml and tiers: what would be written, and then writing it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QTabWidget, QVBoxLayout, QWidget

from engine.reviews.provenance import Plan
from engine.workbench.review_types import ChangedText
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import ColumnScroll, button, label
from m4review.review.changes import ChangesPanel


class ProvenancePanel(QWidget):
    """Families on the left, what would change on the right."""

    wanted = Signal(object)
    """Families to be written."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.table = ListTable(context, "Families")
        self.model: RecordModel[Plan] = RecordModel(
            (
                Column("Family", lambda p: p.provenance.family),
                Column("Reviews", lambda p: str(p.provenance.reviews), numeric=True),
                Column("Would change", _would, tone=lambda p: "warn" if _changes(p) else "muted"),
                Column("Skills", _tiers),
            ),
            lambda: context.theme,
            self,
        )
        self.table.setModel(self.model)
        self.lacks = label("", wrap=True)
        self.lacks.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.changes = ChangesPanel(context)
        self.write = button(context, "Write this family…", self._write_one, icon="pen-line")
        self.write_all = button(
            context, "Write all that would change…", self._write_all, icon="pen-line", main=True
        )
        inner = QWidget()
        inside = QVBoxLayout(inner)
        inside.addWidget(self.lacks)
        inside.addStretch(1)
        beside = QTabWidget()
        beside.addTab(self.changes, "What would be written")
        beside.addTab(ColumnScroll(inner), "What is lacking")
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.table)
        splitter.addWidget(beside)
        splitter.setSizes([context.px(560), context.px(520)])
        box = QVBoxLayout(self)
        edge = context.px(8)
        box.setContentsMargins(edge, edge, edge, edge)
        box.addWidget(
            label(
                "A skill becomes “validated” when every question of every task that uses it is "
                "settled as agreed, by two blind signed reviews of people whose fingerprints were "
                "compared on this machine. What people wrote into the files themselves stays.",
                "muted",
                wrap=True,
            )
        )
        box.addWidget(splitter, 1)
        line = QHBoxLayout()
        line.addStretch(1)
        line.addWidget(self.write)
        line.addWidget(self.write_all)
        box.addLayout(line)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._chose())

    def show_plans(self, plans: Sequence[Plan]) -> None:
        """Show what would be written."""
        now = self.model.record(self.table.currentIndex().row())
        ordered = sorted(plans, key=lambda p: (not _changes(p), p.provenance.family))
        self.model.set_records(ordered)
        families = [plan.provenance.family for plan in ordered]
        same = now is not None and now.provenance.family in families
        self.table.selectRow(families.index(now.provenance.family) if same and now else 0)
        self.write_all.setEnabled(any(_changes(plan) for plan in plans))
        self._chose()

    def _chose(self) -> None:
        plan = self.model.record(self.table.currentIndex().row())
        self.write.setEnabled(plan is not None and _changes(plan))
        if plan is None:
            return
        done = plan.provenance
        changed = []
        if done.changed:
            changed.append(ChangedText("PROVENANCE.yaml", "changed", plan.before, plan.after))
        for tier in done.tiers:
            if tier.before != tier.after:
                before, after = f"tier: {tier.before}\n", f"tier: {tier.after}\n"
                changed.append(ChangedText(f"tier:{tier.skill}", "changed", before, after))
        self.changes.show_changes(changed)
        self.changes.words.setText("" if changed else "Nothing: the files are as they should be.")
        if changed:
            self.changes.words.setText("Lines that would go (−) and come (+).")
        told = [
            f"{tier.skill}: {'nothing is lacking' if not tier.why else ''}"
            + "".join(f"\n   • {why}" for why in tier.why)
            for tier in done.tiers
        ]
        self.lacks.setText("\n\n".join(told) or "No task of this family uses a skill.")

    def _write_one(self) -> None:
        plan = self.model.record(self.table.currentIndex().row())
        if plan is not None:
            self._ask([plan])

    def _write_all(self) -> None:
        plans = [self.model.record(row) for row in range(self.model.rowCount())]
        self._ask([plan for plan in plans if plan is not None and _changes(plan)])

    def _ask(self, plans: Sequence[Plan]) -> None:
        facts = [(plan.provenance.family, f"{_would(plan)}; {_tiers(plan)}") for plan in plans]
        if plans and self._context.interaction.confirm_facts(
            "Write into the benchmark's files?",
            "PROVENANCE.yaml and the tiers of skills are written from the ledger:",
            facts,
            more="The content is kept under version control: look at the change, and commit it.",
            yes="Write",
        ):
            self.wanted.emit([plan.provenance.family for plan in plans])


def _changes(plan: Plan) -> bool:
    return plan.provenance.changed or bool(plan.fronts)


def _would(plan: Plan) -> str:
    what = ["PROVENANCE.yaml"] if plan.provenance.changed else []
    if plan.fronts:
        what.append(f"{len(plan.fronts)} tier{'s' if len(plan.fronts) > 1 else ''}")
    return " and ".join(what) or "nothing"


def _tiers(plan: Plan) -> str:
    return ", ".join(
        f"{t.skill} {t.before} → {t.after}" if t.before != t.after else f"{t.skill} {t.after}"
        for t in plan.provenance.tiers
    )
