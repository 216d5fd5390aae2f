"""The preflight: what a task's texts must keep before anybody runs on them."""
