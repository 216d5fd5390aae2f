"""A run's steps, live or kept: list, detail, tokens over time."""
