"""The derived tables: one SQL file each, a checked dependency graph, builds that can stop."""

from engine.concepts.build import Exported, build_concepts, export_concepts
from engine.concepts.graph import Graph, concept_graph
from engine.concepts.query import Query
from engine.concepts.tables import Built

__all__ = [
    "Built",
    "Exported",
    "Graph",
    "Query",
    "build_concepts",
    "concept_graph",
    "export_concepts",
]
