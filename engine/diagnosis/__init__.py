"""What the mismatches of an output are consistent with, where they sit, whose fault they may be."""
