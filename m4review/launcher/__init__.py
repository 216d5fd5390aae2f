"""Starting a run and watching it."""
