"""Programs that are copied into a sandbox and run there; they use the standard library only."""
