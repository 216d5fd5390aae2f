"""Computing a reference again with one change of its SQL, on a part of a source."""
