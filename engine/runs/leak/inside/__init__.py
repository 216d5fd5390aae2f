"""What is put into the sandbox for the leak canary of a script."""
