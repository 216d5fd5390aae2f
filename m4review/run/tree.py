"""The record of a run as a tree."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

_TREE_LIMIT = 400
"""Entries of one list of the record that are shown; how many are left out is said."""


def fill_tree(tree: QTreeWidget, record: Mapping[str, object]) -> None:
    """Show a record."""
    tree.clear()
    root = tree.invisibleRootItem()
    for name, value in record.items():
        _add(root, str(name), value)
    tree.resizeColumnToContents(0)


def _add(parent: QTreeWidgetItem, name: str, value: object) -> None:
    """One value of the record, as a branch where it has parts."""
    if isinstance(value, dict):
        item = QTreeWidgetItem(parent, [name, f"{len(value)} fields" if value else "{}"])
        for key, inner in list(value.items())[:_TREE_LIMIT]:
            _add(item, str(key), inner)
    elif isinstance(value, (list, tuple)):
        item = QTreeWidgetItem(parent, [name, f"{len(value)} entries" if value else "[]"])
        for at, inner in enumerate(value[:_TREE_LIMIT]):
            _add(item, str(at), inner)
        if len(value) > _TREE_LIMIT:
            QTreeWidgetItem(item, ["…", f"{len(value) - _TREE_LIMIT:,} further entries"])
    else:
        text = "null" if value is None else str(value)
        shown = text if len(text) <= 2_000 else text[:2_000] + "…"  # noqa: PLR2004 - characters
        QTreeWidgetItem(parent, [name, shown])
