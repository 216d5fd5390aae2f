"""The worklist: all tasks by family, and what was done with each."""
