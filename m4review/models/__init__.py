"""Model endpoints and their keys, who may see which source, and the audit log."""
