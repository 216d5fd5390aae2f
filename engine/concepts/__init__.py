"""The derived tables: one SQL file each, a checked dependency graph, builds that can stop."""
