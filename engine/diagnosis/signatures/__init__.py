"""Named hypotheses about mismatches, tested on the two values, and the best few of all."""
