"""From a cell of a reference back to the source rows that made it."""

from engine.diagnosis.lineage.cell import trace_cell
from engine.diagnosis.lineage.model import CellLineage, Event, Role, Step, Value, Window

__all__ = ["CellLineage", "Event", "Role", "Step", "Value", "Window", "trace_cell"]
