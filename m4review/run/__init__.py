"""The run page and the list of runs."""
