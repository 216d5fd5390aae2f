"""Two to eight runs of a task side by side."""
