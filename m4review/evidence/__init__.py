"""What data, reference and the other texts say about the claims of a task's skills."""
