"""From a cell of a reference back to the source rows that made it."""
