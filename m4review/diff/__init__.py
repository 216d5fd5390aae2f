"""The row-level diff of one run: millions of aligned rows, read in blocks, never as a whole."""
