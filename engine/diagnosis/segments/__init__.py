"""Groups of stays in which mismatches are commoner than elsewhere."""
