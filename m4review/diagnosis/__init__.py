"""What went wrong in a run: signatures, segments, proposals."""
