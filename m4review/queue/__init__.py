"""The queue of runs: what waits, who works on it, what the running ones do."""
