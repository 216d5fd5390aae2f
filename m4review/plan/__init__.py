"""Several runs at once: tasks by conditions, agents, models, schemas and trials, checked first."""
